"""All pairs of systems compared at once: one set of sign flips gives p-values, Holm's correction and intervals."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Floats, Seed, seed_number
from .significance import holm, sign_flips

FEWEST = 6
"""Below so many shared items no difference is claimed."""
_REACHED = 10  # how many flips a p-value at the edge of a verdict rests on, at least


class PairDifference(NamedTuple):
    """The mean of system ``first`` minus that of ``second`` over the ``n`` items both have; ``missing`` have one only.

    ``p`` is that of the permutation test, ``p_holm`` the same corrected over the ``family`` of all pairs, ``least_p``
    the smallest p that so many items can give. ``low``-``high`` is None where they are too few for an interval,
    ``reason`` then says so; ``text`` says what the interval is. ``better`` is the system that is claimed to be better.
    """

    first: int
    second: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    n: int
    missing: int
    least_p: float
    better: int | None
    reason: str | None
    text: str | None
    method: str
    family: int


def paired_differences(
    matrices: Sequence[Floats], alpha: float = 0.05, permutations: int = 10_000, seed: Seed = 0
) -> list[list[PairDifference]]:
    """Compare every two systems of each matrix (systems x items, NaN where missing) on the items that both have.

    All matrices (the groups of a column, say) are one family. The test exchanges two systems' scores item by item. A
    difference is claimed where p after Holm's correction is at most ``alpha`` and at least FEWEST items are shared.
    An interval holds the differences that the test does not reject at ``alpha`` / family, so that all of them hold at
    once with confidence 1 - ``alpha``; where Holm's steps claim what that leaves open, it ends at 0 (Strassburger &
    Bretz, 2008): it excludes 0 exactly where a difference is claimed. ``permutations`` is raised where it is too small
    for so many pairs.

    Six differences of 1: of the 64 flips two reach a mean of 1.

    >>> ((pair,),) = paired_differences([np.array([[2.0, 3, 4, 2, 3, 4], [1, 2, 3, 1, 2, 3]])])
    >>> pair.difference, pair.p, pair.better, pair.low
    (1.0, 0.03125, 0, 1.0)
    """
    shared = [~np.isnan(matrix) @ (~np.isnan(matrix)).T.astype(np.int64) for matrix in matrices]
    family = sum(int((np.triu(counts, 1) > 0).sum()) for counts in shared)
    most = max(permutations, math.ceil(_REACHED * family / alpha))
    tested = [_tested(matrix, alpha, family, most, seed) for matrix in matrices]
    corrected = iter(holm([pair.p for pairs in tested for pair in pairs]))
    return [[_claimed(pair._replace(p_holm=next(corrected)), alpha) for pair in pairs] for pairs in tested]


def _tested(matrix: Floats, alpha: float, family: int, permutations: int, seed: Seed) -> list[PairDifference]:
    """Each pair of a matrix before the correction, its interval at the level of all.

    A flip s leaves the items of a pair on two sides. Of all differences d the test counts the flip against those that
    lie between the means of the two sides, and against those alone: so the k-th lowest of the lower means, and the
    k-th highest of the higher ones, are where p falls below the level.
    """
    systems, items = matrix.shape
    pairs = list(combinations(range(systems), 2))
    gaps = np.stack([matrix[i] - matrix[j] for i, j in pairs], axis=1) if pairs else np.zeros((items, 0))
    present = (~np.isnan(gaps)).astype(np.float64)
    gaps = np.nan_to_num(gaps)
    total, counts = gaps.sum(axis=0), present.sum(axis=0)
    edge = np.abs(total) - 1e-12 * np.abs(gaps).sum(axis=0)
    flips = sign_flips(items, permutations, seed)
    level = alpha / max(1, family)
    extra = 0 if flips.exact else 1
    # The number of flips that must reach a difference for it not to be rejected.
    needed = math.floor(level * (flips.total + extra) + 1e-9) + 1 - extra
    lows, highs = (np.full((needed, len(pairs)), end) for end in (np.inf, -np.inf))
    reached = np.zeros(len(pairs), dtype=np.int64)
    for block in flips.blocks:
        swung, kept = block @ gaps, block @ present
        reached += (np.abs(swung) >= edge).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            one, two = (total + swung) / (counts + kept), (total - swung) / (counts - kept)
        whole = np.abs(kept) == counts  # nothing on the other side: any difference is reached
        low = np.where(whole, -np.inf, np.minimum(one, two))
        high = np.where(whole, np.inf, np.maximum(one, two))
        lows = np.partition(np.concatenate([lows, low]), needed - 1, axis=0)[:needed]
        highs = np.partition(np.concatenate([highs, high]), len(block), axis=0)[len(block) :]
    low, high = lows.max(axis=0), highs.min(axis=0)
    p = (reached + extra) / (flips.total + extra)
    tried = f"{flips.total} permutations" + ("" if flips.exact else f", seed {seed_number(seed)}")
    over = "" if family == 1 else f"simultaneous over {family} pairs, "
    text = f"{100 * (1 - alpha):g}% permutation interval by document, {over}{tried}"
    method = f"paired permutation{', exact' if flips.exact else ''}, {flips.total} flips"
    differences = []
    for place, (first, second) in enumerate(pairs):
        n = int(counts[place])
        shell = PairDifference(
            first, second, None, None, None, None, None, n, items - n, 0.0, None, None, None, method, family
        )
        if not n:
            differences.append(shell._replace(reason=ALL_MISSING if items else EMPTY))
            continue
        least = max(2.0 / 2.0**n, 1 / flips.total if flips.exact else 1 / (flips.total + 1))
        tested = shell._replace(difference=float(total[place] / n), p=float(p[place]), least_p=least)
        if np.isfinite(low[place]):
            tested = tested._replace(low=float(low[place]), high=float(high[place]), text=text)
        else:
            over = f"an interval over {family} pairs" if family > 1 else "an interval"
            tested = tested._replace(reason=f"{n} shared document{'s' * (n > 1)}: too few for {over}")
        differences.append(tested)
    return differences


def _claimed(pair: PairDifference, alpha: float) -> PairDifference:
    """With the claim, and an interval that agrees with it."""
    if pair.difference is None or pair.p_holm is None:
        return pair
    claimed = pair.p_holm <= alpha and pair.n >= FEWEST and pair.difference != 0
    better = None if not claimed else pair.first if pair.difference > 0 else pair.second
    if pair.low is None or pair.high is None:
        return pair._replace(better=better)
    if not claimed:
        return pair._replace(low=min(pair.low, 0.0), high=max(pair.high, 0.0))
    if pair.difference > 0:
        return pair._replace(better=better, low=max(pair.low, 0.0))
    return pair._replace(better=better, high=min(pair.high, 0.0))
