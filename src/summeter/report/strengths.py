"""Strengths and weaknesses: each system by aspect, by domain and by type of error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from summeter.records import Judgment
from summeter.report.blocks import DomainMean, ErrorCount, Heat, HeatCell, Panel, RankTable, Standing
from summeter.report.ranks import Key, as_cell, label_of, places_of
from summeter.report.ranks import Place as At
from summeter.report.views import RunView, Source
from summeter.report.words import NEUTRAL, gloss, said_of
from summeter.scoring import COMPOSITE, SystemScore

SHADES = 7


def panels(view: RunView, sources: Sequence[Source], table: RankTable, errors: Errors) -> tuple[Panel, ...]:
    """One panel a system, in the order of `table`, from one run with these errors."""
    lead = _lead(view)
    if lead is None:
        return ()
    standings = _standings(view, sources)
    by_domain = _domain_means(view, lead)
    counted = errors.telling()
    present = {row.system for row in view.table.rows}
    return tuple(
        _panel(row.system, standings.get(row.system, ()), by_domain.get(row.system, []), counted, gloss(lead[2]).title)
        for row in table.rows
        if row.system in present
    )


def _lead(view: RunView) -> Key | None:
    columns = view.table.columns()
    return next((column for column in columns if column[2] == COMPOSITE), columns[0] if columns else None)


def _panel(
    system: str, standings: Sequence[Standing], means: Sequence[DomainMean], errors: _Errors, aspect: str
) -> Panel:
    ranked = sorted(means, key=lambda mean: (mean.value, mean.domain))
    apart = len(ranked) > 1 and ranked[0].value < ranked[-1].value
    types = errors.types.get(system, Counter())
    return Panel(
        system=system, standings=tuple(standings), aspect=aspect,
        strongest=ranked[-1] if apart else None, weakest=ranked[0] if apart else None,
        errors=tuple(ErrorCount(name, many) for name, many in sorted(types.items(), key=lambda one: (-one[1], one[0]))),
        unsupported=errors.wrong[system], sentences=errors.judged[system], judge=errors.judge,
    )  # fmt: skip


def _standings(view: RunView, sources: Sequence[Source]) -> dict[str, tuple[Standing, ...]]:
    found: dict[str, list[Standing]] = {}
    for key in view.table.columns():
        means = {row.system: row for row in view.table.rows if (row.judge, row.signature, row.aspect) == key}
        places = dict(zip(means, places_of([mean.value for mean in means.values()]), strict=True))
        source = label_of(At(view.place, *key), view, sources)
        if key[2] in NEUTRAL:
            places = dict.fromkeys(means)
        known = sum(place is not None for place in places.values())
        for system, mean in means.items():
            cell = as_cell(mean, None)
            if cell is not None:
                standing = Standing(gloss(key[2]).title, source, cell, places[system], known)
                found.setdefault(system, []).append(standing)
    return {system: tuple(standings) for system, standings in found.items()}


def _domain_means(view: RunView, key: Key) -> dict[str, list[DomainMean]]:
    found: dict[str, list[DomainMean]] = {}
    for row in view.table.by_domain:
        if (row.judge, row.signature, row.aspect) == key and row.value is not None and row.domain is not None:
            found.setdefault(row.system, []).append(DomainMean(row.domain, row.value, row.low, row.high, row.n))
    return found


class Errors:
    """Verdicts on the faithfulness of sentences, while a run's judgments are read."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str], _Errors] = {}
        self._naming: _Errors | None = None

    def add(self, one: Judgment) -> None:
        """Take a judgment."""
        if one.status != "ok" or one.aspect != "faithfulness" or one.target.unit != "sentence":
            return
        counted = self._sources.setdefault((one.judge, one.signature), _Errors(one.judge))
        counted.add(one)
        if self._naming is None and one.label == 0 and one.error_type:
            self._naming = counted

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
            name = said_of("faithfulness", 0, judgment.error_type) or ""
            if judgment.error_type:
                self.types.setdefault(system, Counter())[name] += 1


def heats(view: RunView, sources: Sequence[Source], systems: Sequence[str]) -> tuple[Heat, ...]:
    """Domain by system, one table a column, that of the ranking first. None where there are no two domains."""
    domains = list(dict.fromkeys(row.domain for row in view.table.by_domain if row.domain is not None))
    if len(domains) < 2:
        return ()
    lead = _lead(view)
    keys = sorted(view.table.columns(), key=lambda key: key != lead)
    made = []
    for key in keys:
        means = {
            (row.domain or "", row.system): row
            for row in view.table.by_domain
            if (row.judge, row.signature, row.aspect) == key
        }
        here = [system for system in systems if any(system == other for _, other in means)]
        title = f"{gloss(key[2]).title} ({label_of(At(view.place, *key), view, sources)})"
        made.append(_heat(title, domains, here, means))
    return tuple(made)


def _heat(
    title: str, domains: Sequence[str], systems: Sequence[str], means: Mapping[tuple[str, str], SystemScore]
) -> Heat:
    # Few systems read best side by side; many would run off the page.
    by_system = len(systems) > max(6, len(domains))
    values = [mean.value for mean in means.values() if mean.value is not None]
    ends = (0.0, 1.0) if all(0 <= value <= 1 for value in values) else (min(values), max(values))
    grid = {(domain, system): _cell(domain, system, means, ends) for domain in domains for system in systems}
    rows, columns = (systems, domains) if by_system else (domains, systems)
    cells = tuple(
        tuple(grid[(column, row) if by_system else (row, column)] for column in columns) for row in rows
    )  # fmt: skip
    return Heat(title, tuple(rows), tuple(columns), cells, by_system)


def _cell(
    domain: str, system: str, means: Mapping[tuple[str, str], SystemScore], ends: tuple[float, float]
) -> HeatCell:
    mean = means.get((domain, system))
    if mean is None or mean.value is None:
        return HeatCell(None, 0, mean.missing if mean else 0, 0, lowest=False)
    rivals = [other.value for (_, name), other in means.items() if name == system and other.value is not None]
    width = ends[1] - ends[0]
    shade = min(SHADES - 1, int((mean.value - ends[0]) / width * SHADES)) if width else SHADES // 2
    lowest = mean.value == min(rivals) and min(rivals) < max(rivals)
    return HeatCell(mean.value, mean.n, mean.missing, shade, lowest)
