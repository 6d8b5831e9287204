"""Strengths and weaknesses of each system by aspect, by domain and by error type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from summeter.meta.verdicts import same
from summeter.records import Phrase, error_types
from summeter.records.taxonomy import NO_ERROR
from summeter.report.blocks import AspectRank, ErrorCount, Panel, RankTable
from summeter.report.ranks import ColumnKey, Key, label_of, of_column, ranks
from summeter.report.views import RunView, Source
from summeter.report.words import gloss
from summeter.runs.totals import TallyKey
from summeter.scoring import SystemScore
from summeter.scoring.systems import NEUTRAL


def panels(view: RunView, sources: Sequence[Source], table: RankTable) -> tuple[Panel, ...]:
    """Return one panel per system of the first run, in the order of `table`."""
    lead = view.table.lead()
    if lead is None:
        return ()
    errors = error_counts(view.folder.totals.tally, [source for source in sources if source.run == view.number])
    aspects = _aspect_ranks(view, sources)
    domains = domain_means(view, lead)
    judge = label_of(ColumnKey(view.number, *lead), view, sources)
    aspect = Phrase("{aspect} by {judge}", aspect=gloss(lead[2]).title, judge=judge)
    present = {row.system for row in view.table.rows}
    result = []
    for name in table.ranks:
        if name not in present:
            continue
        known = [mean for mean in domains.get(name, []) if mean.value is not None]
        ranked = sorted(known, key=lambda mean: (mean.value or 0.0, mean.domain or ""))
        differ = len(ranked) > 1 and not same(ranked[0].value, ranked[-1].value)
        strongest, weakest = (ranked[-1], ranked[0]) if differ else (None, None)
        result.append(Panel(name, tuple(aspects.get(name, ())), aspect, strongest, weakest, errors.get(name, ())))
    return tuple(result)


def _aspect_ranks(view: RunView, sources: Sequence[Source]) -> dict[str, list[AspectRank]]:
    """Return the ranks of each system by column, on the documents that all systems share."""
    by_system: dict[str, list[AspectRank]] = {}
    for key in view.table.columns():
        rows = of_column(view.table, key)
        means = [view.table.compared(row.system, key) for row in rows]
        source = label_of(ColumnKey(view.number, *key), view, sources)
        ranked = ranks([None if key[2] in NEUTRAL else mean for mean in means])
        known = sum(rank is not None for rank in ranked)
        if set(ranked) <= {1, None}:  # there are no ranks if all systems are equal
            ranked = [None] * len(ranked)
        for row, mean, rank in zip(rows, means, ranked, strict=True):
            by_system.setdefault(row.system, []).append(AspectRank(source, mean or row, rank, known))
    return by_system


def domain_means(view: RunView, key: Key) -> dict[str, list[SystemScore]]:
    """Return the means of each system in one column, by domain."""
    by_system: dict[str, list[SystemScore]] = {}
    for row in view.table.by_domain:
        if (row.judge, row.signature, row.aspect) == key:
            by_system.setdefault(row.system, []).append(row)
    return by_system


def error_counts(
    tally: Mapping[TallyKey, int], sources: Sequence[Source] = (), third: int | None = None
) -> dict[str, tuple[ErrorCount, ...]]:
    """Return the errors that each source of a run found in sentences, by system.

    Only judgments of faithfulness are counted, and with `third` only those in a third of the summary (see `TallyKey`).
    """
    labels = {source.key[1:]: source.label for source in sources}
    # By system and source: the numbers of right and wrong sentences, and of each error type.
    counts: dict[str, dict[str, tuple[Counter[str], Counter[str]]]] = {}
    for key, number in tally.items():
        if (key.status, key.aspect, key.unit) != ("ok", "faithfulness", "sentence") or third not in (None, key.third):
            continue
        source = labels.get((key.judge, key.signature), key.judge)
        verdicts, types = counts.setdefault(key.system, {}).setdefault(source, (Counter(), Counter()))
        verdicts["wrong" if key.wrong else "right"] += number
        if key.wrong and key.error_type:
            for name in (error_types(key.error_type) - {NO_ERROR}) or {"unsupported"}:
                types[name] += number
    order = list(dict.fromkeys(labels.get((key.judge, key.signature), key.judge) for key in tally))
    return {
        system: tuple(
            ErrorCount(
                source,
                verdicts["wrong"],
                verdicts.total(),
                tuple(sorted(types.items(), key=lambda item: (-item[1], item[0]))),
            )
            for source, (verdicts, types) in sorted(of_system.items(), key=lambda item: order.index(item[0]))
        )
        for system, of_system in counts.items()
    }
