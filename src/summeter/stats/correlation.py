"""Correlation of two lists of scores: Pearson, Spearman, Kendall's tau-b and tau-c.

Each coefficient in `CORRELATIONS` is a function of row weights: a bootstrap draw gives every row a weight, and weights
of 1 give the coefficient of the rows themselves. Values and p-values agree with scipy (``pearsonr``, ``spearmanr``, and
``kendalltau`` with its ``auto`` rule). The correlation is undefined if a list is constant up to rounding. Rank
coefficients compare scores exactly, so compute both sides in the same way: 4.333 and 13/3 are not tied.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache, partial
from typing import Literal, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from .base import (
    CONSTANT,
    TOO_FEW_PAIRS,
    Bools,
    Estimate,
    Floats,
    Ints,
    Labels,
    Seed,
    Values,
    codes,
    complete,
    correlation_p,
    generator,
    undefined,
)
from .classification import areas
from .resample import Weighted

_ROUNDING = 1e-13  # a spread this small relative to the mean is a rounding error (scipy warns at the same limit)
_BLOCK = 2_000_000  # maximum number of cells in a block of draws
_FEW_ROWS = 60  # maximum number of rows for one matrix of pairs per draw, if each draw has different lists
_PAIRS_AT_ONCE = 2_000  # maximum number of rows for one matrix of pairs that all draws share

Variant = Literal["b", "c"]  # of Kendall's tau


def correlate(x: Values, y: Values, coefficient: str = "pearson") -> Estimate:
    """Return a correlation of x and y over their complete pairs, with its two-sided p-value.

    ``pearson``: the p-value is from Student's t with n - 2 degrees of freedom (1 for two pairs). ``spearman``:
    Pearson's r of the average ranks, with a p-value computed in the same way (None for two pairs). ``kendall_b``: (C -
    D) / sqrt((T - Tx)(T - Ty)), where C, D and T are the numbers of concordant, discordant and all pairs, and Tx and Ty
    those of pairs tied in x and in y. ``kendall_c``: Stuart's 2 (C - D) / (n^2 (m - 1) / m), where m is the smaller
    number of distinct values. The p-values of both taus are scipy's: exact if there are no ties and n <= 33 or at most
    one pair is discordant (or concordant), and otherwise from a normal distribution with the tie-corrected variance.

    Raises ValueError for an unknown coefficient or lists of different lengths.

    >>> correlate([1, 2, 3, 4], [1, 3, 2, 4], "spearman").value
    0.8
    """
    (left, right), kept = complete(x, y)
    value = raw(left, right, coefficient)
    missing = len(kept) - len(left)
    return _statistic(left, right, missing, coefficient, np.nan if value is None else value, with_p=True)


def _statistic(x: Floats, y: Floats, missing: int, coefficient: str, value: float, *, with_p: bool) -> Estimate:
    """Return the estimate of a coefficient, with the p-value, or the reason if it is undefined."""
    row = _correlation(coefficient)
    if math.isnan(value):
        return undefined(TOO_FEW_PAIRS if len(x) < 2 else CONSTANT, len(x), missing)
    test = row.p if with_p else None
    return Estimate(value, len(x), missing, p=test(x, y, value) if test is not None else None)


def raw(x: Floats, y: Floats, coefficient: str) -> float | None:
    """Return the coefficient of two arrays without missing values, or None if it is undefined."""
    if len(x) < 2:
        return None
    value = float(_of_lists(x[None], y[None], coefficient)[0])
    return None if math.isnan(value) else value


def _of_lists(x: Floats, y: Floats, coefficient: str) -> Floats:
    """Return the coefficient of each pair of rows of two tables (lists x length)."""
    values = weighted_correlations(x, y, np.ones_like(x), coefficient)
    return np.where(_flat(x) | _flat(y), np.nan, values)


def weighted_correlations(x: Floats, y: Floats, weights: Floats, coefficient: str) -> Floats:
    """Return the coefficient of each draw.

    It is NaN if one side is constant or fewer than two rows were drawn.

    ``weights`` (draws x rows) says how often each row was drawn, as integers. ``x`` and ``y`` have one row for all
    draws or one row per draw; cells with the weight 0 may be NaN.

    >>> x, y = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 3.0, 2.0, 9.0])
    >>> weighted_correlations(x, y, np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0]]), "kendall_b")
    array([0.33333333, 1.        ])
    """
    if x.ndim == y.ndim == 1:
        return _weighted(x, y, coefficient)(weights)
    x, y = (side if side.ndim == 1 else np.where(weights > 0, side, 0.0) for side in (x, y))

    def of_block(rows: slice) -> Floats:
        left, right = (side if side.ndim == 1 else side[rows] for side in (x, y))
        return _correlation(coefficient).of(left, right)(weights[rows])

    flat = any(side.ndim == 1 and _flat(side) for side in (x, y))
    return _in_blocks(of_block, weights) if not flat else np.full(len(weights), np.nan)


def correlation_of(x: Floats, y: Floats, labels: Ints, coefficient: str) -> Weighted:
    """Return the correlation of complete rows as a function of cluster weights.

    ``labels`` gives the cluster of each row.

    The correlation is undefined in constant draws; see ``Bootstrap.of_samples``.

    >>> from summeter.stats import Bootstrap
    >>> x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([1.0, 3, 2, 4, 6, 5])
    >>> got = Bootstrap(6, seed=1).interval(correlation_of(x, y, np.arange(6), "spearman"))
    >>> round(got.value, 4), got.low < got.value <= got.high
    (0.8857, True)
    """
    if coefficient == "pearson" and len(x) > 1 and not (_flat(x) or _flat(y)):
        x, y = _centred(x), _centred(y)
        columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
        sums = np.stack([np.bincount(labels, weights=column) for column in columns], axis=1)

        def of_clusters(weights: Floats) -> Floats:
            n, *moments = (weights[:, : len(sums)] @ sums).T
            return _exact_on_lines(_product_moment(n, *moments), n)

        return of_clusters
    of_rows = _weighted(x, y, coefficient)
    return lambda weights: of_rows(weights[:, labels])


def _weighted(x: Floats, y: Floats, coefficient: str) -> Weighted:
    """Return the coefficient of two lists as a function of the weights of rows."""
    if len(x) < 2 or _flat(x) or _flat(y):
        return lambda weights: np.full(len(weights), np.nan)
    function = _correlation(coefficient).of(x, y)
    return lambda weights: _in_blocks(lambda rows: function(weights[rows]), weights)


def _in_blocks(of_block: Callable[[slice], Floats], weights: Floats) -> Floats:
    values = np.full(len(weights), np.nan)
    if weights.shape[1] < 2:
        return values
    size = max(1, _BLOCK // weights.shape[1])
    for start in range(0, len(weights), size):
        rows = slice(start, start + size)
        values[rows] = of_block(rows)
    return _exact_on_lines(values, weights.sum(axis=1))


def _exact_on_lines(values: Floats, n: Floats) -> Floats:
    """Return coefficients of ``n`` pairs, NaN for fewer than two pairs, and exactly 1 or -1 for points on a line.

    With few pairs, the p-value depends on the last bit.
    """
    values = np.where(np.abs(values) > 1 - 2e-15, np.sign(values), values)
    return np.asarray(np.where(n >= 2, values, np.nan))


def near_one(side: Floats) -> Floats:
    """Return an array (or each row) divided exactly by a power of two so that the largest value is near 1."""
    largest = np.abs(side).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(side, -np.frexp(largest)[1]))


def _flat(side: Floats) -> Bools:
    """Return whether a list (or each row of a table) is constant, up to rounding."""
    side = near_one(side)
    mean = side.mean(axis=-1, keepdims=True)
    return np.asarray(np.linalg.norm(side - mean, axis=-1) <= _ROUNDING * np.abs(mean[..., 0]))


def _centred(side: Floats) -> Floats:
    """Return the values minus their mean, scaled so that squares neither underflow nor overflow."""
    side = near_one(side)
    return near_one(side - side.mean(axis=-1, keepdims=True))


def _pearson(x: Floats, y: Floats) -> Weighted:
    x, y = _centred(x), _centred(y)
    if x.ndim > 1 or y.ndim > 1:
        return lambda weights: _moments(weights, x, y)
    columns = np.stack([x, y, x * x, y * y, x * y], axis=1)
    return lambda weights: _product_moment(weights.sum(axis=1), *(weights @ columns).T)


def _spearman(x: Floats, y: Floats) -> Weighted:
    left, right = _ranks(x), _ranks(y)
    return lambda weights: _moments(weights, left(weights), right(weights))


def _moments(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return the product-moment correlation of each draw, if each draw has different lists."""
    wx, wy = weights * x, weights * y
    sums = (wx, wy, wx * x, wy * y, wx * y)
    return _product_moment(weights.sum(axis=1), *(side.sum(axis=1) for side in sums))


def _product_moment(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    """Return the correlation from weighted sums."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x, mean_y, square_x, square_y = x / n, y / n, xx / n, yy / n
        spread_x, spread_y = square_x - mean_x**2, square_y - mean_y**2
        # In a constant draw, the spread is the rounding error of the squares.
        constant = ~((spread_x > 1e-12 * square_x) & (spread_y > 1e-12 * square_y))
        value = (xy / n - mean_x * mean_y) / np.sqrt(spread_x * spread_y)
    return np.asarray(np.where(constant, np.nan, np.clip(value, -1, 1)))


def _ranks(values: Floats) -> Weighted:
    """Return the average rank of each row within each draw, centred."""
    if values.ndim == 1:
        sizes_of, index = _sizes(values)

        def shared(weights: Floats) -> Floats:
            sizes = sizes_of(weights)
            return np.asarray((np.cumsum(sizes, axis=1) - sizes / 2)[:, index] - weights.sum(axis=1, keepdims=True) / 2)

        return shared
    order = np.argsort(values, axis=1, kind="stable")
    edge = np.ones((len(values), 1), dtype=np.bool_)
    first = np.append(edge, np.diff(np.take_along_axis(values, order, axis=1), axis=1) != 0, axis=1)
    last = np.append(first[:, 1:], edge, axis=1)

    def per_draw(weights: Floats) -> Floats:
        times = np.take_along_axis(weights, order, axis=1)
        end = np.cumsum(times, axis=1)
        below = np.maximum.accumulate(np.where(first, end - times, 0.0), axis=1)
        upto = np.minimum.accumulate(np.where(last, end, np.inf)[:, ::-1], axis=1)[:, ::-1]
        ranks = np.empty_like(values)
        np.put_along_axis(ranks, order, (below + upto) / 2, axis=1)
        return np.asarray(ranks - weights.sum(axis=1, keepdims=True) / 2)

    return per_draw


def _sizes(values: Floats) -> tuple[Weighted, Ints]:
    """Return the weights of the distinct values as a function of row weights, and an index.

    Distinct values are in ascending order; the index gives the distinct value of each row.
    """
    order = np.argsort(values, kind="stable")
    index = np.unique(values, return_inverse=True)[1].astype(np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(index[order]) > 0))
    return lambda weights: np.add.reduceat(weights[:, order], starts, axis=1), index


def _tau(x: Floats, y: Floats, variant: Variant) -> Weighted:
    """Return Kendall's tau from the signs of all pairs of rows, or from sorted rows if there are many."""
    if x.ndim == y.ndim == 1:
        return _tau_of_lists(x, y, variant)

    def per_draw(weights: Floats) -> Floats:
        if len(weights) == 1:
            return _tau_of_lists(x.reshape(-1), y.reshape(-1), variant)(weights)
        left, right = (np.broadcast_to(side, weights.shape) for side in (x, y))
        if weights.shape[1] > _FEW_ROWS:
            return _sorted_taus(left, right, weights, variant)
        size = max(1, _BLOCK // weights.shape[1] ** 2)
        parts = [slice(start, start + size) for start in range(0, len(weights), size)]
        return np.concatenate([_tau_of_signs(left[p], right[p], weights[p], variant) for p in parts] or [np.empty(0)])

    return per_draw


def _tau_of_lists(x: Floats, y: Floats, variant: Variant) -> Weighted:
    sizes = [_sizes(side)[0] for side in (x, y)]

    @cache
    def agreement() -> NDArray[np.float32]:
        """Return 1 for each concordant pair of rows, -1 for a discordant pair and 0 for a tie."""
        left, right = (np.greater.outer(side, side).astype(np.int8) - np.less.outer(side, side) for side in (x, y))
        return np.asarray(left * right, dtype=np.float32)

    def weighted(weights: Floats) -> Floats:
        if len(x) > _PAIRS_AT_ONCE:
            left, right = (np.broadcast_to(side, weights.shape) for side in (x, y))
            return _sorted_taus(left, right, weights, variant)
        total = weights.sum(axis=1)
        # Integers below 2^24 are exact in 32 bits.
        excess = ((weights.astype(np.float32) @ agreement()) * weights).sum(axis=1)
        counts = [size(weights) for size in sizes]
        untied = [total**2 - (side**2).sum(axis=1) for side in counts]
        return _tau_from(variant, excess, untied, [(side > 0).sum(axis=1) for side in counts], total)

    return weighted


def _tau_of_signs(x: Floats, y: Floats, weights: Floats, variant: Variant) -> Floats:
    """Return tau of each draw, if each draw has different lists."""
    signs = [np.sign(side[:, :, None] - side[:, None, :]) for side in (x, y)]
    here, earlier = weights > 0, np.tri(weights.shape[1], k=-1, dtype=np.bool_)

    def paired(table: Floats) -> Floats:
        return np.asarray(np.matmul(np.matmul(weights[:, None, :], table), weights[:, :, None])[:, 0, 0])

    # A row has a new value unless it is tied with an earlier row of the draw.
    classes = [(here & ~((side == 0) & here[:, None, :] & earlier).any(axis=2)).sum(axis=1) for side in signs]
    untied = [paired(np.abs(side)) for side in signs]
    return _tau_from(variant, paired(signs[0] * signs[1]), untied, classes, weights.sum(axis=1))


def _tau_from(variant: Variant, excess: Floats, untied: list[Floats], classes: list[Ints], total: Floats) -> Floats:
    """Return tau from doubled numbers of pairs and the numbers of distinct values.

    ``excess`` is twice the difference of concordant and discordant pairs, and ``untied`` twice the numbers of untied
    pairs.
    """
    match variant:
        case "b":
            below = np.sqrt(untied[0]) * np.sqrt(untied[1])
        case "c":
            fewest = np.maximum(np.minimum(*classes), 1)
            below = total**2 * (fewest - 1) / fewest
        case _:
            assert_never(variant)
    usable = (untied[0] > 0) & (untied[1] > 0)
    return np.asarray(np.clip(np.divide(excess, below, out=np.full(len(total), np.nan), where=usable), -1, 1))


def _sorted_taus(x: Floats, y: Floats, weights: Floats, variant: Variant) -> Floats:
    """Return tau of each draw in O(n log n), for many rows."""
    from scipy.stats import kendalltau

    values = np.full(len(weights), np.nan)
    for draw, times in enumerate(weights.astype(np.int64)):
        left, right = np.repeat(x[draw], times), np.repeat(y[draw], times)
        if len(left) > 1 and (left != left[0]).any() and (right != right[0]).any():
            values[draw] = kendalltau(left, right, variant=variant).statistic
    return values


def _tau_p(x: Floats, y: Floats, value: float, *, variant: Variant) -> float:  # noqa: ARG001
    from scipy.stats import kendalltau

    return float(kendalltau(x, y, variant=variant).pvalue)


class Correlation(NamedTuple):
    """A correlation coefficient.

    ``of`` maps x and y (one list each, or one list each per draw) to the coefficient as a function of weights (draws x
    rows), which is NaN if it is undefined; see ``weighted_correlations``. ``p`` maps x, y and the coefficient to a
    two-sided p-value, or to None if the p-value is undefined. ``scale_free`` is True if the coefficient is invariant
    under a positive factor and a shift of either side.
    """

    of: Callable[[Floats, Floats], Weighted]
    p: Callable[[Floats, Floats, float], float | None] | None
    scale_free: bool


CORRELATIONS: dict[str, Correlation] = {
    "pearson": Correlation(
        _pearson, lambda x, _, value: 1.0 if len(x) == 2 else correlation_p(value, len(x) - 2), scale_free=True
    ),
    "spearman": Correlation(
        _spearman, lambda x, _, value: None if len(x) == 2 else correlation_p(value, len(x) - 2), scale_free=True
    ),
    "kendall_b": Correlation(partial(_tau, variant="b"), partial(_tau_p, variant="b"), scale_free=True),
    "kendall_c": Correlation(partial(_tau, variant="c"), partial(_tau_p, variant="c"), scale_free=True),
}
"""All coefficients, by name."""


def _correlation(name: str) -> Correlation:
    if name not in CORRELATIONS:
        raise ValueError(f"unknown coefficient {name!r}; coefficients are: {', '.join(CORRELATIONS)}")
    return CORRELATIONS[name]


def correlation_by_group(
    x: Values, y: Values, groups: Labels, coefficient: str = "pearson", *, with_p: bool = True
) -> dict[Hashable, Estimate]:
    """Return the correlation of x and y within each group, in order of first appearance of the groups.

    Set ``with_p=False`` to omit the p-values, which take most of the time of Kendall's tau.

    >>> got = correlation_by_group([1, 2, 3, 5, 5], [1, 2, 4, 1, 2], list("aaabb"), "kendall_b")
    >>> round(got["a"].value, 12), got["b"].reason
    (1.0, 'constant input')
    """
    if not len(np.asarray(x)) == len(np.asarray(y)) == len(groups):
        raise ValueError(f"lengths differ: {len(np.asarray(x))}, {len(np.asarray(y))}, {len(groups)} groups")
    (left, right), kept = complete(x, y)
    labels = codes(groups)
    names = list(dict.fromkeys(groups))
    sizes = np.bincount(labels[kept], minlength=len(names))
    missing = np.bincount(labels[~kept], minlength=len(names))
    starts, order = np.cumsum(sizes) - sizes, np.argsort(labels[kept], kind="stable")
    left, right = left[order], right[order]
    values = np.full(len(names), np.nan)
    for size in np.unique(sizes[sizes >= 2]).tolist():
        alike = np.flatnonzero(sizes == size)
        rows = starts[alike][:, None] + np.arange(size)
        values[alike] = _of_lists(left[rows], right[rows], coefficient)
    statistics: dict[Hashable, Estimate] = {}
    counts = zip(names, values.tolist(), starts.tolist(), sizes.tolist(), missing.tolist(), strict=True)
    for name, value, start, n, absent in counts:
        group = slice(start, start + n)
        statistics[name] = _statistic(left[group], right[group], absent, coefficient, value, with_p=with_p)
    return statistics


# ---- tests of two dependent correlations, with the same gold (Graham & Baldwin, 2014; Deutsch et al., 2021)


def williams(gold: Values, first: Values, second: Values) -> Estimate:
    """Return the difference of two dependent Pearson correlations, with Williams' test (Williams, 1959).

    Let r12 and r13 be the correlations of the gold with the two evaluators, r23 the correlation of the evaluators with
    each other, and K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23. The statistic
    t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 K (n - 1)/(n - 3) + (r12 + r13)^2 (1 - r23)^3 / 4))
    has n - 3 degrees of freedom (Graham & Baldwin, 2014, eq. 1). The test is undefined with fewer than 4 complete rows,
    for constant input, and if the scores of the two evaluators are equal up to scale. ``details`` holds ``t``.

    >>> got = williams([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7], [2, 1, 4, 3, 6, 5])
    >>> got.value > 0, got.p < 0.10
    (True, True)
    """
    (g, a, b), kept = complete(gold, first, second)
    n, missing = len(g), int((~kept).sum())
    if n < 4:
        return undefined("fewer than 4 complete rows", n, missing)
    r12, r13, r23 = (raw(x, y, "pearson") for x, y in ((g, a), (g, b), (a, b)))
    if r12 is None or r13 is None or r23 is None:
        return undefined(CONSTANT, n, missing)
    return replace(williams_from_r(r12, r13, r23, n), missing=missing)


def williams_from_r(r12: float, r13: float, r23: float, n: int) -> Estimate:
    """Return Williams' test from the three correlations and the number of items; see ``williams``.

    Raises ValueError if ``n`` is less than 4.
    """
    if n < 4:
        raise ValueError(f"Williams' test needs at least 4 items, got {n}")
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    below = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    if below < 1e-14:
        return undefined("the evaluators are the same up to scale", n)
    from scipy.special import stdtr

    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below)
    return Estimate(r12 - r13, n, p=2 * float(stdtr(n - 3, -abs(t))), details={"t": t})


def permute_correlations(
    gold: Values,
    first: Values,
    second: Values,
    coefficient: str = "pearson",
    clusters: Labels | None = None,
    resamples: int = 1000,
    seed: Seed = 0,
) -> Estimate:
    """Return the difference of two evaluators' agreement with the same gold, with a permutation test (Deutsch, 2021).

    ``coefficient`` is one of `CORRELATIONS`, or ``auroc``. The scores of both evaluators are standardised (unless the
    coefficient depends on their scale) and then exchanged cluster by cluster, or row by row if there are no clusters.
    p = (c + 1) / (resamples + 1), where c is the number of exchanges whose absolute difference is at least the observed
    one. ``details`` holds the two agreements, ``first`` and ``second``. Pearson's r is computed for all exchanges at
    once, rank coefficients for one exchange at a time.
    """

    def agreement(g: Floats, lists: Floats) -> Floats:
        if coefficient == "auroc":
            return areas(g, lists)
        values = weighted_correlations(g, lists, np.ones(lists.shape), coefficient)
        return np.where(_flat(lists) | _flat(g), np.nan, values)

    (g, a, b), kept = complete(gold, first, second)
    n, missing = len(g), int((~kept).sum())
    if n < 2:
        return replace(undefined("fewer than 2 complete rows", n, missing), details={"first": None, "second": None})
    r_a, r_b = (None if np.isnan(value) else float(value) for value in agreement(g, np.stack([a, b])))
    details = {"first": r_a, "second": r_b}
    if r_a is None or r_b is None:
        return replace(undefined(CONSTANT, n, missing), details=details)
    labels = np.arange(n) if clusters is None else np.unique(codes(clusters)[kept], return_inverse=True)[1]
    swaps = generator(seed).integers(0, 2, (resamples, int(labels.max()) + 1), dtype=np.int8).astype(np.bool_)
    if coefficient == "auroc" or _correlation(coefficient).scale_free:
        a, b = ((side - side.mean()) / side.std() for side in (near_one(a), near_one(b)))

    def differences(swapped: Bools) -> Floats:
        """Return the difference of the two agreements after each exchange (a row of ``swapped``)."""
        if coefficient == "pearson":
            return _pearson_gaps(g, a, b, swapped)
        return agreement(g, np.where(swapped, b, a)) - agreement(g, np.where(swapped, a, b))

    size = max(1, _BLOCK // n)
    permuted = np.concatenate([differences(swaps[at : at + size, labels]) for at in range(0, len(swaps), size)])
    # An undefined difference (NaN) counts as reaching the observed difference, since it is not known to be smaller.
    reached = int((~(np.abs(permuted) < abs(r_a - r_b) - 1e-12)).sum())
    return Estimate(r_a - r_b, n, missing, p=(reached + 1) / (resamples + 1), details=details)


def _pearson_gaps(g: Floats, a: Floats, b: Floats, swapped: Bools) -> Floats:
    """Return differences of Pearson's r, which for standardised scores are linear in the exchange."""
    n, gold = len(g), near_one(g)
    gold = (gold - gold.mean()) / gold.std()

    def r(mask: Floats) -> Floats:
        """Return r(gold, a + mask (b - a)) for each row of ``mask``."""
        mean = (a.sum() + mask @ (b - a)) / n
        square = ((a**2).sum() + mask @ (b**2 - a**2)) / n
        cross = ((gold * a).sum() + mask @ (gold * (b - a))) / n
        spread = square - mean**2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(spread > 1e-14, cross / np.sqrt(spread), np.nan))

    mask = swapped.astype(np.float64)
    return r(mask) - r(1 - mask)
