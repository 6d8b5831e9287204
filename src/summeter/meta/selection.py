"""Select the data of a study: judges, human judgments and groups.

The votes of annotators are merged for the smallest units (a sentence, a key fact, or a summary that has a rating).
`scoring` then computes scores from the merged labels, as it does for a judge. The gold signature records the choices:
`human.sentence_labels|merge:majority|tie:high|min:2|v:1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

import numpy as np

from summeter.choices import AggregationRule, Average, Level, QuestionType, Tie, ValueOrLabel
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input, restricted
from summeter.meta.options import GoldAtLeast, Judges, JudgmentSet, People, Selection
from summeter.meta.results import Row, merged, named
from summeter.meta.sample import CROSSED, Context, Grid, Rater, Sample, Units, composite_sample, sample_of
from summeter.records import UNNAMED, Parameter, UsageError, nearest, unnamed
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


# ---- judges and people ----


def check_known(values: Sequence[str], known: Sequence[str], name: str) -> None:
    """Raise UsageError if there are no values or if a value is unknown.

    The message contains the keyword `name` and the nearest known value.
    """
    if not values:
        raise UsageError(f"{name} is empty; choose from: {', '.join(known)}")
    for value in values:
        if value not in known:
            raise UsageError(f"unknown {name} {value!r}{nearest(value, known)}; choose from: {', '.join(known)}")


class Group(NamedTuple):
    """Votes on the units that have a given value in a column.

    Column and value are None for the group of all units.
    """

    column: str | None
    value: str | None
    sample: Sample

    @property
    def grid(self) -> Grid:
        """Votes as a grid of systems and documents."""
        return Grid.of(self.sample)

    def fields(self) -> dict[str, Any]:
        """Return the grouping fields of a `Row`."""
        return {} if self.column is None or self.value is None else group_fields(self.column, self.value)

    def about(self) -> dict[str, Any]:
        """Return the fields of a `Row` that identify the judge, people and the group."""
        return merged(named(self.sample.judge, self.sample.gold), self.fields())


def group_fields(column: str, value: str) -> dict[str, Any]:
    """Return the grouping fields of a `Row` for one value of a column or of crossed columns ("a*b").

    >>> group_fields("domain*length", "news * short")
    {'domain': 'news', 'details': {'by': 'domain*length', 'group': 'news * short'}}
    """
    names, values = [name.strip() for name in column.split("*")], value.split(CROSSED)
    value_of = dict(zip(names, values, strict=True)) if len(names) == len(values) else {column: value}
    fields: dict[str, Any] = {name: value_of[name] for name in value_of if name in {"system", "domain", "category"}}
    return fields if len(fields) == len(value_of) else {**fields, "details": {"by": column, "group": value}}


def group_label(row: Row) -> str | None:
    """Return the group of a row apart from its system, or None if the row is about all summaries.

    >>> fields = group_fields("domain*length", "news * short")
    >>> group_label(Row(study="gate", statistic="mean", value=0.5, n=9, **fields))
    'news * short'
    """
    group: str | None = row.details.get("group")
    # A group of crossed columns contains the domain and the category.
    names = [group.removesuffix(f"{CROSSED}{row.system}")] if group else [row.domain, row.category]
    return CROSSED.join(filter(None, names)) or None


class MetaInput(NamedTuple):
    """The judgments of judges and people, and the context of the data."""

    judge: JudgeInput
    gold: JudgmentTable
    context: Context


def meta_input(run: RunLike, gold: Gold, options: JudgmentSet) -> MetaInput:
    """Return the judgments of a run and its gold.

    The context is that of the gold if there is one, and otherwise that of the run. Raises UsageError if they have no
    document, or no system, in common.
    """
    judge = judge_input(run)
    table, context = gold_input(gold, options.judgment_set)
    for name, columns in (("document", ("document",)), ("system", ("system", "rival"))):
        judged, rated = (
            list(dict.fromkeys(each for column in columns for each in getattr(side, column).used() if each is not None))
            for side in (judge.table, table)
        )
        if judged and rated and set(judged).isdisjoint(rated):
            examples = f"the first of the judges is {judged[0]!r}, and of people {rated[0]!r}"
            raise UsageError(f"judges and people have no {name} in common: {examples}")
    return MetaInput(judge, restricted(table, judge.common), context if context.domains else judge.context)


def wanted(options: Judges, judge: Sequence[str], gold: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs (aspect of the judges, aspect of the gold) to study.

    >>> wanted(Judges(aspect=["overall:coherence"]), ["overall"], ["coherence"])
    [('overall', 'coherence')]

    Raises UsageError if a selected aspect is missing on one side, or if the sides have no aspect in common.
    """
    if not options.aspects:
        common = [(name, name) for name in judge if name in gold]
        if not common:
            raise UsageError(
                f"the aspects of the judges ({_names(judge)}) and of people ({_names(gold)}) have none in common; "
                "give a pair with ",
                Parameter("aspect", "JUDGE:GOLD"),
            )
        return common
    for text, pair in zip(options.aspects, options.aspect_pairs, strict=True):
        for name, known, side in ((pair[0], judge, "the judges"), (pair[1], gold, "people")):
            if name not in known:
                raise UsageError(f"aspect {text!r}: {side} have no {name!r}; they have: {_names(known)}")
    return list(dict.fromkeys(options.aspect_pairs))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def golds(gold: JudgmentTable, aspect: str, level: Level, options: People) -> list[Sample]:
    """Return the human values of an aspect, merged from the selected source.

    The values are converted to labels if `gold_at_least` is selected.
    """
    merged_scores = gold_scores(gold, aspect, level, options)
    if isinstance(options, GoldAtLeast) and options.gold_at_least is not None:
        return [decisions(scores, options.gold_at_least) for scores in merged_scores]
    return merged_scores


def all_pairs(
    read: MetaInput, level: Level, options: Selection, use: ValueOrLabel = ValueOrLabel.VALUE
) -> Iterator[Sample]:
    """Yield the joined values of each selected judge and gold, at the given level.

    Judges without values at the level are skipped. Raises UsageError if no judge has any.
    """
    questions = read.judge.questions(judge=options.judge)
    judged = list(dict.fromkeys(question.aspect for question in questions))
    reasons: list[str] = []
    found = False
    for judge_aspect, gold_aspect in wanted(options, judged, aspects(read.gold)):
        by_people = golds(read.gold, gold_aspect, level, options)
        if not by_people:
            others = [other.base for other in Level if golds(read.gold, gold_aspect, other, options)]
            instead = f", but at the level {' or '.join(dict.fromkeys(others))}" if others else ""
            reasons.append(f"people did not judge {gold_aspect} at the level {level.base}{instead}")
        for gold in by_people:
            for question in (question for question in questions if question.aspect == judge_aspect):
                scores = read.judge.scores(question, level, use)
                if len(scores):
                    found = True
                    yield Sample.join([scores, gold], read.context)
                else:
                    reasons.append(f"{question.judge} did not judge {judge_aspect} at the level {level.base}")
    if not found:
        raise UsageError("; ".join(dict.fromkeys(reasons)) or "the run and the human judgments have none in common")


def pairs_by_level(
    read: MetaInput, levels: Sequence[Level], options: Selection, use: ValueOrLabel = ValueOrLabel.VALUE
) -> Iterator[tuple[Level, list[Sample]]]:
    """Yield each level at which judges and people have values, with the joined values (see `all_pairs`).

    Raises UsageError, with the reason for the first level, if there is no such level.
    """
    reason: UsageError | None = None
    found = False
    for level in levels:
        try:
            pairs = list(all_pairs(read, level, options, use))
        except UsageError as error:
            reason = reason or error
        else:
            found = True
            yield level, pairs
    if reason is not None and not found:
        raise reason


def summary_groups(read: MetaInput, options: Selection, by: str | None = None) -> list[Group]:
    """Return the votes of people and of each judge on summaries, as groups.

    There is one group for all summaries and one for each value of the column `by`. The studies of systems (`prefer`,
    `stability`, `bias`) use these groups. Raises UsageError if no summaries were judged on the selected aspects (see
    `all_pairs`).
    """
    return [group for whole in all_pairs(read, Level.SUMMARY, options) for group in groups(whole, by)]


def groups(sample: Sample, by: str | None) -> Iterator[Group]:
    """Yield all votes, then the votes on the units of each value of a column."""
    yield Group(None, None, sample)
    if by is not None:
        for value, part in sample.split(by):
            yield Group(by, value, part)


def dev_split(sample: Sample, dev: str) -> tuple[str, Sample, Sample]:
    """Return the name and the rows of a dev split, and the other rows.

    `dev` is COLUMN=VALUE or a value of the column `split`. The name is, for example, "split=dev". Raises UsageError if
    the split or the rest is empty.
    """
    name = dev if "=" in dev else f"split={dev}"
    column, _, value = name.partition("=")
    rows = sample.units.column(column).equal(value)
    if not rows.any() or rows.all():
        known = ", ".join(str(name) for name in sample.units.column(column).used() if name is not None) or "none"
        why = "no other rows are left to measure on" if rows.any() else f"no row has {name}; the values are: {known}"
        raise UsageError(f"no threshold can be tuned on {name}: {why}")
    return name, sample.take(rows), sample.take(~rows)


def notes(read: MetaInput, options: People, level: Level, studied: Sequence[Sample]) -> list[str]:
    """Return notes on labelled summaries that the judges lack, and on sources that were chosen automatically."""
    texts: list[str] = []
    ours, theirs = (
        set(zip(of.document.labels(), of.system.labels(), strict=True)) for of in (read.judge.table, read.gold)
    )
    if alone := theirs - ours:
        document, system = min(alone, key=str)
        texts.append(
            f"{len(alone):,} of {len(theirs):,} summaries that people judged have no judgment by the judges, such as "
            f"that of {document} by {system}"
        )
    if options.source is not None:
        return texts
    for aspect, signature in dict.fromkeys((pairs.gold.aspect, pairs.gold.signature) for pairs in studied):
        if signature.startswith("composite("):
            continue
        used = block_of(signature)
        others = [name for name in blocks(read.gold) if name not in {used, "spans"}]
        others = [name for name in others if gold_scores(read.gold, aspect, level, People(merge="mean", source=name))]
        if others:
            texts.append(f"people's {aspect} is from {used}; also available: {', '.join(others)} (option source)")
    return texts


def check_average(level: Level, average: Average) -> None:
    """Raise UsageError if values at a level cannot be averaged in the given way."""
    if average is not Average.POOLED and level in {Level.DOCUMENT, Level.SYSTEM}:
        raise UsageError(f"the level {level} has one value per {level}; use the average pooled, not {average}")
