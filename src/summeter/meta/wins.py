"""How often systems win, and how strong that makes them: win rates, best rates, Bradley-Terry strengths.

Rows, one a system: `win_rate` (share of points against all others), `best_rate` (share of documents on which it is
the best, SummQual's win rate) and `bradley_terry` (the strength s in P(i beats j) = 1 / (1 + exp(s_j - s_i))).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from summeter.choices import Level
from summeter.meta.grids import Draws, PairedMatrix, drawn_row, merged_details, named
from summeter.meta.results import Row
from summeter.stats import Games, Strength, best_rates, bradley_terry, games_from_scores
from summeter.stats.base import Floats

MOST_FITS = 200
_APART = "the pairs judged do not connect all systems: no common scale"


def standing(one: PairedMatrix, prior: float, draws: Draws, shown: set[tuple[str, ...]]) -> list[Row]:
    """Win rates, best rates and strengths by a judge's scores; people's too, once an aspect (kept in `shown`)."""
    fields, gold = one.fields(), one.pairs.gold
    grids = [(fields, one.judge)]
    mark = gold.judge, gold.signature, gold.aspect, str(one.group.value)
    if mark not in shown:
        shown.add(mark)
        grids.append(({**named(gold), **one.group.fields()}, one.gold))
    rows: list[Row] = []
    for about, grid in grids:
        rows += _win_rates(one.systems, grid, about, draws)
        rows += _best_rates(one.systems, grid, about, draws)
        rows += strengths(games_from_scores(grid), one.systems, about, draws, prior)
    return rows


def _win_rates(systems: Sequence[str], grid: Floats, fields: Mapping[str, Any], draws: Draws) -> list[Row]:
    """Each system's share of points against all others, with its interval over documents."""
    gap = np.sign(grid[:, None, :] - grid[None, :, :])
    gap[np.arange(len(grid)), np.arange(len(grid))] = np.nan
    made = ~np.isnan(gap)
    won = np.where(made, (gap + 1) / 2, 0.0).sum(axis=1)
    played = made.sum(axis=1).astype(np.float64)
    rows = []
    times = draws.times(grid.shape[1]).astype(np.float64) if grid.shape[1] > 1 else None
    for place, name in enumerate(systems):
        n = int(played[place].sum())
        missing = (len(grid) - 1) * grid.shape[1] - n
        about = {**fields, "study": "win_rate", "statistic": "win_rate", "level": Level.SYSTEM.value, "system": name,
                 "n": n, "missing": missing, "reason": None if n else "no document where it has a rival"}  # fmt: skip
        value = float(won[place].sum() / n) if n else None
        ends = None
        if times is not None and n:
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = draws.ends((times @ won[place]) / (times @ played[place]))
        rows.append(drawn_row(about, value, ends, draws))
    return rows


def _best_rates(systems: Sequence[str], grid: Floats, fields: Mapping[str, Any], draws: Draws) -> list[Row]:
    """The share of documents on which each system is the best of those scored, shared where several are (SummQual)."""
    kept = (~np.isnan(grid)).sum(axis=0) >= 2
    used = grid[:, kept]
    best = (used == np.nanmax(used, axis=0)) if used.size else used.astype(np.bool_)
    shares = best / np.maximum(1, best.sum(axis=0))
    rows = []
    for place, got in enumerate(best_rates(grid)):
        about = {**fields, "study": "best_rate", "statistic": "best_rate", "level": Level.SYSTEM.value,
                 "system": systems[place], "n": got.n, "missing": got.missing, "reason": got.reason}  # fmt: skip
        ends = None
        if got.n > 1:
            times = draws.times(got.n).astype(np.float64)
            ends = draws.ends(times @ shares[place] / got.n)
        rows.append(drawn_row(about, got.value, ends, draws))
    return rows


def strengths(games: Games, systems: Sequence[str], fields: Mapping[str, Any], draws: Draws, prior: float) -> list[Row]:
    """One row a system, best first: its Bradley-Terry strength, or why there is none.

    Every draw is a fit of its own, so there are at most `MOST_FITS`; the interval says how many.
    """
    draws = replace(draws, resamples=min(draws.resamples, MOST_FITS))
    fit = bradley_terry(games, len(systems), prior, max(1, draws.resamples), draws.level, draws.seed)
    about = {**fields, "study": "bradley_terry", "level": Level.SYSTEM.value, "statistic": "strength", "n": fit.n,
             "missing": fit.missing}  # fmt: skip
    if fit.lost:
        about = merged_details(about, resamples_left_out=fit.lost)
    if not fit.strengths:
        reason = fit.reason if _linked(games, len(systems)) else _APART
        return [Row(**about, system=name, value=None, status="undefined", reason=reason) for name in systems]
    return [
        drawn_row(
            {**about, "system": systems[one.system], "reason": fit.reason if one.low is None else None},
            one.strength,
            _ends_of(one),
            draws,
        )
        for one in fit.strengths
    ]


def _ends_of(one: Strength) -> tuple[float, float] | None:
    return None if one.low is None or one.high is None else (one.low, one.high)


def _linked(games: Games, systems: int) -> bool:
    """Whether the games connect all systems, by any path."""
    part = list(range(systems))
    for one, two in set(zip(games.first.tolist(), games.second.tolist(), strict=True)):
        old, new = part[one], part[two]
        part = [new if here == old else here for here in part]
    return len(set(part)) <= 1


def games_of(pairs: Sequence[tuple[str, str]], names: Sequence[str], gained: Floats) -> Games:
    """One game a pair and document, from the points of each pair's first system (pairs x documents)."""
    place = {name: number for number, name in enumerate(names)}
    documents = gained.shape[1]
    first, second = (np.repeat([place[pair[side]] for pair in pairs], documents).astype(np.int64) for side in (0, 1))
    return Games(first, second, gained.ravel(), np.tile(np.arange(documents), len(pairs)))
