"""Does one evaluator correlate with people better than another? Tests of two correlations that share the gold.

The two evaluators scored the same items, so their correlations are themselves correlated and an ordinary test of
two r's is wrong (Graham & Baldwin, 2014; Deutsch et al., 2021).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from summeter.choices import Coefficient

from .base import (
    CONSTANT,
    Bools,
    Floats,
    Labels,
    Seed,
    Status,
    Values,
    codes,
    complete,
    generator,
    seed_number,
    t_two_sided,
)
from .correlation import CORRELATIONS, raw, weighted_correlations

_CELLS = 2_000_000


class CorrelationComparison(NamedTuple):
    """Two correlations with the same gold, their difference (first minus second) and its two-sided p-value.

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
    r12, r13, r23 = (raw(x, y, Coefficient.PEARSON) for x, y in ((g, a), (g, b), (a, b)))
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
    coefficient: str = Coefficient.PEARSON,
    clusters: Labels | None = None,
    resamples: int = 1000,
    seed: Seed = 0,
) -> CorrelationComparison:
    """Permutation test of two dependent correlations (Deutsch et al., 2021): exchange the evaluators' scores.

    Both evaluators are brought to mean 0 and standard deviation 1 (not for a coefficient that depends on the units of
    its sides), then exchanged cluster by cluster (row by row without clusters); p = (c + 1) / (resamples + 1) with c
    the exchanges whose difference is at least the observed one in size. Pearson is computed for all exchanges at
    once; rank coefficients one exchange at a time.
    """
    kind = Coefficient(coefficient)
    (g, a, b), kept = complete(gold, first, second)
    n = len(g)
    shell = _shell("permutation", n, int((~kept).sum()))
    shell = shell._replace(resamples=resamples, seed=seed_number(seed))
    if n < 2:
        return shell._replace(reason="fewer than 2 complete rows")
    one, two = raw(g, a, kind), raw(g, b, kind)
    if one is None or two is None:
        return shell._replace(first=one, second=two, reason=CONSTANT)
    labels = np.arange(n) if clusters is None else np.unique(codes(clusters)[kept], return_inverse=True)[1]
    swaps = generator(seed).integers(0, 2, (resamples, int(labels.max()) + 1), dtype=np.int8).astype(np.bool_)
    if CORRELATIONS[kind].scale_free:
        a, b = (a - a.mean()) / a.std(), (b - b.mean()) / b.std()
    gaps = np.concatenate([_gaps(g, a, b, block[:, labels], kind) for block in _blocks(swaps, n)])
    # Exchanges without a correlation (NaN) cannot be called smaller than the observed difference: they count.
    reached = int((~(np.abs(gaps) < abs(one - two) - 1e-12)).sum())
    return shell._replace(
        first=one, second=two, difference=one - two, p=(reached + 1) / (resamples + 1), status=Status.OK
    )  # fmt: skip


def _blocks(swaps: Bools, rows: int) -> Iterator[Bools]:
    size = max(1, _CELLS // max(1, rows))
    return (swaps[start : start + size] for start in range(0, len(swaps), size))


def _gaps(g: Floats, a: Floats, b: Floats, swapped: Bools, kind: Coefficient) -> Floats:
    """Return r(g, a') - r(g, b') of each exchange (a row of ``swapped``)."""
    if kind is Coefficient.PEARSON:
        # Standardised, the sums are linear in the exchange: no list need be made.
        gold, mask = (g - g.mean()) / g.std(), swapped.astype(np.float64)
        return _standard(mask, gold, a, b) - _standard(1 - mask, gold, a, b)
    whole = np.ones(swapped.shape)
    first, second = (weighted_correlations(g, np.where(swapped, *sides), whole, kind) for sides in ((b, a), (a, b)))
    return np.asarray(first - second)


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
