"""Many comparisons at once: Holm's correction, and the clusters of systems that cannot be told apart."""

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from summeter.choices import ClusterRule

from .base import Values, floats

PMatrix = Sequence[Sequence[float | None]]


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


def holm_matrix(p_values: PMatrix) -> list[list[float | None]]:
    """Adjust the pairs of a symmetric p-value matrix, each pair counted once; the diagonal stays None.

    Raises ValueError when the matrix is not square or not symmetric.
    """
    size = len(p_values)
    if any(len(row) != size for row in p_values):
        raise ValueError("the p-value matrix must be square")
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    for i, j in pairs:
        if p_values[i][j] != p_values[j][i]:
            raise ValueError(f"the p-value matrix is not symmetric at ({i}, {j})")
    adjusted = holm([p_values[i][j] for i, j in pairs])
    result: list[list[float | None]] = [[None] * size for _ in range(size)]
    for (i, j), value in zip(pairs, adjusted, strict=True):
        result[i][j] = result[j][i] = value
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
