"""People's judgments as gold scores: which block of them, how annotators are merged, and the name of both.

Votes are merged at the lowest unit (a sentence, a key fact, a rating of a summary); the arithmetic of `scoring` then
makes a score of the merged labels, as it does of a judge's. What was chosen stands in the gold signature:
`human.sentence_labels|merge:majority|tie:high|min:2|v:1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

import numpy as np

from summeter.choices import AggregationRule, Level, QuestionType, Tie
from summeter.meta.sample import Rater, Sample, Units, composite_sample, sample_of
from summeter.records import UNNAMED, UsageError, unnamed
from summeter.scoring import COMPOSED, COMPOSITE
from summeter.scoring.scores import Composite, exact_means
from summeter.scoring.table import Categorical, JudgmentTable, Question, row_keys
from summeter.stats.base import Floats, Ints, ratio

PEOPLE = "people"
"""The judge of a value that is already merged over annotators, and of every merged value here."""

SOURCES = ("sentence_labels", "key_fact_labels", "conciseness_labels", "alignment", "ratings", "overall")
"""Blocks of people's judgments in the order in which they are preferred; others follow."""

_NO_SCORES = frozenset({"spans", *map(str, (QuestionType.CHOICE, QuestionType.CHOICES, QuestionType.TEXT))})
"""Blocks that have no number for a unit: marked passages, names and free text."""


@dataclass(frozen=True)
class Aggregation:
    """How to merge annotators.

    `merge` is a `AggregationRule` or the id of one annotator. `auto` is `usual_rule`: the majority of labels and the
    mean of ratings. `min_votes` leaves out units with fewer votes (FineSurE: 2); a value that came already merged is
    exempt. `tie` is for majorities only.
    """

    merge: str = AggregationRule.AUTO
    tie: str = Tie.FINESURE
    min_votes: int = 1

    def __post_init__(self) -> None:
        if self.min_votes < 1:
            raise UsageError(f"min_votes must be at least 1, not {self.min_votes}")
        if self.tie not in set(Tie):
            raise UsageError(f"a tie rule is one of {', '.join(Tie)}, not {self.tie!r}")

    def resolved(self, rows: JudgmentTable, aspect: str) -> tuple[str, Tie | None, dict[str, object]]:
        """The merge without `auto`, the tie rule where it matters, and the parts of the signature."""
        merge = self.merge
        if merge == AggregationRule.AUTO:
            merge = usual_rule(rows)
        if merge not in set(AggregationRule):
            return merge, None, {"annotator": merge}
        parts: dict[str, object] = {"merge": str(merge)}
        tie = None
        if merge == AggregationRule.MAJORITY:
            tie = Tie(self.tie)
            if tie is Tie.FINESURE:
                tie = Tie.HIGH if aspect == "faithfulness" else Tie.LOW
            parts["tie"] = tie.value
        if self.min_votes > 1:
            parts["min"] = self.min_votes
        return str(merge), tie, parts


def blocks(table: JudgmentTable) -> list[str]:
    """The blocks of judgments there are: "ratings" for the signature `human.ratings|v:1`, in order of preference."""
    names = dict.fromkeys(block_of(name or "") for name in table.signature.used())
    return [*(name for name in SOURCES if name in names), *(name for name in names if name not in SOURCES)]


def block_of(signature: str) -> str:
    """The block a signature names.

    >>> block_of("human.ratings|v:1"), block_of("campaign7|v:2")
    ('ratings', 'campaign7')
    """
    return signature.partition("|")[0].removeprefix("human.")


def _signature(rows: JudgmentTable) -> str:
    return rows.signature.names[rows.signature.codes[0]] or ""


def _block(rows: JudgmentTable) -> str:
    return block_of(_signature(rows))


def aspects(table: JudgmentTable) -> list[str]:
    """The aspects people judged, in order; with all three of FineSurE's, also their composite."""
    names = [name for name in table.aspect.used() if name is not None]
    return [*names, COMPOSITE] if set(COMPOSED) <= set(names) and COMPOSITE not in names else names


def gold_scores(
    table: JudgmentTable, aspect: str, level: Level, rule: Aggregation | None = None, source: str | None = None
) -> list[Sample]:
    """People's values of an aspect at a level: a sample of people merged, or with `merge="each"` one an annotator.

    Without a `source` the first block that has the aspect at that level is taken: labels of units before ratings
    before overall values. Empty where people did not judge the aspect at that level. Raises UsageError for an
    unknown source or annotator.
    """
    rule = rule or Aggregation()
    if aspect == COMPOSITE and COMPOSITE not in table.aspect.names:
        return _composites(table, level, rule, source)
    rows = chosen(table, aspect, level, source)
    if rows is None:
        return []
    annotators = [name or "" for name in rows.judge.used()]
    check_named(rule, annotators)
    if rule.merge not in {*AggregationRule, *annotators}:
        raise UsageError(
            f"no annotator {rule.merge!r} among the {_block(rows)} of {aspect} ({', '.join(annotators)}); "
            f"to merge them give one of {', '.join(AggregationRule)}"
        )
    if rule.merge == AggregationRule.EACH:
        return _of_each(rows, aspect, level)
    return [_of_people(sample_of(*_aggregated(rows, aspect, rule), level, {}))]


def _of_each(rows: JudgmentTable, aspect: str, level: Level) -> list[Sample]:
    rows = of_annotators(rows)
    rules = [Aggregation(name or "") for name in rows.judge.used()]
    return [_of_people(sample_of(*_aggregated(rows, aspect, rule), level, {})) for rule in rules]


def summary_votes(table: JudgmentTable, aspect: str, source: str | None = None) -> list[Sample]:
    """Each annotator's score of each summary, from votes on its units; also of annotators who are not known, for
    whom a name holds within a summary."""
    rows = chosen(table, aspect, Level.SUMMARY, source)
    return [] if rows is None else _of_each(rows, aspect, Level.SUMMARY)


def check_named(rule: Aggregation, annotators: Iterable[str | None]) -> None:
    """Raise UsageError where a rule keeps single annotators apart whose votes have no names."""
    apart = rule.merge == AggregationRule.EACH or rule.merge not in set(AggregationRule)
    if apart and any(unnamed(name) for name in annotators):
        raise UsageError(
            f"these votes have no names: {UNNAMED}1 of one summary and {UNNAMED}1 of another need not be one person, "
            "so no annotator stands alone; merge them by the majority or the mean (option merge)"
        )


def chosen(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> JudgmentTable | None:
    """The rows of the one block that is used for an aspect at a level; None where there is none.

    A value that came merged is left out where the annotators' own votes on the same unit are there too.
    """
    names = blocks(table)
    if source is not None and source not in names:
        raise UsageError(f"people's judgments have no {source!r}; they have: {', '.join(names)}")
    rows = table.where(aspect=aspect)
    for name in [source] if source is not None else [name for name in names if name not in _NO_SCORES]:
        signatures = [text for text in rows.signature.names if text is not None and block_of(text) == name]
        units = [level.base.value] if level.base is not Level.SUMMARY else ["summary", "sentence", "key_fact"]
        block = rows.where(signature=signatures, unit=units)
        if len(block):
            return without_merged(block)
    return None


def without_merged(rows: JudgmentTable) -> JudgmentTable:
    """The rows but for merged values of units that have the annotators' own votes too."""
    merged = rows.judge.equal(PEOPLE)
    if not merged.any() or merged.all():
        return rows
    key = _unit_key(rows)
    cast = ~np.isnan(_cast(rows)) | ~rows.named.equal(None)
    voted = np.isin(key, key[~merged & cast])
    return rows.take(~(merged & voted))


def of_annotators(rows: JudgmentTable) -> JudgmentTable:
    """The rows but for merged values, which are no annotator's vote; all of them where there is nothing else."""
    merged = rows.judge.equal(PEOPLE)
    return rows if merged.all() else rows.take(~merged)


def _unit_key(rows: JudgmentTable) -> Ints:
    return row_keys(rows.document, rows.system, rows.unit, rows.list_id, rows.index + 1)


def _cast(rows: JudgmentTable) -> Floats:
    """The vote each row is: its label, else its value."""
    return np.where(np.isnan(rows.label), rows.value, rows.label)


def merged_rows(rows: JudgmentTable, aspect: str, rule: Aggregation) -> JudgmentTable:
    """People's judgments of one aspect and block (see `chosen`), or one annotator's: one a unit."""
    return _aggregated(rows, aspect, rule)[0]


def _aggregated(rows: JudgmentTable, aspect: str, rule: Aggregation) -> tuple[JudgmentTable, Question]:
    """People's judgments, or one annotator's, of one aspect: one a unit, and the name of what was done."""
    merge, tie, parts = rule.resolved(rows, aspect)
    if "annotator" in parts:
        table, judge = rows.take(rows.judge.equal(merge)), merge
    else:
        table, judge = aggregate_votes(rows, merge, tie, rule.min_votes), PEOPLE
    head, *rest = _signature(rows).split("|")
    signature = "|".join([head, *(f"{key}:{value}" for key, value in parts.items()), *rest])
    return replace(table, signature=Categorical.same(signature, len(table))), Question(judge, signature, aspect)


def _of_people(sample: Sample) -> Sample:
    """`skipped` of people is a vote that was not cast (or that a rule dropped)."""
    names = (name and name.replace("skipped", "no vote, or dropped by the merge") for name in sample.why.names)
    return replace(sample, why=sample.why._replace(names=tuple(names)))


def aggregate_votes(rows: JudgmentTable, merge: str, tie: Tie | None = None, min_votes: int = 1) -> JudgmentTable:
    """One row a unit: the votes of all annotators on it as one value, in order of units.

    `merge` is mean, majority (with a `tie` rule) or mode_else_mean: the value that most votes share, if at least
    two do and no other has as many, else the mean (DialSummEval's analysis). A unit without enough votes has no
    value and the status skipped.
    """
    _, first, unit = np.unique(_unit_key(rows), return_index=True, return_inverse=True)
    size, vote = len(first), _cast(rows)
    cast = ~np.isnan(vote)
    counts = np.bincount(unit[cast], minlength=size)
    value = merged_votes(unit[cast], vote[cast], size, merge, tie)
    merged = np.bincount(unit[rows.judge.equal(PEOPLE)], minlength=size) > 0
    value[(counts < min_votes) & ~merged] = np.nan
    kept = rows.take(first)
    status = Categorical(np.isnan(value).astype(np.int64), ("ok", "skipped"))
    people, nothing = Categorical.same(PEOPLE, size), Categorical.same(None, size)
    return replace(kept, judge=people, status=status, value=value, label=value, named=nothing, reason=nothing)


def merged_votes(unit: Ints, vote: Floats, size: int, merge: str, tie: Tie | None = None) -> Floats:
    """The votes on each of the units 0..size-1 as one value, NaN where there is none (see `aggregate_votes`).

    >>> unit, vote = np.array([0, 0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    >>> merged_votes(unit, vote, 2, "majority", Tie.DROP).tolist(), merged_votes(unit, vote, 2, "mean")[1:].tolist()
    ([1.0, nan], [0.5])
    """
    mean = exact_means(vote, unit, np.bincount(unit, minlength=size))
    match AggregationRule(merge):
        case AggregationRule.MEAN:
            return mean
        case AggregationRule.MAJORITY:
            return _majority(_modes(unit, vote, size), tie or Tie.HALF)
        case AggregationRule.MODE_ELSE_MEAN:
            most = _modes(unit, vote, size)
            return np.where((most.votes >= 2) & (most.low == most.high), most.low, mean)
        case AggregationRule.AUTO | AggregationRule.EACH as rule:
            raise ValueError(f"{rule} names no way to make one value of votes")
        case rule:
            assert_never(rule)


def usual_rule(rows: JudgmentTable) -> AggregationRule:
    """How votes become one value: the majority of labels and of verdicts on pairs, the mean of other numbers."""
    labels = (~np.isnan(rows.label)).any() or rows.named.used() not in ([], [None]) or rows.unit.equal("pair").any()
    return AggregationRule.MAJORITY if labels else AggregationRule.MEAN


class _Modes(NamedTuple):
    """By unit: the votes of the commonest value, and the lowest, highest and mean of the values that have as many."""

    votes: Ints
    low: Floats
    high: Floats
    mean: Floats


def _modes(unit: Ints, vote: Floats, size: int) -> _Modes:
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
    return _Modes(most, low, high, mean)


def _majority(most: _Modes, tie: Tie) -> Floats:
    dropped = np.where(most.low == most.high, most.low, np.nan)
    return {Tie.LOW: most.low, Tie.HIGH: most.high, Tie.HALF: most.mean, Tie.DROP: dropped}[tie].copy()


def _composites(table: JudgmentTable, level: Level, rule: Aggregation, source: str | None) -> list[Sample]:
    """People's composite: the mean of the three aspects, where a summary has all three (UniSumEval)."""
    if level.base is not Level.SUMMARY or rule.merge == AggregationRule.EACH:
        return []
    tables, parts = [], {}
    for aspect in COMPOSED:
        if (rows := chosen(table, aspect, level, source)) is None:
            return []
        merged, question = _aggregated(rows, aspect, rule)
        tables.append(merged)
        parts[aspect] = (question,)
    return [_of_people(composite_sample(tables, Composite(PEOPLE, parts), {}))]


def votes(table: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> Sample | None:
    """The raw votes of all annotators on an aspect, for agreement; None where there are none.

    At the summary level these are the votes on whole summaries; a source of labels of units gives its units.
    """
    rows = chosen(table, aspect, level, source)
    return None if rows is None else votes_of(rows)


def votes_of(rows: JudgmentTable) -> Sample:
    """The votes that judgments of one aspect are; of names, those that their label or value stands for.

    Values that came merged are nobody's votes, unless there are no others.
    """
    rows = of_annotators(rows)
    rater, kind = rows.judge.dense(), rows.unit.used()[0] or ""
    every = Units(kind, rows.document, rows.system, rows.list_id, rows.index)
    units, (place,) = Units.united([every])
    aspect = rows.aspect.used()[0] or ""
    raters = tuple(Rater(name or "", _signature(rows), None, aspect) for name in rater.names)
    nobody = Categorical.same(None, len(rows))
    return Sample(units, raters, place, rater.codes, _cast(rows), nobody, usual_rule(rows), _block(rows))


def decisions(sample: Sample, at_least: float | None = None) -> Sample:
    """People's values as labels 0 and 1: as they are, or 1 where the value is at least `at_least`.

    Raises UsageError where a value is neither 0 nor 1 and no bound is given.
    """
    value, people = sample.value, sample.gold
    if at_least is not None:
        return replace(sample, value=np.where(np.isnan(value), np.nan, (value >= at_least).astype(np.float64)))
    if not np.isin(value[~np.isnan(value)], (0.0, 1.0)).all():
        raise UsageError(
            f"people's {people.aspect} ({people.signature}) is not a yes or no at the level {sample.level}; "
            "say from which value on it counts as yes (option gold_at_least)"
        )
    return sample
