"""The bootstrap by document of correlations that are averages, or of means: all draws at once.

A draw of documents gives every row a weight, how often its document was drawn. Each coefficient is a function of the
weights, so a thousand draws are a few matrix products (as in `stats.correlation_interval`, which is for rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from summeter.choices import Coefficient
from summeter.meta.matrix import PairedScores, rounded
from summeter.stats import Interval, Status
from summeter.stats.base import Floats, Ints, generator
from summeter.stats.correlation import weighted_correlations

_BLOCK = 250
_TINY = 1e-13
_TOO_FEW = "fewer than 2 clusters: no interval"


class Plan(NamedTuple):
    """How often to draw, at which level of the interval, from which seed."""

    resamples: int
    level: float
    seed: int


def average_interval(pairs: PairedScores, name: str, value: float, plan: Plan) -> Interval:
    """The interval of the mean over systems of the correlation within each: documents are drawn for all alike."""
    kept = pairs.take(pairs.kept)
    inside = [np.flatnonzero(kept.system.codes == code) for code in np.unique(kept.system.codes)]

    def draw(times: Ints, documents: Ints) -> Floats:
        parts = np.full((len(inside), len(times)), np.nan)
        for place, rows in enumerate(inside):
            usable = times[:, documents[rows]].sum(axis=1) >= 2
            if usable.any():
                parts[place, usable] = weighted_correlations(
                    kept.x[rows], kept.y[rows], times[usable][:, documents[rows]].astype(np.float64), Coefficient(name)
                )
        there = ~np.isnan(parts)
        sums, counts = np.where(there, parts, 0.0).sum(axis=0), there.sum(axis=0)
        return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))

    return _interval(kept, value, plan, pairs.missing, draw)


def means_interval(pairs: PairedScores, source: PairedScores, name: str, value: float, plan: Plan) -> Interval:
    """The interval of a correlation of means of systems; the means are formed anew in each draw."""
    kept = source.take(source.kept)
    entered = {name: place for place, name in enumerate(pairs.system.take(pairs.kept).used())}
    group = np.array([entered.get(one, -1) for one in kept.system.names], np.int64)[kept.system.codes]
    kept, group = kept.take(group >= 0), group[group >= 0]
    member = np.zeros((len(group), len(entered)))
    member[np.arange(len(group)), group] = 1.0

    def draw(times: Ints, documents: Ints) -> Floats:
        weights = times[:, documents].astype(np.float64)
        counts = weights @ member
        nothing = np.full(counts.shape, np.nan)
        x, y = (
            rounded(np.divide(weights @ (member * side[:, None]), counts, out=nothing.copy(), where=counts > 0))
            for side in (kept.x, kept.y)
        )
        return weighted_correlations(x, y, (counts > 0).astype(np.float64), Coefficient(name))

    return _interval(kept, value, plan, source.missing, draw)


def _interval(
    rows: PairedScores, value: float, plan: Plan, missing: int, draw: Callable[[Ints, Ints], Floats]
) -> Interval:
    """`draw` gives the statistic of some draws: how often each document was drawn, and the document of each row."""
    documents = np.unique(rows.document.codes, return_inverse=True)[1].astype(np.int64)
    size = int(documents.max(initial=-1)) + 1
    shell = Interval(
        value, None, None, len(rows), missing, size, plan.resamples, 0, "percentile", plan.level, plan.seed,
        Status.NO_INTERVAL, None,
    )  # fmt: skip
    if size < 2:
        return shell._replace(reason=_TOO_FEW)
    times = generator(plan.seed).multinomial(size, np.full(size, 1 / size), plan.resamples)
    drawn = np.concatenate([draw(times[at : at + _BLOCK], documents) for at in range(0, plan.resamples, _BLOCK)])
    usable = drawn[~np.isnan(drawn)]
    lost = plan.resamples - len(usable)
    if lost * 2 > plan.resamples:
        reason = f"the statistic is undefined in {lost} of {plan.resamples} resamples"
        return shell._replace(resamples=len(usable), reason=reason)
    low, high = np.quantile(usable, [(1 - plan.level) / 2, (1 + plan.level) / 2])
    note = f"{lost} of {plan.resamples} resamples undefined, left out" if lost else None
    return shell._replace(low=float(low), high=float(high), resamples=len(usable), status=Status.OK, reason=note)
