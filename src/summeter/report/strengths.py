"""Strengths and weaknesses: each system by aspect, by domain and by type of error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from summeter.meta.verdicts import NEUTRAL
from summeter.records import error_types
from summeter.records.taxonomy import NO_ERROR
from summeter.report.blocks import AspectRank, Cell, ErrorCount, Matrix, Panel, RankTable, Source
from summeter.report.ranks import ColumnKey, Key, as_cell, label_of, ranks
from summeter.report.views import RunView
from summeter.report.words import gloss
from summeter.runs.totals import Alike
from summeter.scoring import SystemScore

SHADES = 7


def panels(view: RunView, sources: Sequence[Source], table: RankTable) -> tuple[Panel, ...]:
    """One panel a system of the first run, in the order of `table`."""
    lead = view.table.lead()
    if lead is None:
        return ()
    errors = Errors(view.folder.totals.tally, sources)
    aspects = _aspect_ranks(view, sources)
    domains = _domain_means(view, lead)
    aspect = f"{gloss(lead[2]).title} by {label_of(ColumnKey(view.place, *lead), view, sources)}"
    present = {row.system for row in view.table.rows}
    systems = [row.system for row in table.rows if row.system in present]
    return tuple(
        Panel(name, tuple(aspects.get(name, ())), aspect, *_ends(domains.get(name, {})), errors.of(name))
        for name in systems
    )


def _ends(means: Mapping[str, Cell]) -> tuple[tuple[str, Cell] | None, tuple[str, Cell] | None]:
    """The strongest and the weakest domain; none where all are alike."""
    ranked = sorted(means.items(), key=lambda pair: (pair[1].value or 0.0, pair[0]))
    apart = len(ranked) > 1 and ranked[0][1].value != ranked[-1][1].value
    return (ranked[-1], ranked[0]) if apart else (None, None)


def _aspect_ranks(view: RunView, sources: Sequence[Source]) -> dict[str, list[AspectRank]]:
    """By system its rank in each column, on the documents that all systems share."""
    by_system: dict[str, list[AspectRank]] = {}
    for key in view.table.columns():
        own = [row for row in view.table.rows if (row.judge, row.signature, row.aspect) == key]
        means = [view.table.compared(row.system, key) for row in own]
        source = label_of(ColumnKey(view.place, *key), view, sources)
        values = [None if mean is None or key[2] in NEUTRAL else mean.value for mean in means]
        ranked = ranks(values)
        known = sum(rank is not None for rank in ranked)
        if set(ranked) <= {1, None}:  # none is first where all are equal
            ranked = [None] * len(ranked)
        for row, mean, rank in zip(own, means, ranked, strict=True):
            cell = as_cell(row if mean is None or mean.value is None else mean)
            by_system.setdefault(row.system, []).append(AspectRank(gloss(key[2]).title, source, cell, rank, known))
    return by_system


def _domain_means(view: RunView, key: Key) -> dict[str, dict[str, Cell]]:
    """By system its mean on each domain."""
    by_system: dict[str, dict[str, Cell]] = {}
    for row in view.table.by_domain:
        if (row.judge, row.signature, row.aspect) == key and row.value is not None and row.domain is not None:
            by_system.setdefault(row.system, {})[row.domain] = as_cell(row)
    return by_system


class Errors:
    """Verdicts of each source of the first run on the faithfulness of sentences."""

    def __init__(self, tally: Mapping[Alike, int], sources: Sequence[Source] = ()) -> None:
        labels = {source.key[1:]: source.label for source in sources if source.run == 0}
        # By source, then by system: sentences judged, sentences that are wrong, and error types.
        self._counts: dict[str, dict[str, tuple[Counter[str], Counter[str]]]] = {}
        for alike, number in tally.items():
            if (alike.status, alike.aspect, alike.unit) != ("ok", "faithfulness", "sentence"):
                continue
            source = labels.get((alike.judge, alike.signature), alike.judge)
            verdicts, types = self._counts.setdefault(source, {}).setdefault(alike.system, (Counter(), Counter()))
            verdicts["wrong" if alike.wrong else "right"] += number
            if alike.wrong and alike.error_type:
                for name in (error_types(alike.error_type) - {NO_ERROR}) or {"unsupported"}:
                    types[name] += number

    def of(self, system: str) -> tuple[ErrorCount, ...]:
        """What each source found in a system's sentences."""
        return tuple(
            ErrorCount(source, verdicts["wrong"], verdicts.total(), tuple(sorted(types.items(), key=_most_first)))
            for source, systems in self._counts.items()
            for verdicts, types in [systems.get(system, (Counter(), Counter()))]
            if verdicts
        )


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    return -counted[1], counted[0]


def by_domain(view: RunView, sources: Sequence[Source], systems: Sequence[str]) -> tuple[Matrix, ...]:
    """Domain by system, one table a column, that of the ranking first. None where there are no two domains."""
    domains = list(dict.fromkeys(row.domain for row in view.table.by_domain if row.domain is not None))
    if len(domains) < 2:
        return ()
    lead = view.table.lead()
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
