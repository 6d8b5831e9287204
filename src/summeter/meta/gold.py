"""People's judgments as gold scores: which block of them, how annotators are merged, and the name of both.

Votes are merged at the lowest unit (a sentence, a key fact, a rating of a summary); the arithmetic of `scoring` then
makes a score of the merged labels, as it does of a judge's. What was chosen stands in the gold signature:
`human.sentence_labels|merge:majority|tie:high|min:2|v:1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from summeter.choices import AggregationRule, Level, Tie
from summeter.meta.matrix import Scores, composite_scores, scores_of
from summeter.records import Parameter, UsageError
from summeter.scoring import COMPOSED, COMPOSITE
from summeter.scoring.scores import Composite
from summeter.scoring.table import JudgmentTable, Names, Question, row_keys
from summeter.stats.base import Floats, Ints

PEOPLE = "people"
"""The judge of a value that is already merged over annotators, and of every merged value here."""

SOURCES = ("sentence_labels", "key_fact_labels", "alignment", "ratings", "overall")
"""Blocks of people's judgments in the order in which they are preferred; others follow."""

_UNIT_BLOCKS = ("sentence_labels", "key_fact_labels", "alignment")
_SPANS = "spans"


@dataclass(frozen=True)
class Aggregation:
    """How to merge annotators.

    `merge` is a `AggregationRule` or the id of one annotator. `auto` is the majority of labels of units and the mean of
    ratings. `min_votes` leaves out units with fewer votes (FineSurE: 2); a value that came already merged is
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


@dataclass(frozen=True)
class Votes:
    """The raw votes on one aspect: a matrix raters x units, NaN for no vote, with what each row and column is."""

    values: Floats
    raters: tuple[str, ...]
    document: Names
    system: Names
    list_id: Names
    index: Ints
    unit: str
    source: str


def blocks(columns: JudgmentTable) -> list[str]:
    """The blocks of judgments there are: "ratings" for the signature `human.ratings|v:1`, in order of preference."""
    found = dict.fromkeys(block_of(name or "") for name in columns.signature.used())
    return [*(name for name in SOURCES if name in found), *(name for name in found if name not in SOURCES)]


def block_of(signature: str) -> str:
    """The block a signature names.

    >>> block_of("human.ratings|v:1"), block_of("campaign7|v:2")
    ('ratings', 'campaign7')
    """
    return signature.partition("|")[0].removeprefix("human.")


def aspects(columns: JudgmentTable) -> list[str]:
    """The aspects people judged, in order; with all three of FineSurE's, also their composite."""
    found = [name for name in columns.aspect.used() if name is not None]
    return [*found, COMPOSITE] if set(COMPOSED) <= set(found) and COMPOSITE not in found else found


def gold_scores(
    columns: JudgmentTable, aspect: str, level: Level, rule: Aggregation | None = None, source: str | None = None
) -> list[Scores]:
    """People's values of an aspect at a level: one `Scores`, or one an annotator with `merge="each"`.

    Without a `source` the first block that has the aspect at that level is taken: labels of units before ratings
    before overall values. Empty where people did not judge the aspect at that level. Raises UsageError for an
    unknown source or annotator.
    """
    rule = rule or Aggregation()
    if aspect == COMPOSITE and COMPOSITE not in columns.aspect.names:
        return _composites(columns, level, rule, source)
    rows = chosen(columns, aspect, level, source)
    if rows is None:
        return []
    block = block_of(rows.signature.names[rows.signature.codes[0]] or "")
    if rule.merge == AggregationRule.EACH:
        raters = [name or "" for name in rows.judge.used()]
        return [_one(rows, aspect, level, block, _Plan(rater, rule)) for rater in raters]
    if rule.merge not in set(AggregationRule) and rule.merge not in rows.judge.used():
        known = ", ".join(str(name) for name in rows.judge.used())
        raise UsageError(
            f"no annotator {rule.merge!r} among the {block} of {aspect} ({known}); "
            f"to merge them give one of {', '.join(AggregationRule)}"
        )
    return [_one(rows, aspect, level, block, _Plan(rule.merge, rule))]


def chosen(columns: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> JudgmentTable | None:
    """The rows of the one block that is used for an aspect at a level; None where there is none.

    A value that came merged is left out where the annotators' own votes on the same unit are there too.
    """
    names = blocks(columns)
    if source is not None and source not in names:
        raise UsageError(f"people's judgments have no {source!r}; they have: {', '.join(names)}")
    rows = columns.take(columns.aspect.equal(aspect))
    for name in [source] if source is not None else [name for name in names if name != _SPANS]:
        signatures = [code for code, text in enumerate(rows.signature.names) if block_of(text or "") == name]
        found = rows.take(np.isin(rows.signature.codes, signatures))
        units = [level.base.value] if level.base is not Level.SUMMARY else ["summary", "sentence", "key_fact"]
        found = found.take(np.isin(found.unit.labels(), units))
        if len(found):
            return _without_doubles(found)
    return None


def _without_doubles(rows: JudgmentTable) -> JudgmentTable:
    merged = rows.judge.equal(PEOPLE)
    if not merged.any() or merged.all():
        return rows
    key = _unit_key(rows)
    voted = np.isin(key, key[~merged & ~np.isnan(_votes_of(rows))])
    return rows.take(~(merged & voted))


def _unit_key(rows: JudgmentTable) -> Ints:
    return row_keys(rows.document, rows.system, rows.unit, rows.list_id, rows.index + 1)


def _votes_of(rows: JudgmentTable) -> Floats:
    return np.where(np.isnan(rows.label), rows.value, rows.label)


class _Plan(NamedTuple):
    """A merge (or an annotator), with the rule it came from."""

    merge: str
    rule: Aggregation

    def resolved(self, block: str, aspect: str) -> tuple[str, Tie | None, dict[str, object]]:
        """The merge without `auto`, the tie rule where it matters, and the parts of the signature."""
        merge = self.merge
        if merge == AggregationRule.AUTO:
            merge = AggregationRule.MAJORITY if block in _UNIT_BLOCKS else AggregationRule.MEAN
        if merge not in set(AggregationRule):
            return merge, None, {"annotator": merge}
        parts: dict[str, object] = {"merge": str(merge)}
        tie = None
        if merge == AggregationRule.MAJORITY:
            tie = Tie(self.rule.tie)
            if tie is Tie.FINESURE:
                tie = Tie.HIGH if aspect == "faithfulness" else Tie.LOW
            parts["tie"] = tie.value
        if self.rule.min_votes > 1:
            parts["min"] = self.rule.min_votes
        return str(merge), tie, parts


def _one(rows: JudgmentTable, aspect: str, level: Level, block: str, plan: _Plan) -> Scores:
    table, question = _aggregated(rows, aspect, block, plan)
    return _named(scores_of(table, question, level, {}))


def _aggregated(rows: JudgmentTable, aspect: str, block: str, plan: _Plan) -> tuple[JudgmentTable, Question]:
    """People's judgments, or one annotator's, of one aspect: one a unit, and the name of what was done."""
    merge, tie, parts = plan.resolved(block, aspect)
    if "annotator" in parts:
        table, judge = rows.take(rows.judge.equal(merge)), merge
    else:
        table, judge = aggregate_votes(rows, merge, tie, plan.rule.min_votes), PEOPLE
    mark = _signed(rows.signature.names[rows.signature.codes[0]] or "", parts)
    return replace(table, signature=Names.same(mark, len(table))), Question(judge, mark, aspect)


def _named(made: Scores) -> Scores:
    """`skipped` of people is a vote that was not cast (or that a rule dropped)."""
    names = tuple(
        None if name is None else name.replace("skipped", "no vote, or dropped by the merge") for name in made.why.names
    )
    return replace(made, why=Names(made.why.codes, names))


def _signed(signature: str, parts: Mapping[str, object]) -> str:
    head, *rest = signature.split("|")
    return "|".join([head, *(f"{key}:{value}" for key, value in parts.items()), *rest])


def aggregate_votes(rows: JudgmentTable, merge: str, tie: Tie | None = None, min_votes: int = 1) -> JudgmentTable:
    """One row a unit: the votes of all annotators on it as one value, in order of units.

    `merge` is mean, majority (with a `tie` rule) or mode_else_mean: the value that most votes share, if at least
    two do and no other has as many, else the mean (DialSummEval's analysis). A unit without enough votes has no
    value and the status skipped.
    """
    _, first, unit = np.unique(_unit_key(rows), return_index=True, return_inverse=True)
    size, vote = len(first), _votes_of(rows)
    cast = ~np.isnan(vote)
    counts = np.bincount(unit[cast], minlength=size)
    sums = np.bincount(unit[cast], weights=vote[cast], minlength=size)
    value = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    if merge != AggregationRule.MEAN:
        most = _modes(unit[cast], vote[cast], size)
        value = _majority(most, tie or Tie.HALF) if merge == AggregationRule.MAJORITY else _mode_else_mean(most, value)
    already = np.bincount(unit[rows.judge.equal(PEOPLE)], minlength=size) > 0
    value[(counts < min_votes) & ~already] = np.nan
    kept = rows.take(first)
    status = Names(np.isnan(value).astype(np.int64), ("ok", "skipped"))
    people, nothing = Names.same(PEOPLE, size), Names.same(None, size)
    return replace(kept, judge=people, status=status, value=value, label=value, named=nothing, reason=nothing)


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
    mean = np.divide(np.bincount(of, weights=value, minlength=size), many, out=np.full(size, np.nan), where=many > 0)
    low[many == 0] = high[many == 0] = np.nan
    return _Modes(most, low, high, mean)


def _majority(most: _Modes, tie: Tie) -> Floats:
    if tie is Tie.DROP:
        return np.where(most.low == most.high, most.low, np.nan)
    return {Tie.LOW: most.low, Tie.HIGH: most.high}.get(tie, most.mean).copy()


def _mode_else_mean(most: _Modes, mean: Floats) -> Floats:
    return np.where((most.votes >= 2) & (most.low == most.high), most.low, mean)


def _composites(table: JudgmentTable, level: Level, rule: Aggregation, source: str | None) -> list[Scores]:
    """People's composite: the mean of the three aspects, where a summary has all three (UniSumEval)."""
    if level.base is not Level.SUMMARY or rule.merge == AggregationRule.EACH:
        return []
    tables, parts = [], {}
    for aspect in COMPOSED:
        if (rows := chosen(table, aspect, level, source)) is None:
            return []
        block = block_of(rows.signature.names[rows.signature.codes[0]] or "")
        made, question = _aggregated(rows, aspect, block, _Plan(rule.merge, rule))
        tables.append(made)
        parts[aspect] = (question,)
    return [_named(composite_scores(tables, Composite(PEOPLE, parts), {}))]


def votes(columns: JudgmentTable, aspect: str, level: Level, source: str | None = None) -> Votes | None:
    """The raw votes on an aspect as a matrix raters x units, for agreement; None where there are none.

    At the summary level these are the votes on whole summaries; a source of labels of units gives its units.
    """
    rows = chosen(columns, aspect, level, source)
    if rows is None:
        return None
    _, first, place = np.unique(_unit_key(rows), return_index=True, return_inverse=True)
    raters = [str(name) for name in rows.judge.used()]
    row = {name: number for number, name in enumerate(raters)}
    matrix = np.full((len(raters), len(first)), np.nan)
    matrix[[row[str(name)] for name in rows.judge.labels()], place] = _votes_of(rows)
    kept = rows.take(first)
    unit = kept.unit.used()[0] or ""
    block = block_of(kept.signature.names[kept.signature.codes[0]] or "")
    return Votes(matrix, tuple(raters), kept.document, kept.system, kept.list_id, kept.index, unit, block)


def decisions(made: Scores, at_least: float | None = None) -> Scores:
    """A gold series as labels 0 and 1: as they are, or 1 where the value is at least `at_least`.

    Raises UsageError where a value is neither 0 nor 1 and no bound is given.
    """
    value = made.value
    if at_least is not None:
        value = np.where(np.isnan(value), np.nan, (value >= at_least).astype(np.float64))
    elif not np.isin(value[~np.isnan(value)], (0.0, 1.0)).all():
        raise UsageError(
            f"people's {made.aspect} ({made.signature}) is not a yes or no at the level {made.level}; "
            "say from which value on it counts as yes (",
            Parameter("gold_at_least", "..."),
            ")",
        )
    return replace(made, value=value)
