"""Scores of summaries -> means of systems, each with its interval, n and missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from summeter.records import Record
from summeter.scoring.scores import COMPOSED, COMPOSITE, Score, ScoreTable
from summeter.scoring.table import Categorical, Groups, model_names
from summeter.stats import MIN_DOCUMENTS, Bootstrap, PairDifference, paired_differences
from summeter.stats.base import Bools, Floats, Ints
from summeter.tables import Table, with_interval

RESAMPLES = 2000
_NAMED = 6
LEVEL = 0.95
# The columns people look for first, in the order they read them.
FIRST = (*COMPOSED, COMPOSITE, "abstractiveness")
NEUTRAL = frozenset({"abstractiveness"})
"""Aspects of which more is not better."""


class SystemScore(Record):
    """Mean of one system's summary scores on one aspect by one judge.

    `value` is None when no summary has a score. `low`-`high` is the bootstrap percentile interval over
    documents (None with fewer than two). `n` summaries have a score, `missing` have none. These scores are made of
    `units` (sentences, key facts, claims...) that were judged; `units_missing` more were not and are left out.
    `domain` is None for the mean over all.
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
        """`low` and `high` for a reader; (None, None) below 6 summaries or where resampling has no spread."""
        if self.low is None or self.high is None or self.n < MIN_DOCUMENTS:
            return None, None
        if math.isclose(self.low, self.high, abs_tol=1e-9):
            return None, None
        return self.low, self.high


def system_scores(
    scores: Iterable[Score], domains: Mapping[str, str | None] | None = None, *, seed: int = 0
) -> list[SystemScore]:
    """Means by (judge, signature, aspect, system); with `domains` (document id -> domain) by domain too.

    The mean over all documents comes first in its system, then those of its domains, in order of first appearance.
    """
    table = ScoreTable.of(scores)
    cells = Groups.by(table.judge, table.signature, table.aspect, table.system)
    places = [(int(first), rows, None) for first, rows in zip(cells.first, cells.rows(), strict=True)]
    if domains:
        known = [domains.get(name or "") for name in table.document.names]
        domain = Categorical.of(known)
        of_row = Categorical(domain.codes[table.document.codes], domain.names)
        parts = Groups.by(cells.of, of_row)
        for first, rows in zip(parts.first, parts.rows(), strict=True):
            if (name := of_row.names[of_row.codes[first]]) is not None:
                places.append((int(first), rows, name))
        places.sort(key=lambda place: (place[0], place[2] is not None))
    return [_mean(table, rows, name, seed) for _, rows, name in places]


def _mean(table: ScoreTable, rows: Ints, domain: str | None, seed: int) -> SystemScore:
    got = Bootstrap(table.document.codes[rows], RESAMPLES, LEVEL, seed).mean(table.value[rows])
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
    """The documents on which systems are ranked: `documents` marks those for which every ranked system has a score.

    `own` is how many documents each ranked system has a score for, `left_out` the same of the systems that are not
    ranked because they have few.
    """

    documents: Bools
    own: Mapping[str, int]
    left_out: Mapping[str, int]

    @property
    def size(self) -> int:
        """How many documents all ranked systems share."""
        return int(self.documents.sum())

    @property
    def own_note(self) -> str | None:
        """That means over each system's own documents are not over the same ones; None where they are."""
        if self.note is None:
            return None
        counts = {**self.own, **self.left_out}
        named = list(counts)
        if len(counts) > _NAMED:
            named = [choose(counts, key=counts.__getitem__) for choose in (min, max)]
        told = ", ".join(f"{name} {counts[name]}" for name in named)
        return f"means are over each system's own documents ({told}), which are not the same"

    @property
    def note(self) -> str | None:
        """Which documents systems are ranked on; None where all ranked systems have the same and none is left out."""
        without = _left_out(self.left_out)
        if all(count == self.size for count in self.own.values()):
            return without or None
        named = sorted(self.own)
        if len(named) > _NAMED:
            named = sorted(self.own, key=self.own.__getitem__)[:: len(self.own) - 1]
        counts = ", ".join(f"{name} {self.own[name]}" for name in named)
        if not self.size:
            text = f"No document has a score for every system ({counts}): their means cannot be compared."
        else:
            on = f"{self.size} document{'s' * (self.size > 1)}"
            every = "every other system" if without else "every system"
            text = f"Ranked on the {on} for which {every} has a score (each has: {counts})."
        return f"{without} {text}" if without else text


def shared_documents(scores: Mapping[str, Floats]) -> SharedDocuments:
    """Decide which systems are ranked, and on which documents, from a score a document (NaN where there is none).

    Systems with fewer than MIN_DOCUMENTS scores are left out, unless fewer than two systems have more, because they
    would leave few documents for comparing the others. A system without a score is not ranked.
    """
    own = {name: int((~np.isnan(values)).sum()) for name, values in scores.items()}
    enough = {name for name, count in own.items() if count >= MIN_DOCUMENTS}
    ranked = [name for name, count in own.items() if (name in enough if len(enough) > 1 else count)]
    present = [~np.isnan(scores[name]) for name in ranked]
    size = len(next(iter(scores.values()))) if scores else 0
    return SharedDocuments(
        np.logical_and.reduce(present) if present else np.zeros(size, dtype=np.bool_),
        {name: own[name] for name in ranked},
        {name: count for name, count in own.items() if name not in ranked and count},
    )


class Shared(NamedTuple):
    """The means of a column over the documents for which all its systems have a score: these can be compared.

    `cells` are the means by system (none where no document is shared), `documents` says on which, and who is left out.
    """

    cells: Mapping[str, SystemScore]
    documents: SharedDocuments


def leading_column(aspects: Sequence[str]) -> int:
    """Return which of some columns systems are ranked by, by their aspects.

    The first composite, else the best-known aspect, else the first; one of which more is not better only where there
    is no other.

    >>> leading_column(["faithfulness", "composite", "composite"]), leading_column(["rouge1", "faithfulness"])
    (1, 1)
    >>> leading_column(["abstractiveness", "rouge1", "rouge2"])
    1
    """
    first = (COMPOSITE, *COMPOSED)

    def rank(place: int) -> int:
        known = aspects[place] in first
        return first.index(aspects[place]) if known else len(first) + (aspects[place] in NEUTRAL)

    return min(range(len(aspects)), key=rank)


class SystemTable:
    """System means, ranked; prints as plain text, turns into rows or a data frame.

    Iterating gives the SystemScore rows over all documents; `by_domain` the others. `shared` needs the `scores` too.
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
        """(judge, signature, aspect) of every column, best-known aspects first within a judge family."""
        seen = dict.fromkeys((row.judge, row.signature, row.aspect) for row in self.rows)
        families = list(dict.fromkeys(judge.split(".")[0] for judge, _, _ in seen))
        return sorted(seen, key=lambda column: (families.index(column[0].split(".")[0]), _order(column[2])))

    def cell(self, system: str, column: tuple[str, str, str]) -> SystemScore | None:
        """The mean of a system in a column, or None when there is none."""
        return self._cells.get((system, *column))

    def shared(self, column: tuple[str, str, str]) -> Shared | None:
        """The means of a column over the documents that its systems share; None where the scores are not known."""
        if self._scores is not None and column not in self._shared:
            self._shared[column] = self._on_shared_documents(column)
        return self._shared.get(column)

    def _of_column(self, column: tuple[str, str, str]) -> tuple[ScoreTable, dict[str, Floats]]:
        """The scores of a column, and the same by system: a value a document, NaN where there is none."""
        if self._scores is None:
            raise ValueError("the table was made without scores")
        judge, signature, aspect = column
        scores = self._scores
        of = scores.take(scores.judge.equal(judge) & scores.signature.equal(signature) & scores.aspect.equal(aspect))
        system, document = of.system.dense(), of.document.dense()
        values = np.full((len(system.names), len(document.names)), np.nan)
        values[system.codes, document.codes] = of.value
        return of, dict(zip(map(str, system.names), values, strict=True))

    def _on_shared_documents(self, column: tuple[str, str, str]) -> Shared:
        of_column, values = self._of_column(column)
        shared = shared_documents(values)
        if all(count == shared.size for count in shared.own.values()):
            return Shared({name: self._cells[name, *column] for name in shared.own}, shared)
        kept = shared.documents[of_column.document.dense().codes] & of_column.system.equal(*shared.own)
        rows = system_scores(of_column.take(kept), seed=self._seed)
        return Shared({row.system: row for row in rows}, shared)

    def pairs(self, column: tuple[str, str, str]) -> list[PairDifference]:
        """Every two systems of a column compared on the documents that both have, as `meta compare` does (see
        `stats.paired_differences`); empty where the scores are not known."""
        if self._scores is None:
            return []
        if column not in self._pairs:
            (self._pairs[column],) = paired_differences([self._of_column(column)[1]], seed=self._seed)
        return self._pairs[column]

    def compared(self, system: str, column: tuple[str, str, str]) -> SystemScore | None:
        """The mean of a system over the documents that all systems of a column share; `value` is None where it has
        none of them, or is left out (see `Shared`). Where scores are not known it is the system's own mean."""
        own, shared = self.cell(system, column), self.shared(column)
        if own is None or shared is None:
            return own
        if (mean := shared.cells.get(system)) is None:
            reason = LEFT_OUT if system in shared.documents.left_out else own.reason
            return own.model_copy(update={"value": None, "low": None, "high": None, "reason": reason})
        return mean.model_copy(update={"missing": own.missing})

    def unlike(self, column: tuple[str, str, str]) -> str | None:
        """What is compared where the systems of a column have scores for different documents; else None."""
        shared = self.shared(column)
        return None if shared is None else shared.documents.note

    def missing(self) -> str | None:
        """How many scores there are not, and how many of these could not have been; a composite repeats its parts."""
        rows = [row for row in self.rows if row.aspect != COMPOSITE]
        missing = sum(row.missing for row in rows)
        if not missing:
            return None
        skipped = 0
        if self._scores is not None:
            parts = ~self._scores.aspect.equal(COMPOSITE) & np.isnan(self._scores.value)
            skipped = int((parts & self._scores.status.equal("skipped")).sum())
        total = missing + sum(row.n for row in rows)
        nothing = f", {skipped} of them with nothing to judge" if skipped else ""
        return f"{missing:,} of {total:,} scores are missing{nothing}: left out of the means, never zero."

    def unjudged(self) -> str | None:
        """How many units were not judged of the summaries that have a score, by system; None where all were."""
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
        """The column that systems are ranked by (see `leading_column`)."""
        columns = self.columns()
        return columns[leading_column([aspect for _, _, aspect in columns])] if columns else None

    def ranking(self) -> list[str]:
        """Systems, best first in the leading column, on the documents they share. What is not ranked comes last."""
        systems = list(dict.fromkeys(row.system for row in self.rows))
        lead = self.lead()
        if lead is None:
            return systems

        def standing(system: str) -> tuple[float, str]:
            cell = self.compared(system, lead)
            return (math.inf if cell is None or cell.value is None else -cell.value, system)

        return sorted(systems, key=standing)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain rows, all documents first, then by domain."""
        return [row.model_dump() for row in (*self.rows, *self.by_domain)]

    def to_pandas(self) -> Any:
        """A pandas data frame of `to_dicts()`."""
        return to_frame(self.to_dicts())

    def __str__(self) -> str:
        columns = self.columns()
        heads = ["system", *(f"{judge}:{aspect}" for judge, _, aspect in columns)]
        rows = [[system, *(show(self.compared(system, column)) for column in columns)] for system in self.ranking()]
        signatures = dict.fromkeys(signature for _, signature, _ in columns)
        intervals = dict.fromkeys(row.interval for row in self.rows)
        notes = dict.fromkeys(note for column in columns if (note := self.unlike(column)))
        return "\n".join([Table.of(heads, rows).text(), "", *notes, *intervals, *signatures])

    __repr__ = __str__


def _left_out(systems: Mapping[str, int]) -> str:
    """Which systems are not ranked, and how few scores they have; nothing where all are."""
    if not systems:
        return ""
    named = [f"{name} {count}" for name, count in list(systems.items())[:_NAMED]]
    more = f" and {len(systems) - _NAMED} more" if len(systems) > _NAMED else ""
    which = f"{len(systems)} systems with scores" if len(systems) > 1 else "1 system with scores"
    return f"Left out of the ranking: {which} for fewer than {MIN_DOCUMENTS} documents ({', '.join(named)}{more})."


def show(cell: SystemScore | None) -> str:
    """`0.83 [0.75, 0.90] n=18 missing=0`; a dash for no value."""
    if cell is None or cell.value is None:
        return f"-  n=0 missing={cell.missing}" if cell else "-"
    return f"{with_interval(cell.value, cell.low, cell.high, 2)} n={cell.n} missing={cell.missing}"


def _order(aspect: str) -> tuple[int, str]:
    return (FIRST.index(aspect), "") if aspect in FIRST else (len(FIRST), aspect)


def to_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas data frame; InstallError names the extra where pandas is absent."""
    try:
        import pandas as pd
    except ImportError as error:
        from summeter.records import InstallError

        raise InstallError.missing("pandas", "pandas") from error
    return pd.DataFrame(list(rows))
