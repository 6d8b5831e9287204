"""Comparison of two runs: differences of means, and the items that changed most."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from statistics import fmean

from summeter.report.blocks import Changed, ColumnDifferences, Difference, ItemLink, RunComparison
from summeter.report.items import UnitKey, Where, unit_key
from summeter.report.ranks import ColumnKey, Key, label_of
from summeter.report.views import RunView, Source
from summeter.report.words import gloss
from summeter.scoring.systems import FIRST
from summeter.stats import paired_differences
from summeter.stats.significance import MIN_DOCUMENTS

LISTED = 25
Pair = tuple[Key, Key]


def comparisons(views: Sequence[RunView], sources: Sequence[Source], where: Where) -> tuple[RunComparison, ...]:
    """Return the comparison of the first run with each later run.

    `where` maps items to their numbers on the page.
    """
    compared = []
    for second in views[1:]:
        first = views[0]
        items, others = ({item for key, item in where.items() if key[0] == view.number} for view in (first, second))
        common, pairs = items & others, _pairs(first, second)
        changed = _changed(pairs, first, second, where)
        note = None
        if not pairs:
            elsewhere = " The pairs of each run are in the section Head to head." if first.pairs or second.pairs else ""
            note = f"The two runs have no scores of single summaries in common.{elsewhere}"
        elif first.manifest.data.hash != second.manifest.data.hash:
            note = "The two runs judged different data; only summaries with equal text and equal source are compared."
        compared.append(
            RunComparison(
                first=first.letter,
                second=second.letter,
                common=len(common),
                alone=(len(items - common), len(others - common)),
                differences=_differences(pairs, first, second, sources, where),
                changed=tuple(changed[:LISTED]),
                changed_items=len(changed),
                note=note,
            )
        )
    return tuple(compared)


def _pairs(first: RunView, second: RunView) -> list[Pair]:
    """Return the pairs of corresponding columns of two runs.

    Columns correspond if their signatures are equal, or else if they are from the same judge, or else if each is the
    only column of its run for the aspect.
    """
    columns, others = first.table.columns(), second.table.columns()
    pairs: list[Pair] = []
    # Keys of increasing generality: judge, signature and aspect; judge and aspect; aspect
    for alike in (itemgetter(0, 1, 2), itemgetter(0, 2), itemgetter(2)):
        left = [key for key in columns if all(key != pair[0] for pair in pairs)]
        right = [key for key in others if all(key != pair[1] for pair in pairs)]
        for key in left:
            answers = [other for other in right if alike(key) == alike(other)]
            rivals = [other for other in left if alike(key) == alike(other)]
            if len(answers) == 1 and len(rivals) == 1:
                pairs.append((key, answers[0]))
    return sorted(pairs, key=lambda pair: (FIRST.index(pair[0][2]) if pair[0][2] in FIRST else len(FIRST), pair[0]))


def _values(view: RunView, key: Key, where: Where) -> dict[int, tuple[str, str, float]]:
    """Return the triple (document, system, value) of each item, by its number."""
    values = {}
    for score in view.scores:
        item = where.get((view.number, score.doc_id, score.system))
        if (score.judge, score.signature, score.aspect) == key and score.value is not None and item is not None:
            values[item] = (score.doc_id, score.system, score.value)
    return values


def _differences(
    pairs: Sequence[Pair], first: RunView, second: RunView, sources: Sequence[Source], where: Where
) -> tuple[ColumnDifferences, ...]:
    """Return the differences between corresponding columns, by system.

    All differences belong to one family of tests.
    """
    columns = []
    for pair in pairs:
        before, after = _values(first, pair[0], where), _values(second, pair[1], where)
        systems: dict[str, list[int]] = {}
        for item, (_, system, _) in before.items():
            systems.setdefault(system, []).extend([item] if item in after else [])
        scores = {
            system: {"second": [after[item][2] for item in items], "first": [before[item][2] for item in items]}
            for system, items in systems.items()
        }
        columns.append((pair, scores))
    families = [sides for _, scores in columns for sides in scores.values()]
    tested = iter(paired_differences(families, seed=first.seed))
    differences = []
    for (key, other), scores in columns:
        labels = (
            label_of(ColumnKey(first.number, *key), first, sources),
            label_of(ColumnKey(second.number, *other), second, sources),
        )
        rows = []
        for system, sides in scores.items():
            (gap,) = next(tested)
            if gap.difference is None:
                rows.append(Difference(system, None, None, gap, "no item in common"))
                continue
            outcome = "cannot be told apart"
            if sides["first"] == sides["second"]:
                outcome = "unchanged"
            elif gap.n < MIN_DOCUMENTS:
                outcome = "too few documents"
            elif gap.better is not None:
                outcome = "higher" if gap.better == "second" else "lower"
            rows.append(Difference(system, fmean(sides["first"]), fmean(sides["second"]), gap, outcome))
        differences.append(ColumnDifferences(gloss(key[2]).title, labels, tuple(rows)))
    return tuple(differences)


def _changed(pairs: Sequence[Pair], first: RunView, second: RunView, where: Where) -> list[Changed]:
    """Return the items with a changed verdict or score.

    The items with the most changed verdicts come first, and among these the items with the largest change of a score.
    """
    if not pairs:
        return []
    gaps = _gaps(pairs, first, second, where)
    paired = {(key[0], key[2]): (other[0], other[2]) for key, other in pairs}
    changed = []
    for (number, doc_id, system), item in where.items():
        if number != first.number:
            continue
        before = _labels(first, set(paired), doc_id, system)
        if before is None:
            continue
        both = where.get((second.number, doc_id, system)) == item
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
    """Return the labels that the compared judges gave to the units of one summary, or None."""
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
