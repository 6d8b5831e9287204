"""One run against another: means over the items both judged, and the items whose verdicts changed most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from summeter.report.blocks import Changed, Difference, ItemLink, RunComparison, Source
from summeter.report.items import UnitKey, Where, unit_key
from summeter.report.ranks import ColumnKey, Key, label_of
from summeter.report.views import RunView
from summeter.report.words import gloss
from summeter.scoring.systems import FIRST, LEVEL, RESAMPLES
from summeter.stats import Bootstrap

LISTED = 25
Pair = tuple[Key, Key]


def comparisons(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[RunComparison, ...]:
    """The first run against each later one. `where` gives an item's number on the page."""
    return tuple(_compare(views[0], view, sources, where) for view in views[1:])


def _compare(first: RunView, second: RunView, sources: Sequence[Source], where: Where) -> RunComparison:
    items, others = ({item for key, item in where.items() if key[0] == view.place} for view in (first, second))
    common = items & others
    pairs = _pairs(first, second)
    differences = tuple(_differences(pair, first, second, sources, where) for pair in pairs)
    changed = _changed(pairs, first, second, where)
    return RunComparison(
        first=first.letter,
        second=second.letter,
        common=len(common),
        alone=(len(items - common), len(others - common)),
        differences=differences,
        changed=tuple(changed[:LISTED]),
        changed_items=len(changed),
        note=_note(first, second, pairs),
    )


def _note(first: RunView, second: RunView, pairs: Sequence[Pair]) -> str | None:
    if not pairs:
        where = " Pairs of each stand under Head to head." if first.pairs or second.pairs else ""
        return f"The two runs have no score of single summaries in common.{where}"
    if first.manifest.data.hash != second.manifest.data.hash:
        return "The two runs judged different data; only summaries that are equal, with equal sources, are compared."
    return None


def _pairs(first: RunView, second: RunView) -> list[Pair]:
    """Columns that answer each other: with one signature; else of one judge; else the only ones of an aspect."""
    columns, others = first.table.columns(), second.table.columns()
    pairs: list[Pair] = []
    for same in (_identical, _same_judge, _same_aspect):
        left = [key for key in columns if all(key != pair[0] for pair in pairs)]
        right = [key for key in others if all(key != pair[1] for pair in pairs)]
        for key in left:
            answers = [other for other in right if same(key, other)]
            rivals = [other for other in left if any(same(other, answer) for answer in answers)]
            if len(answers) == 1 and len(rivals) == 1:
                pairs.append((key, answers[0]))
    return sorted(pairs, key=lambda pair: (FIRST.index(pair[0][2]) if pair[0][2] in FIRST else len(FIRST), pair[0]))


def _identical(key: Key, other: Key) -> bool:
    return key == other


def _same_judge(key: Key, other: Key) -> bool:
    return key[0] == other[0] and key[2] == other[2]


def _same_aspect(key: Key, other: Key) -> bool:
    return key[2] == other[2]


def _values(view: RunView, key: Key, where: Where) -> dict[int, tuple[str, str, float]]:
    """Item -> (document, system, value)."""
    values = {}
    for score in view.scores:
        item = where.get((view.place, score.doc_id, score.system))
        if (score.judge, score.signature, score.aspect) == key and score.value is not None and item is not None:
            values[item] = (score.doc_id, score.system, score.value)
    return values


def _differences(
    pair: Pair, first: RunView, second: RunView, sources: Sequence[Source], where: Where
) -> tuple[Difference, ...]:
    """Of two columns that answer each other, system by system."""
    before, after = _values(first, pair[0], where), _values(second, pair[1], where)
    common = [item for item in before if item in after]
    labels = (
        label_of(ColumnKey(first.place, *pair[0]), first, sources),
        label_of(ColumnKey(second.place, *pair[1]), second, sources),
    )
    title = gloss(pair[0][2]).title
    differences = []
    for system in dict.fromkeys(system for _, system, _ in before.values()):
        items = [item for item in common if before[item][1] == system]
        if not items:
            differences.append(Difference(title, labels, system, None, None, None, None, None, 0, "no item in common"))
            continue
        firsts, seconds = [before[item][2] for item in items], [after[item][2] for item in items]
        bootstrap = Bootstrap([before[item][0] for item in items], RESAMPLES, LEVEL, first.seed)
        result = bootstrap.difference(seconds, firsts)
        differences.append(
            Difference(
                title=title,
                sources=labels,
                system=system,
                first=fmean(firsts),
                second=fmean(seconds),
                difference=result.value,
                low=result.low,
                high=result.high,
                n=result.n,
                outcome=_outcome(result.value, result.low, result.high),
            )
        )
    return tuple(differences)


def _outcome(difference: float | None, low: float | None, high: float | None) -> str:
    if difference is None or low is None or high is None:
        return "too few documents for an interval"
    if low == high == 0:
        return "unchanged"
    if low > 0 or high < 0:
        return "higher" if difference > 0 else "lower"
    return "not settled"


def _changed(pairs: Sequence[Pair], first: RunView, second: RunView, where: Where) -> list[Changed]:
    """Items with a changed verdict or score, most flipped verdicts first, then the largest change of a score."""
    if not pairs:
        return []
    gaps = _gaps(pairs, first, second, where)
    paired = {(key[0], key[2]): (other[0], other[2]) for key, other in pairs}
    changed = []
    for (place, doc_id, system), item in where.items():
        if place != first.place:
            continue
        before = _labels(first, set(paired), doc_id, system)
        if before is None:
            continue
        both = where.get((second.place, doc_id, system)) == item
        after = (_labels(second, set(paired.values()), doc_id, system) if both else None) or {}
        shared = {unit: label for unit, label in before.items() if unit in after}
        flips = sum(after[unit] != label for unit, label in shared.items())
        gap, aspect = gaps.get(item, (None, None))
        if flips or gap:
            changed.append(Changed(ItemLink(item, doc_id, system), flips, len(shared), gap, aspect))
    return sorted(changed, key=lambda change: (-change.flips, -abs(change.largest or 0.0), change.link.item))


def _gaps(pairs: Sequence[Pair], first: RunView, second: RunView, where: Where) -> dict[int, tuple[float, str]]:
    largest: dict[int, tuple[float, str]] = {}
    for pair in pairs:
        a, b = _values(first, pair[0], where), _values(second, pair[1], where)
        for item in a:
            gap = b[item][2] - a[item][2] if item in b else 0.0
            if abs(gap) > abs(largest.get(item, (0.0, ""))[0]):
                largest[item] = (gap, gloss(pair[0][2]).title)
    return largest


def _labels(view: RunView, wanted: set[tuple[str, str]], doc_id: str, system: str) -> dict[UnitKey, int | str] | None:
    """Unit -> label on one summary, of the judges that are compared; None where they judged none of its units."""
    judgments = [
        judgment
        for judgment in view.items.read(doc_id, system)
        if judgment.target.system == system
        and judgment.target.unit != "summary"
        and (judgment.judge, judgment.aspect) in wanted
    ]
    if not judgments:
        return None
    return {unit_key(judgment): judgment.label for judgment in judgments if judgment.label is not None}
