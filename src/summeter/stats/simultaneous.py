"""All pairs of systems compared at once: one set of sign flips gives p-values, Holm's correction and intervals."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Seed, Values, floats, seed_number
from .significance import holm, sign_flips

FEWEST = 6
"""With fewer shared documents no difference is claimed."""
_REACHED = 10


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
    return min(1.0, max(2.0 / 2.0**units, 0.0 if permutations is None else 1 / (permutations + 1)))


def paired_differences(
    families: Sequence[Mapping[str, Values]], alpha: float = 0.05, permutations: int = 10_000, seed: Seed = 0
) -> list[list[PairDifference]]:
    """Compare every two systems (name -> a score a document, None or NaN where missing) on the documents both have.

    All mappings (the groups of a column, say) are corrected together. The test exchanges two systems' scores document
    by document. A difference is claimed where p after Holm's correction is at most ``alpha`` and at least FEWEST
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
        np.stack([scores[one] - scores[two] for one, two in named], axis=1) if named else np.zeros((0, 0))
        for scores, named in zip(matrices, pairs, strict=True)
    ]
    family = sum(int((~np.isnan(table)).any(axis=0).sum()) for table in gaps)
    tested = [permuted_differences(*both, alpha, family, permutations, seed) for both in zip(pairs, gaps, strict=True)]
    whole = iter(corrected([pair for found in tested for pair in found], alpha))
    return [[next(whole) for _ in found] for found in tested]


def corrected(pairs: Sequence[PairDifference], alpha: float) -> list[PairDifference]:
    """Return the pairs with Holm's p, what is claimed, and intervals that agree with it."""
    adjusted = holm([pair.p for pair in pairs])
    family = sum(pair.p is not None for pair in pairs)
    return [_claimed(pair._replace(p_holm=p, family=family), alpha) for pair, p in zip(pairs, adjusted, strict=True)]


def _claimed(pair: PairDifference, alpha: float) -> PairDifference:
    """With the claim, and an interval that excludes 0 exactly where there is one."""
    gap = pair.difference
    if gap is not None and gap != 0 and pair.p_holm is not None and pair.p_holm <= alpha and pair.units >= FEWEST:
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
    """
    gaps = floats(table, 2)
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
            one, two = (total + swung) / (counts + kept), (total - swung) / (counts - kept)
        whole = np.abs(kept) == counts  # nothing in the other part
        low, high = np.minimum(one, two), np.maximum(one, two)
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
