"""Mean scores of systems, with intervals and counts, computed from scores of summaries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from summeter.records import Record
from summeter.scoring.frames import Frames
from summeter.scoring.scores import COMPOSED, COMPOSITE, Score, ScoreTable
from summeter.scoring.table import Categorical, Groups, model_names
from summeter.stats import MIN_DOCUMENTS, Bootstrap, PairDifference, paired_differences
from summeter.stats.base import Bools, Floats, Ints
from summeter.tables import Table, with_interval

RESAMPLES = 2000
_NAMED = 6
LEVEL = 0.95
# Aspects in the order in which columns are shown.
FIRST = (*COMPOSED, COMPOSITE, "abstractiveness")
NEUTRAL = frozenset({"abstractiveness", "words", "sentences", "sentence_words", "compression"})
"""Aspects for which a higher value is not better."""


class SystemScore(Record):
    """Mean of one system's summary scores on one aspect by one judge.

    `value` is None if no summary has a score. `low` and `high` are the ends of the percentile bootstrap interval over
    documents (None with fewer than two documents). `n` summaries have a score and `missing` summaries have none. The
    scores are computed from `units` judged units (sentences, key facts, claims); `units_missing` units were not judged
    and are left out. `domain` is None for the mean over all domains.
    """

    system: str
    judge: str
    signature: str
    model: str | None
    aspect: str
    domain: str | None = None
    value: float | None
    low: float | None
    high: float | None
    n: int
    missing: int
    units: int = 0
    units_missing: int = 0
    statistic: str = "mean"
    interval: str
    reason: str | None = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Interval to show.

        It is (None, None) with fewer than 6 summaries, or if all resamples have the same mean.
        """
        if self.low is None or self.high is None or self.n < MIN_DOCUMENTS:
            return None, None
        if math.isclose(self.low, self.high, abs_tol=1e-9):
            return None, None
        return self.low, self.high


def system_scores(
    scores: Iterable[Score], domains: Mapping[str, str | None] | None = None, *, seed: int = 0, level: float = LEVEL
) -> list[SystemScore]:
    """Return means by (judge, signature, aspect, system), and by domain if `domains` is given.

    `domains` maps document ids to domains. The mean over all documents of a system is followed by the means of its
    domains, in order of first appearance. `level` is the confidence level of the intervals.
    """
    table = ScoreTable.of(scores)
    cells = Groups.by(table.judge, table.signature, table.aspect, table.system)
    entries = [(int(first), rows, None) for first, rows in zip(cells.first, cells.rows(), strict=True)]
    if domains:
        known = [domains.get(name or "") for name in table.document.names]
        domain = Categorical.of(known)
        of_row = Categorical(domain.codes[table.document.codes], domain.names)
        parts = Groups.by(cells.of, of_row)
        for first, rows in zip(parts.first, parts.rows(), strict=True):
            if (name := of_row.names[of_row.codes[first]]) is not None:
                entries.append((int(first), rows, name))
        entries.sort(key=lambda entry: (entry[0], entry[2] is not None))
    return [_mean(table, rows, name, seed, level) for _, rows, name in entries]


def _mean(table: ScoreTable, rows: Ints, domain: str | None, seed: int, level: float) -> SystemScore:
    got = Bootstrap(table.document.codes[rows], RESAMPLES, level, seed).mean(table.value[rows])
    first = table[int(rows[0])]
    scored = rows[~np.isnan(table.value[rows])]
    return SystemScore(
        system=first.system, judge=first.judge, signature=first.signature, model=model_names(table.model.take(rows)),
        aspect=first.aspect, domain=domain, value=got.value, low=got.low, high=got.high,
        n=got.n, missing=got.missing, reason=got.reason,
        units=int(table.n[scored].sum()), units_missing=int(table.missing[scored].sum()),
        interval=got.method,
    )  # fmt: skip


LEFT_OUT = f"fewer than {MIN_DOCUMENTS} summaries have a score: left out of the ranking"


class SharedDocuments(NamedTuple):
    """The documents on which systems are ranked: those on which every ranked system has a score.

    `documents` is the mask of these documents. `counts` maps each ranked system to its number of documents with a
    score; `left_out` does so for the systems that are not ranked because they have too few scores.
    """

    documents: Bools
    counts: Mapping[str, int]
    left_out: Mapping[str, int]

    @property
    def size(self) -> int:
        """Number of documents that all ranked systems share."""
        return int(self.documents.sum())

    @property
    def means_note(self) -> str | None:
        """Note that the systems' means are over different documents, or None if all are over the same."""
        if self.note is None:
            return None
        counts = {**self.counts, **self.left_out}
        names = list(counts)
        if len(counts) > _NAMED:
            names = [choose(counts, key=counts.__getitem__) for choose in (min, max)]
        listed = ", ".join(f"{name} {counts[name]}" for name in names)
        return f"means are over each system's own documents ({listed}), which are not the same"

    @property
    def note(self) -> str | None:
        """Note on the documents of the ranking, or None if all systems are ranked on all of their documents."""
        without = ""
        if self.left_out:
            few = self.left_out
            listed = ", ".join(f"{name} {count}" for name, count in list(few.items())[:_NAMED])
            more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
            what = f"{len(few)} systems with scores" if len(few) > 1 else "1 system with scores"
            without = f"Left out of the ranking: {what} for fewer than {MIN_DOCUMENTS} documents ({listed}{more})."
        if all(count == self.size for count in self.counts.values()):
            return without or None
        names = sorted(self.counts)
        if len(names) > _NAMED:
            names = sorted(self.counts, key=self.counts.__getitem__)[:: len(self.counts) - 1]
        counts = ", ".join(f"{name} {self.counts[name]}" for name in names)
        if not self.size:
            text = f"No document has a score for every system ({counts}): their means cannot be compared."
        else:
            documents = f"{self.size} document{'s' * (self.size > 1)}"
            systems = "every other system" if without else "every system"
            text = f"Ranked on the {documents} for which {systems} has a score (each has: {counts})."
        return f"{without} {text}" if without else text


def shared_documents(scores: Mapping[str, Floats]) -> SharedDocuments:
    """Return the documents on which systems are ranked.

    `scores` has one score per document and system, NaN if missing. Systems with fewer than MIN_DOCUMENTS scores are
    left out, because they would leave too few documents for comparing the others, unless fewer than two systems have
    enough scores. A system without a score is not ranked.
    """
    counts = {name: int((~np.isnan(values)).sum()) for name, values in scores.items()}
    enough = {name for name, count in counts.items() if count >= MIN_DOCUMENTS}
    ranked = [name for name, count in counts.items() if (name in enough if len(enough) > 1 else count)]
    present = [~np.isnan(scores[name]) for name in ranked]
    size = len(next(iter(scores.values()))) if scores else 0
    return SharedDocuments(
        np.logical_and.reduce(present) if present else np.zeros(size, dtype=np.bool_),
        {name: counts[name] for name in ranked},
        {name: count for name, count in counts.items() if name not in ranked and count},
    )


class Shared(NamedTuple):
    """Means of a column over the documents on which all ranked systems have a score.

    `cells` maps systems to means (empty if no document is shared); `documents` describes the documents.
    """

    cells: Mapping[str, SystemScore]
    documents: SharedDocuments


def leading_column(aspects: Sequence[str]) -> int:
    """Return the index of the column by which systems are ranked, given the aspects of the columns.

    The column is the first composite, or else the column of the best-known aspect, or else the first column. An aspect
    for which a higher value is not better is chosen only if there is no other aspect.

    >>> leading_column(["faithfulness", "composite", "composite"]), leading_column(["rouge1", "faithfulness"])
    (1, 1)
    >>> leading_column(["abstractiveness", "rouge1", "rouge2"])
    1
    """
    first = (COMPOSITE, *COMPOSED)

    def rank(index: int) -> int:
        known = aspects[index] in first
        return first.index(aspects[index]) if known else len(first) + (aspects[index] in NEUTRAL)

    return min(range(len(aspects)), key=rank)


class SystemTable(Frames):
    """Ranked means of systems, which can be printed or converted to rows or a data frame.

    Iteration yields the `SystemScore` rows over all documents; `by_domain` holds the rows of domains. Comparisons on
    shared documents require the `scores` of summaries.
    """

    def __init__(self, rows: Sequence[SystemScore], scores: ScoreTable | None = None, *, seed: int = 0) -> None:
        self._scores, self._seed = scores, seed
        self._shared: dict[tuple[str, str, str], Shared | None] = {}
        self._pairs: dict[tuple[str, str, str], list[PairDifference]] = {}
        self.rows = tuple(row for row in rows if row.domain is None)
        self.by_domain = tuple(row for row in rows if row.domain is not None)
        self._cells = {(row.system, row.judge, row.signature, row.aspect): row for row in self.rows}

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self) -> list[tuple[str, str, str]]:
        """Return (judge, signature, aspect) of each column.

        Within a judge family, the best-known aspects come first.
        """
        seen = dict.fromkeys((row.judge, row.signature, row.aspect) for row in self.rows)
        families = list(dict.fromkeys(judge.split(".")[0] for judge, _, _ in seen))

        def order(column: tuple[str, str, str]) -> tuple[int, int, str]:
            judge, _, aspect = column
            known = aspect in FIRST
            place = FIRST.index(aspect) if known else len(FIRST)
            return families.index(judge.split(".")[0]), place, "" if known else aspect

        return sorted(seen, key=order)

    def cell(self, system: str, column: tuple[str, str, str]) -> SystemScore | None:
        """Return the mean of a system in a column, or None if the system has no scores there."""
        return self._cells.get((system, *column))

    def shared(self, column: tuple[str, str, str]) -> Shared | None:
        """Return the means of a column over shared documents, or None if the scores are unknown."""
        if self._scores is not None and column not in self._shared:
            of_column, values = self._of_column(column)
            shared = shared_documents(values)
            if all(count == shared.size for count in shared.counts.values()):
                cells = {name: self._cells[name, *column] for name in shared.counts}
            else:
                kept = shared.documents[of_column.document.dense().codes] & of_column.system.equal(*shared.counts)
                cells = {row.system: row for row in system_scores(of_column.take(kept), seed=self._seed)}
            self._shared[column] = Shared(cells, shared)
        return self._shared.get(column)

    def _of_column(self, column: tuple[str, str, str]) -> tuple[ScoreTable, dict[str, Floats]]:
        """Return the scores of a column as a table, and by system (one per document, NaN if missing)."""
        if self._scores is None:
            raise ValueError("the table has no scores; pass `scores` to SystemTable")
        judge, signature, aspect = column
        scores = self._scores
        of = scores.take(scores.judge.equal(judge) & scores.signature.equal(signature) & scores.aspect.equal(aspect))
        system, document = of.system.dense(), of.document.dense()
        values = np.full((len(system.names), len(document.names)), np.nan)
        values[system.codes, document.codes] = of.value
        return of, dict(zip(map(str, system.names), values, strict=True))

    def pairs(self, column: tuple[str, str, str]) -> list[PairDifference]:
        """Return the comparison of every two systems of a column on their shared documents.

        The comparison is that of `meta compare` (see `stats.paired_differences`). The list is empty if the scores are
        unknown.
        """
        if self._scores is None:
            return []
        if column not in self._pairs:
            (self._pairs[column],) = paired_differences([self._of_column(column)[1]], seed=self._seed)
        return self._pairs[column]

    def compared(self, system: str, column: tuple[str, str, str]) -> SystemScore | None:
        """Return the mean of a system over the documents that all ranked systems of a column share.

        `value` is None if the system shares no document or is left out (see `Shared`). If scores are unknown, it is the
        mean over all documents of the system.
        """
        cell, shared = self.cell(system, column), self.shared(column)
        if cell is None or shared is None:
            return cell
        if (mean := shared.cells.get(system)) is None:
            reason = LEFT_OUT if system in shared.documents.left_out else cell.reason
            return cell.model_copy(update={"value": None, "low": None, "high": None, "reason": reason})
        return mean.model_copy(update={"missing": cell.missing})

    def note(self, column: tuple[str, str, str]) -> str | None:
        """Return a note on the documents of a column's ranking, or None if no note is needed."""
        shared = self.shared(column)
        return None if shared is None else shared.documents.note

    def missing(self) -> str | None:
        """Return a sentence on missing scores other than composites, or None if none is missing."""
        rows = [row for row in self.rows if row.aspect != COMPOSITE]
        missing = sum(row.missing for row in rows)
        if not missing:
            return None
        skipped = 0
        if self._scores is not None:
            parts = ~self._scores.aspect.equal(COMPOSITE) & np.isnan(self._scores.value)
            skipped = int((parts & self._scores.status.equal("skipped")).sum())
        total = missing + sum(row.n for row in rows)
        skip_note = f", {skipped} of them with nothing to judge" if skipped else ""
        return f"{missing:,} of {total:,} scores are missing{skip_note}: left out of the means, never zero."

    def unjudged(self) -> str | None:
        """Return a sentence on unjudged units of summaries with a score, or None if there are none."""
        rows = [row for row in self.rows if row.aspect != COMPOSITE]
        lost: Counter[str] = Counter()
        units: Counter[str] = Counter()
        for row in rows:
            lost[row.system] += row.units_missing
            units[row.system] += row.units + row.units_missing
        if not lost.total():
            return None
        named = [f"{name} {number:,} of {units[name]:,}" for name, number in lost.most_common(_NAMED) if number]
        more = sum(number > 0 for number in lost.values()) - len(named)
        listed = ", ".join(named) + (f" and {more} more systems" if more else "")
        what = "units of summaries with a score"
        return f"{lost.total():,} of {units.total():,} {what} were not judged: left out of these scores ({listed})."

    def lead(self) -> tuple[str, str, str] | None:
        """Return the column by which systems are ranked (see `leading_column`)."""
        columns = self.columns()
        return columns[leading_column([aspect for _, _, aspect in columns])] if columns else None

    def ranking(self) -> list[str]:
        """Return the systems, ranked by the leading column on shared documents, best first.

        Unranked systems are last.
        """
        systems = list(dict.fromkeys(row.system for row in self.rows))
        lead = self.lead()
        if lead is None:
            return systems

        def sort_key(system: str) -> tuple[float, str]:
            cell = self.compared(system, lead)
            return (math.inf if cell is None or cell.value is None else -cell.value, system)

        return sorted(systems, key=sort_key)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, first those over all documents and then those by domain."""
        return [row.model_dump() for row in (*self.rows, *self.by_domain)]

    def table(self) -> Table:
        """Return a table of the means of the systems by judge and aspect, best system first."""
        columns = self.columns()
        ranked = [[self.compared(system, column) for column in columns] for system in self.ranking()]
        counts = {(cell.n, cell.missing) for row in ranked for cell in row if cell is not None}
        rows = [
            [system, *(show(cell, counted=len(counts) > 1) for cell in row)]
            for system, row in zip(self.ranking(), ranked, strict=True)
        ]
        same = [f"n = {n} summaries per mean, {missing} missing" for n, missing in counts] if len(counts) == 1 else []
        notes = dict.fromkeys(note for column in columns if (note := self.note(column)))
        intervals = dict.fromkeys(row.interval for row in self.rows)
        signatures = dict.fromkeys(signature for _, signature, _ in columns)
        heads = ["system", *(f"{judge}:{aspect}" for judge, _, aspect in columns)]
        return Table.of(heads, rows, notes=[*same, *notes, *intervals, *signatures])

    def __str__(self) -> str:
        table = self.table()
        return "\n".join([table.text(), "", *table.notes])

    __repr__ = __str__


def show(cell: SystemScore | None, *, counted: bool = True) -> str:
    """Return a string such as `0.83 [0.75, 0.90] n=18 missing=0`, with a dash for a missing value.

    With `counted=False`, n and missing are left out.
    """
    if cell is None:
        return "-"
    shown = "- " if cell.value is None else with_interval(cell.value, cell.low, cell.high, 2)
    n = 0 if cell.value is None else cell.n
    return f"{shown} n={n} missing={cell.missing}" if counted else shown.rstrip()
