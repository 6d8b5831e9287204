"""Judgments x gold -> arrays at a level: what every study of an evaluator starts from.

    scores_of  one judge's values of one aspect, a row a sentence, key fact or summary
    align      two Scores -> PairedScores: x and y on the same rows, NaN where one side has nothing, with the reason
    at         PairedScores of summaries -> PairedScores of documents or systems

A sentence is (document, system, index); a key fact is (document, system, list, index), since the same index in two
lists is two facts; a summary is (document, system). A document's value is the mean over its systems, a system's the
mean over its documents. Those means are taken over the *common* items, which both sides judged, so that a judge
that failed on the hard documents is not compared with people who read them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from summeter.choices import Level, Use
from summeter.meta.context import Context
from summeter.records import UsageError
from summeter.scoring.scores import (
    COMPOSITE,
    GRAVITY,
    NO_NUMBER,
    Composite,
    ScoreTable,
    composite_of,
    numbers,
    unit_scores,
)
from summeter.scoring.table import Groups, JudgmentTable, Names, Question, row_keys
from summeter.stats.base import Bools, Floats, Ints, mean_present, ratio

_DIGITS = 12

OTHER_LIST = "judged another list of key facts"
ABSENT = "no judgment"
INCOMPLETE = "not all of the aspects"


@dataclass(frozen=True)
class Scores:
    """One judge's values of one aspect, a row a unit. `value` is NaN where `why` says why there is none.

    `lost` names items that failed as a whole, so that they have no row a unit: (document, system) -> status.
    """

    judge: str
    signature: str
    model: str | None
    aspect: str
    level: Level
    document: Names
    system: Names
    list_id: Names
    index: Ints
    value: Floats
    why: Names
    lost: dict[tuple[str, str], str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.value)

    def grid(self) -> ScoreMatrix:
        """Values of summaries as a matrix systems x documents, NaN where there is none."""
        if self.level is not Level.SUMMARY:
            raise UsageError(f"only summaries make a grid of systems and documents, not the level {self.level}")
        return ScoreMatrix.of(self.system, self.document, self.value)

    def take(self, rows: Ints | Bools) -> Scores:
        """Some of the rows."""
        return replace(
            self, document=self.document.take(rows), system=self.system.take(rows), list_id=self.list_id.take(rows),
            index=self.index[rows], value=self.value[rows], why=self.why.take(rows),
        )  # fmt: skip


class ScoreMatrix(NamedTuple):
    """Scores of summaries, systems x documents; NaN is missing."""

    values: Floats
    systems: tuple[str, ...]
    documents: tuple[str, ...]

    @classmethod
    def of(cls, system: Names, document: Names, values: Floats) -> ScoreMatrix:
        """From rows, one a summary."""
        systems, documents = system.dense(), document.dense()
        matrix = np.full((len(systems.names), len(documents.names)), np.nan)
        matrix[systems.codes, documents.codes] = values
        return cls(matrix, tuple(map(str, systems.names)), tuple(map(str, documents.names)))

    @property
    def system_means(self) -> Floats:
        """The mean of each system over the documents it has, NaN without any; rounded, so that equal means tie.

        >>> ScoreMatrix(np.array([[1.0, 2.0], [4.0, np.nan]]), ("A", "B"), ("d1", "d2")).system_means.tolist()
        [1.5, 4.0]
        """
        return rounded(mean_present(self.values, axis=1))

    def over(self, systems: Sequence[str], documents: Sequence[str]) -> Floats:
        """The scores of these systems on these documents; NaN for those that are not there."""
        row, column = (dict(zip(names, range(len(names)), strict=True)) for names in (self.systems, self.documents))
        rows, columns = [row.get(name, -1) for name in systems], [column.get(name, -1) for name in documents]
        padded = np.pad(self.values, ((0, 1), (0, 1)), constant_values=np.nan)
        return np.asarray(padded[np.ix_(rows, columns)])


def scores_of(
    table: JudgmentTable, question: Question, level: Level, reduce: Mapping[str, str], use: Use = Use.VALUE
) -> Scores:
    """The values of one question, whose rows `table` holds.

    At the summary level they are what `scoring` makes of the judgments, as `reduce` says of the judge. Documents and
    systems are read as summaries first: see `PairedScores.at`.
    """
    if level.base is Level.SUMMARY:
        return _of_summaries(unit_scores(table, reduce, use), question)
    rows = table.where(unit=level.value)
    value = numbers(rows.value, rows.label, use)
    none = {Use.LABEL: "no decision: give a threshold", Use.VALUE: "no number"}[use]
    failed = table.where(unit="summary", status=GRAVITY)
    items = zip(failed.document.labels(), failed.system.labels(), strict=True)
    return Scores(
        question.judge, question.signature, model_names(rows.model), question.aspect, level, rows.document, rows.system,
        rows.list_id, rows.index, value, _why(value, rows.status, none),
        dict(zip(items, failed.status.labels(), strict=True)),
    )  # fmt: skip


def composite_scores(parts: Sequence[JudgmentTable], composite: Composite, reduce: Mapping[str, str]) -> Scores:
    """The composite of the summaries that `parts`, the judgments of its three aspects, are about.

    A summary without a score of each aspect has none, and says so.
    """
    scores = ScoreTable.concat([unit_scores(part, reduce) for part in parts])
    whole = _of_summaries(composite_of(scores, composite), composite.question)
    items = Groups.by(
        Names.concat([whole.document, scores.document]), Names.concat([whole.system, scores.system])
    ).first[len(whole) :]  # those behind the composites themselves
    lacking = scores.take(items - len(whole))
    rows = len(lacking)
    return replace(
        whole,
        document=Names.concat([whole.document, lacking.document]),
        system=Names.concat([whole.system, lacking.system]),
        list_id=Names.same(None, len(whole) + rows),
        index=np.full(len(whole) + rows, -1, np.int64),
        value=np.concatenate([whole.value, np.full(rows, np.nan)]),
        why=Names.concat([whole.why, Names.same(INCOMPLETE, rows)]),
    )


def _of_summaries(scores: ScoreTable, question: Question) -> Scores:
    rows = len(scores)
    kinds = Groups.by(scores.status, scores.reason)
    causes = zip(*(column.take(kinds.first).labels() for column in (scores.status, scores.reason)), strict=True)
    why = Names.of([_cause(status, reason, question.aspect) for status, reason in causes])
    return Scores(
        question.judge, question.signature, model_names(scores.model), question.aspect, Level.SUMMARY, scores.document,
        scores.system, Names.same(None, rows), np.full(rows, -1, np.int64), scores.value, why.take(kinds.of),
    )  # fmt: skip


def _cause(status: str, reason: str | None, aspect: str) -> str | None:
    """Why a score has no value, in a few words; of a composite with the aspect that is lacking."""
    if status == "ok":
        return None
    cause = "no number" if reason is not None and reason.endswith(NO_NUMBER) else status
    # A composite's reason begins with the aspect.
    return f"{(reason or '').partition(': ')[0]}: {cause}" if aspect == COMPOSITE else cause


def model_names(models: Names) -> str | None:
    """Each model once, joined by commas; None where none is named."""
    named = dict.fromkeys(model for name in models.used() if name is not None for model in name.split(","))
    return ",".join(named) or None


def _why(value: Floats, status: Names, none: str) -> Names:
    """Why there is no value: the status, or `none` where the judgment is ok but holds no usable number."""
    names = [none if name == "ok" else name for name in status.names]
    return Names(np.where(np.isnan(value), status.codes + 1, 0), (None, *names))


@dataclass(frozen=True)
class PairedScores:
    """What a judge (`x`) and people, or another judge (`y`), say of the same rows.

    NaN is missing, and `why` says on which side and for what reason. `document` or `system` is None in the rows of
    a level that is above it. `source` holds the rows of summaries that means of documents or systems were made of.
    """

    judge: Scores
    gold: Scores
    level: Level
    document: Names
    system: Names
    index: Ints
    x: Floats
    y: Floats
    why: Names
    context: Context = field(default_factory=Context)
    source: PairedScores | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def kept(self) -> Bools:
        """The rows in which both sides have a value."""
        return ~(np.isnan(self.x) | np.isnan(self.y))

    @property
    def n(self) -> int:
        """How many rows have both."""
        return int(self.kept.sum())

    @property
    def missing(self) -> int:
        """How many rows lack one or both."""
        return len(self) - self.n

    @property
    def missing_reasons(self) -> dict[str, int]:
        """The missing rows by reason; for documents and systems, the missing summaries under them."""
        if self.source is not None:
            return self.source.missing_reasons
        counts = np.bincount(self.why.codes, minlength=len(self.why.names))
        return {name: int(n) for name, n in zip(self.why.names, counts, strict=True) if name is not None and n}

    def take(self, rows: Ints | Bools) -> PairedScores:
        """Some of the rows."""
        return replace(
            self, document=self.document.take(rows), system=self.system.take(rows), index=self.index[rows],
            x=self.x[rows], y=self.y[rows], why=self.why.take(rows),
        )  # fmt: skip

    def column(self, name: str) -> Names:
        """A column to group by, a value a row."""
        return self.context.column(name, self.document, self.system)

    def split(self, name: str) -> Iterator[tuple[str, PairedScores]]:
        """The rows of each value of a column, in order of first appearance; rows without a value are left out."""
        for value, rows in parts(self.column(name)):
            yield value, self.take(rows)

    def at(self, level: Level, *, min_items: int = 1) -> PairedScores:
        """Means over documents or systems (or the pairs themselves, if they are at that level already).

        Means equal in exact arithmetic must tie, so they are `rounded`. A system with
        fewer than `min_items` items has no mean.
        """
        if level is self.level:
            return self
        if self.level is not Level.SUMMARY or level.base is not Level.SUMMARY:
            raise UsageError(f"means at the level {level} are made of summaries, not of the level {self.level}")
        over = {Level.DOCUMENT: self.document, Level.SYSTEM: self.system}[level]
        names = over.used()
        group = over.dense().codes
        common = self.kept
        x, y = (group_means(side[common], group[common], len(names), min_items) for side in (self.x, self.y))
        rows = Names(np.arange(len(names)), tuple(names))
        nobody = Names.same(None, len(names))
        lacking = (np.isnan(x) | np.isnan(y)).astype(np.int64)
        return replace(
            self, level=level, x=x, y=y, index=np.full(len(names), -1, np.int64), source=self,
            document=rows if level is Level.DOCUMENT else nobody, system=nobody if level is Level.DOCUMENT else rows,
            why=Names(lacking, (None, f"fewer than {min_items} items")),
        )  # fmt: skip


def are_decisions(values: Floats) -> bool:
    """Whether values are decisions: there are some, and each is 0 or 1."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(np.isin(known, (0.0, 1.0)).all())


def parts(column: Names) -> Iterator[tuple[str, Bools]]:
    """The rows of each name of a column, in order of first appearance; rows without a name are left out."""
    for code in dict.fromkeys(column.codes.tolist()):
        name = column.names[code]
        if name is not None:
            yield name, column.codes == code


def group_means(values: Floats, groups: Ints, size: int, at_least: int = 1) -> Floats:
    """The mean of each group 0..size-1, NaN with fewer than `at_least` values, to twelve significant digits."""
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, weights=values, minlength=size)
    return rounded(np.where(counts >= at_least, ratio(sums, counts), np.nan))


def rounded(values: Floats) -> Floats:
    """Values (or each row of a table) to twelve digits of the largest: what is equal in exact arithmetic must tie.

    Sums of the same numbers differ in their last bit when they are taken in another order.

    >>> rounded(np.array([0.1 + 0.2, 0.3, 1e-17])).tolist()
    [0.3, 0.3, 0.0]
    """
    largest = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=-1, keepdims=True, initial=0.0)
    digits = _DIGITS - 1 - np.floor(np.log10(np.where(largest > 0, largest, 1.0)))
    scale = np.power(10.0, np.minimum(digits, 200.0))  # no score is so small that the power overflows
    return np.where(np.isfinite(values), np.round(values * scale) / scale, values)


def align(judge: Scores, gold: Scores, context: Context | None = None) -> PairedScores:
    """Put two sides' scores of one level side by side, on every row that either has.

    Key facts meet only within one list. A judge that numbers key facts without naming a list (imported scores do)
    is taken to mean the list people judged, where there is one list for the document.
    """
    if judge.level is not gold.level:
        raise UsageError(f"a series of the level {judge.level} cannot be set beside one of the level {gold.level}")
    document, system = Names.concat([judge.document, gold.document]), Names.concat([judge.system, gold.system])
    lists = Names.concat([_named_lists(judge, gold), gold.list_id])
    index = np.concatenate([judge.index, gold.index])
    size = len(judge)
    keys = row_keys(document, system, lists, index + 1)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    x, y = (np.full(len(first), np.nan) for _ in range(2))
    x[place[:size]], y[place[size:]] = judge.value, gold.value
    reasons = []
    for side, rows in ((judge, place[:size]), (gold, place[size:])):
        why = np.full(len(first), None, dtype=object)
        why[rows] = side.why.labels()
        absent = np.setdiff1d(np.arange(len(first)), rows)
        why[absent] = _absences(side, document.take(first[absent]), system.take(first[absent]))
        reasons.append(list(why))
    return PairedScores(
        judge, gold, judge.level, document.take(first), system.take(first), index[first], x, y, _both(*reasons),
        context or Context(),
    )  # fmt: skip


def _named_lists(judge: Scores, gold: Scores) -> Names:
    """The judge's lists, with the one people judged where it names none."""
    if judge.level is not Level.KEY_FACT or None not in judge.list_id.names:
        return judge.list_id
    only: dict[str | None, str | None] = {}
    for document, name in set(zip(gold.document.labels(), gold.list_id.labels(), strict=True)):
        only[document] = None if document in only else name
    named = zip(judge.document.labels(), judge.list_id.labels(), strict=True)
    return Names.of(only.get(document) if name is None else name for document, name in named)


def _absences(side: Scores, document: Names, system: Names) -> list[str]:
    """Why a side has no row where the other has: the item failed whole, another list was judged, or nothing."""
    if not len(document.codes):
        return []
    listed = side.level is Level.KEY_FACT
    judged = set(zip(side.document.labels(), side.system.labels(), strict=True)) if listed else set()
    items = Groups.by(document, system)
    pairs = zip(document.take(items.first).labels(), system.take(items.first).labels(), strict=True)
    reasons = [side.lost.get(pair) or (OTHER_LIST if pair in judged else ABSENT) for pair in pairs]
    return list(np.array(reasons, dtype=object)[items.of])


def _both(judge: Sequence[str | None], gold: Sequence[str | None]) -> Names:
    """Both sides' reasons as one: "judge: unparsed", "gold: no vote", or the two joined."""
    sides = ([why and f"{side}: {why}" for why in reasons] for side, reasons in (("judge", judge), ("gold", gold)))
    return Names.of("; ".join(filter(None, pair)) or None for pair in zip(*sides, strict=True))
