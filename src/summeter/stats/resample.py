"""Intervals by resampling: the bootstrap of a mean, of any statistic, and of a paired difference.

What is drawn again is the *cluster* (normally the document), because the summaries of one document rise and
fall together; drawing rows would make the intervals too narrow (Field & Welsh, 2007). Without clusters each row
is its own. The permutation tests live in ``permute``.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .base import (
    ALL_MISSING,
    CONSTANT,
    EMPTY,
    Bools,
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
    split_rows,
)

_CELLS = 500_000  # drawn at a time: keeps the memory of one block near 8 MB
_REPEATS = 8  # with each cluster repeated so often, drawing counts is faster than drawing clusters
_MANY = 50_000


class Method(StrEnum):
    """How the ends of an interval are read: percentiles of the draws, or bias-corrected and accelerated (BCa).

    ``normal`` is reported, never asked for: see ``bootstrap_mean``.
    """

    PERCENTILE = "percentile"
    BCA = "bca"
    NORMAL = "normal"


class Interval(NamedTuple):
    """A value with its interval and everything needed to draw it again.

    ``n`` rows were used and ``missing`` dropped; ``clusters`` units were drawn. ``status`` is ``ok``,
    ``no_interval`` (the value stands alone) or ``undefined`` (no value). A ``reason`` may stand beside ``ok``
    when the interval has no width because all units are alike. ``seed`` is None when a generator was passed.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    missing: int
    method: str
    resamples: int
    seed: int | None
    level: float
    status: Status
    reason: str | None
    clusters: int


class Comparison(NamedTuple):
    """The difference of two paired means (first minus second), with its interval or p-value.

    ``low`` and ``high`` come from the bootstrap (None for a permutation test); ``p`` is two-sided.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    missing: int
    method: str
    resamples: int
    seed: int | None
    level: float | None
    status: Status
    reason: str | None
    clusters: int


def bootstrap_mean(
    values: Values,
    clusters: Labels | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
    method: str = Method.PERCENTILE,
) -> Interval:
    """Return the mean of ``values`` (None or NaN = missing) with a bootstrap interval.

    Clusters (one label a row) are drawn whole and with replacement; the mean of a draw is the sum of its values
    over their number, so every row weighs the same as in the plain mean. The result does not depend on the order
    of the rows. Repeated clusters with the same sum and size are drawn as one multinomial count, which has the
    same distribution and makes a million binary labels cheap.

    Raises ValueError for a level outside (0, 1), fewer than 1 resample or labels of another length.

    >>> got = bootstrap_mean([1, 0, 1, 1, None], seed=7)
    >>> got.value, got.n, got.missing, got.low <= 0.75 <= got.high
    (0.75, 4, 1, True)
    """
    _check(resamples, level)
    (column,), kept = complete(values)
    sums, counts = _totals(column, _cluster_codes(clusters, kept))
    n, missing, units = len(column), int((~kept).sum()), len(sums)
    shell = Interval(
        None, None, None, n, missing, Method(method).value, resamples, seed_number(seed), level, Status.UNDEFINED,
        None, units,
    )  # fmt: skip
    if n == 0:
        return shell._replace(reason=ALL_MISSING if missing else EMPTY)
    value = float(sums.sum() / n)
    if units < 2:
        return shell._replace(value=value, status=Status.NO_INTERVAL, reason=_too_few(clusters))
    sums, counts = _ordered(sums, counts)
    error = _sure_error(sums, counts, value)
    if error is not None and method == Method.PERCENTILE:
        step = NormalDist().inv_cdf((1 + level) / 2) * error
        shell = shell._replace(method=Method.NORMAL.value, resamples=0, status=Status.OK)
        return shell._replace(value=value, low=value - step, high=value + step)
    drawn = _mean_draws(sums, counts, resamples, generator(seed))
    jack = (sums.sum() - sums) / np.maximum(n - counts, 1)
    low, high = _ends(drawn, value, level, jack if method == Method.BCA else None)
    note = CONSTANT if low == high else None
    return shell._replace(value=value, low=low, high=high, status=Status.OK, reason=note)


def bootstrap(
    statistic: Callable[..., float | None],
    arrays: Sequence[Values],
    clusters: Labels | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
    method: str = Method.PERCENTILE,
) -> Interval:
    """Return any statistic of aligned arrays with a bootstrap interval, drawing clusters whole.

    ``statistic(*arrays)`` gets float arrays of equal length without missing values and returns a number, or None
    or NaN where it is undefined. Draws without a value (a constant sample, say) are left out; when they are more
    than half there is no interval, and otherwise ``reason`` counts them. ``resamples`` in the result is the number
    that gave a value. Cost: one call of ``statistic`` a draw.

    >>> import numpy as np
    >>> got = bootstrap(lambda x: float(np.median(x)), [[1, 2, 3, 4, 9]], resamples=200)
    >>> got.value, got.low >= 1, got.high <= 9
    (3.0, True, True)
    """
    _check(resamples, level)
    columns, kept = complete(*arrays)
    n, missing = len(columns[0]), int((~kept).sum())
    found = _cluster_codes(clusters, kept)
    labels = np.arange(n) if found is None else found
    units = int(labels.max()) + 1 if n else 0
    shell = Interval(
        None, None, None, n, missing, Method(method).value, resamples, seed_number(seed), level, Status.UNDEFINED,
        None, units,
    )  # fmt: skip
    if n == 0:
        return shell._replace(reason=ALL_MISSING if missing else EMPTY)
    value = _number(statistic(*columns))
    if value is None:
        return shell._replace(reason="the statistic is undefined on the whole sample")
    if units < 2:
        return shell._replace(value=value, status=Status.NO_INTERVAL, reason=_too_few(clusters))
    picks = generator(seed).integers(0, units, (resamples, units))
    drawn = _any_draws(statistic, columns, [rows for _, rows in split_rows(labels)], picks)
    lost = resamples - len(drawn)
    if lost * 2 > resamples:
        reason = f"the statistic is undefined in {lost} of {resamples} resamples"
        return shell._replace(value=value, resamples=len(drawn), status=Status.NO_INTERVAL, reason=reason)
    jack = _jackknife(statistic, columns, labels, units) if method == Method.BCA else None
    low, high = _ends(drawn, value, level, jack)
    note = f"{lost} of {resamples} resamples undefined, left out" if lost else (CONSTANT if low == high else None)
    return shell._replace(value=value, low=low, high=high, resamples=len(drawn), status=Status.OK, reason=note)


def paired_bootstrap(
    a: Values,
    b: Values,
    clusters: Labels | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Comparison:
    """Return mean(a) - mean(b) over complete pairs with a percentile interval and a two-sided p-value.

    p = (c + 1) / (resamples + 1), where c counts the draws whose distance from the observed difference is at least
    the observed difference itself: the bootstrap distribution shifted to the null (Riezler & Maxwell, 2005).

    >>> got = paired_bootstrap([3, 4, 5, 6], [2, 3, 4, 4], seed=1)
    >>> got.difference, got.low > 0
    (1.25, True)
    """
    _check(resamples, level)
    (left, right), kept = complete(a, b)
    gaps = left - right
    sums, counts = _totals(gaps, _cluster_codes(clusters, kept))
    n, missing, units = len(gaps), int((~kept).sum()), len(sums)
    shell = Comparison(
        None, None, None, None, n, missing, "paired bootstrap", resamples, seed_number(seed), level,
        Status.UNDEFINED, None, units,
    )  # fmt: skip
    if n == 0:
        return shell._replace(reason=ALL_MISSING if missing else EMPTY)
    value = float(sums.sum() / n)
    if units < 2:
        return shell._replace(difference=value, status=Status.NO_INTERVAL, reason=_too_few(clusters))
    drawn = _mean_draws(*_ordered(sums, counts), resamples, generator(seed))
    low, high = _ends(drawn, value, level, None)
    # The tolerance keeps draws that equal the edge in exact arithmetic from falling off it by rounding.
    beyond = int((np.abs(drawn - value) >= abs(value) * (1 - 1e-12)).sum())
    p = (beyond + 1) / (resamples + 1)
    note = CONSTANT if low == high else None
    return shell._replace(difference=value, low=low, high=high, p=p, status=Status.OK, reason=note)


def _check(resamples: int, level: float) -> None:
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")


def _too_few(clusters: Labels | None) -> str:
    return "fewer than 2 values: no interval" if clusters is None else "fewer than 2 clusters: no interval"


def _same_length(clusters: Labels, kept: Bools) -> Bools:
    if len(clusters) != len(kept):
        raise ValueError(f"{len(clusters)} cluster labels for {len(kept)} rows")
    return kept


def _cluster_codes(clusters: Labels | None, kept: Bools) -> Ints | None:
    """Return the codes of the clusters that have a value, 0..k-1; None when each row is its own."""
    if clusters is None:
        return None
    present = codes(clusters)[_same_length(clusters, kept)]
    return np.unique(present, return_inverse=True)[1].astype(np.int64)


def _totals(column: Floats, labels: Ints | None) -> tuple[Floats, Floats]:
    if labels is None:
        return column, np.ones(len(column))
    return np.bincount(labels, weights=column).astype(np.float64), np.bincount(labels).astype(np.float64)


def _ordered(sums: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Sort the clusters, so that a result does not depend on the order in which rows arrived."""
    order = np.lexsort((counts, sums))
    return sums[order], counts[order]


def _distinct(sums: Floats, counts: Floats) -> Bools:
    """Mark the first of each run of equal clusters, which are sorted."""
    return np.append(True, (np.diff(sums) != 0) | (np.diff(counts) != 0))


def _sure_error(sums: Floats, counts: Floats, value: float) -> float | None:
    """Return the standard error of the mean where drawing would only add noise to a normal distribution, else None."""
    if len(sums) < _MANY or _distinct(sums, counts).sum() * _REPEATS <= len(sums):
        return None
    pulls = sums - value * counts
    square = float((pulls**2).sum())
    # A skewness of .05 moves the ends by 2 % of the standard error; 2,000 draws are off by 6 % by chance alone.
    if abs(float((pulls**3).sum())) > 0.05 * square**1.5:
        return None
    return float(np.sqrt(square) / counts.sum())


def _mean_draws(sums: Floats, counts: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Return the mean of each draw of len(sums) clusters; ``sums`` and ``counts`` are sorted together."""
    units = len(sums)
    new = _distinct(sums, counts)
    times = np.diff(np.append(np.flatnonzero(new), units))
    drawn = np.empty(resamples)
    if len(times) * _REPEATS <= units:
        block = max(1, _CELLS // len(times))
        for start in range(0, resamples, block):
            size = min(block, resamples - start)
            weights = rng.multinomial(units, times / units, size=size).astype(np.float64)
            drawn[start : start + size] = (weights @ sums[new]) / (weights @ counts[new])
        return drawn
    equal = bool((counts == counts[0]).all())
    block = max(1, _CELLS // units)
    for start in range(0, resamples, block):
        picks = rng.integers(0, units, (min(block, resamples - start), units), dtype=np.uint32)
        sizes = counts[0] * units if equal else counts[picks].sum(axis=1)
        drawn[start : start + len(picks)] = sums[picks].sum(axis=1) / sizes
    return drawn


def _any_draws(
    statistic: Callable[..., float | None], columns: Sequence[Floats], groups: Sequence[Ints], picks: Ints
) -> Floats:
    """Return the statistic of each draw (a row of ``picks``), without the draws where it is undefined."""
    even = len({len(rows) for rows in groups}) == 1
    table = np.stack(list(groups)) if even else None
    values: list[float] = []
    for pick in picks:
        rows = np.concatenate([groups[i] for i in pick]) if table is None else table[pick].ravel()
        value = _number(statistic(*(column[rows] for column in columns)))
        if value is not None:
            values.append(value)
    return np.array(values)


def _jackknife(statistic: Callable[..., float | None], columns: Sequence[Floats], labels: Ints, units: int) -> Floats:
    """Return the statistic with each cluster left out in turn, where it is defined."""
    left_out = (statistic(*(column[labels != unit] for column in columns)) for unit in range(units))
    return np.array([value for value in map(_number, left_out) if value is not None])


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _ends(drawn: Floats, value: float, level: float, jack: Floats | None) -> tuple[float, float]:
    """Return the interval's ends: percentiles of the draws, moved as BCa says when jackknife values are given.

    BCa is Efron (1987), eq. 2.3 and 6.6; a draw equal to the value counts one half in the bias correction.
    """
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if jack is not None and drawn.min() != drawn.max():
        normal = NormalDist()
        below = ((drawn < value).mean() + (drawn <= value).mean()) / 2
        bias = normal.inv_cdf(min(max(float(below), 1e-12), 1 - 1e-12))
        pulls = jack.mean() - jack
        spread = float((pulls**2).sum()) ** 1.5
        acceleration = float((pulls**3).sum()) / (6 * spread) if spread > 0 else 0.0
        shifted = [bias + normal.inv_cdf(float(tail)) for tail in tails]
        tails = np.array([normal.cdf(bias + z / (1 - acceleration * z)) for z in shifted])
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)
