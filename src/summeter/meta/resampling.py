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
from summeter.stats.base import Bools, Floats, Ints, generator
from summeter.stats.correlation_draws import weighted_correlations

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
                    kept.x[rows], kept.y[rows], times[usable], documents[rows], Coefficient(name)
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
        return _by_row(Coefficient(name), x, y, counts > 0)

    return _interval(kept, value, plan, source.missing, draw)


def _interval(
    rows: PairedScores, value: float, plan: Plan, missing: int, draw: Callable[[Ints, Ints], Floats]
) -> Interval:
    """`draw` gives the statistic of some draws: how often each document was drawn, and the document of each row."""
    documents = np.unique(rows.document.codes, return_inverse=True)[1].astype(np.int64)
    size = int(documents.max(initial=-1)) + 1
    shell = Interval(
        value, None, None, len(rows), missing, "percentile", plan.resamples, plan.seed, plan.level,
        Status.NO_INTERVAL, None, size,
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


def _product_moment(x: Floats, y: Floats, weights: Floats) -> Floats:
    size = weights.sum(axis=1, keepdims=True)
    means = [(side * weights).sum(axis=1, keepdims=True) / size for side in (x, y)]
    a, b = x - means[0], y - means[1]
    spreads = [np.sqrt((weights * side * side).sum(axis=1)) for side in (a, b)]
    flat = [spread <= _TINY * np.abs(mean[:, 0]) for spread, mean in zip(spreads, means, strict=True)]
    usable = ~(flat[0] | flat[1]) & (size[:, 0] >= 2)
    below = spreads[0] * spreads[1]
    return np.asarray(np.divide((weights * a * b).sum(axis=1), below, out=np.full(len(below), np.nan), where=usable))


def _by_row(kind: Coefficient, x: Floats, y: Floats, there: Bools) -> Floats:
    """The coefficient of each row of two matrices, over the columns that are there."""
    weights = there.astype(np.float64)
    left, right = np.where(there, x, 0.0), np.where(there, y, 0.0)
    if kind is Coefficient.PEARSON:
        return _product_moment(left, right, weights)
    both = there[:, :, None] & there[:, None, :]
    signs = [np.where(both, np.sign(side[:, :, None] - side[:, None, :]), 0.0) for side in (left, right)]
    n = weights.sum(axis=1)
    if kind is Coefficient.SPEARMAN:
        # Twice the rank, less a constant: how many lie below, less how many lie above.
        return _product_moment(signs[0].sum(axis=2), signs[1].sum(axis=2), weights)
    excess = (signs[0] * signs[1]).sum(axis=(1, 2)) / 2
    untied = [np.abs(one).sum(axis=(1, 2)) / 2 for one in signs]
    if kind is Coefficient.KENDALL_B:
        below = np.sqrt(untied[0]) * np.sqrt(untied[1])
    else:
        # Distinct values: a column is the first of its value when no column before it is tied with it.
        before = np.tri(x.shape[1], k=-1, dtype=np.bool_)
        firsts = [(there & ~(both & (one == 0) & before).any(axis=2)).sum(axis=1) for one in signs]
        classes = np.maximum(np.minimum(*firsts), 1)
        below = n**2 * (classes - 1) / classes / 2
    usable = (untied[0] > 0) & (untied[1] > 0)
    return np.asarray(np.divide(excess, below, out=np.full(len(n), np.nan), where=usable))
