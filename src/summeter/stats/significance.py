"""Comparison of all pairs of systems by permutation tests with Holm's correction.

Under the null hypothesis the two scores of a document are exchangeable; an exchange flips the sign of their difference.
All flips form one matrix of +1 and -1 that all pairs of systems share, so thousands of tests are a single matrix
product. The p-value is (c + 1) / (n + 1), where c of n random flips give a mean difference at least as far from zero as
the observed one (Phipson & Smyth, 2010). With few documents, all 2^k flips are enumerated, and p = c / 2^k is exact.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Floats, Seed, Values, floats, generator, seed_number

PMatrix = Sequence[Sequence[float | None]]

MIN_DOCUMENTS = 6
"""Minimum number of shared documents for claiming a difference."""
_REACHED = 10  # number of flips that a p-value near the significance level should rest on
_CELLS = 200_000  # signs per block, which fit in the processor cache
_MANY = 50_000
_SHARE = 1e-3
"""Limit on the sum of fourth powers relative to the squared variance.

Above this limit, the sum over a flip is not treated as normal.
"""
_ROUNDING = 1e-12  # relative difference up to which scores are equal
_MAX_EXACT = 20  # at most 2^20 flips are enumerated


class Flips(NamedTuple):
    """Sign flips in blocks of rows, their total number, and whether they are all possible flips."""

    blocks: Iterator[Floats]
    total: int
    exact: bool


def sign_flips(units: int, resamples: int, seed: Seed = 0) -> Flips:
    """Return sign flips: one row of +1 and -1 per flip, one column per unit.

    All 2^units flips are enumerated if there are at most ``resamples`` of them; otherwise ``resamples`` flips are
    sampled.

    >>> [block.tolist() for block in sign_flips(1, 10).blocks]
    [[[1.0], [-1.0]]]
    """
    exact = units <= _MAX_EXACT and 2**units <= resamples
    count = 2**units if exact else resamples
    size = max(1, _CELLS // max(1, units))
    rng = generator(seed)

    def blocks() -> Iterator[Floats]:
        for start in range(0, count, size):
            rows = np.arange(start, min(start + size, count))
            if exact:
                yield (1 - 2 * ((rows[:, None] >> np.arange(units)) & 1)).astype(np.float64)
            else:
                yield (1 - 2 * rng.integers(0, 2, (len(rows), units), dtype=np.int8)).astype(np.float64)

    return Flips(blocks(), count, exact)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values in the given order, adjusted by Holm's method (Holm, 1979).

    None stays None and is not counted as a test.

    The i-th smallest of m p-values is multiplied by m - i + 1, made monotone, and limited to 1. Raises ValueError if a
    p-value is not between 0 and 1.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    column = np.asarray(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(column))
    if ((column[tested] < 0) | (column[tested] > 1)).any():
        raise ValueError("p-values must be between 0 and 1")
    order = tested[np.argsort(column[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(column[order] * factors), 1.0)
    result: list[float | None] = [None] * len(column)
    for place, value in zip(order, adjusted, strict=True):
        result[int(place)] = float(value)
    return result


def clusters_of_equals(means: Values, p_values: PMatrix, alpha: float = 0.05) -> list[int | None]:
    """Return each system's cluster, 1 for the best, from two-sided p-values.

    The p-values are not corrected here; pass corrected ones if needed.

    Going down the ranking, a new cluster starts at the first system that is significantly worse than at least one
    system of the current cluster (as in mt-metrics-eval). A system is significantly better than another if its mean is
    higher and p <= alpha; a missing p-value is not significant. Systems without a mean get no cluster. Equal means keep
    their order. Raises ValueError if the matrix of p-values has the wrong shape.

    >>> p = [[None, .5, .01], [.5, None, .2], [.01, .2, None]]
    >>> clusters_of_equals([3.0, 2.5, 2.0], p)
    [1, 1, 2]
    """
    column = floats(means)
    table = floats(p_values, 2)
    if table.shape != (len(column), len(column)):
        raise ValueError(f"{len(column)} means but a p-value matrix of shape {table.shape}")
    present = np.flatnonzero(~np.isnan(column))
    ranked = present[np.argsort(-column[present], kind="stable")]
    worse = (table[np.ix_(ranked, ranked)] <= alpha) & (column[ranked][:, None] > column[ranked])
    clusters: list[int | None] = [None] * len(column)
    current, start = 1, 0
    for place, system in enumerate(ranked):
        if worse[start:place, place].any():
            current, start = current + 1, place
        clusters[int(system)] = current
    return clusters


class PairDifference(NamedTuple):
    """Difference of the means of two systems, ``first`` minus ``second``, and its test.

    ``n`` rows have both values; ``missing`` rows lack one. ``p`` is the p-value of a test that exchanges ``units``
    (``by`` says what a unit is), ``p_holm`` the p-value after correction over ``family`` pairs, and ``least_p`` the
    smallest possible p with that many units. ``better`` is the system claimed to be better, or None. ``text`` describes
    the interval ``low``-``high``; ``reason`` says why the interval or the difference is undefined.
    """

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    family: int
    n: int
    missing: int
    units: int = 0
    least_p: float = 0.0
    better: str | None = None
    reason: str | None = None
    text: str | None = None
    method: str = ""
    by: str = "document"


def enough_permutations(family: int, alpha: float, flips: int = _REACHED) -> int:
    """Return the number of permutations needed for p-values at Holm's limit.

    A p-value at the limit then rests on at least ``flips`` flips.

    >>> enough_permutations(6, 0.05)
    1200
    """
    return math.ceil(flips * family / alpha - 1e-9)


def least_p(units: int, permutations: int | None = None) -> float:
    """Return the smallest possible two-sided p-value of exchanging ``units``.

    ``permutations`` is the number of sampled permutations, or None if all are enumerated.

    >>> least_p(6), least_p(30, 99)
    (0.03125, 0.01)
    """
    return min(1.0, max(2.0 ** (1 - units), 0.0 if permutations is None else 1 / (permutations + 1)))


def paired_differences(
    families: Sequence[Mapping[str, Values]], alpha: float = 0.05, permutations: int = 10_000, seed: Seed = 0
) -> list[list[PairDifference]]:
    """Return the comparison of every two systems on their shared documents.

    Each family maps system names to one score per document (None or NaN if missing); the pairs of all families (for
    example, of the domains of a dataset) are corrected together. The test exchanges the scores of two systems document
    by document. A difference is claimed if p after Holm's correction is at most ``alpha`` and at least MIN_DOCUMENTS
    documents are shared. An interval holds the differences that the test does not reject at ``alpha`` / family, so all
    intervals hold simultaneously with confidence 1 - ``alpha``. If only Holm's step-down procedure claims the
    difference, the interval ends at 0 (Strassburger & Bretz, 2008); it excludes 0 exactly if a difference is claimed.
    ``permutations`` is increased if it is too small for the number of pairs.

    Six differences of 1: two of the 64 flips reach a mean of 1.

    >>> ((pair,),) = paired_differences([{"a": [2, 3, 4, 2, 3, 4], "b": [1, 2, 3, 1, 2, 3]}])
    >>> pair.difference, pair.p, pair.better, pair.low
    (1.0, 0.03125, 'a', 1.0)
    """

    def differences(first: Floats, second: Floats) -> Floats:
        gaps = first - second
        # Scores that differ only by rounding are equal.
        return np.where(np.abs(gaps) <= _ROUNDING * np.maximum(np.abs(first), np.abs(second)), 0.0, gaps)

    matrices = [{name: floats(values) for name, values in scores.items()} for scores in families]
    pairs = [list(combinations(scores, 2)) for scores in matrices]
    gaps = [
        np.stack([differences(scores[first], scores[second]) for first, second in named], axis=1)
        if named
        else np.zeros((0, 0))
        for scores, named in zip(matrices, pairs, strict=True)
    ]
    family = sum(int((~np.isnan(table)).any(axis=0).sum()) for table in gaps)
    tested = [permuted_differences(*both, alpha, family, permutations, seed) for both in zip(pairs, gaps, strict=True)]
    results = iter(corrected([pair for pairs_of_family in tested for pair in pairs_of_family], alpha))
    return [[next(results) for _ in pairs_of_family] for pairs_of_family in tested]


def corrected(pairs: Sequence[PairDifference], alpha: float) -> list[PairDifference]:
    """Return the pairs with Holm-adjusted p-values, claims and adjusted intervals.

    An interval excludes 0 exactly if the difference is claimed.
    """
    adjusted = holm([pair.p for pair in pairs])
    family = sum(pair.p is not None for pair in pairs)
    result = []
    for original, p in zip(pairs, adjusted, strict=True):
        pair, gap = original._replace(p_holm=p, family=family), original.difference
        if gap is not None and gap != 0 and p is not None and p <= alpha and pair.units >= MIN_DOCUMENTS:
            pair = pair._replace(better=pair.first if gap > 0 else pair.second)
        low, high = pair.low, pair.high
        if gap is not None and low is not None and high is not None:
            if pair.better is None:
                pair = pair._replace(low=min(low, 0.0), high=max(high, 0.0))
            else:
                pair = pair._replace(low=max(low, 0.0)) if gap > 0 else pair._replace(high=min(high, 0.0))
        result.append(pair)
    return result


def permuted_differences(
    pairs: Sequence[tuple[str, str]],
    table: Values,
    alpha: float,
    family: int,
    permutations: int,
    seed: Seed,
    by: str = "document",
) -> list[PairDifference]:
    """Return the difference of each pair before Holm's correction.

    The interval has the level corrected for `family` pairs.

    ``table`` holds the differences as documents (or the units that ``by`` names) x pairs, with NaN if missing.

    A flip splits the documents of a pair into two parts. The test counts the flip against a difference exactly if the
    difference is between the means of the two parts. The ends of the interval are therefore the k-th lowest of the
    lower means and the k-th highest of the higher means, where p falls below the level.

    With at least 50,000 documents, none of which dominates, the sum over a random flip is normal. The results of such
    pairs are computed instead of sampled, as their ``text`` says.
    """
    gaps = floats(table, 2)
    normal = np.zeros(len(pairs), np.bool_)
    if len(gaps) >= _MANY:
        # The distribution is symmetric, and its kurtosis, 3 - 2 times the share, changes no p-value above 1e-6 by more
        # than 1 %.
        squares = np.nan_to_num(gaps) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (squares**2).sum(axis=0) / squares.sum(axis=0) ** 2
        normal = ((~np.isnan(gaps)).sum(axis=0) >= _MANY) & (share < _SHARE)
    sampled = np.flatnonzero(~normal).tolist()
    few = iter(
        _sampled_differences(
            [pairs[column] for column in sampled], gaps[:, sampled], alpha, family, permutations, seed, by
        ) if sampled else ()
    )  # fmt: skip
    return [
        _normal_difference(pair, gaps[:, column], alpha, family, by) if normal[column] else next(few)
        for column, pair in enumerate(pairs)
    ]


def _normal_difference(pair: tuple[str, str], gaps: Floats, alpha: float, family: int, by: str) -> PairDifference:
    """Return the difference of a pair with a normal approximation of the permutation test.

    Let S be the sum of n differences and Q the sum of their squares. Under random exchanges of the scores, the sum has
    mean 0 and variance Q. The interval contains each d for which (S - nd)^2 <= z^2 (Q - 2dS + nd^2).
    """
    known = gaps[~np.isnan(gaps)]
    n, mean = len(known), float(known.mean())
    p = math.erfc(abs(mean) * n / math.sqrt(2 * float((known**2).sum())))
    z = NormalDist().inv_cdf(1 - alpha / max(1, family) / 2)
    half = z * math.sqrt(float(((known - mean) ** 2).sum()) / (n * (n - z**2)))
    over = "" if family == 1 else f", simultaneous over {family} pairs"
    return PairDifference(
        *pair, mean, mean - half, mean + half, p, None, family, n, len(gaps) - n, n, least_p(n),
        text=f"{100 * (1 - alpha):g}% normal interval by {by}{over}", method="paired permutation, normal limit", by=by,
    )  # fmt: skip


def _sampled_differences(
    pairs: Sequence[tuple[str, str]],
    gaps: Floats,
    alpha: float,
    family: int,
    permutations: int,
    seed: Seed,
    by: str,
) -> list[PairDifference]:
    """Return the result of `permuted_differences` by enumerating or sampling flips."""
    documents = len(gaps)
    present = (~np.isnan(gaps)).astype(np.float64)
    gaps = np.nan_to_num(gaps)
    total, counts = gaps.sum(axis=0), present.sum(axis=0)
    # Rounding errors grow with the sum of magnitudes; the threshold is lowered accordingly.
    edge = np.abs(total) - 1e-12 * np.abs(gaps).sum(axis=0)
    flips = sign_flips(documents, max(permutations, enough_permutations(family, alpha)), seed)
    extra = 0 if flips.exact else 1
    # Number of flips that must reach a difference for it not to be rejected.
    needed = math.floor(alpha / max(1, family) * (flips.total + extra) + 1e-9) + 1 - extra
    lows, highs = (np.full((needed, len(pairs)), end) for end in (np.inf, -np.inf))
    reached = np.zeros(len(pairs), dtype=np.int64)
    for block in flips.blocks:
        flipped, kept = block @ gaps, block @ present
        reached += (np.abs(flipped) >= edge).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept_mean, flipped_mean = (total + flipped) / (counts + kept), (total - flipped) / (counts - kept)
        whole = np.abs(kept) == counts  # the other part is empty
        low, high = np.minimum(kept_mean, flipped_mean), np.maximum(kept_mean, flipped_mean)
        lows = np.partition(np.concatenate([lows, np.where(whole, -np.inf, low)]), needed - 1, axis=0)[:needed]
        highs = np.partition(np.concatenate([highs, np.where(whole, np.inf, high)]), len(block), axis=0)[len(block) :]
    p = (reached + extra) / (flips.total + extra)
    sampled = "" if flips.exact else f", seed {seed_number(seed)}"
    over = "" if family == 1 else f"simultaneous over {family} pairs, "
    text = f"{100 * (1 - alpha):g}% permutation interval by {by}, {over}{flips.total} permutations{sampled}"
    method = f"paired permutation{', exact' if flips.exact else ''}, {flips.total} flips"
    differences = []
    for column, (first, second) in enumerate(pairs):
        n = int(counts[column])
        pair = PairDifference(
            first, second, None, None, None, None, None, family, n, documents - n, n,
            least_p(n, None if flips.exact else flips.total), method=method, by=by,
        )  # fmt: skip
        low, high = float(lows[:, column].max(initial=-np.inf)), float(highs[:, column].min(initial=np.inf))
        if not n:
            pair = pair._replace(reason=ALL_MISSING if documents else EMPTY)
        elif np.isfinite(low):
            pair = pair._replace(difference=float(total[column] / n), p=float(p[column]), low=low, high=high, text=text)
        else:
            why = f"{n} {by}{'s' * (n > 1)}: too few for an interval{f' over {family} pairs' * (family > 1)}"
            pair = pair._replace(difference=float(total[column] / n), p=float(p[column]), reason=why)
        differences.append(pair)
    return differences
