"""Gold scores from human judgments: choose a block of judgments and merge the annotators' votes.

Votes are merged for the smallest units (a sentence, a key fact, or a summary that has a rating). `scoring` then
computes scores from the merged labels, as it does for a judge. The gold signature records the choices:
`human.sentence_labels|merge:majority|tie:high|min:2|v:1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

import numpy as np

from summeter.choices import AggregationRule, Level, QuestionType, Tie
from summeter.meta.options import People
from summeter.meta.sample import Rater, Sample, Units, composite_sample, sample_of
from summeter.records import UNNAMED, Parameter, UsageError, unnamed
from summeter.scoring import COMPOSED, COMPOSITE
from summeter.scoring.scores import Composite, exact_means
from summeter.scoring.table import Categorical, JudgmentTable, Question, row_keys
from summeter.stats.base import Floats, Ints, ratio

PEOPLE = "people"
"""The name of the judge of a value that is merged over annotators."""

SOURCES = ("sentence_labels", "key_fact_labels", "conciseness_labels", "alignment", "ratings", "overall")
"""Blocks of human judgments in order of preference. Other blocks come after these."""

_NO_SCORES = frozenset({"spans", *map(str, (QuestionType.CHOICE, QuestionType.CHOICES, QuestionType.TEXT))})
"""Blocks without a number for each unit: marked spans, choices and free text."""


def blocks(table: JudgmentTable) -> list[str]:
    """Return the blocks of a table in order of preference, for example "ratings"."""
    names = dict.fromkeys(block_of(name or "") for name in table.signature.used())
    return [*(name for name in SOURCES if name in names), *(name for name in names if name not in SOURCES)]


def block_of(signature: str) -> str:
    """Return the block of a signature.

    >>> block_of("human.ratings|v:1"), block_of("campaign7|v:2")
    ('ratings', 'campaign7')
    """
    return signature.partition("|")[0].removeprefix("human.")


def _signature(rows: JudgmentTable) -> str:
    return rows.signature.names[rows.signature.codes[0]] or ""


def aspects(table: JudgmentTable) -> list[str]:
    """Return the judged aspects in order.

    The composite is included if all three aspects of FineSurE are judged.
    """
    names = [name for name in table.aspect.used() if name is not None]
    return [*names, COMPOSITE] if set(COMPOSED) <= set(names) and COMPOSITE not in names else names


def gold_scores(table: JudgmentTable, aspect: str, level: Level, options: People | None = None) -> list[Sample]:
    """Return the human values of an aspect at a level.

    There is one merged sample, or with `merge="each"` one sample per annotator. If no source is selected, the first
    block that has the aspect at that level is used: labels of units come before ratings, and ratings before overall
    values. The list is empty if people did not judge the aspect at that level. Raises UsageError if the source or the
    annotator is unknown.
    """
    options = options or People()
    if aspect == COMPOSITE and COMPOSITE not in table.aspect.names:
        return _composites(table, level, options)
    rows = block_rows(table, aspect, level, options.source)
    if rows is None:
        return []
    annotators = [name or "" for name in rows.judge.used()]
    check_has_names(options.merge, annotators)
    if options.merge not in {*AggregationRule, *annotators}:
        raise UsageError(
            f"{options.merge!r} is not an annotator of the {block_of(_signature(rows))} of {aspect} "
            f"({', '.join(annotators)}); to merge annotators, use one of {', '.join(AggregationRule)}"
        )
    if options.merge == AggregationRule.EACH:
        return _of_each(rows, aspect, level)
    return [_of_people(sample_of(*merged_rows(rows, aspect, options), level, {}))]


def _of_each(rows: JudgmentTable, aspect: str, level: Level) -> list[Sample]:
    rows = of_annotators(rows)
    each = [People(merge=name or "") for name in rows.judge.used()]
    return [_of_people(sample_of(*merged_rows(rows, aspect, options), level, {})) for options in each]


def summary_votes(table: JudgmentTable, aspect: str, source: str | None = None) -> list[Sample]:
    """Return each annotator's score of each summary, computed from votes on the summary's units.

    Anonymous annotators are included: their placeholder name identifies one person within a summary.
    """
    rows = block_rows(table, aspect, Level.SUMMARY, source)
    return [] if rows is None else _of_each(rows, aspect, Level.SUMMARY)


def check_has_names(merge: str, annotators: Iterable[str | None]) -> None:
    """Raise UsageError if a merge rule needs individual annotators but their votes are anonymous."""
    individual = merge == AggregationRule.EACH or merge not in set(AggregationRule)
    if individual and any(unnamed(name) for name in annotators):
        raise UsageError(
            f"these votes are anonymous: {UNNAMED}1 of one summary and {UNNAMED}1 of another may be different people; "
            "merge them by the majority or the mean, with ",
            Parameter("merge", "majority"),
            " or ",
            Parameter("merge", "mean"),
        )


def block_rows(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> JudgmentTable | None:
    """Return the rows of the block that is used for an aspect at a level, or None if there is none.

    A merged value is left out if the table also has individual votes on the unit. Raises UsageError for an unknown
    source.
    """
    names = blocks(table)
    if source is not None and source not in names:
        raise UsageError(f"the human judgments have no {source!r}; they have: {', '.join(names)}")
    rows = table.where(aspect=aspect)
    for name in [source] if source is not None else [name for name in names if name not in _NO_SCORES]:
        signatures = [text for text in rows.signature.names if text is not None and block_of(text) == name]
        units = [level.base.value] if level.base is not Level.SUMMARY else ["summary", "sentence", "key_fact"]
        block = rows.where(signature=signatures, unit=units)
        if len(block):
            return without_merged(block)
    return None


def without_merged(rows: JudgmentTable) -> JudgmentTable:
    """Return the rows without the merged values of units that also have individual votes."""
    merged = rows.judge.equal(PEOPLE)
    if not merged.any() or merged.all():
        return rows
    key = _unit_key(rows)
    has_vote = ~np.isnan(_votes(rows)) | ~rows.named.equal(None)
    voted = np.isin(key, key[~merged & has_vote])
    return rows.take(~(merged & voted))


def of_annotators(rows: JudgmentTable) -> JudgmentTable:
    """Return the rows without merged values, or all rows if there are only merged values."""
    merged = rows.judge.equal(PEOPLE)
    return rows if merged.all() else rows.take(~merged)


def _unit_key(rows: JudgmentTable) -> Ints:
    return row_keys(rows.document, rows.system, rows.unit, rows.list_id, rows.index + 1)


def _votes(rows: JudgmentTable) -> Floats:
    """Return the vote of each row: the label if there is one, and otherwise the value."""
    return np.where(np.isnan(rows.label), rows.value, rows.label)


def merged_rows(rows: JudgmentTable, aspect: str, options: People) -> tuple[JudgmentTable, Question]:
    """Return one judgment per unit for one aspect and block (see `block_rows`), and their judge and signature.

    The judgments are merged, or those of one annotator. The signature records how they were merged.
    """
    merge = default_rule(rows) if options.merge == AggregationRule.AUTO else options.merge
    if merge not in set(AggregationRule):
        table, judge, parts = rows.take(rows.judge.equal(merge)), merge, [f"annotator:{merge}"]
    else:
        parts, tie = [f"merge:{merge}"], None
        if merge == AggregationRule.MAJORITY:
            tie = Tie(options.tie)
            if tie is Tie.FINESURE:
                tie = Tie.HIGH if aspect == "faithfulness" else Tie.LOW
            parts.append(f"tie:{tie}")
        if options.min_votes > 1:
            parts.append(f"min:{options.min_votes}")
        table, judge = aggregate_votes(rows, merge, tie, options.min_votes), PEOPLE
    head, *rest = _signature(rows).split("|")
    signature = "|".join([head, *parts, *rest])
    return replace(table, signature=Categorical.same(signature, len(table))), Question(judge, signature, aspect)


def _of_people(sample: Sample) -> Sample:
    """Return the sample with a reason for `skipped` human judgments: no vote, or dropped by the merge."""
    names = (name and name.replace("skipped", "no vote, or dropped by the merge") for name in sample.why.names)
    return replace(sample, why=sample.why._replace(names=tuple(names)))


def aggregate_votes(rows: JudgmentTable, merge: str, tie: Tie | None = None, min_votes: int = 1) -> JudgmentTable:
    """Return the votes of all annotators merged into one row per unit, in order of units.

    `merge` is `mean`, `majority` (with a `tie` rule) or `mode_else_mean`, which is the most frequent value if at least
    two votes share it and no other value is as frequent, and otherwise the mean (as in DialSummEval). A unit with fewer
    than `min_votes` votes has no value and the status `skipped`.
    """
    _, first, unit = np.unique(_unit_key(rows), return_index=True, return_inverse=True)
    size, vote = len(first), _votes(rows)
    present = ~np.isnan(vote)
    counts = np.bincount(unit[present], minlength=size)
    value = merged_votes(unit[present], vote[present], size, merge, tie)
    merged = np.bincount(unit[rows.judge.equal(PEOPLE)], minlength=size) > 0
    value[(counts < min_votes) & ~merged] = np.nan
    status = Categorical(np.isnan(value).astype(np.int64), ("ok", "skipped"))
    people, none = Categorical.same(PEOPLE, size), Categorical.same(None, size)
    return replace(rows.take(first), judge=people, status=status, value=value, label=value, named=none, reason=none)


def merged_votes(unit: Ints, vote: Floats, size: int, merge: str, tie: Tie | None = None) -> Floats:
    """Return the merged value of each unit 0..size-1, or NaN for units without a merged value.

    See `aggregate_votes` for `merge` and `tie`.

    >>> unit, vote = np.array([0, 0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    >>> merged_votes(unit, vote, 2, "majority", Tie.DROP).tolist(), merged_votes(unit, vote, 2, "mean")[1:].tolist()
    ([1.0, nan], [0.5])
    """
    mean = exact_means(vote, unit, np.bincount(unit, minlength=size))
    match AggregationRule(merge):
        case AggregationRule.MEAN:
            return mean
        case AggregationRule.MAJORITY:
            _, low, high, middle = _modes(unit, vote, size)
            by_tie = {Tie.LOW: low, Tie.HIGH: high, Tie.HALF: middle, Tie.DROP: np.where(low == high, low, np.nan)}
            return by_tie[tie or Tie.HALF].copy()
        case AggregationRule.MODE_ELSE_MEAN:
            frequency, low, high, _ = _modes(unit, vote, size)
            return np.where((frequency >= 2) & (low == high), low, mean)
        case AggregationRule.AUTO | AggregationRule.EACH as rule:
            raise ValueError(f"{rule} does not merge votes into one value")
        case rule:
            assert_never(rule)


def default_rule(rows: JudgmentTable) -> AggregationRule:
    """Return the default merge rule.

    It is the majority for labels and for verdicts on pairs, and the mean for all other values.
    """
    labels = (~np.isnan(rows.label)).any() or rows.named.used() not in ([], [None]) or rows.unit.equal("pair").any()
    return AggregationRule.MAJORITY if labels else AggregationRule.MEAN


def _modes(unit: Ints, vote: Floats, size: int) -> tuple[Ints, Floats, Floats, Floats]:
    """Return the frequency of each unit's modes, and the lowest, highest and mean value of the modes."""
    order = np.lexsort((vote, unit))
    unit, vote = unit[order], vote[order]
    new = np.append(True, (np.diff(unit) != 0) | (np.diff(vote) != 0))[: len(unit)]
    starts = np.flatnonzero(new).astype(np.int64)
    times = np.diff(np.append(starts, len(unit)))
    of, value = unit[starts], vote[starts]
    most = np.zeros(size, np.int64)
    np.maximum.at(most, of, times)
    top = times == most[of]
    of, value = of[top], value[top]
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, of, value)
    np.maximum.at(high, of, value)
    many = np.bincount(of, minlength=size)
    mean = ratio(np.bincount(of, weights=value, minlength=size), many)
    low[many == 0] = high[many == 0] = np.nan
    return most, low, high, mean


def _composites(table: JudgmentTable, level: Level, options: People) -> list[Sample]:
    """Return the human composite of the summaries that have all three aspects.

    It is the mean of the three aspects (UniSumEval).
    """
    if level.base is not Level.SUMMARY or options.merge == AggregationRule.EACH:
        return []
    tables, parts = [], {}
    for aspect in COMPOSED:
        if (rows := block_rows(table, aspect, level, options.source)) is None:
            return []
        merged, question = merged_rows(rows, aspect, options)
        tables.append(merged)
        parts[aspect] = (question,)
    return [_of_people(composite_sample(tables, Composite(PEOPLE, parts), {}))]


def votes(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> Sample | None:
    """Return the raw votes of all annotators on an aspect, or None if there are none.

    At the summary level, these are the votes on whole summaries, or the votes on units if `source` is a block of labels
    of units.
    """
    rows = block_rows(table, aspect, level, source)
    return None if rows is None else votes_of(rows)


def votes_of(rows: JudgmentTable) -> Sample:
    """Return the judgments of one aspect as votes: their labels, or their values if they have no label.

    Merged values are not votes and are used only if there is nothing else.
    """
    rows = of_annotators(rows)
    rater, kind = rows.judge.dense(), rows.unit.used()[0] or ""
    units, (unit,) = Units.union([Units(kind, rows.document, rows.system, rows.list_id, rows.index)])
    aspect = rows.aspect.used()[0] or ""
    raters = tuple(Rater(name or "", _signature(rows), None, aspect) for name in rater.names)
    none = Categorical.same(None, len(rows))
    block = block_of(_signature(rows))
    return Sample(units, raters, unit, rater.codes, _votes(rows), none, default_rule(rows), block)


def decisions(sample: Sample, at_least: float | None = None) -> Sample:
    """Return human values as labels 0 and 1.

    If `at_least` is None, values are unchanged; otherwise values of at least `at_least` become 1 and other values 0.
    Raises UsageError if a value is neither 0 nor 1 and `at_least` is None.
    """
    value, people = sample.value, sample.gold
    if at_least is not None:
        return replace(sample, value=np.where(np.isnan(value), np.nan, (value >= at_least).astype(np.float64)))
    if not np.isin(value[~np.isnan(value)], (0.0, 1.0)).all():
        raise UsageError(
            f"human values of {people.aspect} ({people.signature}) at the level {sample.level} are not all 0 or 1; "
            "give the smallest value that counts as 1 with ",
            Parameter("gold_at_least", "VALUE"),
        )
    return sample
