"""Judgments x gold -> arrays at a level: what every study of an evaluator starts from.

    series   one judge's values of one aspect, a row a sentence, key fact or summary
    align    two Scores -> PairedScores: x and y on the same rows, NaN where one side has nothing, with the reason
    at       PairedScores of summaries -> PairedScores of documents or systems

A sentence is (document, system, index); a key fact is (document, system, list, index), since the same index in two
lists is two facts; a summary is (document, system). A document's value is the mean over its systems, a system's the
mean over its documents. Those means are taken over the *common* items, which both sides judged, so that a judge
that failed on the hard documents is not compared with people who read them all; `items="own"` takes each side's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.choices import Items, Level
from summeter.meta.columns import Coded, Columns, combine
from summeter.meta.context import Context
from summeter.records import UsageError
from summeter.stats.base import Bools, Floats, Ints

_UNITS = ("sentence", "key_fact", "claim")
_GRAVITY = ("ok", "skipped", "unparsed", "refused", "error")  # as in scoring: the worst names a lost score
_DIGITS = 12

OTHER_LIST = "judged another list of key facts"
ABSENT = "no judgment"


class Use(StrEnum):
    """What of a judgment is used: its score (`value`, else a label that is a number), or its decision (`label`)."""

    VALUE = "value"
    LABEL = "label"


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
    document: Coded
    system: Coded
    list_id: Coded
    index: Ints
    value: Floats
    why: Coded
    lost: dict[tuple[str, str], str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.value)

    def grid(self) -> ScoreMatrix:
        """Values of summaries as a matrix systems x documents, NaN where there is none."""
        if self.level is not Level.SUMMARY:
            raise UsageError(f"only summaries make a grid of systems and documents, not the level {self.level}")
        systems, documents = self.system.used(), self.document.used()
        rows = {name: place for place, name in enumerate(systems)}
        columns = {name: place for place, name in enumerate(documents)}
        matrix = np.full((len(systems), len(documents)), np.nan)
        matrix[_places(self.system, rows), _places(self.document, columns)] = self.value
        return ScoreMatrix(matrix, tuple(map(str, systems)), tuple(map(str, documents)))


class ScoreMatrix(NamedTuple):
    """Scores of summaries, systems x documents; NaN is missing."""

    values: Floats
    systems: tuple[str, ...]
    documents: tuple[str, ...]


def series(
    columns: Columns, question: tuple[str, str, str], level: Level, *, reduce: str = "share", use: Use = Use.VALUE
) -> Scores:
    """The values of one (judge, signature, aspect) whose rows `columns` holds (see `Columns.by_question`).

    At the summary level units become a score by the one arithmetic of `scoring`: the share of labels that are 1,
    or the mean of values, as `reduce` says ("whole": their parts do not count beside them); judgments of whole
    summaries stand as they are. Documents and systems
    are read as summaries first: see `PairedScores.at`.
    """
    judge, signature, aspect = question
    base = level.base
    found = _by_summary(columns, reduce, use) if base is Level.SUMMARY else _by_unit(columns, base, use)
    models = [name for name in columns.model.used() if name is not None]
    return Scores(judge, signature, ",".join(models) or None, aspect, base, *found)


_Parts = tuple[Coded, Coded, Coded, Ints, Floats, Coded, dict[tuple[str, str], str]]


def _numbers(columns: Columns, use: Use) -> Floats:
    if use is Use.VALUE:
        return np.where(np.isnan(columns.value), columns.label, columns.value)
    # A value of 0 or 1 is a decision too; any other number needs a threshold first.
    said = np.where(np.isin(columns.value, (0.0, 1.0)), columns.value, np.nan)
    return np.where(np.isnan(columns.label), said, columns.label)


def _by_unit(columns: Columns, level: Level, use: Use) -> _Parts:
    inside = columns.unit.equal(level.value)
    rows = columns.take(inside)
    value = _numbers(rows, use)
    none = "no decision: give a threshold" if use is Use.LABEL else "no number"
    return (
        rows.document, rows.system, rows.list_id, rows.index, value, _why(value, _gravity(rows.status), none),
        _lost(columns.take(columns.unit.equal("summary"))),
    )  # fmt: skip


def _lost(whole: Columns) -> dict[tuple[str, str], str]:
    failed = whole.take(~whole.status.equal("ok"))
    items = zip(failed.document.labels(), failed.system.labels(), failed.status.labels(), strict=True)
    return {(document, system): status for document, system, status in items}


def _by_summary(columns: Columns, reduce: str, use: Use) -> _Parts:
    part = np.isin(columns.unit.codes, [columns.unit.names.index(one) for one in _UNITS if one in columns.unit.names])
    rows = columns.take(part | columns.unit.equal("summary"))
    part = part[part | columns.unit.equal("summary")]
    _, first, group = np.unique(combine(rows.document, rows.system), return_index=True, return_inverse=True)
    size = len(first)
    # A failed attempt at the whole summary beside judged parts is superseded by them.
    split_up = np.bincount(group[part], minlength=size) > 0
    if reduce == "whole":
        split_up &= np.bincount(group[~part], minlength=size) == 0
    used = part == split_up[group]
    label_first = np.where(np.isnan(rows.label), rows.value, rows.label)
    number = np.where(part, rows.value if reduce == "mean" else label_first, _numbers(rows, use))
    got = used & ~np.isnan(number)
    counts = np.bincount(group[got], minlength=size)
    sums = np.bincount(group[got], weights=number[got], minlength=size)
    value = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    worst = np.zeros(size, np.int64)
    np.maximum.at(worst, group[used], _gravity(rows.status)[used])
    nothing = Coded(np.zeros(size, np.int64), (None,))
    return (
        rows.document.take(first), rows.system.take(first), nothing, np.full(size, -1, np.int64), value,
        _why(value, worst, "no number"), {},
    )  # fmt: skip


def _gravity(status: Coded) -> Ints:
    return np.array([_GRAVITY.index(name or "error") for name in status.names] or [0], np.int64)[status.codes]


def _why(value: Floats, gravity: Ints, none: str) -> Coded:
    """Why there is no value: the status, or `none` where the judgment is ok but holds no usable number."""
    codes = np.where(np.isnan(value), np.where(gravity > 0, gravity, len(_GRAVITY)), 0)
    return Coded(codes.astype(np.int64), (None, *_GRAVITY[1:], none))


def _places(column: Coded, place: dict[str | None, int]) -> Ints:
    return np.array([place.get(name, -1) for name in column.names] or [-1], np.int64)[column.codes]


@dataclass(frozen=True)
class PairedScores:
    """What a judge (`x`) and people, or another judge (`y`), say of the same rows.

    NaN is missing, and `why` says on which side and for what reason. `document` or `system` is None in the rows of
    a level that is above it. `source` holds the rows of summaries that means of documents or systems were made of.
    """

    judge: Scores
    gold: Scores
    level: Level
    document: Coded
    system: Coded
    index: Ints
    x: Floats
    y: Floats
    why: Coded
    context: Context = field(default_factory=Context)
    source: PairedScores | None = None
    items: Items = Items.COMMON

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

    def column(self, name: str) -> Coded:
        """A column to group by, a value a row."""
        return self.context.column(name, self.document, self.system)

    def split(self, name: str) -> Iterator[tuple[str, PairedScores]]:
        """The rows of each value of a column, in order of first appearance; rows without a value are left out."""
        column = self.column(name)
        order = dict.fromkeys(column.codes.tolist())
        for code in order:
            found = column.names[code]
            if found is not None:
                yield found, self.take(column.codes == code)

    def at(self, level: Level, *, items: Items = Items.COMMON, min_items: int = 1) -> PairedScores:
        """Means over documents or systems (or the pairs themselves, if they are at that level already).

        Means equal in exact arithmetic must tie, so they are rounded to twelve significant digits. A system with
        fewer than `min_items` items has no mean.
        """
        if level is self.level:
            return self
        if self.level is not Level.SUMMARY or level.base is not Level.SUMMARY:
            raise UsageError(f"means at the level {level} are made of summaries, not of the level {self.level}")
        over = self.document if level is Level.DOCUMENT else self.system
        names = over.used()
        group = _places(over, {name: place for place, name in enumerate(names)})
        common = self.kept
        sides = [common if items is Items.COMMON else ~np.isnan(side) for side in (self.x, self.y)]
        x, y = (
            group_means(side[used], group[used], len(names), min_items)
            for side, used in zip((self.x, self.y), sides, strict=True)
        )
        rows = Coded(np.arange(len(names)), tuple(names))
        nobody = Coded(np.zeros(len(names), np.int64), (None,))
        lacking = (np.isnan(x) | np.isnan(y)).astype(np.int64)
        return replace(
            self, level=level, x=x, y=y, index=np.full(len(names), -1, np.int64), source=self,
            document=rows if level is Level.DOCUMENT else nobody, system=nobody if level is Level.DOCUMENT else rows,
            why=Coded(lacking, (None, f"fewer than {min_items} items")), items=items,
        )  # fmt: skip


def group_means(values: Floats, groups: Ints, size: int, at_least: int = 1) -> Floats:
    """The mean of each group 0..size-1, NaN with fewer than `at_least` values, to twelve significant digits."""
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, weights=values, minlength=size)
    means = np.divide(sums, counts, out=np.full(size, np.nan), where=counts >= max(1, at_least))
    return rounded(means)


def rounded(values: Floats) -> Floats:
    """Rounded to significant digits, so that sums taken in another order do not undo a tie."""
    size = np.abs(values)
    usable = np.isfinite(size) & (size > 0)
    scale = np.power(10.0, _DIGITS - 1 - np.floor(np.log10(np.where(usable, size, 1.0))))
    return np.where(usable, np.round(values * scale) / scale, values)


def align(judge: Scores, gold: Scores, context: Context | None = None) -> PairedScores:
    """Put two series of one level side by side, on every row that either has.

    Key facts meet only within one list. A judge that numbers key facts without naming a list (imported scores do)
    is taken to mean the list people judged, where there is one list for the document.
    """
    if judge.level is not gold.level:
        raise UsageError(f"a series of the level {judge.level} cannot be set beside one of the level {gold.level}")
    document, system = _both(judge.document, gold.document), _both(judge.system, gold.system)
    lists = _both(_named_lists(judge, gold), gold.list_id)
    index = np.concatenate([judge.index, gold.index])
    size = len(judge)
    _, first, place = np.unique(
        combine(document, system, lists, index + 1), return_index=True, return_inverse=True
    )  # fmt: skip
    x, y = (np.full(len(first), np.nan) for _ in range(2))
    x[place[:size]], y[place[size:]] = judge.value, gold.value
    sides = []
    for one, rows in ((judge, slice(size)), (gold, slice(size, None))):
        reasons = np.full(len(first), None, dtype=object)
        present = np.zeros(len(first), dtype=np.bool_)
        present[place[rows]] = True
        reasons[place[rows]] = one.why.labels()
        absent = np.flatnonzero(~present)
        reasons[absent] = _absences(one, document.take(first[absent]), system.take(first[absent]))
        sides.append(reasons)
    return PairedScores(
        judge, gold, judge.level, document.take(first), system.take(first), index[first], x, y,
        _told(*sides), context or Context(),
    )  # fmt: skip


def _both(first: Coded, second: Coded) -> Coded:
    names = tuple(dict.fromkeys((*first.names, *second.names)))
    place: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    return Coded(np.concatenate([_places(first, place), _places(second, place)]), names)


def _named_lists(judge: Scores, gold: Scores) -> Coded:
    """The judge's lists, with the one people judged where it names none."""
    if judge.level is not Level.KEY_FACT or None not in judge.list_id.names:
        return judge.list_id
    only: dict[str | None, str | None] = {}
    for document, name in set(zip(gold.document.labels(), gold.list_id.labels(), strict=True)):
        only[document] = None if document in only else name
    labels = [
        only.get(document) if name is None else name
        for document, name in zip(judge.document.labels(), judge.list_id.labels(), strict=True)
    ]
    names = tuple(dict.fromkeys(labels))
    place = {name: number for number, name in enumerate(names)}
    return Coded(np.array([place[name] for name in labels], np.int64), names)


def _absences(one: Scores, document: Coded, system: Coded) -> list[str]:
    """Why `one` has no row where the other side has: the item failed whole, another list was judged, or nothing."""
    if not len(document.codes):
        return []
    listed = one.level is Level.KEY_FACT
    judged = set(zip(one.document.labels(), one.system.labels(), strict=True)) if listed else set()
    _, first, place = np.unique(combine(document, system), return_index=True, return_inverse=True)
    items = zip(document.take(first).labels(), system.take(first).labels(), strict=True)
    found = np.array([one.lost.get(item) or (OTHER_LIST if item in judged else ABSENT) for item in items], dtype=object)
    return list(found[place])


def _told(judge: NDArray[np.object_], gold: NDArray[np.object_]) -> Coded:
    """Both sides' reasons as one: "judge: unparsed", "gold: no vote", or the two joined."""
    words: dict[tuple[str | None, str | None], int] = {(None, None): 0}
    codes = [words.setdefault(both, len(words)) for both in zip(judge, gold, strict=True)]
    names = [
        "; ".join(f"{side}: {why}" for side, why in zip(("judge", "gold"), both, strict=True) if why) or None
        for both in words
    ]
    return Coded(np.array(codes, np.int64), tuple(names))
