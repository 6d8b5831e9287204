"""Correlation of two lists of scores: Pearson, Spearman, Kendall's tau-b and tau-c, with two-sided p-values.

Values and p-values agree with scipy (``pearsonr``, ``spearmanr``, ``kendalltau`` with its ``auto`` rule). A list
that is constant, up to rounding for Pearson, has no correlation: the value is None with the reason. Rank
coefficients compare scores exactly, so form means alike on both sides: 4.333 and 13/3 are not tied.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from summeter.choices import Coefficient

from .base import CONSTANT, TOO_FEW_PAIRS, Floats, Ints, Statistic, Values, as_pairs, undefined
from .special import correlation_p, kendall_exact_p, normal_two_sided

_SMALL = 100
_ROUNDING = 1e-13  # a spread this small beside the mean is rounding, not signal (scipy warns at the same point)


class PairCounts(NamedTuple):
    """Kinds of pairs among n items: concordant, discordant, tied in x, tied in y, tied in both (within the former)."""

    concordant: int
    discordant: int
    tied_x: int
    tied_y: int
    tied_both: int


def correlate(x: Values, y: Values, coefficient: str = Coefficient.PEARSON) -> Statistic:
    """Return the named correlation of x and y over their complete pairs.

    Raises ValueError for an unknown coefficient or lists of different lengths.

    >>> correlate([1, 2, 3, 4], [1, 3, 2, 4], "spearman").value
    0.8
    """
    return {
        Coefficient.PEARSON: pearson,
        Coefficient.SPEARMAN: spearman,
        Coefficient.KENDALL_B: kendall_b,
        Coefficient.KENDALL_C: kendall_c,
    }[Coefficient(coefficient)](x, y)


def pearson(x: Values, y: Values) -> Statistic:
    """Return Pearson's r; p from Student's t with n - 2 degrees of freedom (p = 1 for two pairs).

    >>> round(pearson([1, 2, 3], [1, 2, 4]).value, 6)
    0.981981
    """
    return _linear(Coefficient.PEARSON, x, y)


def spearman(x: Values, y: Values) -> Statistic:
    """Return Spearman's rho: Pearson's r of the average ranks; p as for Pearson, none for two pairs.

    >>> spearman([1, 2, 3, 4], [1, 3, 2, 4]).value
    0.8
    """
    return _linear(Coefficient.SPEARMAN, x, y)


def kendall_b(x: Values, y: Values) -> Statistic:
    """Return Kendall's tau-b, (C - D) / sqrt((T - Tx)(T - Ty)), in O(n log n).

    C and D count concordant and discordant pairs, T all pairs, Tx and Ty those tied in x and in y. The p-value is
    exact without ties when n <= 33 or at most one pair disagrees, else normal with the tie-corrected variance.

    >>> round(kendall_b([1, 2, 2, 3], [1, 2, 3, 3]).value, 12)
    0.8
    """
    return _kendall(Coefficient.KENDALL_B, x, y)


def kendall_c(x: Values, y: Values) -> Statistic:
    """Return Stuart's tau-c, 2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values; p as tau-b.

    >>> round(kendall_c([0, 0, 1, 1], [1, 2, 3, 4]).value, 12)
    1.0
    """
    return _kendall(Coefficient.KENDALL_C, x, y)


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
    if coefficient is Coefficient.PEARSON:
        return _product_moment(x, y)
    if coefficient is Coefficient.SPEARMAN:
        return _product_moment(average_ranks(x), average_ranks(y))
    return _tau(coefficient, x, y, pair_counts(x, y))


def average_ranks(values: Floats) -> Floats:
    """Return ranks from 1 (lowest) to n, tied values sharing the mean of their ranks (scipy's ``rankdata``).

    >>> import numpy as np
    >>> average_ranks(np.array([2.0, 7.0, 7.0, 1.0])).tolist()
    [2.0, 3.5, 3.5, 1.0]
    """
    _, index, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2)[index], dtype=np.float64)


def pair_counts(x: Floats, y: Floats) -> PairCounts:
    """Count concordant, discordant and tied pairs; O(n log n) beyond a hundred items (Knight, 1966)."""
    if len(x) <= _SMALL:
        return _pair_counts_small(x, y)
    first, second = _dense(x), _dense(y)
    width = int(second.max(initial=0)) + 1
    order = np.argsort(first * width + second, kind="stable")
    discordant = _inversions(second[order])
    total = len(x) * (len(x) - 1) // 2
    tied_x, tied_y = _tied(first), _tied(second)
    both = _tied(np.unique(first * width + second, return_inverse=True)[1])
    return PairCounts(total - tied_x - tied_y + both - discordant, discordant, tied_x, tied_y, both)


def _pair_counts_small(x: Floats, y: Floats) -> PairCounts:
    """Count by comparing every pair, which is faster for the few systems of one document."""
    n = len(x)
    signs_x, signs_y = np.sign(np.subtract.outer(x, x)), np.sign(np.subtract.outer(y, y))
    product = signs_x * signs_y
    untied_x, untied_y = int(np.count_nonzero(signs_x)) // 2, int(np.count_nonzero(signs_y)) // 2
    concordant, discordant = int((product > 0).sum()) // 2, int((product < 0).sum()) // 2
    total = n * (n - 1) // 2
    # A pair is untied in x only, in y only, in both (concordant or discordant), or tied in both.
    both = total - untied_x - untied_y + concordant + discordant
    return PairCounts(concordant, discordant, total - untied_x, total - untied_y, both)


def _linear(kind: Coefficient, x: Values, y: Values) -> Statistic:
    left, right, missing = as_pairs(x, y)
    n = len(left)
    if n < 2:
        return undefined(kind.value, TOO_FEW_PAIRS, n, missing)
    value = raw(left, right, kind)
    if value is None:
        return undefined(kind.value, CONSTANT, n, missing)
    if n == 2:
        return Statistic(kind.value, value, n, missing, 1.0 if kind is Coefficient.PEARSON else None)
    return Statistic(kind.value, value, n, missing, correlation_p(value, n - 2))


def _kendall(kind: Coefficient, x: Values, y: Values) -> Statistic:
    left, right, missing = as_pairs(x, y)
    n = len(left)
    if n < 2:
        return undefined(kind.value, TOO_FEW_PAIRS, n, missing)
    pairs = pair_counts(left, right)
    value = _tau(kind, left, right, pairs)
    if value is None:
        return undefined(kind.value, CONSTANT, n, missing)
    return Statistic(kind.value, value, n, missing, _kendall_p(left, right, pairs))


def _product_moment(x: Floats, y: Floats) -> float | None:
    a, b = x - x.mean(), y - y.mean()
    size_a, size_b = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if size_a <= _ROUNDING * abs(float(x.mean())) or size_b <= _ROUNDING * abs(float(y.mean())):
        return None
    value = float(np.dot(a / size_a, b / size_b))
    # A perfect line should say 1, whatever the last bit of the sum; the p-value of few pairs hangs on it.
    return math.copysign(1.0, value) if abs(value) > 1 - 1e-15 else value


def _tau(kind: Coefficient, x: Floats, y: Floats, pairs: PairCounts) -> float | None:
    n = len(x)
    total = n * (n - 1) // 2
    if total in (pairs.tied_x, pairs.tied_y):
        return None
    excess = pairs.concordant - pairs.discordant
    if kind is Coefficient.KENDALL_B:
        tau = excess / math.sqrt(total - pairs.tied_x) / math.sqrt(total - pairs.tied_y)
    else:
        classes = min(len(np.unique(x)), len(np.unique(y)))
        tau = 2 * excess / (n**2 * (classes - 1) / classes)
    return min(1.0, max(-1.0, tau))


def _kendall_p(x: Floats, y: Floats, pairs: PairCounts) -> float:
    n = len(x)
    if not (pairs.tied_x or pairs.tied_y) and (n <= 33 or min(pairs.concordant, pairs.discordant) <= 1):
        return kendall_exact_p(n, pairs.concordant)
    m = n * (n - 1)
    x0, x1 = _tie_sums(x)
    y0, y1 = _tie_sums(y)
    spread = (m * (2 * n + 5) - x1 - y1) / 18
    spread += 2 * pairs.tied_x * pairs.tied_y / m + x0 * y0 / (9 * m * (n - 2))
    return normal_two_sided((pairs.concordant - pairs.discordant) / math.sqrt(spread))


def _tie_sums(values: Floats) -> tuple[int, int]:
    """Return the sums of t(t-1)(t-2) and t(t-1)(2t+5) over the groups of t tied values."""
    times: Sequence[int] = [int(t) for t in np.unique(values, return_counts=True)[1] if t > 1]
    return sum(t * (t - 1) * (t - 2) for t in times), sum(t * (t - 1) * (2 * t + 5) for t in times)


def _dense(values: Floats) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _tied(ranks: Ints) -> int:
    times = np.bincount(ranks).astype(np.int64)
    return int((times * (times - 1) // 2).sum())


def _inversions(ranks: Ints) -> int:
    """Count the pairs i < j with ranks[i] > ranks[j], one vectorised pass a bit.

    Two ranks differ first at one bit. With the ranks sorted stably by the bits above it, every 0 at this bit is
    inverted with the 1s before it in the same group; then the groups are split by the bit and the next follows.
    """
    total, current = 0, ranks
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        group = current >> (bit + 1)
        ones = (current >> bit) & 1
        before = np.cumsum(ones) - ones
        starts = np.flatnonzero(np.append(True, np.diff(group) != 0))
        sizes = np.diff(np.append(starts, len(current)))
        within = before - np.repeat(before[starts], sizes)
        total += int(within[ones == 0].sum())
        # A stable split: zeros keep their place among the zeros of the group, ones follow them.
        ones_in = np.repeat(np.add.reduceat(ones, starts), sizes)
        place = np.arange(len(current)) - np.where(ones == 0, within, 0)
        first = np.repeat(starts, sizes)
        place = np.where(ones == 1, first + (np.repeat(sizes, sizes) - ones_in) + within, place)
        split = np.empty_like(current)
        split[place] = current
        current = split
    return total
