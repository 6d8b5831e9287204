"""Correlation of two lists of scores: Pearson, Spearman, Kendall's tau-b and tau-c, with p-values, intervals, and tests
of two correlations with the same gold.

Each coefficient is one function of the weights of rows (`CORRELATIONS`): a draw of documents gives every row a weight,
and a weight of 1 for all gives the coefficient itself. Values and p-values agree with scipy (``pearsonr``,
``spearmanr``, ``kendalltau`` with its ``auto`` rule). A list that is constant, up to rounding, has no correlation. Rank
coefficients compare scores exactly, so form means alike on both sides: 4.333 and 13/3 are not tied.
"""

import math
from collections.abc import Callable, Hashable
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
    Status,
    Values,
    as_pairs,
    codes,
    complete,
    correlation_p,
    generator,
    seed_number,
    t_two_sided,
    undefined,
)
from .resample import Weighted

_ROUNDING = 1e-13  # a spread this small beside the mean is rounding, not signal (scipy warns at the same point)
_BLOCK = 2_000_000  # cells of a block of draws
_FEW_ROWS = 60  # up to this many rows Kendall's pairs are held as a matrix where each draw has lists of its own
_PAIRS_AT_ONCE = 2_000  # and up to this many where all draws share them

Variant = Literal["b", "c"]  # of Kendall's tau


def correlate(x: Values, y: Values, coefficient: str = "pearson") -> Estimate:
    """Return the named correlation of x and y over their complete pairs, with its two-sided p-value.

    ``pearson``: p from Student's t with n - 2 degrees of freedom (1 for two pairs). ``spearman``: Pearson's r of the
    average ranks; p alike, none for two pairs. ``kendall_b`` is (C - D) / sqrt((T - Tx)(T - Ty)), C and D counting
    concordant and discordant pairs, T all, Tx and Ty those tied in x and in y; ``kendall_c`` is Stuart's, 2 (C - D) /
    (n^2 (m - 1) / m), m the smaller number of distinct values; their p is scipy's: exact without ties when n <= 33 or
    at most one pair disagrees, else normal with the tie-corrected variance.

    Raises ValueError for an unknown coefficient or lists of different lengths.

    >>> correlate([1, 2, 3, 4], [1, 3, 2, 4], "spearman").value
    0.8
    """
    left, right, missing = as_pairs(x, y)
    value = raw(left, right, coefficient)
    return _statistic(left, right, missing, coefficient, np.nan if value is None else value, with_p=True)


def _statistic(x: Floats, y: Floats, missing: int, coefficient: str, value: float, *, with_p: bool) -> Estimate:
    """A coefficient (NaN where undefined) with its reason or its p-value."""
    row = _correlation(coefficient)
    if math.isnan(value):
        return undefined(TOO_FEW_PAIRS if len(x) < 2 else CONSTANT, len(x), missing)
    test = row.p if with_p else None
    return Estimate(value, len(x), missing, p=test(x, y, value) if test is not None else None)


def raw(x: Floats, y: Floats, coefficient: str) -> float | None:
    """Return the bare coefficient of two float arrays without missing values; None where it is undefined."""
    if len(x) < 2:
        return None
    value = float(_of_lists(x[None], y[None], coefficient)[0])
    return None if math.isnan(value) else value


def _of_lists(x: Floats, y: Floats, coefficient: str) -> Floats:
    """The coefficient of each row of two tables (lists x length), all weights being 1."""
    values = weighted_correlations(x, y, np.ones_like(x), coefficient)
    return np.where(_flat(x) | _flat(y), np.nan, values)


def weighted_correlations(x: Floats, y: Floats, weights: Floats, coefficient: str) -> Floats:
    """Return the coefficient of each draw, NaN where a side is constant or fewer than two rows were drawn.

    ``weights`` (draws x rows) says how often each row was drawn, in whole numbers; ``x`` and ``y`` are one row for all
    draws or one a draw, in which what has the weight 0 may be NaN.

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
    """Return the correlation of complete rows as a function of the weights of their clusters (``labels``).

    Draws that are constant have none: see ``Bootstrap.of_samples``.

    >>> from summeter.stats import Bootstrap
    >>> x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([1.0, 3, 2, 4, 6, 5])
    >>> got = Bootstrap(6, seed=1).interval(correlation_of(x, y, np.arange(6), "spearman"))
    >>> round(got.value, 4), got.low < got.value <= got.high
    (0.8857, True)
    """
    of_rows = _weighted(x, y, coefficient)
    return lambda weights: of_rows(weights[:, labels])


def _weighted(x: Floats, y: Floats, coefficient: str) -> Weighted:
    """The coefficient of two lists as a function of the weights of rows."""
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
    # A perfect line should say 1, whatever the last bit of the sum; the p-value of few pairs hangs on it.
    values = np.where(np.abs(values) > 1 - 2e-15, np.sign(values), values)
    return np.asarray(np.where(weights.sum(axis=1) >= 2, values, np.nan))


def near_one(side: Floats) -> Floats:
    """Values (or each row of a table) divided by a power of two, exactly, so that their largest is near 1."""
    largest = np.abs(side).max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(side, -np.frexp(largest)[1]))


def _flat(side: Floats) -> Bools:
    """Whether a list is constant, up to rounding; of a table, each row."""
    side = near_one(side)
    mean = side.mean(axis=-1, keepdims=True)
    return np.asarray(np.linalg.norm(side - mean, axis=-1) <= _ROUNDING * np.abs(mean[..., 0]))


def _centred(side: Floats) -> Floats:
    """Values about their mean, brought near 1, so that squares neither vanish nor overflow."""
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
    """Product-moment correlations of lists of which there is one a draw."""
    wx, wy = weights * x, weights * y
    sums = (wx, wy, wx * x, wy * y, wx * y)
    return _product_moment(weights.sum(axis=1), *(side.sum(axis=1) for side in sums))


def _product_moment(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    """The correlation from weighted sums."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x, mean_y, square_x, square_y = x / n, y / n, xx / n, yy / n
        spread_x, spread_y = square_x - mean_x**2, square_y - mean_y**2
        # A constant draw leaves only the rounding of its squares.
        constant = ~((spread_x > 1e-12 * square_x) & (spread_y > 1e-12 * square_y))
        value = (xy / n - mean_x * mean_y) / np.sqrt(spread_x * spread_y)
    return np.asarray(np.where(constant, np.nan, np.clip(value, -1, 1)))


def _ranks(values: Floats) -> Weighted:
    """The average rank of each row within each draw, centred on the draw's middle."""
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

    def own(weights: Floats) -> Floats:
        times = np.take_along_axis(weights, order, axis=1)
        end = np.cumsum(times, axis=1)
        below = np.maximum.accumulate(np.where(first, end - times, 0.0), axis=1)
        upto = np.minimum.accumulate(np.where(last, end, np.inf)[:, ::-1], axis=1)[:, ::-1]
        ranks = np.empty_like(values)
        np.put_along_axis(ranks, order, (below + upto) / 2, axis=1)
        return np.asarray(ranks - weights.sum(axis=1, keepdims=True) / 2)

    return own


def _sizes(values: Floats) -> tuple[Weighted, Ints]:
    """The weight of each distinct value, ascending, in each draw, and the value's number of each row."""
    order = np.argsort(values, kind="stable")
    index = np.unique(values, return_inverse=True)[1].astype(np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(index[order]) > 0))
    return lambda weights: np.add.reduceat(weights[:, order], starts, axis=1), index


def _tau(x: Floats, y: Floats, variant: Variant) -> Weighted:
    """Kendall's tau from the signs of all pairs of rows; from sorted rows where they are many."""
    if x.ndim == y.ndim == 1:
        return _tau_of_lists(x, y, variant)

    def own(weights: Floats) -> Floats:
        if len(weights) == 1:
            return _tau_of_lists(x.reshape(-1), y.reshape(-1), variant)(weights)
        left, right = (np.broadcast_to(side, weights.shape) for side in (x, y))
        if weights.shape[1] > _FEW_ROWS:
            return _sorted_taus(left, right, weights, variant)
        size = max(1, _BLOCK // weights.shape[1] ** 2)
        parts = [slice(start, start + size) for start in range(0, len(weights), size)]
        return np.concatenate([_tau_of_signs(left[p], right[p], weights[p], variant) for p in parts] or [np.empty(0)])

    return own


def _tau_of_lists(x: Floats, y: Floats, variant: Variant) -> Weighted:
    sizes = [_sizes(side)[0] for side in (x, y)]

    @cache
    def agreement() -> NDArray[np.float32]:
        """1 for each pair of rows ordered alike, -1 for one ordered differently, 0 for a tie."""
        left, right = (np.greater.outer(side, side).astype(np.int8) - np.less.outer(side, side) for side in (x, y))
        return np.asarray(left * right, dtype=np.float32)

    def weighted(weights: Floats) -> Floats:
        if len(x) > _PAIRS_AT_ONCE:
            left, right = (np.broadcast_to(side, weights.shape) for side in (x, y))
            return _sorted_taus(left, right, weights, variant)
        total = weights.sum(axis=1)
        # Whole numbers below 2^24, which 32 bits hold exactly.
        excess = ((weights.astype(np.float32) @ agreement()) * weights).sum(axis=1)
        counts = [size(weights) for size in sizes]
        untied = [total**2 - (side**2).sum(axis=1) for side in counts]
        return _tau_from(variant, excess, untied, [(side > 0).sum(axis=1) for side in counts], total)

    return weighted


def _tau_of_signs(x: Floats, y: Floats, weights: Floats, variant: Variant) -> Floats:
    """Of lists of which there is one a draw."""
    signs = [np.sign(side[:, :, None] - side[:, None, :]) for side in (x, y)]
    here, earlier = weights > 0, np.tri(weights.shape[1], k=-1, dtype=np.bool_)

    def paired(table: Floats) -> Floats:
        return np.asarray(np.matmul(np.matmul(weights[:, None, :], table), weights[:, :, None])[:, 0, 0])

    # A row is a new value unless a row before it is there and tied with it.
    classes = [(here & ~((side == 0) & here[:, None, :] & earlier).any(axis=2)).sum(axis=1) for side in signs]
    untied = [paired(np.abs(side)) for side in signs]
    return _tau_from(variant, paired(signs[0] * signs[1]), untied, classes, weights.sum(axis=1))


def _tau_from(variant: Variant, excess: Floats, untied: list[Floats], classes: list[Ints], total: Floats) -> Floats:
    """Tau from twice the excess of concordant pairs, twice the untied pairs and the distinct values of each side."""
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
    """Of many rows, each draw in O(n log n)."""
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
    """How a coefficient is computed.

    ``of`` maps x and y (each a list, or lists of which there is one a draw) to the coefficient as a function of weights
    (draws x rows), NaN where it is undefined; see ``weighted_correlations``. ``p`` maps x, y and the coefficient to a
    two-sided p-value (None where there is none). ``scale_free`` says that other units of a side (a positive factor, a
    shift) leave the coefficient as it is.
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
"""Every coefficient by the name that tables print."""


def _correlation(name: str) -> Correlation:
    if name not in CORRELATIONS:
        raise ValueError(f"unknown coefficient {name!r}; there are: {', '.join(CORRELATIONS)}")
    return CORRELATIONS[name]


def correlation_by_group(
    x: Values, y: Values, groups: Labels, coefficient: str = "pearson", *, with_p: bool = True
) -> dict[Hashable, Estimate]:
    """Return the correlation of x and y within each group, in order of first appearance, reasons included.

    Without ``with_p`` there are no p-values, which of Kendall's tau take most of the time.

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
        own = slice(start, start + n)
        statistics[name] = _statistic(left[own], right[own], absent, coefficient, value, with_p=with_p)
    return statistics


# ---- two correlations with the same gold: their errors are correlated (Graham & Baldwin, 2014; Deutsch et al., 2021)


class PermutedStatistic(NamedTuple):
    """How well lists of scores agree with the gold, for `permute_agreements`.

    ``of`` maps the gold and lists (lists x rows) to the agreement of each list, NaN where it is undefined.
    ``scale_free`` says that other units of a list leave it as it is. ``gaps``, where there is a faster way, maps the
    gold, two evaluators' scores and exchanges (exchanges x rows) to the difference of agreements in each exchange.
    """

    of: Callable[[Floats, Floats], Floats]
    scale_free: bool = True
    gaps: Callable[[Floats, Floats, Floats, Bools], Floats] | None = None


class CorrelationComparison(NamedTuple):
    """Two agreements with the same gold, their difference (first minus second) and its two-sided p-value.

    ``t`` is Williams' statistic (None for the permutation test); ``resamples`` and ``seed`` belong to the
    permutation test alone.
    """

    first: float | None
    second: float | None
    difference: float | None
    t: float | None
    p: float | None
    n: int
    missing: int
    method: str
    resamples: int | None
    seed: int | None
    status: Status
    reason: str | None


def williams(gold: Values, first: Values, second: Values) -> CorrelationComparison:
    """Williams' test of two dependent Pearson correlations (Williams, 1959; Graham & Baldwin, 2014, eq. 1).

    With r12 and r13 the correlations of the gold with the evaluators, r23 the evaluators' own, and
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,
    t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 K (n - 1)/(n - 3) + (r12 + r13)^2 (1 - r23)^3 / 4)), df = n - 3.
    Undefined below 4 complete rows, for constant input, and when the two evaluators are the same up to scale.

    >>> got = williams([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7], [2, 1, 4, 3, 6, 5])
    >>> got.first > got.second, got.p < 0.10
    (True, True)
    """
    (g, a, b), kept = complete(gold, first, second)
    n = len(g)
    shell = _shell("williams", n, int((~kept).sum()))
    if n < 4:
        return shell._replace(reason="fewer than 4 complete rows")
    r12, r13, r23 = (raw(x, y, "pearson") for x, y in ((g, a), (g, b), (a, b)))
    if r12 is None or r13 is None or r23 is None:
        return shell._replace(reason=CONSTANT)
    return williams_from_r(r12, r13, r23, n)._replace(missing=shell.missing)


def williams_from_r(r12: float, r13: float, r23: float, n: int) -> CorrelationComparison:
    """Williams' test from the three correlations and the number of items (n >= 4); see ``williams``."""
    if n < 4:
        raise ValueError(f"Williams' test needs at least 4 items, got {n}")
    shell = _shell("williams", n, 0)._replace(first=r12, second=r13, difference=r12 - r13)
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    below = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    if below < 1e-14:
        return shell._replace(reason="the evaluators are the same up to scale")
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below)
    return shell._replace(t=t, p=t_two_sided(t, n - 3), status=Status.OK)


def permute_correlations(
    gold: Values,
    first: Values,
    second: Values,
    coefficient: str = "pearson",
    clusters: Labels | None = None,
    resamples: int = 1000,
    seed: Seed = 0,
) -> CorrelationComparison:
    """Permutation test of two dependent correlations (Deutsch et al., 2021): exchange the evaluators' scores.

    See `permute_agreements`. Pearson is computed for all exchanges at once; rank coefficients one exchange at a time.
    """

    def agreement(g: Floats, lists: Floats) -> Floats:
        values = weighted_correlations(g, lists, np.ones(lists.shape), coefficient)
        return np.where(_flat(lists) | _flat(g), np.nan, values)

    gaps = _pearson_gaps if coefficient == "pearson" else None
    statistic = PermutedStatistic(agreement, _correlation(coefficient).scale_free, gaps)
    return permute_agreements(gold, first, second, statistic, clusters, resamples, seed)


def permute_agreements(
    gold: Values,
    first: Values,
    second: Values,
    statistic: PermutedStatistic,
    clusters: Labels | None = None,
    resamples: int = 1000,
    seed: Seed = 0,
) -> CorrelationComparison:
    """Permutation test of how well two evaluators agree with the same gold: exchange their scores.

    Both evaluators are brought to mean 0 and standard deviation 1 (not for a statistic that depends on the units of
    its sides), then exchanged cluster by cluster (row by row without clusters); p = (c + 1) / (resamples + 1) with c
    the exchanges whose difference is at least the observed one in size.
    """
    (g, a, b), kept = complete(gold, first, second)
    n = len(g)
    shell = _shell("permutation", n, int((~kept).sum()))
    shell = shell._replace(resamples=resamples, seed=seed_number(seed))
    if n < 2:
        return shell._replace(reason="fewer than 2 complete rows")
    r_a, r_b = (None if np.isnan(value) else float(value) for value in statistic.of(g, np.stack([a, b])))
    if r_a is None or r_b is None:
        return shell._replace(first=r_a, second=r_b, reason=CONSTANT)
    labels = np.arange(n) if clusters is None else np.unique(codes(clusters)[kept], return_inverse=True)[1]
    swaps = generator(seed).integers(0, 2, (resamples, int(labels.max()) + 1), dtype=np.int8).astype(np.bool_)
    if statistic.scale_free:
        a, b = ((side - side.mean()) / side.std() for side in (near_one(a), near_one(b)))

    def differences(swapped: Bools) -> Floats:
        """The difference of the two agreements in each exchange (a row of ``swapped``)."""
        if statistic.gaps is not None:
            return statistic.gaps(g, a, b, swapped)
        return statistic.of(g, np.where(swapped, b, a)) - statistic.of(g, np.where(swapped, a, b))

    size = max(1, _BLOCK // n)
    drawn = np.concatenate([differences(swaps[at : at + size, labels]) for at in range(0, len(swaps), size)])
    # Exchanges without a correlation (NaN) cannot be called smaller than the observed difference: they count.
    reached = int((~(np.abs(drawn) < abs(r_a - r_b) - 1e-12)).sum())
    return shell._replace(
        first=r_a, second=r_b, difference=r_a - r_b, p=(reached + 1) / (resamples + 1), status=Status.OK
    )  # fmt: skip


def _pearson_gaps(g: Floats, a: Floats, b: Floats, swapped: Bools) -> Floats:
    """Differences of Pearson's r: of standardised scores the sums are linear in the exchange, so no list is made."""
    gold, mask = near_one(g), swapped.astype(np.float64)
    gold = (gold - gold.mean()) / gold.std()
    return _standard(mask, gold, a, b) - _standard(1 - mask, gold, a, b)


def _shell(method: str, n: int, missing: int) -> CorrelationComparison:
    return CorrelationComparison(None, None, None, None, None, n, missing, method, None, None, Status.UNDEFINED, None)


def _standard(mask: Floats, g: Floats, a: Floats, b: Floats) -> Floats:
    """Return r(g, a + mask (b - a)) of each row of ``mask``; g has mean 0 and standard deviation 1."""
    n = len(g)
    mean = (a.sum() + mask @ (b - a)) / n
    square = ((a**2).sum() + mask @ (b**2 - a**2)) / n
    cross = ((g * a).sum() + mask @ (g * (b - a))) / n
    spread = square - mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(spread > 1e-14, cross / np.sqrt(spread), np.nan))
