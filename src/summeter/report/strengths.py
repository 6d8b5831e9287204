"""Strengths and weaknesses: each system by aspect, by domain and by type of error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from summeter.records import Judgment, error_types
from summeter.records.taxonomy import NO_ERROR
from summeter.report.blocks import AspectRank, Cell, Matrix, Panel, RankTable, Source
from summeter.report.ranks import ColumnKey, Key, as_cell, label_of, ranks
from summeter.report.views import RunView
from summeter.report.words import NEUTRAL, gloss
from summeter.scoring import COMPOSITE, SystemScore

SHADES = 7


def panels(view: RunView, sources: Sequence[Source], table: RankTable, errors: Errors) -> tuple[Panel, ...]:
    """One panel a system, in the order of `table`, from one run with these errors."""
    lead = _lead(view)
    if lead is None:
        return ()
    aspects = _aspect_ranks(view, sources)
    domains = _domain_means(view, lead)
    counts = errors.telling()
    present = {row.system for row in view.table.rows}
    return tuple(
        _panel(row.system, aspects.get(row.system, ()), domains.get(row.system, {}), counts, gloss(lead[2]).title)
        for row in table.rows
        if row.system in present
    )


def _lead(view: RunView) -> Key | None:
    columns = view.table.columns()
    return next((column for column in columns if column[2] == COMPOSITE), columns[0] if columns else None)


def _panel(
    system: str, aspects: Sequence[AspectRank], means: Mapping[str, Cell], errors: _Errors, aspect: str
) -> Panel:
    ranked = sorted(means.items(), key=lambda pair: (pair[1].value or 0.0, pair[0]))
    apart = len(ranked) > 1 and ranked[0][1].value != ranked[-1][1].value
    types = errors.types.get(system, Counter())
    return Panel(
        system=system,
        ranks=tuple(aspects),
        aspect=aspect,
        strongest=ranked[-1] if apart else None,
        weakest=ranked[0] if apart else None,
        errors=tuple(sorted(types.items(), key=lambda pair: (-pair[1], pair[0]))),
        unsupported=errors.wrong[system],
        sentences=errors.judged[system],
        judge=errors.judge,
    )


def _aspect_ranks(view: RunView, sources: Sequence[Source]) -> dict[str, list[AspectRank]]:
    """By system its rank in each column."""
    by_column: dict[Key, list[SystemScore]] = {}
    for row in view.table.rows:
        by_column.setdefault((row.judge, row.signature, row.aspect), []).append(row)
    by_system: dict[str, list[AspectRank]] = {}
    for key in view.table.columns():
        means = by_column.get(key, [])
        source = label_of(ColumnKey(view.place, *key), view, sources)
        ranked = [None] * len(means) if key[2] in NEUTRAL else ranks([mean.value for mean in means])
        known = sum(rank is not None for rank in ranked)
        for mean, rank in zip(means, ranked, strict=True):
            cell = as_cell(mean)
            by_system.setdefault(mean.system, []).append(AspectRank(gloss(key[2]).title, source, cell, rank, known))
    return by_system


def _domain_means(view: RunView, key: Key) -> dict[str, dict[str, Cell]]:
    """By system its mean on each domain."""
    by_system: dict[str, dict[str, Cell]] = {}
    for row in view.table.by_domain:
        if (row.judge, row.signature, row.aspect) == key and row.value is not None and row.domain is not None:
            by_system.setdefault(row.system, {})[row.domain] = as_cell(row)
    return by_system


class Errors:
    """Verdicts on the faithfulness of sentences, while a run's judgments are read."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str], _Errors] = {}
        self._naming: _Errors | None = None

    def add(self, judgment: Judgment) -> None:
        """Take a judgment."""
        if judgment.status != "ok" or judgment.aspect != "faithfulness" or judgment.target.unit != "sentence":
            return
        counts = self._sources.setdefault((judgment.judge, judgment.signature), _Errors(judgment.judge))
        counts.add(judgment)
        if self._naming is None and judgment.label == 0 and judgment.error_type:
            self._naming = counts

    def telling(self) -> _Errors:
        """Of the source that names types of errors; where none does, of the first that judges sentences."""
        return self._naming or next(iter(self._sources.values()), _Errors(""))


class _Errors:
    """Verdicts of one source, counted by system."""

    def __init__(self, judge: str) -> None:
        self.judge = judge
        self.types: dict[str, Counter[str]] = {}
        self.wrong: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()

    def add(self, judgment: Judgment) -> None:
        """Count one verdict."""
        system = judgment.target.system
        self.judged[system] += 1
        if judgment.label == 0:
            self.wrong[system] += 1
            types = error_types(judgment.error_type) - {NO_ERROR}
            if judgment.error_type:
                self.types.setdefault(system, Counter()).update(types or {"unsupported"})


def by_domain(view: RunView, sources: Sequence[Source], systems: Sequence[str]) -> tuple[Matrix, ...]:
    """Domain by system, one table a column, that of the ranking first. None where there are no two domains."""
    domains = list(dict.fromkeys(row.domain for row in view.table.by_domain if row.domain is not None))
    if len(domains) < 2:
        return ()
    lead = _lead(view)
    tables = []
    for key in sorted(view.table.columns(), key=lambda key: key != lead):
        means: dict[str, dict[str, SystemScore]] = {}
        for row in view.table.by_domain:
            if (row.judge, row.signature, row.aspect) == key and row.domain is not None:
                means.setdefault(row.system, {})[row.domain] = row
        title = f"{gloss(key[2]).title} ({label_of(ColumnKey(view.place, *key), view, sources)})"
        tables.append(_matrix(title, domains, [system for system in systems if system in means], means))
    return tuple(tables)


def _matrix(
    title: str, domains: Sequence[str], systems: Sequence[str], means: Mapping[str, Mapping[str, SystemScore]]
) -> Matrix:
    values = [mean.value for row in means.values() for mean in row.values() if mean.value is not None]
    ends = (0.0, 1.0) if all(0 <= value <= 1 for value in values) else (min(values), max(values))
    rows = [_domain_cells(means[system], domains, ends) for system in systems]
    # Few systems read best side by side; many would run off the page.
    if len(systems) > max(6, len(domains)):
        return Matrix(title, tuple(systems), tuple(domains), tuple(rows))
    return Matrix(title, tuple(domains), tuple(systems), tuple(zip(*rows, strict=True)))


def _domain_cells(
    means: Mapping[str, SystemScore], domains: Sequence[str], ends: tuple[float, float]
) -> tuple[Cell, ...]:
    """A system's means by domain, its lowest marked."""
    values = [mean.value for mean in means.values() if mean.value is not None]
    low, width, cells = min(values, default=0.0), ends[1] - ends[0], []
    for domain in domains:
        mean = means.get(domain)
        if mean is None or mean.value is None:
            cells.append(Cell(None, missing=mean.missing if mean else 0))
            continue
        shade = min(SHADES - 1, int((mean.value - ends[0]) / width * SHADES)) if width else SHADES // 2
        cells.append(as_cell(mean)._replace(shade=shade, marked=mean.value == low < max(values)))
    return tuple(cells)
