"""The long table of votes that is the input of every study.

A row of a `Sample` is a vote: a unit, a rater, and a value or the reason why there is none. Raters are judges and
people. A unit is a sentence (document, system, index), a key fact (document, system, list, index; the same index in two
lists means two facts), a summary (document, system) or a pair of summaries. The bootstrap draws documents.

    sample_of   judgments of one judge and aspect -> sample of one rater
    join        samples of the same level -> one sample of all their raters, on the union of their units
    at          sample of summaries -> means of documents or systems

The value of a document is the mean over its systems; the value of a system is the mean over its documents. Means use
only units that all raters judged, so that a judge that failed on difficult documents is compared with people on the
same units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from summeter.choices import AggregationRule, Average, Level, QuestionType, ValueOrLabel
from summeter.records import Document, JudgeKey, Summary, UsageError, unnamed
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

Key = TypeVar("Key")
KNOWN = ("system", "domain", "category", "split", "document")
"""Columns that every dataset can have. Other columns are the extra columns of the data."""
CROSSED = " * "
"""Separator of the values of crossed columns."""


@dataclass(frozen=True)
class Context:
    """Domains and splits of documents, categories of summaries, and the extra columns of both.

    >>> Context(domains={"d1": "news"}).lookup("domain")("d1", "M8")
    'news'
    """

    domains: Mapping[str, str | None] = field(default_factory=dict)
    splits: Mapping[str, str | None] = field(default_factory=dict)
    categories: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    extra: Mapping[str, Mapping[tuple[str, str], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Iterable[Document], summaries: Iterable[Summary]) -> Context:
        """Return the context of the documents and summaries of a dataset."""
        of_document: dict[str, Mapping[str, Any]] = {}
        domains: dict[str, str | None] = {}
        splits: dict[str, str | None] = {}
        for document in documents:
            domains[document.id], splits[document.id] = document.domain, document.split
            if document.extra:
                of_document[document.id] = document.extra
        categories: dict[tuple[str, str], str | None] = {}
        extra: dict[str, dict[tuple[str, str], str]] = {}
        for summary in summaries:
            item = summary.document_id, summary.system
            categories[item] = summary.category
            for name, value in {**of_document.get(summary.document_id, {}), **summary.extra}.items():
                if isinstance(value, str | int | float):
                    extra.setdefault(name, {})[item] = str(value)
        return cls(domains, splits, categories, extra)

    @classmethod
    def lazy(cls, make: Callable[[], Context]) -> Context:
        """Return a context that calls `make` when a column is first used.

        This avoids reading large data unnecessarily.
        """
        return _LazyContext(make)

    def joined(self, other: Context) -> Context:
        """Return a context with the columns of both contexts.

        If both have a value, the value of this context is used.
        """
        extra = {
            name: {**other.extra.get(name, {}), **self.extra.get(name, {})} for name in {**self.extra, **other.extra}
        }
        return Context(
            _joined(self.domains, other.domains),
            _joined(self.splits, other.splits),
            _joined(self.categories, other.categories),
            extra,
        )

    def lookup(self, column: str) -> Callable[[str, str], str | None]:
        """Return a function (document, system) -> value of a column, or of crossed columns such as "a*b".

        Raises UsageError if a column is unknown.

        >>> Context(domains={"d1": "news"}).lookup("domain*system")("d1", "M8")
        'news * M8'
        """
        if "*" in column:
            names = [part.strip() for part in column.split("*")]
            if "" in names or len(set(names)) < len(names):
                raise UsageError(f"{column!r} does not cross different columns; write a*b")
            lookups = [self.lookup(name) for name in names]

            def crossed(document: str, system: str) -> str | None:
                values = [value_of(document, system) for value_of in lookups]
                return None if None in values else CROSSED.join(map(str, values))

            return crossed
        by_document = {"domain": self.domains, "split": self.splits}
        if column == "system":
            return lambda _, system: system
        if column == "document":
            return lambda document, _: document
        if column in by_document:
            return lambda document, _: by_document[column].get(document)
        if column == "category":
            return lambda document, system: self.categories.get((document, system))
        if column in self.extra:
            return lambda document, system: self.extra[column].get((document, system))
        known = ", ".join((*KNOWN, *self.extra))
        raise UsageError(f"the data have no column {column!r} to group by; columns are: {known}")

    def column(self, name: str, document: Categorical, system: Categorical) -> Categorical:
        """Return the value of a column for each row (see `lookup`).

        >>> context = Context(domains={"d1": "news", "d2": None})
        >>> context.column("domain*system", Categorical.of(["d1", "d2"]), Categorical.of(["A", "A"])).names
        ('news * A', None)
        """
        value_of = self.lookup(name)
        items = Groups.by(document, system)
        pairs = zip(document.take(items.first).labels(), system.take(items.first).labels(), strict=True)
        values = Categorical.of([value_of(text or "", author or "") for text, author in pairs])
        return values.take(items.of)


class _LazyContext(Context):
    """A context that is created when one of its fields is first read."""

    def __init__(self, make: Callable[[], Context]) -> None:
        vars(self)["_make"] = make

    def __getattr__(self, name: str) -> Any:  # called for a field only while it is missing
        if name not in {each.name for each in fields(Context)}:
            raise AttributeError(name)
        vars(self).update(vars(self._make()))
        return vars(self)[name]


def _joined(first: Mapping[Key, str | None], second: Mapping[Key, str | None]) -> dict[Key, str | None]:
    return {**second, **{key: value for key, value in first.items() if value is not None}}


@dataclass(frozen=True)
class Rater:
    """A judge, an annotator or the merged annotators, on one aspect.

    `judge` is "people" for merged annotators. `run` is the name of the judge's run if there are several runs.
    """

    judge: str
    signature: str
    model: str | None
    aspect: str
    run: str | None = None

    @property
    def key(self) -> JudgeKey:
        """Key that identifies the judge (see `judge_names`)."""
        return JudgeKey(self.judge, self.signature, self.model, self.run)


@dataclass(frozen=True)
class Units:
    """The rated units, one per row.

    `level` is a `Level` or "pair". `document` and `system` are None at levels that aggregate over documents and
    systems, respectively. `index` is -1 for units without an index. `context` has further columns.
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
        """Return units at the summary level."""
        rows = len(document.codes)
        return cls(Level.SUMMARY, document, system, Categorical.same(None, rows), np.full(rows, -1, np.int64))

    def take(self, rows: Ints | Bools) -> Units:
        """Return the units selected by row numbers or by a mask."""
        return replace(
            self,
            document=self.document.take(rows),
            system=self.system.take(rows),
            list_id=self.list_id.take(rows),
            index=self.index[rows],
        )

    def column(self, name: str) -> Categorical:
        """Return a grouping column with one value per unit (see `Context.column`).

        >>> units = Units.of_summaries(Categorical.of(["d1", "d1"]), Categorical.of(["A", "B"]))
        >>> units.column("system").names
        ('A', 'B')
        """
        return self.context.column(name, self.document, self.system)

    def groups_of(self, average: Average) -> Categorical:
        """Return the document or system of each unit, by which a statistic is averaged."""
        return {Average.DOCUMENT: self.document, Average.SYSTEM: self.system}[average]

    @staticmethod
    def union(several: Sequence[Units]) -> tuple[Units, list[Ints]]:
        """Return the sorted union of several sets of units, and each set's row numbers in the union.

        Two rows are the same unit if document, system, list and index are equal. Raises UsageError if the units have
        different levels.
        """
        first = several[0]
        if any(units.level != first.level for units in several):
            levels = " and ".join(dict.fromkeys(str(units.level) for units in several))
            raise UsageError(f"votes of different levels cannot be joined: {levels}")
        combined = Units(
            first.level,
            Categorical.concat([units.document for units in several]),
            Categorical.concat([units.system for units in several]),
            Categorical.concat([units.list_id for units in several]),
            np.concatenate([units.index for units in several]),
            first.context,
        )
        keys = row_keys(combined.document, combined.system, combined.list_id, combined.index + 1)
        _, rows, inverse = np.unique(keys, return_index=True, return_inverse=True)
        ends = np.cumsum([len(units) for units in several])
        return combined.take(rows), [numbers.astype(np.int64) for numbers in np.split(inverse, ends[:-1])]


@dataclass(frozen=True)
class Sample:
    """Votes of raters on units, one per row.

    `unit` and `rater` are row numbers in `units` and `raters`. If a rater has two votes on a unit, the later one
    counts. `value` is NaN for a vote without a value, and `why` gives the reason. A rater without a row for a unit did
    not vote on that unit.

    `rule` is the rule that merges votes on a unit, and `source` is the block of human judgments. If votes are
    categories, `names` lists the categories (the value 0 is the first); a name can contain several categories, joined
    by "+". `scale` lists the possible values (if it is empty, these are the observed values). `question` is the type of
    a custom question of a campaign. `failed` maps (document, system) to a status for items that a single rater failed
    to judge as a whole, so that there is no row per unit. `summaries` is the sample from which means of documents or
    systems were computed.

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
        """Return the sample of a raters x units matrix, in which NaN is a missing vote.

        `why` has one reason per cell, row by row.
        """
        size, rows = values.shape
        unit, rater = np.tile(np.arange(rows), size), np.repeat(np.arange(size), rows)
        reasons = Categorical.same(None, size * rows) if why is None else why
        return cls(units, tuple(raters), unit, rater, values.reshape(-1), reasons)

    @property
    def level(self) -> str:
        """Level of the units."""
        return self.units.level

    @property
    def judge(self) -> Rater:
        """First rater, which is the judge if a judge is compared with people."""
        return self.raters[0]

    @property
    def gold(self) -> Rater:
        """Last rater, which is `people` if a judge is compared with people."""
        return self.raters[-1]

    @cached_property
    def matrix(self) -> Floats:
        """Votes as a raters x units matrix, in which NaN is a missing vote."""
        values = np.full((len(self.raters), len(self.units)), np.nan)
        values[self.rater, self.unit] = self.value
        return values

    @property
    def x(self) -> Floats:
        """Votes of the first rater, one per unit."""
        return np.asarray(self.matrix[0])

    @property
    def y(self) -> Floats:
        """Votes of the last rater, one per unit."""
        return np.asarray(self.matrix[-1])

    @cached_property
    def complete(self) -> Bools:
        """Mask of the units on which every rater has a value."""
        return np.asarray(~np.isnan(self.matrix).any(axis=0))

    @property
    def n(self) -> int:
        """Number of units on which every rater has a value."""
        return int(self.complete.sum())

    @property
    def missing(self) -> int:
        """Number of units on which at least one rater has no value."""
        return len(self) - self.n

    @cached_property
    def reasons(self) -> Categorical:
        """Reason why each unit lacks a value, or None for a complete unit.

        A reason is "judge: unparsed", "gold: no vote", or both, for example.
        """
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
        """Number of incomplete units by reason.

        For means of documents or systems, it is the number of missing summaries.
        """
        if self.summaries is not None:
            return self.summaries.missing_reasons
        counts = np.bincount(self.reasons.codes, minlength=len(self.reasons.names))
        return {name: int(n) for name, n in zip(self.reasons.names, counts, strict=True) if name is not None and n}

    def take(self, units: Ints | Bools) -> Sample:
        """Return the votes on the units selected by row numbers or by a mask."""
        rows = np.flatnonzero(units) if units.dtype == np.bool_ else units
        new_number = np.full(len(self.units), -1, np.int64)
        new_number[rows] = np.arange(len(rows))
        part = self._of_votes(new_number[self.unit] >= 0)
        return replace(part, units=self.units.take(rows), unit=new_number[part.unit])

    def of_raters(self, *raters: int) -> Sample:
        """Return the votes of the given raters on the same units.

        Raters are given by number, and are returned in the given order.
        """
        new_number = np.full(len(self.raters), -1, np.int64)
        new_number[list(raters)] = np.arange(len(raters))
        part = self._of_votes(new_number[self.rater] >= 0)
        return replace(part, raters=tuple(self.raters[number] for number in raters), rater=new_number[part.rater])

    def _of_votes(self, mask: Bools) -> Sample:
        """Return the sample with the votes in a mask."""
        votes = np.flatnonzero(mask)
        unit, rater, value, why = self.unit[votes], self.rater[votes], self.value[votes], self.why.take(votes)
        return replace(self, unit=unit, rater=rater, value=value, why=why)

    def split(self, column: str) -> Iterator[tuple[str, Sample]]:
        """Yield each value of a column with the votes on its units, in order of first appearance.

        Units without a value in the column are left out.
        """
        for value, rows in rows_by_name(self.units.column(column)):
            yield value, self.take(rows)

    def at(self, level: Level, *, min_items: int = 1) -> Sample:
        """Return the means of documents or systems, or the sample itself if it already has that level.

        Means are `rounded`, so those that are equal in exact arithmetic are tied. A document or system must have
        at least `min_items` summaries that every rater judged. Raises UsageError if the level cannot be computed.
        """
        if level == self.level:
            return self
        if self.level != Level.SUMMARY or level.base is not Level.SUMMARY:
            raise UsageError(f"means at the level {level} need values of summaries, not of the level {self.level}")
        over = {Level.DOCUMENT: self.units.document, Level.SYSTEM: self.units.system}[level]
        names = over.used()
        group = over.dense().codes[self.complete]
        means = np.stack([group_means(side[self.complete], group, len(names), min_items) for side in self.matrix])
        rows, none = Categorical(np.arange(len(names)), tuple(names)), Categorical.same(None, len(names))
        documents, systems = (rows, none) if level is Level.DOCUMENT else (none, rows)
        units = Units(level, documents, systems, none, np.full(len(names), -1, np.int64), self.units.context)
        why = Categorical(np.isnan(means).reshape(-1).astype(np.int64), (None, f"fewer than {min_items} items"))
        return replace(Sample.of_values(units, self.raters, means, why), summaries=self)

    # ---- votes of many raters ----

    @property
    def exchangeable(self) -> bool:
        """True if the votes are anonymous.

        A row of the matrix then mixes people, and only the votes on a unit as a whole are meaningful.
        """
        return any(unnamed(rater.judge) for rater in self.raters)

    @cached_property
    def votes(self) -> Ints:
        """Number of votes on each unit."""
        return np.bincount(self.unit[~np.isnan(self.value)], minlength=len(self.units))

    @property
    def max_votes(self) -> int:
        """Maximum number of votes on a unit."""
        return int(self.votes.max(initial=0))

    @cached_property
    def anonymized(self) -> Floats:
        """Votes on each unit as a column, regardless of who voted. The shape is (max_votes, units).

        >>> units = Units.of_summaries(Categorical.of(["d1", "d2"]), Categorical.of(["A", "A"]))
        >>> raters = [Rater(name, "", None, "fluency") for name in ("ann", "ben", "cat")]
        >>> votes = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan]])
        >>> Sample.of_values(units, raters, votes).anonymized.tolist()
        [[1.0, 2.0], [3.0, nan]]
        """
        present = np.flatnonzero(~np.isnan(self.value))
        order = present[np.lexsort((self.rater[present], self.unit[present]))]
        votes = np.full((max(1, self.max_votes), len(self.units)), np.nan)
        votes[self._rank(self.unit[order]), self.unit[order]] = self.value[order]
        return votes

    def _rank(self, unit: Ints) -> Ints:
        """Return the rank 0, 1, ... of each vote among the votes on its unit. `unit` must be sorted."""
        return np.arange(len(unit)) - (np.cumsum(self.votes) - self.votes)[unit]

    @cached_property
    def others(self) -> Floats:
        """For each vote, the other votes on the same unit, merged by `rule`.

        The value is NaN if there are no other votes or if they are tied.
        """
        present = ~np.isnan(self.value)
        others = np.full(len(self.value), np.nan)
        unit, value = self.unit[present], self.value[present]
        if self.rule is not AggregationRule.MEAN:
            names, code = np.unique(value, return_inverse=True)
            counts = np.bincount(unit * len(names) + code, minlength=len(self.units) * len(names))
            rest = counts.reshape(-1, len(names))[unit]
            rest[np.arange(len(code)), code] -= 1
            most = rest.max(axis=1, keepdims=True, initial=0)
            unique = (most[:, 0] > 0) & ((rest == most).sum(axis=1) == 1)
            others[present] = np.where(unique, names[rest.argmax(axis=1)], np.nan) if len(names) else np.nan
            return others
        order = np.argsort(unit, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = self._rank(unit[order])
        mean = np.full(len(value), np.nan)
        for rank in range(self.max_votes):
            vote, rest_of = ranks == rank, (ranks != rank) & (self.votes[unit] > rank)
            counts = np.bincount(unit[rest_of], minlength=len(self.units))
            mean[vote] = exact_means(value[rest_of], unit[rest_of], counts)[unit[vote]]
        others[present] = mean
        return others

    def values_on(self, units: Units) -> Floats:
        """Return the first rater's values on the given units, NaN if missing.

        Key facts are matched as in `join`.
        """
        _, (from_rows, to_rows) = Units.union([_with_lists(self, units).units, units])
        values = np.full(max(from_rows.max(initial=-1), to_rows.max(initial=-1)) + 1, np.nan)
        values[from_rows] = self.x
        return np.asarray(values[to_rows])

    @staticmethod
    def join(samples: Sequence[Sample], context: Context | None = None, *, explain: bool = True) -> Sample:
        """Return a sample of all raters of the given samples, on the union of the units.

        Key facts match only within one list. Key facts without a list (as in imported scores) are taken from the list
        that the last sample has for the document, if it has only one. If `explain` is True, missing votes have a
        reason: the item failed as a whole, another list was judged, or there is no judgment. Raises UsageError if the
        samples have different levels.
        """
        samples = [*(_with_lists(sample, samples[-1].units) for sample in samples[:-1]), samples[-1]]
        units, row_numbers = Units.union([sample.units for sample in samples])
        units = replace(units, context=context or units.context)
        raters = tuple(rater for sample in samples for rater in sample.raters)
        firsts = np.cumsum([0, *(len(sample.raters) for sample in samples)])
        columns: list[tuple[Ints, Ints, Floats, Categorical]] = []
        for sample, numbers_of, first in zip(samples, row_numbers, firsts, strict=False):
            columns.append((numbers_of[sample.unit], sample.rater + first, sample.value, sample.why))
            absent = np.setdiff1d(np.arange(len(units)), numbers_of) if explain else np.zeros(0, np.int64)
            for rater_number in range(len(sample.raters) if len(absent) else 0):
                no_values = np.full(len(absent), np.nan)
                reasons = _absences(sample, units, absent)
                columns.append((absent, np.full(len(absent), rater_number + first), no_values, reasons))
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
    """Return the sample with a list for key facts without one.

    It is the list that people judged for the document, if they judged only one.
    """
    units = sample.units
    if units.level != Level.KEY_FACT or None not in units.list_id.names:
        return sample
    only_list: dict[str | None, str | None] = {}
    for document, name in set(zip(judged.document.labels(), judged.list_id.labels(), strict=True)):
        only_list[document] = None if document in only_list else name
    pairs = zip(units.document.labels(), units.list_id.labels(), strict=True)
    lists = Categorical.of(only_list.get(document) if name is None else name for document, name in pairs)
    return replace(sample, units=replace(units, list_id=lists))


def _absences(sample: Sample, units: Units, absent: Ints) -> Categorical:
    """Return the reason why a sample has no row for each of the given units."""
    listed = units.level == Level.KEY_FACT
    units_of = sample.units
    judged = set(zip(units_of.document.labels(), units_of.system.labels(), strict=True)) if listed else set()
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
    """Return the votes of one judge on one aspect, given as the rows of `table`.

    At the levels summary, document and system the units are summaries with the scores that `scoring` computes (`reduce`
    maps signatures to reductions); `Sample.at` then computes means of documents or systems.
    """
    if level.base is Level.SUMMARY:
        return _of_summaries(unit_scores(table, reduce, use), question)
    rows = table.where(unit=level.value)
    value = numbers(rows.value, rows.label, use)
    no_value = {ValueOrLabel.LABEL: "no decision: give a threshold", ValueOrLabel.VALUE: "no number"}[use]
    # The reason for a missing value is the status of the judgment, or `no_value` if the judgment is ok.
    names = [no_value if name == "ok" else name for name in rows.status.names]
    why = Categorical(np.where(np.isnan(value), rows.status.codes + 1, 0), (None, *names))
    failed = table.where(unit="summary", status=STATUS_SEVERITY)
    items = zip(failed.document.labels(), failed.system.labels(), strict=True)
    units = Units(level, rows.document, rows.system, rows.list_id, rows.index)
    sample = Sample.of_values(units, [_rater(question, rows.model)], value[None], why)
    return replace(sample, failed=dict(zip(items, failed.status.labels(), strict=True)))


def composite_sample(tables: Sequence[JudgmentTable], composite: Composite, reduce: Mapping[str, str]) -> Sample:
    """Return the composite of summaries, given the judgments of its three aspects.

    A summary that lacks a score of one of the aspects has no composite, and the reason says so.
    """
    scores = ScoreTable.concat([unit_scores(table, reduce) for table in tables])
    complete = _of_summaries(composite_of(scores, composite), composite.question)
    done = complete.units
    items = Groups.by(
        Categorical.concat([done.document, scores.document]), Categorical.concat([done.system, scores.system])
    ).first[len(complete) :]  # summaries without a composite
    incomplete = scores.take(items - len(complete))
    units = Units.of_summaries(
        Categorical.concat([done.document, incomplete.document]), Categorical.concat([done.system, incomplete.system])
    )
    value = np.concatenate([complete.value, np.full(len(incomplete), np.nan)])
    why = Categorical.concat([complete.why, Categorical.same(INCOMPLETE, len(incomplete))])
    return Sample.of_values(units, complete.raters, value[None], why)


def _rater(question: Question, models: Categorical) -> Rater:
    return Rater(question.judge, question.signature, model_names(models), question.aspect, question.run)


def _of_summaries(scores: ScoreTable, question: Question) -> Sample:
    kinds = Groups.by(scores.status, scores.reason)
    causes: list[str | None] = []
    columns = (column.take(kinds.first).labels() for column in (scores.status, scores.reason))
    for status, reason in zip(*columns, strict=True):
        cause = "no number" if (reason or "").endswith(NO_NUMBER) else status
        if question.aspect == COMPOSITE:  # the reason of a composite begins with the missing aspect
            cause = f"{(reason or '').partition(': ')[0]}: {cause}"
        causes.append(None if status == "ok" else cause)
    units = Units.of_summaries(scores.document, scores.system)
    why = Categorical.of(causes).take(kinds.of)
    return Sample.of_values(units, [_rater(question, scores.model)], scores.value[None], why)


# ---- systems x documents ----


@dataclass(frozen=True)
class Grid:
    """Votes on summaries as one systems x documents table per rater, with NaN if missing.

    >>> grid = Grid(("A", "B"), ("d1", "d2"), np.array([[[1.0, 2.0], [4.0, np.nan]]]))
    >>> grid.means.tolist()
    [[1.5, 4.0]]
    """

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, sample: Sample) -> Grid:
        """Return the grid of a sample of summaries. Raises UsageError if the sample has another level."""
        if sample.level != Level.SUMMARY:
            raise UsageError(f"this study needs values of summaries, not of the level {sample.level}")
        systems, documents = sample.units.system.dense(), sample.units.document.dense()
        values = np.full((len(sample.raters), len(systems.names), len(documents.names)), np.nan)
        values[:, systems.codes, documents.codes] = sample.matrix
        return cls(tuple(map(str, systems.names)), tuple(map(str, documents.names)), values)

    @property
    def judge(self) -> Floats:
        """Table of the first rater."""
        return np.asarray(self.values[0])

    @property
    def gold(self) -> Floats:
        """Table of the last rater."""
        return np.asarray(self.values[-1])

    @property
    def complete(self) -> Bools:
        """Mask of the cells in which every rater has a value."""
        return np.asarray(~np.isnan(self.values).any(axis=0))

    @property
    def means(self) -> Floats:
        """Mean of each system over its documents (raters x systems), NaN for a system without values.

        Means are rounded, so those that are equal in exact arithmetic are tied.
        """
        return rounded(mean_present(self.values, axis=2))

    def over(self, systems: Sequence[str], documents: Sequence[str]) -> Grid:
        """Return the grid of the given systems and documents, with NaN for unknown ones."""
        row, column = (dict(zip(names, range(len(names)), strict=True)) for names in (self.systems, self.documents))
        rows, columns = [row.get(name, -1) for name in systems], [column.get(name, -1) for name in documents]
        padded = np.pad(self.values, ((0, 0), (0, 1), (0, 1)), constant_values=np.nan)
        return Grid(tuple(systems), tuple(documents), padded[:, rows][:, :, columns])


# ---- values ----


def mostly_within(values: Floats, low: float, high: float) -> bool:
    """Return whether at least half of the values that are not missing are in [low, high], as those of one scale are.

    The values of a scale that only touches [low, high] at an end are not, such as shares beside ratings from 1 to 5.

    >>> mostly_within(np.array([2.0, 7.0, np.nan]), 1, 5), mostly_within(np.array([60.0, 80.0]), 1, 5)
    (True, False)
    >>> mostly_within(np.array([1.0, 1.0, 0.5]), 1, 5), mostly_within(np.array([1.0, 1.0]), 1, 5)
    (False, True)
    """
    known = values[~np.isnan(values)]
    if not len(known):
        return True
    least, most = known.min(), known.max()
    touches = (least < low and most <= low) or (most > high and least >= high)
    return not touches and bool(2 * ((known >= low) & (known <= high)).sum() >= len(known))


def are_decisions(values: Floats) -> bool:
    """Return whether there is at least one value and all values are 0 or 1."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(np.isin(known, (0.0, 1.0)).all())


def rows_by_name(column: Categorical) -> Iterator[tuple[str, Bools]]:
    """Yield each name of a column except None, with the mask of its rows.

    Names are in order of first appearance.
    """
    for code in dict.fromkeys(column.codes.tolist()):
        name = column.names[code]
        if name is not None:
            yield name, column.codes == code


def group_means(values: Floats, groups: Ints, size: int, at_least: int = 1) -> Floats:
    """Return the rounded mean of each group 0..size-1.

    The mean is NaN for groups with fewer than `at_least` values.
    """
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, weights=values, minlength=size)
    return rounded(np.where(counts >= at_least, ratio(sums, counts), np.nan))


def rounded(values: Floats) -> Floats:
    """Return values (or each row of a table) rounded to twelve significant digits of the largest.

    Sums of the same numbers in a different order can differ in the last bits. After rounding, values that are equal in
    exact arithmetic are tied.

    >>> rounded(np.array([0.1 + 0.2, 0.3, 1e-17])).tolist()
    [0.3, 0.3, 0.0]
    """
    largest = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=-1, keepdims=True, initial=0.0)
    digits = _DIGITS - 1 - np.floor(np.log10(np.where(largest > 0, largest, 1.0)))
    scale = np.power(10.0, np.minimum(digits, 200.0))  # no score is so small that the power overflows
    return np.where(np.isfinite(values), np.round(values * scale) / scale, values)
