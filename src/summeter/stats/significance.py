"""All pairs of systems compared at once: permutation tests, Holm's correction, intervals that agree, clusters.

Under the null hypothesis the two scores of a document may be exchanged, which flips the sign of its difference. All
flips are drawn as one matrix of +1 and -1, and all pairs of systems share it, so thousands of tests are a single matrix
product. p = (c + 1) / (n + 1), where c of n random flips give a mean difference at least as far from zero (Phipson &
Smyth, 2010); with few documents every flip is tried and p = c / 2^k exactly.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Bools, Floats, Seed, Values, floats, generator, seed_number

PMatrix = Sequence[Sequence[float | None]]

MIN_DOCUMENTS = 6
"""With fewer shared documents no difference is claimed."""
_REACHED = 10  # flips that a p-value at the edge of a verdict rests on
_CELLS = 200_000  # signs at a time: what a processor cache holds
_MANY = 50_000
_SHARE = 1e-3
"""Of the squared variance of a flip's sum, the fourth powers of its parts: with more the sum is not quite normal."""
_ROUNDING = 1e-12  # scores whose difference is this small a share of them are equal
_MAX_EXACT = 20  # 2^20 flips are the most that are enumerated


class Flips(NamedTuple):
    """Sign flips in blocks of rows, how many there are in all, and whether they are all that exist."""

    blocks: Iterator[Floats]
    total: int
    exact: bool


def sign_flips(units: int, resamples: int, seed: Seed = 0) -> Flips:
    """Return the flips to try: a row of +1 and -1 for each, one column a unit.

    All 2^units are listed when they are no more than ``resamples``; else ``resamples`` are drawn.

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


def permutation_p(differences: Floats, flips: Flips) -> Floats:
    """Return the two-sided p-value of each column of ``differences`` (units x tests); uses the flips up.

    A cell is the summed difference of one cluster, 0 where it has none. Sums compare as means do, since a flip
    leaves the number of rows alone. Flips equal to the observed sum up to rounding count as reaching it.
    """
    observed = np.abs(differences.sum(axis=0))
    # Rounding in a sum grows with the sum of magnitudes; the edge is lowered by a sliver of that.
    edge = observed - 1e-12 * np.abs(differences).sum(axis=0)
    reached = np.zeros(differences.shape[1], dtype=np.int64)
    for block in flips.blocks:
        reached += (np.abs(block @ differences) >= edge).sum(axis=0)
    extra = 0 if flips.exact else 1
    return np.asarray((reached + extra) / (flips.total + extra), dtype=np.float64)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return Holm's (1979) adjusted p-values in the given order; None stays None and is not counted as a test.

    The i-th smallest of m p-values is multiplied by m - i + 1, made monotone, and cut at 1.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    column = np.asarray(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(column))
    if ((column[tested] < 0) | (column[tested] > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    order = tested[np.argsort(column[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(column[order] * factors), 1.0)
    result: list[float | None] = [None] * len(column)
    for place, value in zip(order, adjusted, strict=True):
        result[int(place)] = float(value)
    return result


def clusters_of_equals(means: Values, p_values: PMatrix, alpha: float = 0.05) -> list[int | None]:
    """Return each system's cluster, 1 for the best, from two-sided p-values (corrected first, if wanted).

    Going down the ranking, a new cluster starts at the first system that is significantly worse than any system of
    the current cluster (mt-metrics-eval).

    A system is significantly better than another when its mean is higher and p <= alpha; a missing p-value is no
    difference. Systems without a mean get no cluster. Equal means keep their order.

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
    """The value of ``first`` minus that of ``second`` over the ``n`` rows both have; ``missing`` rows lack one.

    ``p`` is that of a test that exchanges ``units`` (named by ``by``), ``p_holm`` the same corrected over ``family``
    pairs, ``least_p`` the smallest p that so many units can give. ``better`` is the one claimed to be higher, if any.
    ``text`` says what ``low``-``high`` is; ``reason`` why it or the difference is not there.
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
    """Return how many permutations let a p-value that is just claimed after Holm's correction rest on ``flips``.

    >>> enough_permutations(6, 0.05)
    1200
    """
    return math.ceil(flips * family / alpha - 1e-9)


def least_p(units: int, permutations: int | None = None) -> float:
    """Return the smallest two-sided p of exchanging ``units``; ``permutations`` were drawn, or all tried (None).

    >>> least_p(6), least_p(30, 99)
    (0.03125, 0.01)
    """
    return min(1.0, max(2.0 ** (1 - units), 0.0 if permutations is None else 1 / (permutations + 1)))


def paired_differences(
    families: Sequence[Mapping[str, Values]], alpha: float = 0.05, permutations: int = 10_000, seed: Seed = 0
) -> list[list[PairDifference]]:
    """Compare every two systems (name -> a score a document, None or NaN where missing) on the documents both have.

    All mappings (the groups of a column, say) are corrected together. The test exchanges two systems' scores document
    by document. A difference is claimed where p after Holm's correction is at most ``alpha`` and at least MIN_DOCUMENTS
    documents are shared. An interval holds the differences that the test does not reject at ``alpha`` / family, so that
    all hold at once with confidence 1 - ``alpha``; where Holm's steps claim what that leaves open, it ends at 0
    (Strassburger & Bretz, 2008): it excludes 0 exactly where a difference is claimed. ``permutations`` is raised where
    it is too small for so many pairs.

    Six differences of 1: of the 64 flips two reach a mean of 1.

    >>> ((pair,),) = paired_differences([{"a": [2, 3, 4, 2, 3, 4], "b": [1, 2, 3, 1, 2, 3]}])
    >>> pair.difference, pair.p, pair.better, pair.low
    (1.0, 0.03125, 'a', 1.0)
    """
    matrices = [{name: floats(values) for name, values in scores.items()} for scores in families]
    pairs = [list(combinations(scores, 2)) for scores in matrices]
    gaps = [
        np.stack([_difference(scores[first], scores[second]) for first, second in named], axis=1)
        if named
        else np.zeros((0, 0))
        for scores, named in zip(matrices, pairs, strict=True)
    ]
    family = sum(int((~np.isnan(table)).any(axis=0).sum()) for table in gaps)
    tested = [permuted_differences(*both, alpha, family, permutations, seed) for both in zip(pairs, gaps, strict=True)]
    whole = iter(corrected([pair for pairs_of_family in tested for pair in pairs_of_family], alpha))
    return [[next(whole) for _ in pairs_of_family] for pairs_of_family in tested]


def _difference(first: Floats, second: Floats) -> Floats:
    """The differences of two systems' scores; 0 where the scores differ only by rounding."""
    gaps = first - second
    return np.where(np.abs(gaps) <= _ROUNDING * np.maximum(np.abs(first), np.abs(second)), 0.0, gaps)


def corrected(pairs: Sequence[PairDifference], alpha: float) -> list[PairDifference]:
    """Return the pairs with Holm's p, what is claimed, and intervals that agree with it."""
    adjusted = holm([pair.p for pair in pairs])
    family = sum(pair.p is not None for pair in pairs)
    return [_claimed(pair._replace(p_holm=p, family=family), alpha) for pair, p in zip(pairs, adjusted, strict=True)]


def _claimed(pair: PairDifference, alpha: float) -> PairDifference:
    """With the claim, and an interval that excludes 0 exactly where there is one."""
    gap = pair.difference
    enough = pair.units >= MIN_DOCUMENTS
    if gap is not None and gap != 0 and pair.p_holm is not None and pair.p_holm <= alpha and enough:
        pair = pair._replace(better=pair.first if gap > 0 else pair.second)
    if gap is None or pair.low is None or pair.high is None:
        return pair
    if pair.better is None:
        return pair._replace(low=min(pair.low, 0.0), high=max(pair.high, 0.0))
    return pair._replace(low=max(pair.low, 0.0)) if gap > 0 else pair._replace(high=min(pair.high, 0.0))


def permuted_differences(
    pairs: Sequence[tuple[str, str]],
    table: Values,
    alpha: float,
    family: int,
    permutations: int,
    seed: Seed,
    by: str = "document",
) -> list[PairDifference]:
    """Return each pair before the correction, its interval at the level of `family` pairs.

    ``table`` holds their differences, documents (or whatever ``by`` names) x pairs, NaN where missing.

    A flip parts the documents of a pair in two. The test counts it against a difference exactly where that lies between
    the means of both parts, so the k-th lowest of the lower means, and the k-th highest of the higher ones, are where p
    falls below the level.

    With 50,000 documents and more, of which none stands out, the sum over a random flip is normal: such pairs are not
    drawn but computed, and their text says so.
    """
    gaps = floats(table, 2)
    sure = _is_normal(gaps)
    drawn = np.flatnonzero(~sure).tolist()
    if len(drawn) == len(pairs):
        return _drawn_differences(pairs, gaps, alpha, family, permutations, seed, by)
    few = _drawn_differences(
        [pairs[place] for place in drawn], gaps[:, drawn], alpha, family, permutations, seed, by
    ) if len(drawn) else []  # fmt: skip
    rest = iter(few)
    return [
        _normal_difference(pair, gaps[:, place], alpha, family, by) if sure[place] else next(rest)
        for place, pair in enumerate(pairs)
    ]


def _is_normal(gaps: Floats) -> Bools:
    """Which columns have so many differences, none of which stands out, that a flip's sum is normal: its distribution
    is symmetric, and its kurtosis, 3 - 2 times the share below, moves no p-value above 1e-6 by a hundredth of it."""
    if len(gaps) < _MANY:
        return np.zeros(gaps.shape[1], np.bool_)
    squares = np.nan_to_num(gaps) ** 2
    whole = squares.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (squares**2).sum(axis=0) / whole**2
    normal: Bools = ((~np.isnan(gaps)).sum(axis=0) >= _MANY) & (share < _SHARE)
    return normal


def _normal_difference(pair: tuple[str, str], gaps: Floats, alpha: float, family: int, by: str) -> PairDifference:
    """A pair whose test is computed: exchanging scores turns the sum S of n differences into one of mean 0 and
    variance Q, the sum of their squares. The interval holds each d with (S - nd)^2 <= z^2 (Q - 2dS + nd^2)."""
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


def _drawn_differences(
    pairs: Sequence[tuple[str, str]],
    gaps: Floats,
    alpha: float,
    family: int,
    permutations: int,
    seed: Seed,
    by: str,
) -> list[PairDifference]:
    """`permuted_differences` by trying flips."""
    documents = len(gaps)
    present = (~np.isnan(gaps)).astype(np.float64)
    gaps = np.nan_to_num(gaps)
    total, counts = gaps.sum(axis=0), present.sum(axis=0)
    # Rounding in a sum grows with the sum of magnitudes; the edge is lowered by a sliver of that.
    edge = np.abs(total) - 1e-12 * np.abs(gaps).sum(axis=0)
    flips = sign_flips(documents, max(permutations, enough_permutations(family, alpha)), seed)
    extra = 0 if flips.exact else 1
    # How many flips must count against a difference for it not to be rejected.
    needed = math.floor(alpha / max(1, family) * (flips.total + extra) + 1e-9) + 1 - extra
    lows, highs = (np.full((needed, len(pairs)), end) for end in (np.inf, -np.inf))
    reached = np.zeros(len(pairs), dtype=np.int64)
    for block in flips.blocks:
        swung, kept = block @ gaps, block @ present
        reached += (np.abs(swung) >= edge).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept_mean, flipped_mean = (total + swung) / (counts + kept), (total - swung) / (counts - kept)
        whole = np.abs(kept) == counts  # nothing in the other part
        low, high = np.minimum(kept_mean, flipped_mean), np.maximum(kept_mean, flipped_mean)
        lows = np.partition(np.concatenate([lows, np.where(whole, -np.inf, low)]), needed - 1, axis=0)[:needed]
        highs = np.partition(np.concatenate([highs, np.where(whole, np.inf, high)]), len(block), axis=0)[len(block) :]
    p = (reached + extra) / (flips.total + extra)
    drawn = "" if flips.exact else f", seed {seed_number(seed)}"
    over = "" if family == 1 else f"simultaneous over {family} pairs, "
    text = f"{100 * (1 - alpha):g}% permutation interval by {by}, {over}{flips.total} permutations{drawn}"
    method = f"paired permutation{', exact' if flips.exact else ''}, {flips.total} flips"
    differences = []
    for place, (first, second) in enumerate(pairs):
        n = int(counts[place])
        pair = PairDifference(
            first, second, None, None, None, None, None, family, n, documents - n, n,
            least_p(n, None if flips.exact else flips.total), method=method, by=by,
        )  # fmt: skip
        low, high = float(lows[:, place].max(initial=-np.inf)), float(highs[:, place].min(initial=np.inf))
        if not n:
            pair = pair._replace(reason=ALL_MISSING if documents else EMPTY)
        elif np.isfinite(low):
            pair = pair._replace(difference=float(total[place] / n), p=float(p[place]), low=low, high=high, text=text)
        else:
            why = f"{n} {by}{'s' * (n > 1)}: too few for an interval{f' over {family} pairs' * (family > 1)}"
            pair = pair._replace(difference=float(total[place] / n), p=float(p[place]), reason=why)
        differences.append(pair)
    return differences
