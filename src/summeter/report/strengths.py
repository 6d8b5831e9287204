"""Strengths and weaknesses: each system by aspect, by domain and by type of error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from summeter.meta.verdicts import same
from summeter.records import error_types
from summeter.records.taxonomy import NO_ERROR
from summeter.report.blocks import AspectRank, DomainTable, ErrorCount, Panel, RankTable
from summeter.report.ranks import ColumnKey, Key, label_of, of_column, ranks
from summeter.report.views import RunView, Source
from summeter.report.words import gloss
from summeter.runs.totals import TallyKey
from summeter.scoring import SystemScore
from summeter.scoring.systems import NEUTRAL


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
    systems = [system for system in table.ranks if system in present]
    return tuple(
        Panel(
            name,
            tuple(aspects.get(name, ())),
            aspect,
            *_ends(domains.get(name, [])),
            errors.of(name),
        )
        for name in systems
    )


def _ends(means: Sequence[SystemScore]) -> tuple[SystemScore | None, SystemScore | None]:
    """The strongest and the weakest domain; none where all are alike."""
    known = [mean for mean in means if mean.value is not None]
    ranked = sorted(known, key=lambda mean: (mean.value or 0.0, mean.domain or ""))
    apart = len(ranked) > 1 and not same(ranked[0].value, ranked[-1].value)
    return (ranked[-1], ranked[0]) if apart else (None, None)


def _aspect_ranks(view: RunView, sources: Sequence[Source]) -> dict[str, list[AspectRank]]:
    """By system its rank in each column, on the documents that all systems share."""
    by_system: dict[str, list[AspectRank]] = {}
    for key in view.table.columns():
        own = of_column(view.table, key)
        means = [view.table.compared(row.system, key) for row in own]
        source = label_of(ColumnKey(view.place, *key), view, sources)
        values = [None if mean is None or key[2] in NEUTRAL else mean.value for mean in means]
        ranked = ranks(values)
        known = sum(rank is not None for rank in ranked)
        if set(ranked) <= {1, None}:  # none is first where all are equal
            ranked = [None] * len(ranked)
        for row, mean, rank in zip(own, means, ranked, strict=True):
            shown = row if mean is None or mean.value is None else mean
            by_system.setdefault(row.system, []).append(AspectRank(source, shown, rank, known))
    return by_system


def _domain_means(view: RunView, key: Key) -> dict[str, list[SystemScore]]:
    """By system its means on domains."""
    by_system: dict[str, list[SystemScore]] = {}
    for row in view.table.by_domain:
        if (row.judge, row.signature, row.aspect) == key:
            by_system.setdefault(row.system, []).append(row)
    return by_system


class Errors:
    """Verdicts of each source of the first run on the faithfulness of sentences."""

    def __init__(self, tally: Mapping[TallyKey, int], sources: Sequence[Source] = ()) -> None:
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
            ErrorCount(
                source,
                verdicts["wrong"],
                verdicts.total(),
                tuple(sorted(types.items(), key=lambda found: (-found[1], found[0]))),
            )
            for source, systems in self._counts.items()
            for verdicts, types in [systems.get(system, (Counter(), Counter()))]
            if verdicts
        )


def by_domain(view: RunView, sources: Sequence[Source], systems: Sequence[str]) -> tuple[DomainTable, ...]:
    """Domain by system, one table a column, that of the ranking first. None where there are no two domains."""
    domains = tuple(dict.fromkeys(row.domain for row in view.table.by_domain if row.domain is not None))
    if len(domains) < 2:
        return ()
    lead = view.table.lead()
    tables = []
    for key in sorted(view.table.columns(), key=lambda key: key != lead):
        means = _domain_means(view, key)
        title = f"{gloss(key[2]).title} ({label_of(ColumnKey(view.place, *key), view, sources)})"
        tables.append(_domain_table(title, domains, tuple(system for system in systems if system in means), means))
    return tuple(tables)


def _domain_table(
    title: str, domains: tuple[str, ...], systems: tuple[str, ...], means: Mapping[str, Sequence[SystemScore]]
) -> DomainTable:
    known = {name: [mean.value for mean in row if mean.value is not None] for name, row in means.items()}
    values = [value for row in known.values() for value in row]
    low, high = (0.0, 1.0) if all(0 <= value <= 1 for value in values) else (min(values), max(values))
    lowest = {name: min(row) for name, row in known.items() if row and not same(min(row), max(row))}
    named = {name: {mean.domain: mean for mean in row} for name, row in means.items()}
    rows = tuple(tuple(named[system].get(domain) for domain in domains) for system in systems)
    # Few systems read best side by side; many would run off the page.
    if len(systems) > max(6, len(domains)):
        return DomainTable(title, systems, domains, rows, low, high, lowest)
    return DomainTable(title, domains, systems, tuple(zip(*rows, strict=True)), low, high, lowest)
