"""Paired permutation tests of a difference of means, Holm's correction, and clusters of systems that do not differ.

Under the null hypothesis the two scores of a cluster (normally a document) may be exchanged, which flips the sign
of its difference. All flips are drawn as one matrix of +1 and -1, and all pairs of systems share it, so thousands
of tests are a single matrix product. p = (c + 1) / (n + 1), where c of n random flips give a mean difference at
least as far from zero (Phipson & Smyth, 2010); with few clusters every flip is tried and p = c / 2^k exactly.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, assert_never

import numpy as np

from summeter.choices import ClusterRule

from .base import (
    ALL_MISSING,
    EMPTY,
    Floats,
    Labels,
    Seed,
    Status,
    Values,
    codes,
    complete,
    floats,
    generator,
    seed_number,
)

PMatrix = Sequence[Sequence[float | None]]

_CELLS = 200_000  # signs at a time: what a processor cache holds
_MAX_EXACT = 20  # 2^20 flips are the most that are enumerated


class Comparison(NamedTuple):
    """The paired permutation test of a difference of means (first minus second); ``p`` is two-sided.

    ``resamples`` flips were tried; ``exact`` says that these are all there are. ``clusters`` units were flipped.
    """

    difference: float | None
    p: float | None
    n: int
    missing: int
    clusters: int
    resamples: int
    exact: bool
    seed: int | None
    status: Status
    reason: str | None

    @property
    def method(self) -> str:
        """The test in words."""
        return "paired permutation, exact" if self.exact else "paired permutation"


class PairTest(NamedTuple):
    """The permutation test of systems ``first`` and ``second`` (numbers along axis 0) on one aspect (axis 2)."""

    first: int
    second: int
    aspect: int
    result: Comparison


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
    sizes = [min(size, count - start) for start in range(0, count, size)]
    blocks = _every_flip(units, sizes) if exact else _drawn_flips(units, sizes, generator(seed))
    return Flips(blocks, count, exact)


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


def paired_permutation(
    a: Values,
    b: Values,
    clusters: Labels | None = None,
    resamples: int = 10_000,
    seed: Seed = 0,
) -> Comparison:
    """Test whether two systems scored on the same rows differ in their mean, exchanging whole clusters.

    Rows where either score is missing are dropped and counted. ``method`` in the result says whether the flips
    were sampled or all enumerated, ``resamples`` how many were tried. Undefined without complete pairs.

    Differences 1, 1, 1: of the 8 flips, +++ and --- reach a mean of 1, so p = 2/8.

    >>> paired_permutation([2, 3, 4], [1, 2, 3]).p
    0.25
    """
    (left, right), kept = complete(a, b)
    labels = np.arange(len(kept)) if clusters is None else codes(clusters)
    if len(labels) != len(kept):
        raise ValueError(f"{len(labels)} cluster labels for {len(kept)} rows")
    units = np.unique(labels[kept], return_inverse=True)[1]
    sums = np.bincount(units, weights=left - right).astype(np.float64)
    flips = sign_flips(len(sums), resamples, seed)
    shell = _shell(flips, seed)._replace(missing=int((~kept).sum()), clusters=len(sums))
    return _filled(shell, sums, len(left), float(permutation_p(sums[:, None], flips)[0]))


def paired_permutations(
    scores: Values,
    clusters: Labels | None = None,
    resamples: int = 10_000,
    seed: Seed = 0,
    pairs: Sequence[tuple[int, int]] | None = None,
) -> list[PairTest]:
    """Test every pair of systems on every aspect with one shared set of flips.

    ``scores`` is an array systems x items or systems x items x aspects, NaN where missing; ``clusters`` gives one
    label an item; ``pairs`` restricts the pairs of systems. Each test drops its own incomplete items. The tests
    come pair by pair, aspect within pair. Twelve systems, 100 documents, 4 aspects and 10,000 flips are 264 tests
    in one matrix product.

    >>> tests = paired_permutations([[1, 2, 3], [1, 2, 3], [0, 1, 2]])
    >>> [(t.first, t.second, t.result.difference, t.result.p) for t in tests]
    [(0, 1, 0.0, 1.0), (0, 2, 1.0, 0.25), (1, 2, 1.0, 0.25)]
    """
    cube = floats(scores, None)
    cube = cube[:, :, None] if cube.ndim == 2 else cube
    if cube.ndim != 3:
        raise ValueError(f"scores must be systems x items [x aspects], got shape {cube.shape}")
    systems, items, aspects = cube.shape
    labels = np.arange(items) if clusters is None else codes(clusters)
    if len(labels) != items:
        raise ValueError(f"{len(labels)} cluster labels for {items} items")
    wanted = list(combinations(range(systems), 2)) if pairs is None else list(pairs)
    units = int(labels.max()) + 1 if items else 0
    gaps = np.stack([cube[i] - cube[j] for i, j in wanted], axis=1).reshape(items, -1)
    present = (~np.isnan(gaps)).astype(np.float64)
    sums, counts = _by_cluster(np.nan_to_num(gaps), labels, units), _by_cluster(present, labels, units)
    flips = sign_flips(units, resamples, seed)
    p = permutation_p(sums, flips)
    shell = _shell(flips, seed)
    tests: list[PairTest] = []
    for column, value in enumerate(p):
        first, second = wanted[column // aspects]
        n = int(counts[:, column].sum())
        filled = shell._replace(missing=items - n, clusters=int((counts[:, column] > 0).sum()))
        tests.append(PairTest(first, second, column % aspects, _filled(filled, sums[:, column], n, float(value))))
    return tests


def _by_cluster(rows: Floats, labels: Labels, units: int) -> Floats:
    totals = np.zeros((units, rows.shape[1]))
    np.add.at(totals, np.asarray(labels), rows)
    return totals


def _every_flip(units: int, sizes: Sequence[int]) -> Iterator[Floats]:
    start = 0
    for size in sizes:
        bits = (np.arange(start, start + size)[:, None] >> np.arange(units)) & 1
        yield (1 - 2 * bits).astype(np.float64)
        start += size


def _drawn_flips(units: int, sizes: Sequence[int], rng: np.random.Generator) -> Iterator[Floats]:
    for size in sizes:
        bits = rng.integers(0, 2, (size, units), dtype=np.int8)
        yield (1 - 2 * bits).astype(np.float64)


def _shell(flips: Flips, seed: Seed) -> Comparison:
    return Comparison(None, None, 0, 0, 0, flips.total, flips.exact, seed_number(seed), Status.UNDEFINED, None)


def _filled(shell: Comparison, sums: Floats, n: int, p: float) -> Comparison:
    if n == 0:
        return shell._replace(reason=ALL_MISSING if shell.missing else EMPTY)
    return shell._replace(difference=float(sums.sum() / n), p=p, n=n, status=Status.OK)


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


def clusters_of_equals(
    means: Values, p_values: PMatrix, alpha: float = 0.05, rule: str = ClusterRule.GREEDY
) -> list[int | None]:
    """Return each system's cluster, 1 for the best, from two-sided p-values (corrected first, if wanted).

    A system is significantly better than another when its mean is higher and p <= alpha; a missing p-value is no
    difference. Systems without a mean get no cluster. Equal means keep their order.

    >>> p = [[None, .5, .01], [.5, None, .2], [.01, .2, None]]
    >>> clusters_of_equals([3.0, 2.5, 2.0], p), clusters_of_equals([3.0, 2.5, 2.0], p, rule="separated")
    ([1, 1, 2], [1, 1, 1])
    """
    kind = ClusterRule(rule)
    column = floats(means)
    table = floats(p_values, 2)
    if table.shape != (len(column), len(column)):
        raise ValueError(f"{len(column)} means but a p-value matrix of shape {table.shape}")
    present = np.flatnonzero(~np.isnan(column))
    ranked = present[np.argsort(-column[present], kind="stable")]
    worse = (table[np.ix_(ranked, ranked)] <= alpha) & (column[ranked][:, None] > column[ranked])
    found: list[int | None] = [None] * len(column)
    current, start = 1, 0
    for place, system in enumerate(ranked):
        match kind:
            case ClusterRule.GREEDY:
                splits = bool(worse[start:place, place].any())
            case ClusterRule.SEPARATED:
                splits = place > 0 and bool(worse[:place, place:].all())
            case _:
                assert_never(kind)
        if splits:
            current, start = current + 1, place
        found[int(system)] = current
    return found
