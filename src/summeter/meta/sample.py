"""One long table of votes: what every study starts from.

A row of a `Sample` is a vote: which unit, which rater, the value, or why there is none. Raters are judges and people
alike. A unit is a sentence (document, system, index), a key fact (document, system, list, index: the same index in two
lists is two facts), a summary (document, system) or a pair of summaries, and documents are the clusters that are drawn.

    sample_of   one judge's judgments of one aspect -> a sample of one rater
    join        samples of the same level -> one sample of all their raters, on every unit that any of them has
    at          summaries -> means of documents or systems

A document's value is the mean over its systems, a system's the mean over its documents. Those means are taken over the
units that all raters judged, so that a judge that failed on the hard documents is not compared with people who read
them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from summeter.choices import AggregationRule, Average, Level, QuestionType, ValueOrLabel
from summeter.meta.context import Context
from summeter.records import UsageError, unnamed
from summeter.scoring.scores import (
    COMPOSITE,
    NO_NUMBER,
    STATUS_SEVERITY,
    Composite,
    ScoreTable,
    composite_of,
    exact_means,
    numbers,
    unit_scores,
)
from summeter.scoring.table import Categorical, Groups, JudgmentTable, Question, model_names, row_keys
from summeter.stats.base import Bools, Floats, Ints, mean_present, ratio

_DIGITS = 12

OTHER_LIST = "judged another list of key facts"
ABSENT = "no judgment"
INCOMPLETE = "not all of the aspects"


@dataclass(frozen=True)
class Rater:
    """Who voted on what: a judge, a person, or people merged into one value (the judge is then "people")."""

    judge: str
    signature: str
    model: str | None
    aspect: str


@dataclass(frozen=True)
class Units:
    """What was voted on, a row a unit.

    `level` is a `Level`, or "pair". `document` or `system` is None in the rows of a level that is above it. `index` is
    -1 where there is none. `context` knows further columns.
    """

    level: str
    document: Categorical
    system: Categorical
    list_id: Categorical
    index: Ints
    context: Context = field(default_factory=Context)

    def __len__(self) -> int:
        return len(self.index)

    @classmethod
    def of_summaries(cls, document: Categorical, system: Categorical) -> Units:
        """Summaries by document and system."""
        rows = len(document.codes)
        return cls(Level.SUMMARY, document, system, Categorical.same(None, rows), np.full(rows, -1, np.int64))

    def take(self, rows: Ints | Bools) -> Units:
        """Some of the units."""
        return replace(
            self,
            document=self.document.take(rows),
            system=self.system.take(rows),
            list_id=self.list_id.take(rows),
            index=self.index[rows],
        )

    def column(self, name: str) -> Categorical:
        """A column to group by, a value a unit (see `Context.column`).

        >>> units = Units.of_summaries(Categorical.of(["d1", "d1"]), Categorical.of(["A", "B"]))
        >>> units.column("system").names
        ('A', 'B')
        """
        return self.context.column(name, self.document, self.system)

    def groups_of(self, average: Average) -> Categorical:
        """The document or system of each unit, within which a statistic is averaged."""
        return {Average.DOCUMENT: self.document, Average.SYSTEM: self.system}[average]

    @staticmethod
    def united(several: Sequence[Units]) -> tuple[Units, list[Ints]]:
        """The units that any of several has, in the order of their keys, and for each of these the place of its units.

        This is the one join of votes: two rows are one unit where document, system, list and index are the same.
        """
        first = several[0]
        if any(units.level != first.level for units in several):
            levels = " and ".join(dict.fromkeys(str(units.level) for units in several))
            raise UsageError(f"votes of different levels ({levels}) cannot be set beside each other")
        whole = Units(
            first.level,
            Categorical.concat([units.document for units in several]),
            Categorical.concat([units.system for units in several]),
            Categorical.concat([units.list_id for units in several]),
            np.concatenate([units.index for units in several]),
            first.context,
        )
        keys = row_keys(whole.document, whole.system, whole.list_id, whole.index + 1)
        _, rows, place = np.unique(keys, return_index=True, return_inverse=True)
        ends = np.cumsum([len(units) for units in several])
        return whole.take(rows), [part.astype(np.int64) for part in np.split(place, ends[:-1])]


@dataclass(frozen=True)
class Sample:
    """Votes of raters on units, a row a vote.

    `unit` and `rater` number the rows of `units` and the members of `raters`; of two votes by one rater on a unit the
    later counts. `value` is NaN where `why` says why there is none; a unit on which a rater has no row at all was not
    voted on.

    `rule` says how several votes on a unit become one, and `source` which block of people's judgments they are.
    Where votes are names, `names` says which: vote 0 is the first; a name may hold several, joined by "+".
    `scale` lists the values that could have been given (empty: those that were). `question` is the type of a campaign's
    own question. `failed` names items that a single rater failed on as a whole, so that they have no row a unit:
    (document, system) -> status. `summaries` are those that means of documents or systems were made of.

    >>> units = Units.of_summaries(Categorical.of(["d1", "d2"]), Categorical.of(["A", "A"]))
    >>> judge, people = Rater("rts", "rts|v:1", None, "fluency"), Rater("people", "human.ratings|v:1", None, "fluency")
    >>> sample = Sample.of_values(units, [judge, people], np.array([[3.0, 4.0], [2.0, np.nan]]))
    >>> sample.n, sample.missing, sample.x.tolist()
    (1, 1, [3.0, 4.0])
    """

    units: Units
    raters: tuple[Rater, ...]
    unit: Ints
    rater: Ints
    value: Floats
    why: Categorical
    rule: AggregationRule = AggregationRule.MEAN
    source: str = ""
    names: tuple[str, ...] = ()
    scale: tuple[float, ...] = ()
    question: QuestionType | None = None
    failed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    summaries: Sample | None = None

    def __len__(self) -> int:
        return len(self.units)

    @classmethod
    def of_values(cls, units: Units, raters: Sequence[Rater], values: Floats, why: Categorical | None = None) -> Sample:
        """From a matrix raters x units (NaN: no vote); `why` has a reason a cell, rater by rater."""
        size, rows = values.shape
        unit, rater = np.tile(np.arange(rows), size), np.repeat(np.arange(size), rows)
        reasons = Categorical.same(None, size * rows) if why is None else why
        return cls(units, tuple(raters), unit, rater, values.reshape(-1), reasons)

    @property
    def level(self) -> str:
        """What a unit is."""
        return self.units.level

    @property
    def judge(self) -> Rater:
        """The first rater: of a judge beside people, the judge."""
        return self.raters[0]

    @property
    def gold(self) -> Rater:
        """The last rater: of a judge beside people, the people."""
        return self.raters[-1]

    @cached_property
    def matrix(self) -> Floats:
        """The votes as a matrix raters x units, NaN where there is none."""
        values = np.full((len(self.raters), len(self.units)), np.nan)
        values[self.rater, self.unit] = self.value
        return values

    @property
    def x(self) -> Floats:
        """The first rater's votes, one a unit."""
        return np.asarray(self.matrix[0])

    @property
    def y(self) -> Floats:
        """The last rater's votes, one a unit."""
        return np.asarray(self.matrix[-1])

    @cached_property
    def kept(self) -> Bools:
        """The units on which every rater has a value."""
        return np.asarray(~np.isnan(self.matrix).any(axis=0))

    @property
    def n(self) -> int:
        """How many units have a value of every rater."""
        return int(self.kept.sum())

    @property
    def missing(self) -> int:
        """How many units lack a value of some rater."""
        return len(self) - self.n

    @cached_property
    def reasons(self) -> Categorical:
        """Why a unit lacks a value: "judge: unparsed", "gold: no vote", or the two joined; None where it has both."""
        codes = np.full((len(self.raters), len(self.units)), len(self.why.names), np.int64)
        codes[self.rater, self.unit] = self.why.codes
        kinds, known = Groups.by(*codes), (*self.why.names, None)
        sides = ["judge", *["gold"] * (len(self.raters) - 1)]
        texts = []
        for first in kinds.first:
            whys = (known[code] for code in codes[:, first])
            texts.append("; ".join(f"{side}: {why}" for side, why in zip(sides, whys, strict=True) if why) or None)
        return Categorical.of(texts).take(kinds.of)

    @property
    def missing_reasons(self) -> dict[str, int]:
        """The units without a value by reason; for documents and systems, the missing summaries under them."""
        if self.summaries is not None:
            return self.summaries.missing_reasons
        counts = np.bincount(self.reasons.codes, minlength=len(self.reasons.names))
        return {name: int(n) for name, n in zip(self.reasons.names, counts, strict=True) if name is not None and n}

    def take(self, units: Ints | Bools) -> Sample:
        """The votes on some of the units."""
        rows = np.flatnonzero(units) if units.dtype == np.bool_ else units
        place = np.full(len(self.units), -1, np.int64)
        place[rows] = np.arange(len(rows))
        votes = np.flatnonzero(place[self.unit] >= 0)
        return replace(
            self,
            units=self.units.take(rows),
            unit=place[self.unit[votes]],
            rater=self.rater[votes],
            value=self.value[votes],
            why=self.why.take(votes),
        )

    def of(self, *raters: int) -> Sample:
        """The votes of some of the raters, by number and in that order, on the same units."""
        place = np.full(len(self.raters), -1, np.int64)
        place[list(raters)] = np.arange(len(raters))
        votes = np.flatnonzero(place[self.rater] >= 0)
        return replace(
            self,
            raters=tuple(self.raters[number] for number in raters),
            unit=self.unit[votes],
            rater=place[self.rater[votes]],
            value=self.value[votes],
            why=self.why.take(votes),
        )

    def split(self, column: str) -> Iterator[tuple[str, Sample]]:
        """The votes on the units of each value of a column, in order of first appearance; units without a value of the
        column are left out."""
        for value, rows in parts(self.units.column(column)):
            yield value, self.take(rows)

    def at(self, level: Level, *, min_items: int = 1) -> Sample:
        """The means over documents or systems (or the votes themselves, if they are at that level already).

        Means equal in exact arithmetic must tie, so they are `rounded`. A document or system with fewer than
        `min_items` summaries that every rater judged has no mean.
        """
        if level == self.level:
            return self
        if self.level != Level.SUMMARY or level.base is not Level.SUMMARY:
            raise UsageError(f"means at the level {level} are made of summaries, not of the level {self.level}")
        over = {Level.DOCUMENT: self.units.document, Level.SYSTEM: self.units.system}[level]
        names = over.used()
        group = over.dense().codes[self.kept]
        means = np.stack([group_means(side[self.kept], group, len(names), min_items) for side in self.matrix])
        rows, nobody = Categorical(np.arange(len(names)), tuple(names)), Categorical.same(None, len(names))
        documents, systems = (rows, nobody) if level is Level.DOCUMENT else (nobody, rows)
        units = Units(level, documents, systems, nobody, np.full(len(names), -1, np.int64), self.units.context)
        lacking = Categorical(np.isnan(means).reshape(-1).astype(np.int64), (None, f"fewer than {min_items} items"))
        return replace(Sample.of_values(units, self.raters, means, lacking), summaries=self)

    # ---- votes of many raters ----

    @property
    def exchangeable(self) -> bool:
        """Whether votes have no names: one row of the matrix is then no one person, and only the votes of a unit
        together mean something."""
        return any(unnamed(rater.judge) for rater in self.raters)

    @cached_property
    def votes(self) -> Ints:
        """How many votes each unit has."""
        return np.bincount(self.unit[~np.isnan(self.value)], minlength=len(self.units))

    @property
    def most(self) -> int:
        """The most votes on a unit."""
        return int(self.votes.max(initial=0))

    @cached_property
    def anonymized(self) -> Floats:
        """The votes of each unit as a column, without the raters' identity: as many rows as the most votes on a unit.

        >>> units = Units.of_summaries(Categorical.of(["d1", "d2"]), Categorical.of(["A", "A"]))
        >>> raters = [Rater(name, "", None, "fluency") for name in ("ann", "ben", "cat")]
        >>> votes = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan]])
        >>> Sample.of_values(units, raters, votes).anonymized.tolist()
        [[1.0, 2.0], [3.0, nan]]
        """
        there = np.flatnonzero(~np.isnan(self.value))
        order = there[np.lexsort((self.rater[there], self.unit[there]))]
        votes = np.full((max(1, self.most), len(self.units)), np.nan)
        votes[self._place(self.unit[order]), self.unit[order]] = self.value[order]
        return votes

    def _place(self, unit: Ints) -> Ints:
        """The place of each vote among those on its unit, 0, 1, ..., of votes sorted by unit."""
        return np.arange(len(unit)) - (np.cumsum(self.votes) - self.votes)[unit]

    @cached_property
    def others(self) -> Floats:
        """For each vote the others on the same unit as one value, by `rule`; NaN where there is none or a majority is
        split evenly."""
        there = ~np.isnan(self.value)
        whole = np.full(len(self.value), np.nan)
        unit, value = self.unit[there], self.value[there]
        if self.rule is not AggregationRule.MEAN:
            names, code = np.unique(value, return_inverse=True)
            given = np.bincount(unit * len(names) + code, minlength=len(self.units) * len(names))
            rest = given.reshape(-1, len(names))[unit]
            rest[np.arange(len(code)), code] -= 1
            most = rest.max(axis=1, keepdims=True, initial=0)
            sole = (most[:, 0] > 0) & ((rest == most).sum(axis=1) == 1)
            whole[there] = np.where(sole, names[rest.argmax(axis=1)], np.nan) if len(names) else np.nan
            return whole
        order = np.argsort(unit, kind="stable")
        slot = np.empty(len(order), np.int64)
        slot[order] = self._place(unit[order])
        mean = np.full(len(value), np.nan)
        for place in range(self.most):
            own, rest_of = slot == place, (slot != place) & (self.votes[unit] > place)
            counts = np.bincount(unit[rest_of], minlength=len(self.units))
            mean[own] = exact_means(value[rest_of], unit[rest_of], counts)[unit[own]]
        whole[there] = mean
        return whole

    def on(self, units: Units) -> Floats:
        """The first rater's values on the units given, NaN where there is none; key facts meet as in `join`."""
        _, (here, there) = Units.united([_with_lists(self, units).units, units])
        found = np.full(max(here.max(initial=-1), there.max(initial=-1)) + 1, np.nan)
        found[here] = self.x
        return np.asarray(found[there])

    @staticmethod
    def join(samples: Sequence[Sample], context: Context | None = None, *, explain: bool = True) -> Sample:
        """One sample of all the raters of several, on every unit that any of them has.

        Key facts meet only within one list. A judge that numbers key facts without naming a list (imported scores do)
        is taken to mean the list that the last sample has of the document, where that is one. With `explain` a rater
        without a vote on a unit says why: the item failed whole, another list was judged, or there is no judgment.
        Raises UsageError for samples of different levels.
        """
        samples = [*(_with_lists(sample, samples[-1].units) for sample in samples[:-1]), samples[-1]]
        units, places = Units.united([sample.units for sample in samples])
        units = replace(units, context=context or units.context)
        raters = tuple(rater for sample in samples for rater in sample.raters)
        firsts = np.cumsum([0, *(len(sample.raters) for sample in samples)])
        columns: list[tuple[Ints, Ints, Floats, Categorical]] = []
        for sample, place, first in zip(samples, places, firsts, strict=False):
            columns.append((place[sample.unit], sample.rater + first, sample.value, sample.why))
            absent = np.setdiff1d(np.arange(len(units)), place) if explain else np.zeros(0, np.int64)
            for number in range(len(sample.raters) if len(absent) else 0):
                nothing = np.full(len(absent), np.nan)
                why_not = _absences(sample, units, absent)
                columns.append((absent, np.full(len(absent), number + first), nothing, why_not))
        unit, rater, value, why = zip(*columns, strict=True)
        return replace(
            samples[0],
            units=units,
            raters=raters,
            unit=np.concatenate(unit),
            rater=np.concatenate(rater),
            value=np.concatenate(value),
            why=Categorical.concat(why),
            failed={},
        )


def _with_lists(sample: Sample, judged: Units) -> Sample:
    """A judge's votes on key facts, with the one list people judged where it names none."""
    units = sample.units
    if units.level != Level.KEY_FACT or None not in units.list_id.names:
        return sample
    only: dict[str | None, str | None] = {}
    for document, name in set(zip(judged.document.labels(), judged.list_id.labels(), strict=True)):
        only[document] = None if document in only else name
    named = zip(units.document.labels(), units.list_id.labels(), strict=True)
    lists = Categorical.of(only.get(document) if name is None else name for document, name in named)
    return replace(sample, units=replace(units, list_id=lists))


def _absences(sample: Sample, units: Units, absent: Ints) -> Categorical:
    """Why a sample has no row on these units: the item failed whole, another list was judged, or nothing."""
    listed = units.level == Level.KEY_FACT
    own = sample.units
    judged = set(zip(own.document.labels(), own.system.labels(), strict=True)) if listed else set()
    document, system = units.document.take(absent), units.system.take(absent)
    items = Groups.by(document, system)
    pairs = zip(document.take(items.first).labels(), system.take(items.first).labels(), strict=True)
    reasons = Categorical.of(sample.failed.get(pair) or (OTHER_LIST if pair in judged else ABSENT) for pair in pairs)
    return reasons.take(items.of)


# ---- from judgments ----


def sample_of(
    table: JudgmentTable,
    question: Question,
    level: Level,
    reduce: Mapping[str, str],
    use: ValueOrLabel = ValueOrLabel.VALUE,
) -> Sample:
    """The votes of one judge on one aspect, whose rows `table` holds.

    At the summary level they are what `scoring` makes of the judgments, as `reduce` says of the judge. Documents and
    systems are read as summaries first: see `Sample.at`.
    """
    if level.base is Level.SUMMARY:
        return _of_summaries(unit_scores(table, reduce, use), question)
    rows = table.where(unit=level.value)
    value = numbers(rows.value, rows.label, use)
    none = {ValueOrLabel.LABEL: "no decision: give a threshold", ValueOrLabel.VALUE: "no number"}[use]
    # A value that is missing has the judgment's status as the reason, or `none` where the judgment is ok.
    names = [none if name == "ok" else name for name in rows.status.names]
    why = Categorical(np.where(np.isnan(value), rows.status.codes + 1, 0), (None, *names))
    failed = table.where(unit="summary", status=STATUS_SEVERITY)
    items = zip(failed.document.labels(), failed.system.labels(), strict=True)
    units = Units(level, rows.document, rows.system, rows.list_id, rows.index)
    whole = Sample.of_values(units, [_rater(question, rows.model)], value[None], why)
    return replace(whole, failed=dict(zip(items, failed.status.labels(), strict=True)))


def composite_sample(tables: Sequence[JudgmentTable], composite: Composite, reduce: Mapping[str, str]) -> Sample:
    """The composite of the summaries that `tables`, the judgments of its three aspects, are about.

    A summary without a score of each aspect has none, and says so.
    """
    scores = ScoreTable.concat([unit_scores(table, reduce) for table in tables])
    whole = _of_summaries(composite_of(scores, composite), composite.question)
    own = whole.units
    items = Groups.by(
        Categorical.concat([own.document, scores.document]), Categorical.concat([own.system, scores.system])
    ).first[len(whole) :]  # those behind the composites themselves
    lacking = scores.take(items - len(whole))
    units = Units.of_summaries(
        Categorical.concat([own.document, lacking.document]), Categorical.concat([own.system, lacking.system])
    )
    value = np.concatenate([whole.value, np.full(len(lacking), np.nan)])
    why = Categorical.concat([whole.why, Categorical.same(INCOMPLETE, len(lacking))])
    return Sample.of_values(units, whole.raters, value[None], why)


def _rater(question: Question, models: Categorical) -> Rater:
    return Rater(question.judge, question.signature, model_names(models), question.aspect)


def _of_summaries(scores: ScoreTable, question: Question) -> Sample:
    kinds = Groups.by(scores.status, scores.reason)
    causes = zip(*(column.take(kinds.first).labels() for column in (scores.status, scores.reason)), strict=True)
    why = Categorical.of([_cause(status, reason, question.aspect) for status, reason in causes])
    units = Units.of_summaries(scores.document, scores.system)
    return Sample.of_values(units, [_rater(question, scores.model)], scores.value[None], why.take(kinds.of))


def _cause(status: str, reason: str | None, aspect: str) -> str | None:
    """Why a score has no value, in a few words; of a composite with the aspect that is lacking."""
    if status == "ok":
        return None
    cause = "no number" if reason is not None and reason.endswith(NO_NUMBER) else status
    # A composite's reason begins with the aspect.
    return f"{(reason or '').partition(': ')[0]}: {cause}" if aspect == COMPOSITE else cause


# ---- systems x documents ----


@dataclass(frozen=True)
class Grid:
    """Votes on summaries as tables systems x documents, one a rater; NaN is missing.

    >>> grid = Grid(("A", "B"), ("d1", "d2"), np.array([[[1.0, 2.0], [4.0, np.nan]]]))
    >>> grid.means.tolist()
    [[1.5, 4.0]]
    """

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, sample: Sample) -> Grid:
        """The summaries of a sample. Raises UsageError for another level."""
        if sample.level != Level.SUMMARY:
            raise UsageError(f"only summaries make a grid of systems and documents, not the level {sample.level}")
        systems, documents = sample.units.system.dense(), sample.units.document.dense()
        values = np.full((len(sample.raters), len(systems.names), len(documents.names)), np.nan)
        values[:, systems.codes, documents.codes] = sample.matrix
        return cls(tuple(map(str, systems.names)), tuple(map(str, documents.names)), values)

    @property
    def judge(self) -> Floats:
        """The first rater's table."""
        return np.asarray(self.values[0])

    @property
    def gold(self) -> Floats:
        """The last rater's table."""
        return np.asarray(self.values[-1])

    @property
    def kept(self) -> Bools:
        """The cells that every rater has."""
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @property
    def means(self) -> Floats:
        """The mean of each system over the documents it has (raters x systems), NaN without any; rounded, so that equal
        means tie."""
        return rounded(mean_present(self.values, axis=2))

    def over(self, systems: Sequence[str], documents: Sequence[str]) -> Grid:
        """The same for these systems on these documents; NaN for those that are not there."""
        row, column = (dict(zip(names, range(len(names)), strict=True)) for names in (self.systems, self.documents))
        rows, columns = [row.get(name, -1) for name in systems], [column.get(name, -1) for name in documents]
        padded = np.pad(self.values, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
        return Grid(tuple(systems), tuple(documents), padded[:, rows][:, :, columns])


# ---- values ----


def are_decisions(values: Floats) -> bool:
    """Whether values are decisions: there are some, and each is 0 or 1."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(np.isin(known, (0.0, 1.0)).all())


def parts(column: Categorical) -> Iterator[tuple[str, Bools]]:
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
