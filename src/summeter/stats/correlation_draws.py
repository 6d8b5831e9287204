"""Bootstrap intervals of correlations, all draws computed together.

A draw of clusters with replacement gives every row a weight: how often it was drawn. Each coefficient is a function
of the weights, so a thousand draws are a few matrix products instead of a thousand sorts.
"""

import numpy as np
from numpy.typing import NDArray

from summeter.choices import Coefficient

from .base import (
    CONSTANT,
    TOO_FEW_PAIRS,
    Floats,
    Ints,
    Labels,
    Seed,
    Status,
    Values,
    codes,
    complete,
    generator,
    seed_number,
)
from .correlation import raw
from .resample import Interval, Method

_BLOCK = 2_000_000  # weights at a time
_PAIRWISE = 2_000  # up to this many rows Kendall's pairs are held as a matrix


def correlation_interval(
    x: Values,
    y: Values,
    coefficient: str = Coefficient.PEARSON,
    clusters: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Interval:
    """Return a correlation with its percentile bootstrap interval, drawing clusters (documents) whole.

    Constant draws have no correlation and are left out; ``reason`` counts them, and when they are more than half
    there is no interval. Raises ValueError as ``correlate`` does, and for labels of another length.

    >>> got = correlation_interval([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5], "spearman", seed=1)
    >>> round(got.value, 4), got.low < got.value <= got.high
    (0.8857, True)
    """
    kind = Coefficient(coefficient)
    if not 0 < level < 1 or resamples < 1:
        raise ValueError(f"need 0 < level < 1 and resamples >= 1, got {level} and {resamples}")
    (left, right), kept = complete(x, y)
    rows = np.arange(len(kept)) if clusters is None else codes(clusters)
    if len(rows) != len(kept):
        raise ValueError(f"{len(rows)} cluster labels for {len(kept)} rows")
    labels = np.unique(rows[kept], return_inverse=True)[1].astype(np.int64)
    n, units = len(left), int(labels.max(initial=-1)) + 1
    shell = Interval(
        None, None, None, n, int((~kept).sum()), Method.PERCENTILE.value, resamples, seed_number(seed), level,
        Status.UNDEFINED, None, units,
    )  # fmt: skip
    value = raw(left, right, kind)
    if value is None:
        return shell._replace(reason=TOO_FEW_PAIRS if n < 2 else CONSTANT)
    if units < 2:
        reason = "fewer than 2 clusters: no interval"
        return shell._replace(value=value, status=Status.NO_INTERVAL, reason=reason)
    times = generator(seed).multinomial(units, np.full(units, 1 / units), resamples)
    drawn = weighted_correlations(left, right, times, labels, kind)
    drawn = drawn[~np.isnan(drawn)]
    lost = resamples - len(drawn)
    if lost * 2 > resamples:
        reason = f"the correlation is undefined in {lost} of {resamples} resamples"
        return shell._replace(value=value, resamples=len(drawn), status=Status.NO_INTERVAL, reason=reason)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    note = f"{lost} of {resamples} resamples undefined, left out" if lost else None
    return shell._replace(
        value=value, low=float(low), high=float(high), resamples=len(drawn), status=Status.OK, reason=note
    )


def weighted_correlations(x: Floats, y: Floats, times: NDArray[np.int64], labels: Ints, kind: Coefficient) -> Floats:
    """Return the correlation of each draw, NaN where constant (for use inside this room only).

    ``times`` (draws x clusters) says how often each cluster was drawn, ``labels`` the cluster of each row.
    """
    found: list[Floats] = []
    block = max(1, _BLOCK // max(1, len(x)))
    for start in range(0, len(times), block):
        weights = times[start : start + block, labels].astype(np.float64)
        if kind is Coefficient.PEARSON:
            found.append(_moments(weights, x - x.mean(), y - y.mean()))
        elif kind is Coefficient.SPEARMAN:
            found.append(_moments(weights, _ranks(weights, x), _ranks(weights, y)))
        elif len(x) <= _PAIRWISE:
            found.append(_taus(weights, x, y, kind))
        else:
            found.append(np.array([_one(row, x, y, kind) for row in weights.astype(np.int64)]))
    return np.concatenate(found)


def _one(times: Ints, x: Floats, y: Floats, kind: Coefficient) -> float:
    value = raw(np.repeat(x, times), np.repeat(y, times), kind)
    return np.nan if value is None else value


def _moments(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return weighted product-moment correlations; x and y are one row for all draws or one a draw."""
    n = weights.sum(axis=1)
    wx, wy = weights * x, weights * y
    mean_x, mean_y = wx.sum(axis=1) / n, wy.sum(axis=1) / n
    square_x, square_y = (wx * x).sum(axis=1) / n, (wy * y).sum(axis=1) / n
    spread_x, spread_y = square_x - mean_x**2, square_y - mean_y**2
    cross = (wx * y).sum(axis=1) / n - mean_x * mean_y
    # A constant draw leaves only the rounding of its squares.
    constant = (spread_x <= 1e-12 * square_x) | (spread_y <= 1e-12 * square_y)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = cross / np.sqrt(spread_x * spread_y)
    return np.asarray(np.where(constant, np.nan, np.clip(value, -1, 1)))


def _groups(weights: Floats, values: Floats) -> tuple[Floats, Ints]:
    """Return the weight of each distinct value, ascending, in each draw, and the value's number of each row."""
    order = np.argsort(values, kind="stable")
    index = np.unique(values, return_inverse=True)[1].astype(np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(index[order]) > 0))
    return np.add.reduceat(weights[:, order], starts, axis=1), index


def _ranks(weights: Floats, values: Floats) -> Floats:
    """Return the average rank of each row within each draw, centred on the draw's middle."""
    sizes, index = _groups(weights, values)
    middle = np.cumsum(sizes, axis=1) - sizes / 2
    return np.asarray(middle[:, index] - weights.sum(axis=1, keepdims=True) / 2)


def _taus(weights: Floats, x: Floats, y: Floats, kind: Coefficient) -> Floats:
    """Return Kendall's tau of each draw from the signs of all pairs of rows."""
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    excess = ((weights @ signs) * weights).sum(axis=1)
    n = weights.sum(axis=1)
    sizes_x, sizes_y = _groups(weights, x)[0], _groups(weights, y)[0]
    untied_x, untied_y = n**2 - (sizes_x**2).sum(axis=1), n**2 - (sizes_y**2).sum(axis=1)
    if kind is Coefficient.KENDALL_B:
        below = np.sqrt(untied_x * untied_y)
    else:
        classes = np.minimum((sizes_x > 0).sum(axis=1), (sizes_y > 0).sum(axis=1))
        below = n**2 * (classes - 1) / classes
    constant = (untied_x <= 0) | (untied_y <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(constant, np.nan, np.clip(excess / below, -1, 1)))
