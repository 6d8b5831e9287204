"""Mean scores of systems, with intervals and counts, computed from scores of summaries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from summeter.records import Phrase, Record
from summeter.scoring.frames import Frames
from summeter.scoring.scores import COMPOSED, COMPOSITE, Score, ScoreTable
from summeter.scoring.table import Categorical, Groups, model_names
from summeter.stats import MIN_DOCUMENTS, Bootstrap, PairDifference, paired_differences
from summeter.stats.base import Bools, Floats, Ints
from summeter.tables import Table, document, with_interval

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
    and are left out. `domain` is None for the mean over all domains. In a `SystemTable`, `ranking` is the number of the
    ranking: systems are compared with those of the same number (None if the system is not ranked).
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
    ranking: int | None = None

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


class ComparableGroup(NamedTuple):
    """Systems that are ranked together: on the documents on which all of them have a score.

    `documents` is the mask of these documents. `counts` maps each system to its number of documents with a score.
    """

    documents: Bools
    counts: Mapping[str, int]

    @property
    def size(self) -> int:
        """Number of documents that the systems share."""
        return int(self.documents.sum())


class SharedDocuments(NamedTuple):
    """The documents on which systems are ranked, in one or several groups.

    `left_out` maps the systems that are in no group, because they have scores for too few documents, to these numbers;
    `apart` does so for those that share too few documents with the others.
    """

    groups: tuple[ComparableGroup, ...]
    left_out: Mapping[str, int]
    apart: Mapping[str, int]

    @property
    def ranking_of(self) -> dict[str, int]:
        """Number (1, 2, ...) of the group of each ranked system."""
        return {name: number for number, group in enumerate(self.groups, 1) for name in group.counts}

    @property
    def note(self) -> str | None:
        """Note on the documents of the ranking, or None if all systems are ranked on all of their documents."""
        texts: list[str] = []
        if self.left_out:
            few = self.left_out
            listed = ", ".join(f"{name} {count}" for name, count in list(few.items())[:_NAMED])
            more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
            text = "Left out of the ranking: {n} systems with scores for fewer than {least} documents ({systems})."
            values = {"least": MIN_DOCUMENTS, "systems": f"{listed}{more}"}
            one = text.replace("systems with", "system with").format(n=1, **values) if len(few) == 1 else None
            texts.append(Phrase(text, shown=one, n=len(few), **values))
        if len(self.groups) == 1 and not self.apart:
            (group,) = self.groups
            names = sorted(group.counts)
            if len(names) > _NAMED:
                names = sorted(group.counts, key=group.counts.__getitem__)[:: len(names) - 1]
            counts = ", ".join(f"{name} {group.counts[name]}" for name in names)
            if any(count != group.size for count in group.counts.values()):
                text = "Ranked on the {n} documents for which every system has a score (each has: {counts})."
                if texts:
                    text = "Ranked on the {n} documents for which every other system has a score (each has: {counts})."
                one = text.replace("documents", "document").format(n=1, counts=counts) if group.size == 1 else None
                texts.append(Phrase(text, shown=one, n=group.size, counts=counts))
        elif self.groups or self.apart:
            alone = ", ".join(f"{name} {count}" for name, count in self.apart.items())
            none = "No document has a score for every system"
            if not self.groups:
                texts.append(f"{none} ({alone}): their means cannot be compared.")
            else:
                ranked = (f"{', '.join(group.counts)} are ranked on {_documents(group.size)}" for group in self.groups)
                texts.append(f"{none}: {'; '.join(ranked)}.")
                texts += [f"Not ranked, because they share too few documents: {alone}."] if alone else []
        return Phrase.join(" ", texts) if texts else None


def _documents(count: int) -> str:
    return f"{count} document{'s' * (count != 1)}"


def shared_documents(scores: Mapping[str, Floats]) -> SharedDocuments:
    """Return the documents on which systems are ranked.

    `scores` has one score per document and system, NaN if missing. Systems with fewer than MIN_DOCUMENTS scores are
    left out, because they would leave too few documents for comparing the others, unless fewer than two systems have
    enough scores. A system without a score is not ranked. If no document is shared by all systems, they are divided
    into groups: groups with the most common documents are joined first, as long as MIN_DOCUMENTS documents, or all of
    the smaller group, remain common.

    >>> scores = {"A": [1, 2, None, None], "B": [3, 4, None, None], "C": [None, None, 5, 6], "D": [None, None, 7, 8]}
    >>> shared_documents({name: np.array(row, np.float64) for name, row in scores.items()}).ranking_of
    {'A': 1, 'B': 1, 'C': 2, 'D': 2}
    """
    counts = {name: int((~np.isnan(values)).sum()) for name, values in scores.items()}
    enough = {name for name, count in counts.items() if count >= MIN_DOCUMENTS}
    ranked = [name for name, count in counts.items() if (name in enough if len(enough) > 1 else count)]
    left_out = {name: count for name, count in counts.items() if name not in ranked and count}
    present = [~np.isnan(scores[name]) for name in ranked]
    groups = [([name], documents) for name, documents in zip(ranked, present, strict=True)]
    if ranked and (common := np.logical_and.reduce(present)).any():
        groups = [(ranked, common)]
    while len(groups) > 1:
        masks = np.array([documents for _, documents in groups], np.int64)
        together = masks @ masks.T
        sizes = together.diagonal()
        usable = together >= np.minimum(np.minimum.outer(sizes, sizes), MIN_DOCUMENTS)
        joined = np.triu(np.where(usable, together, 0), k=1)
        if not joined.any():
            break
        first, second = (int(place) for place in np.unravel_index(joined.argmax(), joined.shape))
        names, documents = groups.pop(second)
        groups[first] = ([*groups[first][0], *names], groups[first][1] & documents)
    several = [group for group in groups if len(group[0]) > 1 or len(groups) == 1]
    return SharedDocuments(
        tuple(
            ComparableGroup(documents, {name: counts[name] for name in names})
            for names, documents in sorted(several, key=lambda group: -len(group[0]))
        ),
        left_out,
        {names[0]: counts[names[0]] for names, _ in groups if len(names) == 1 and len(groups) > 1},
    )


def counts_note(means: Iterable[SystemScore | None]) -> str | None:
    """Return a note with n and the number of missing scores if all means have the same, or else None."""
    counts = {None if mean is None else (mean.n, mean.missing) for mean in means}
    if len(counts) != 1 or (only := counts.pop()) is None:
        return None
    n, missing = only
    text = f"Each mean is over {n:,} score{'s' * (n != 1)}; {missing or 'none'} missing."
    return Phrase("Each mean is over {n} scores; {missing} missing.", shown=text, n=n, missing=missing)


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
        self._documents: dict[tuple[str, str, str], SharedDocuments] = {}
        self._shared: dict[tuple[str, str, str], dict[str, SystemScore]] = {}
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

    def documents(self, column: tuple[str, str, str]) -> SharedDocuments | None:
        """Return the documents on which the systems of a column are ranked, or None if the scores are unknown."""
        if self._scores is not None and column not in self._documents:
            self._documents[column] = shared_documents(self._of_column(column)[1])
        return self._documents.get(column)

    def shared(self, column: tuple[str, str, str]) -> dict[str, SystemScore] | None:
        """Return the means of the ranked systems over shared documents, or None if the scores are unknown."""
        shared = self.documents(column)
        if shared is not None and column not in self._shared:
            of_column, _ = self._of_column(column)
            cells: dict[str, SystemScore] = {}
            for number, group in enumerate(shared.groups, 1):
                if all(count == group.size for count in group.counts.values()):
                    means = [self._cells[name, *column] for name in group.counts]
                else:
                    kept = group.documents[of_column.document.dense().codes] & of_column.system.equal(*group.counts)
                    means = system_scores(of_column.take(kept), seed=self._seed)
                cells |= {row.system: row.model_copy(update={"ranking": number}) for row in means}
            self._shared[column] = cells
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
        """Return the mean of a system over the documents that the systems of its ranking share.

        The mean of a system that is not ranked (see `SharedDocuments`), and every mean if scores are unknown, is over
        all documents of the system.
        """
        cell, shared = self.cell(system, column), self.shared(column)
        if cell is not None and shared is None:
            return cell.model_copy(update={"ranking": 1})
        if cell is None or shared is None or (mean := shared.get(system)) is None:
            return cell
        return mean.model_copy(update={"missing": cell.missing})

    def note(self, column: tuple[str, str, str]) -> str | None:
        """Return a note on the documents of a column's ranking, or None if no note is needed."""
        shared = self.documents(column)
        return None if shared is None else shared.note

    def flag(self, system: str, column: tuple[str, str, str]) -> str | None:
        """Return "ranking 2" or "not ranked" for a mean that is not comparable with all others, or else None."""
        shared, cell = self.documents(column), self.cell(system, column)
        if shared is None or cell is None or cell.value is None:
            return None
        number = shared.ranking_of.get(system)
        return (
            "not ranked"
            if number is None
            else Phrase("ranking {number}", number=number)
            if len(shared.groups) > 1
            else None
        )

    def missing(self) -> str | None:
        """Return a sentence on missing scores other than composites, or None if none is missing."""
        rows = [row for row in self.rows if row.aspect != COMPOSITE]
        missing = sum(row.missing for row in rows)
        if not missing:
            return None
        reasons: Counter[str] = Counter()
        if self._scores is not None:
            parts = ~self._scores.aspect.equal(COMPOSITE) & np.isnan(self._scores.value)
            reasons.update(self._scores.reason.take(parts & self._scores.status.equal("skipped")).labels())
        total = missing + sum(row.n for row in rows)
        if not reasons:
            text = "{n} of {all} scores are missing: left out of the means, never zero."
            return Phrase(text, n=missing, all=total)
        (reason, _), *others = reasons.most_common()
        text = (
            "{n} of {all} scores are missing, {skipped} of them with nothing to judge ({why}): left out of the means, "
            "never zero."
        )
        why = Phrase("mostly: {reason}", reason=reason) if others else reason
        return Phrase(text, n=missing, all=total, skipped=reasons.total(), why=why)

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
        named: list[str] = [
            Phrase("{system} {done} of {all}", system=name, done=number, all=units[name])
            for name, number in lost.most_common(_NAMED)
            if number
        ]
        listed = Phrase.join(", ", named)
        if more := sum(number > 0 for number in lost.values()) - len(named):
            listed = Phrase("{systems} and {n} more systems", systems=listed, n=more)
        text = "{n} of {all} units of summaries with a score were not judged: left out of these scores ({systems})."
        return Phrase(text, n=lost.total(), all=units.total(), systems=listed)

    def lead(self) -> tuple[str, str, str] | None:
        """Return the column by which systems are ranked (see `leading_column`)."""
        columns = self.columns()
        return columns[leading_column([aspect for _, _, aspect in columns])] if columns else None

    def ranking(self) -> list[str]:
        """Return the systems, ranked by the leading column on shared documents, best first.

        The groups of comparable systems follow each other. Unranked systems are last.
        """
        systems = list(dict.fromkeys(row.system for row in self.rows))
        lead = self.lead()
        return systems if lead is None else self.ordered(systems, lead)

    def ordered(self, systems: Iterable[str], column: tuple[str, str, str]) -> list[str]:
        """Return systems in the order of their rankings by a column, and of their means there, best first."""

        def sort_key(system: str) -> tuple[float, float, str]:
            cell = self.compared(system, column)
            if cell is None or cell.value is None:
                return math.inf, math.inf, system
            return math.inf if cell.ranking is None else cell.ranking, -cell.value, system

        return sorted(systems, key=sort_key)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, first those over all documents and then those by domain."""
        rows = []
        for row in self.rows:
            shared = self.documents((row.judge, row.signature, row.aspect))
            ranking = None if shared is None else shared.ranking_of.get(row.system)
            rows.append(row.model_copy(update={"ranking": ranking}))
        return [row.model_dump() for row in (*rows, *self.by_domain)]

    def table(self) -> Table:
        """Return a table of the means of the systems by judge and aspect, best system first."""
        columns = self.columns()
        ranked = [[self.compared(system, column) for column in columns] for system in self.ranking()]
        same = counts_note(cell for row in ranked for cell in row)
        rows = [
            [system, *(" ".join(filter(None, (show(cell, counted=same is None), self.flag(system, column))))
                       for column, cell in zip(columns, row, strict=True))]
            for system, row in zip(self.ranking(), ranked, strict=True)
        ]  # fmt: skip
        notes = dict.fromkeys(note for note in (same, *map(self.note, columns)) if note)
        intervals = dict.fromkeys(row.interval for row in self.rows)
        signatures = dict.fromkeys(signature for _, signature, _ in columns)
        heads = ["system", *(f"{judge}:{aspect}" for judge, _, aspect in columns)]
        return Table.of(heads, rows, notes=[*notes, *intervals, *signatures])

    def __str__(self) -> str:
        table = self.table()
        return document([replace(table, notes=()), *table.notes]).rstrip("\n")

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
