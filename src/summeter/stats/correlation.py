"""Correlation of two lists of scores: Pearson, Spearman, Kendall's tau-b and tau-c, with p-values and intervals.

Each coefficient is one function of weights (`weighted_correlations`): a draw of documents gives every row a weight, and
a weight of 1 for all gives the coefficient itself. Values and p-values agree with scipy (``pearsonr``, ``spearmanr``,
``kendalltau`` with its ``auto`` rule). A list that is constant, up to rounding, has no correlation: the value is None
with the reason. Rank coefficients compare scores exactly, so form means alike on both sides: 4.333 and 13/3 are not
tied.
"""

from collections.abc import Callable, Hashable, Iterator
from math import isnan
from typing import Literal, NamedTuple, assert_never

import numpy as np

from summeter.choices import Coefficient

from .base import (
    CONSTANT,
    TOO_FEW_PAIRS,
    Bools,
    Floats,
    Ints,
    Labels,
    Seed,
    Statistic,
    Status,
    Values,
    as_pairs,
    codes,
    complete,
    correlation_p,
    undefined,
)
from .resample import Bootstrap, Interval, Weighted

NO_GROUP = "undefined in every group"
_ROUNDING = 1e-13  # a spread this small beside the mean is rounding, not signal (scipy warns at the same point)
_BLOCK = 2_000_000  # cells of a block of draws
_FEW_ROWS = 60
_PAIRS_AT_ONCE = 2_000  # up to this many rows Kendall's pairs are held as a matrix

Variant = Literal["b", "c"]  # of Kendall's tau


class GroupedStatistic(NamedTuple):
    """A mean over groups: ``groups`` had a value and entered, ``undefined`` had none and are only counted."""

    name: str
    value: float | None
    n: int
    missing: int
    groups: int
    undefined: int
    status: Status
    reason: str | None


def correlate(x: Values, y: Values, coefficient: str = Coefficient.PEARSON) -> Statistic:
    """Return the named correlation of x and y over their complete pairs, with its two-sided p-value.

    Raises ValueError for an unknown coefficient or lists of different lengths.

    >>> correlate([1, 2, 3, 4], [1, 3, 2, 4], "spearman").value
    0.8
    """
    kind = Coefficient(coefficient)
    left, right, missing = as_pairs(x, y)
    value = raw(left, right, kind)
    return _statistic(left, right, missing, kind, np.nan if value is None else value, with_p=True)


def _statistic(x: Floats, y: Floats, missing: int, kind: Coefficient, value: float, *, with_p: bool) -> Statistic:
    """A coefficient (NaN where undefined) with its reason or its p-value."""
    if isnan(value):
        return undefined(kind.value, TOO_FEW_PAIRS if len(x) < 2 else CONSTANT, len(x), missing)
    test = CORRELATIONS[kind].p if with_p else None
    return Statistic(kind.value, value, len(x), missing, test(x, y, value) if test is not None else None)


def pearson(x: Values, y: Values) -> Statistic:
    """Return Pearson's r; p from Student's t with n - 2 degrees of freedom (p = 1 for two pairs).

    >>> round(pearson([1, 2, 3], [1, 2, 4]).value, 6)
    0.981981
    """
    return correlate(x, y, Coefficient.PEARSON)


def spearman(x: Values, y: Values) -> Statistic:
    """Return Spearman's rho: Pearson's r of the average ranks; p as for Pearson, none for two pairs.

    >>> spearman([1, 2, 3, 4], [1, 3, 2, 4]).value
    0.8
    """
    return correlate(x, y, Coefficient.SPEARMAN)


def kendall_b(x: Values, y: Values) -> Statistic:
    """Return Kendall's tau-b, (C - D) / sqrt((T - Tx)(T - Ty)).

    C and D count concordant and discordant pairs, T all pairs, Tx and Ty those tied in x and in y. The p-value is
    scipy's: exact without ties when n <= 33 or at most one pair disagrees, else normal with the tie-corrected variance.

    >>> round(kendall_b([1, 2, 2, 3], [1, 2, 3, 3]).value, 12)
    0.8
    """
    return correlate(x, y, Coefficient.KENDALL_B)


def kendall_c(x: Values, y: Values) -> Statistic:
    """Return Stuart's tau-c, 2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values; p as tau-b.

    >>> round(kendall_c([0, 0, 1, 1], [1, 2, 3, 4]).value, 12)
    1.0
    """
    return correlate(x, y, Coefficient.KENDALL_C)


def kendall_binary(scores: Values, labels: Values) -> Statistic:
    """Return tau-b between scores and a 0/1 label, as SummQual does with its hallucination label.

    Only pairs with different labels can agree or disagree: tau-b = (2 AUROC - 1) sqrt(n0 n1 / (T - Tx)).
    Raises ValueError when a label is neither 0 nor 1.

    >>> round(kendall_binary([0.1, 0.4, 0.8], [0, 0, 1]).value, 6)
    0.816497
    """
    got, _, _ = as_pairs(labels, labels)
    if not np.isin(got, (0, 1)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    return kendall_b(scores, labels)


def raw(x: Floats, y: Floats, coefficient: Coefficient) -> float | None:
    """Return the bare coefficient of two float arrays without missing values; None where it is undefined."""
    if len(x) < 2:
        return None
    value = float(_of_lists(x[None], y[None], coefficient)[0])
    return None if isnan(value) else value


def _of_lists(x: Floats, y: Floats, coefficient: Coefficient) -> Floats:
    """The coefficient of each row of two tables (lists x length), all weights being 1."""
    values = weighted_correlations(x, y, np.ones_like(x), coefficient)
    return np.where(_flat(x) | _flat(y), np.nan, values)


def weighted_correlations(x: Floats, y: Floats, weights: Floats, coefficient: Coefficient) -> Floats:
    """Return the coefficient of each draw, NaN where a side is constant or fewer than two rows were drawn.

    ``weights`` (draws x rows) says how often each row was drawn, in whole numbers; ``x`` and ``y`` are one row for all
    draws or one a draw, in which what has the weight 0 may be NaN.

    >>> x, y = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 3.0, 2.0, 9.0])
    >>> weighted_correlations(x, y, np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0]]), Coefficient("kendall_b"))
    array([0.33333333, 1.        ])
    """
    function = CORRELATIONS[coefficient].weighted
    x, y = (side if side.ndim == 1 else np.where(weights > 0, side, 0.0) for side in (x, y))
    values = np.full(len(weights), np.nan)
    if weights.shape[1] < 2 or any(side.ndim == 1 and _flat(side) for side in (x, y)):
        return values
    block = max(1, _BLOCK // weights.shape[1])
    for start in range(0, len(weights), block):
        rows = slice(start, start + block)
        left, right = (side if side.ndim == 1 else side[rows] for side in (x, y))
        values[rows] = function(left, right, weights[rows])
    # A perfect line should say 1, whatever the last bit of the sum; the p-value of few pairs hangs on it.
    values = np.where(np.abs(values) > 1 - 2e-15, np.sign(values), values)
    return np.asarray(np.where(weights.sum(axis=1) >= 2, values, np.nan))


def _flat(side: Floats) -> Bools:
    """Whether a list is constant, up to rounding; of a table, each row."""
    mean = side.mean(axis=-1, keepdims=True)
    return np.asarray(np.linalg.norm(side - mean, axis=-1) <= _ROUNDING * np.abs(mean[..., 0]))


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    return _moments(weights, _centred(x), _centred(y))


def _centred(side: Floats) -> Floats:
    """Values about their mean, brought near 1 by a power of two, so that squares neither vanish nor overflow."""
    gaps = side - side.mean(axis=-1, keepdims=True)
    return np.asarray(np.ldexp(gaps, -np.frexp(np.abs(gaps).max(axis=-1, keepdims=True))[1]))


def _spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    return _moments(weights, _ranks(weights, x), _ranks(weights, y))


def _moments(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return weighted product-moment correlations; x and y are one row for all draws or one a draw."""
    with np.errstate(divide="ignore", invalid="ignore"):
        n = weights.sum(axis=1)
        if x.ndim == y.ndim == 1:
            sums = weights @ np.stack([x, y, x * x, y * y, x * y], axis=1) / n[:, None]
            mean_x, mean_y, square_x, square_y, both = sums.T
        else:
            wx, wy = weights * x, weights * y
            mean_x, mean_y = wx.sum(axis=1) / n, wy.sum(axis=1) / n
            square_x, square_y = (wx * x).sum(axis=1) / n, (wy * y).sum(axis=1) / n
            both = (wx * y).sum(axis=1) / n
        spread_x, spread_y = square_x - mean_x**2, square_y - mean_y**2
        # A constant draw leaves only the rounding of its squares.
        constant = ~((spread_x > 1e-12 * square_x) & (spread_y > 1e-12 * square_y))
        value = (both - mean_x * mean_y) / np.sqrt(spread_x * spread_y)
    return np.asarray(np.where(constant, np.nan, np.clip(value, -1, 1)))


def _ranks(weights: Floats, values: Floats) -> Floats:
    """Return the average rank of each row within each draw, centred on the draw's middle."""
    middle = weights.sum(axis=1, keepdims=True) / 2
    if values.ndim == 1:
        sizes, index = _sizes(weights, values)
        return np.asarray((np.cumsum(sizes, axis=1) - sizes / 2)[:, index] - middle)
    order = np.argsort(values, axis=1, kind="stable")
    ordered, times = (np.take_along_axis(side, order, axis=1) for side in (values, weights))
    end = np.cumsum(times, axis=1)
    first = np.append(np.ones((len(values), 1), dtype=np.bool_), np.diff(ordered, axis=1) != 0, axis=1)
    last = np.append(first[:, 1:], np.ones((len(values), 1), dtype=np.bool_), axis=1)
    below = np.maximum.accumulate(np.where(first, end - times, 0.0), axis=1)
    upto = np.minimum.accumulate(np.where(last, end, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty_like(values)
    np.put_along_axis(ranks, order, (below + upto) / 2, axis=1)
    return np.asarray(ranks - middle)


def _sizes(weights: Floats, values: Floats) -> tuple[Floats, Ints]:
    """Return the weight of each distinct value, ascending, in each draw, and the value's number of each row."""
    order = np.argsort(values, kind="stable")
    index = np.unique(values, return_inverse=True)[1].astype(np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(index[order]) > 0))
    return np.add.reduceat(weights[:, order], starts, axis=1), index


def _tau_b(x: Floats, y: Floats, weights: Floats) -> Floats:
    return _tau(x, y, weights, "b")


def _tau_c(x: Floats, y: Floats, weights: Floats) -> Floats:
    return _tau(x, y, weights, "c")


def _tau(x: Floats, y: Floats, weights: Floats, variant: Variant) -> Floats:
    """Return Kendall's tau of each draw from the signs of all pairs of rows; from sorted rows where they are many."""
    # A matrix of pairs serves all draws of one list; of a list a draw it pays only where there are few rows.
    own_pairs = len(weights) == 1 or x.ndim > 1 or y.ndim > 1
    if weights.shape[1] > (_FEW_ROWS if own_pairs else _PAIRS_AT_ONCE):
        return np.array([_sorted_tau(*rows, variant) for rows in _drawn_rows(x, y, weights)])
    if x.ndim > 1 or y.ndim > 1:
        size = max(1, _BLOCK // weights.shape[1] ** 2)
        left, right = (np.broadcast_to(side, weights.shape) for side in (x, y))
        parts = [slice(start, start + size) for start in range(0, len(weights), size)]
        return np.concatenate([_tau_of_signs(left[p], right[p], weights[p], variant) for p in parts] or [np.empty(0)])
    return _tau_of_signs(x, y, weights, variant)


def _tau_of_signs(x: Floats, y: Floats, weights: Floats, variant: Variant) -> Floats:
    signs_x, signs_y = (np.sign(side[..., :, None] - side[..., None, :]) for side in (x, y))
    excess = _paired(weights, signs_x * signs_y)
    (untied_x, classes_x), (untied_y, classes_y) = (
        _untied(weights, side, signs) for side, signs in ((x, signs_x), (y, signs_y))
    )
    match variant:
        case "b":
            below = np.sqrt(untied_x) * np.sqrt(untied_y)
        case "c":
            classes = np.maximum(np.minimum(classes_x, classes_y), 1)
            below = weights.sum(axis=1) ** 2 * (classes - 1) / classes
        case _:
            assert_never(variant)
    usable = (untied_x > 0) & (untied_y > 0)
    value = np.divide(excess, below, out=np.full(len(weights), np.nan), where=usable)
    return np.asarray(np.clip(value, -1, 1))


def _paired(weights: Floats, table: Floats) -> Floats:
    """Return the sum over pairs of rows of both weights times ``table`` (rows x rows, or one a draw)."""
    if table.ndim == 2:
        return np.asarray(((weights @ table) * weights).sum(axis=1))
    return np.asarray(np.matmul(np.matmul(weights[:, None, :], table), weights[:, :, None])[:, 0, 0])


def _untied(weights: Floats, side: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """Return the weight of the pairs not tied (each counted twice) and the number of distinct values in each draw."""
    if side.ndim == 1:
        sizes = _sizes(weights, side)[0]
        return weights.sum(axis=1) ** 2 - (sizes**2).sum(axis=1), np.asarray((sizes > 0).sum(axis=1), dtype=np.float64)
    here = weights > 0
    # A row is a new value unless a row before it is there and tied with it.
    before = (signs == 0) & here[:, None, :] & np.tri(weights.shape[1], k=-1, dtype=np.bool_)
    classes = (here & ~before.any(axis=2)).sum(axis=1)
    return _paired(weights, np.abs(signs)), np.asarray(classes, dtype=np.float64)


def _drawn_rows(x: Floats, y: Floats, weights: Floats) -> Iterator[tuple[Floats, Floats]]:
    for draw, times in enumerate(weights.astype(np.int64)):
        left, right = (side if side.ndim == 1 else side[draw] for side in (x, y))
        yield np.repeat(left, times), np.repeat(right, times)


def _sorted_tau(x: Floats, y: Floats, variant: Variant) -> float:
    """Kendall's tau in O(n log n)."""
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    return _scipy_tau(x, y, variant)[0]


def _scipy_tau(x: Floats, y: Floats, variant: Variant) -> tuple[float, float]:
    from scipy.stats import kendalltau

    got = kendalltau(x, y, variant=variant)
    return float(got.statistic), float(got.pvalue)


def _pearson_p(x: Floats, y: Floats, value: float) -> float:  # noqa: ARG001 - one signature for all
    return 1.0 if len(x) == 2 else correlation_p(value, len(x) - 2)


def _spearman_p(x: Floats, y: Floats, value: float) -> float | None:  # noqa: ARG001
    return None if len(x) == 2 else correlation_p(value, len(x) - 2)


def _kendall_p(x: Floats, y: Floats, value: float) -> float:  # noqa: ARG001
    return _scipy_tau(x, y, "b")[1]


class Correlation(NamedTuple):
    """How a coefficient is computed.

    ``weighted`` maps x, y and weights (draws x rows) to the coefficient of each draw, NaN where it is undefined; see
    ``weighted_correlations``. ``p`` maps x, y and the coefficient to a two-sided p-value (None where there is none).
    ``scale_free`` says that other units of a side (a positive factor, a shift) leave the coefficient as it is.
    """

    weighted: Callable[[Floats, Floats, Floats], Floats]
    p: Callable[[Floats, Floats, float], float | None] | None
    scale_free: bool


CORRELATIONS: dict[Coefficient, Correlation] = {
    Coefficient.PEARSON: Correlation(_pearson, _pearson_p, scale_free=True),
    Coefficient.SPEARMAN: Correlation(_spearman, _spearman_p, scale_free=True),
    Coefficient.KENDALL_B: Correlation(_tau_b, _kendall_p, scale_free=True),
    Coefficient.KENDALL_C: Correlation(_tau_c, _kendall_p, scale_free=True),
}
"""Every coefficient: the one place besides `Coefficient` that names them."""


def correlation_of(x: Floats, y: Floats, labels: Ints, coefficient: str) -> Weighted:
    """Return the correlation of complete rows as a function of the weights of their clusters (``labels``)."""
    kind = Coefficient(coefficient)
    return lambda weights: weighted_correlations(x, y, weights[:, labels], kind)


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

    Constant draws have no correlation and are lost (see ``Bootstrap.of_samples``). Raises ValueError as ``correlate``
    does, and for labels of another length.

    >>> got = correlation_interval([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5], "spearman", seed=1)
    >>> round(got.value, 4), got.low < got.value <= got.high
    (0.8857, True)
    """
    (left, right), kept = complete(x, y)
    if clusters is not None and len(clusters) != len(kept):
        raise ValueError(f"{len(clusters)} cluster labels for {len(kept)} rows")
    drawn = Bootstrap(len(left) if clusters is None else codes(clusters)[kept], resamples, level, seed)
    return drawn.interval(
        correlation_of(left, right, drawn.codes, coefficient),
        n=len(left),
        missing=int((~kept).sum()),
        width=len(left),
        undefined=TOO_FEW_PAIRS if len(left) < 2 else CONSTANT,
    )


def average_ranks(values: Floats) -> Floats:
    """Return ranks from 1 (lowest) to n, tied values sharing the mean of their ranks (scipy's ``rankdata``).

    >>> import numpy as np
    >>> average_ranks(np.array([2.0, 7.0, 7.0, 1.0])).tolist()
    [2.0, 3.5, 3.5, 1.0]
    """
    _, index, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2)[index], dtype=np.float64)


def correlation_by_group(
    x: Values, y: Values, groups: Labels, coefficient: str = Coefficient.PEARSON, *, with_p: bool = True
) -> dict[Hashable, Statistic]:
    """Return the correlation of x and y within each group, in order of first appearance, reasons included.

    Without ``with_p`` there are no p-values, which of Kendall's tau take most of the time.

    >>> got = correlation_by_group([1, 2, 3, 5, 5], [1, 2, 4, 1, 2], list("aaabb"), "kendall_b")
    >>> round(got["a"].value, 12), got["b"].reason
    (1.0, 'constant input')
    """
    if not len(np.asarray(x)) == len(np.asarray(y)) == len(groups):
        raise ValueError(f"lengths differ: {len(np.asarray(x))}, {len(np.asarray(y))}, {len(groups)} groups")
    (left, right), kept = complete(x, y)
    labels, kind = codes(groups), Coefficient(coefficient)
    names = list(dict.fromkeys(groups))
    sizes = np.bincount(labels[kept], minlength=len(names))
    missing = np.bincount(labels[~kept], minlength=len(names))
    starts, order = np.cumsum(sizes) - sizes, np.argsort(labels[kept], kind="stable")
    left, right = left[order], right[order]
    values = np.full(len(names), np.nan)
    for size in np.unique(sizes[sizes >= 2]).tolist():
        alike = np.flatnonzero(sizes == size)
        rows = starts[alike][:, None] + np.arange(size)
        values[alike] = _of_lists(left[rows], right[rows], kind)
    found: dict[Hashable, Statistic] = {}
    counts = zip(names, values.tolist(), starts.tolist(), sizes.tolist(), missing.tolist(), strict=True)
    for name, value, start, n, absent in counts:
        own = slice(start, start + n)
        found[name] = _statistic(left[own], right[own], absent, kind, value, with_p=with_p)
    return found


def mean_correlation(x: Values, y: Values, groups: Labels, coefficient: str = Coefficient.PEARSON) -> GroupedStatistic:
    """Return the mean over groups of the correlation within each (summary-level correlation "by document").

    Every group with a value weighs the same. Groups without one (constant scores, fewer than two pairs) are left
    out and counted in ``undefined``.

    >>> got = mean_correlation([1, 2, 3, 5, 5], [1, 2, 4, 1, 2], list("aaabb"), "kendall_b")
    >>> round(got.value, 12), got.groups, got.undefined
    (1.0, 1, 1)
    """
    found = correlation_by_group(x, y, groups, coefficient, with_p=False)
    values = [got.value for got in found.values() if got.value is not None]
    _, kept = complete(x, y)
    name = Coefficient(coefficient).value
    n, missing = int(kept.sum()), int((~kept).sum())
    if not values:
        return GroupedStatistic(name, None, n, missing, 0, len(found), Status.UNDEFINED, NO_GROUP)
    lost = len(found) - len(values)
    return GroupedStatistic(name, float(np.mean(values)), n, missing, len(values), lost, Status.OK, None)
