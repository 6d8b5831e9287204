"""Who is preferred to whom: a matrix for each judge and aspect that compares, and what it says in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from summeter.report.blocks import Cell, HeadToHead
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.strengths import SHADES
from summeter.report.views import RunView, Source
from summeter.report.words import count, gloss, number, with_interval
from summeter.scoring import PairScore
from summeter.scoring.pairs import FEWEST

NAMED = 6
Group = Sequence[PairScore]


def head_to_head(views: Sequence[RunView], sources: Sequence[Source]) -> tuple[HeadToHead, ...]:
    """One block for each run, judge and aspect, in the order of the runs and of what they asked."""
    return tuple(_block(view, group, sources) for view in views for group in _groups(view))


def verdict(view: RunView) -> str:
    """What a run that only compares found, in a sentence; of several aspects the first."""
    groups = _groups(view)
    more = f" {count(len(groups) - 1, 'more comparison')} below." if len(groups) > 1 else ""
    return f"{_preferred(groups[0])}{more}"


def _groups(view: RunView) -> list[list[PairScore]]:
    found: dict[tuple[str, str, str], list[PairScore]] = {}
    for one in view.pairs:
        found.setdefault((one.judge, one.signature, one.aspect), []).append(one)
    return list(found.values())


def _block(view: RunView, group: Group, sources: Sequence[Source]) -> HeadToHead:
    first = group[0]
    sides = {(one.system, one.rival): one for pair in group for one in (pair, pair.turned())}
    systems = _ordered(sides)
    return HeadToHead(
        title=gloss(first.aspect).title, signature=first.signature, interval=first.interval,
        source=label_of(ColumnKey(view.place, first.judge, first.signature, first.aspect), view, sources),
        systems=tuple(systems),
        cells=tuple(tuple(_cell(sides.get((row, column))) for column in systems) for row in systems),
        said=(_preferred(group), _turned(group)),
    )  # fmt: skip


def _ordered(sides: dict[tuple[str, str], PairScore]) -> list[str]:
    """Systems by their mean preference over rivals, highest first, so that the dark half lies above the diagonal."""
    names = dict.fromkeys(system for system, _ in sides)
    means = {
        name: fmean([one.value for one in sides.values() if one.system == name and one.value is not None] or [-1.0])
        for name in names
    }
    return sorted(names, key=lambda name: (-means[name], name))


def _cell(one: PairScore | None) -> Cell | None:
    if one is None:
        return None
    shade = 0 if one.value is None else min(SHADES - 1, int(one.value * SHADES))
    return Cell(one.value, one.low, one.high, one.n, one.missing, one.settled, shade=shade, flip_rate=one.flip_rate)


def _preferred(group: Group) -> str:
    on = f"On {gloss(group[0].aspect).title},"
    known = [one.leading() for one in group if one.value is not None]
    if not known:
        return f"{on} no verdict on any pair could be had: see what could not be judged."
    if len(group) == 1:
        return f"{on} {_one(known[0])}"
    settled = sorted((one for one in known if one.settled), key=lambda one: (-(one.value or 0.0), one.system))
    if not settled:
        return f"{on} the order of none of the {len(group)} pairs is settled: what preferences there are may be chance."
    more = f"; and {len(settled) - NAMED} more" if len(settled) > NAMED else ""
    rest = "" if len(settled) == len(group) else " The order of the others may be chance."
    many = f"{len(settled)} of {len(group)} pairs {'is' if len(settled) == 1 else 'are'} settled"
    return f"{on} {many}: {_listed(settled[:NAMED])}{more}.{rest}"


def _listed(settled: Group) -> str:
    """`aster is preferred to birch (0.76) and cedar (0.90); birch is preferred to ...`; intervals are in the matrix."""
    rivals: dict[str, list[str]] = {}
    for one in settled:
        rivals.setdefault(one.system, []).append(f"{one.rival} ({number(one.value)})")
    return "; ".join(f"{system} is preferred to {_and(names)}" for system, names in rivals.items())


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _one(pair: PairScore) -> str:
    documents = count(pair.n, "document")
    if pair.value == 0.5:
        return f"neither {pair.system} nor {pair.rival} is preferred: {_value(pair)} over {documents}."
    said = f"{pair.system} is preferred to {pair.rival}: {_value(pair)} over {documents}"
    if pair.settled:
        return f"{said}, more than chance explains."
    if pair.n < FEWEST:
        return f"{said}, too few to settle it."
    return f"{said}, which may be chance: the order of the two is not settled."


def _value(pair: PairScore) -> str:
    return with_interval(pair.value, pair.low, pair.high)


def _turned(group: Group) -> str:
    """How many verdicts turned with the order of showing, over all pairs."""
    twice, flips = sum(one.twice for one in group), sum(one.flips for one in group)
    if not twice:
        return "No pair of summaries has verdicts in both orders: how many would turn with the order is not known."
    asked = f"{count(twice, 'pair')} of summaries judged in both orders"
    if not flips:
        return f"Of {asked}, none got a verdict that turned with the order."
    turned = f"{flips} ({100 * flips / twice:.0f} %) got a verdict that turned with the order"
    return f"Of {asked}, {turned}. A verdict that turns counts as a tie."
