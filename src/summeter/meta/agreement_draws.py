"""All bootstrap draws of an agreement coefficient at once.

Alpha is a function of the coincidences of votes, the kappas of sums over units; both are sums over documents. So a
draw of documents is a weighted sum, and a thousand draws are one matrix product. What comes out is what the
coefficient in `stats` gives on the drawn units, which the tests hold it to.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from summeter.stats.base import Floats, Ints
from summeter.stats.kappa import weight_matrix

MOST_VALUES = 60
_SURE = 1e-12


def alpha_draws(votes: Floats, documents: Ints, times: NDArray[np.int64], level: str) -> Floats | None:
    """Krippendorff's alpha of each draw, NaN where undefined; None with too many different votes for this way.

    `votes` are raters x units, `documents` numbers 0..D-1 of the units' documents, `times` draws x D.
    """
    values = np.unique(votes[~np.isnan(votes)])
    if not 0 < len(values) <= MOST_VALUES:
        return None
    table = _counts(votes, values)
    sizes = table.sum(axis=1)
    paired = sizes >= 2
    table, sizes = table[paired], sizes[paired]
    # Krippendorff's coincidence matrix of each unit: every ordered pair of its votes, over one less than their number.
    both = table[:, :, None] * table[:, None, :] - np.eye(len(values)) * table[:, :, None]
    found = _drawn(both / (sizes - 1)[:, None, None], documents[paired], times)
    totals = found.sum(axis=2)
    n = totals.sum(axis=1)
    distance = _distances(values, totals, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (found * distance).sum(axis=(1, 2)) / n
        expected = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2)) / (n * (n - 1))
        return np.asarray(np.where(expected > _SURE * (1 + expected), 1 - observed / expected, np.nan))


def _distances(values: Floats, totals: Floats, level: str) -> Floats:
    """Squared distances of values (draws x values x values, or one matrix for all draws)."""
    if level == "nominal":
        return np.asarray(1.0 - np.eye(len(values)))
    if level == "ordinal":
        ranks = np.cumsum(totals, axis=1) - totals / 2
        return np.asarray((ranks[:, :, None] - ranks[:, None, :]) ** 2)
    gap = np.subtract.outer(values, values)
    if level == "interval":
        return np.asarray(gap**2)
    whole = np.add.outer(values, values)
    return np.asarray(np.divide(gap, whole, out=np.zeros_like(gap), where=whole > 0) ** 2)


def gwet_draws(
    name: str, votes: Floats, documents: Ints, times: NDArray[np.int64], scale: Sequence[float], weights: str
) -> Floats:
    """Fleiss' kappa, AC1 or AC2 of each draw, NaN where undefined."""
    q = len(scale)
    weight = weight_matrix(q, weights if name == "ac2" else "identity")
    table = _counts(votes, np.array(scale))
    sizes = table.sum(axis=1)
    paired, judged = sizes >= 2, sizes > 0
    credit = np.zeros(len(table))
    m = sizes[paired]
    credit[paired] = (table[paired] * (table[paired] @ weight - 1)).sum(axis=1) / (m * (m - 1))
    shares = np.divide(table, sizes[:, None], out=np.zeros_like(table), where=judged[:, None])
    sums = _drawn(np.column_stack([credit, paired, judged, shares]), documents, times)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed, share = sums[:, 0] / sums[:, 1], sums[:, 3:] / sums[:, 2:3]
        if name == "kappa_fleiss":
            expected = (share**2).sum(axis=1)
        else:
            expected = weight.sum() * (share * (1 - share)).sum(axis=1) / (q * (q - 1))
        return _corrected(observed, expected)


def cohen_draws(votes: Floats, documents: Ints, times: NDArray[np.int64], scale: Sequence[float]) -> Floats:
    """Cohen's kappa of each draw, the mean over pairs of raters (those with a value); NaN where there is none."""
    q = len(scale)
    cells = np.searchsorted(np.array(scale), votes)
    found = []
    for one, two in combinations(range(len(votes)), 2):
        both = ~(np.isnan(votes[one]) | np.isnan(votes[two]))
        table = np.zeros((votes.shape[1], q * q))
        table[np.flatnonzero(both), cells[one][both] * q + cells[two][both]] = 1.0
        drawn = _drawn(table, documents, times).reshape(-1, q, q)
        n = drawn.sum(axis=(1, 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = np.trace(drawn, axis1=1, axis2=2) / n
            expected = (drawn.sum(axis=2) * drawn.sum(axis=1)).sum(axis=1) / n**2
            found.append(_corrected(observed, expected))
    values = np.array(found)
    there = ~np.isnan(values)
    counted = there.sum(axis=0)
    nothing: Floats = np.full(len(times), np.nan)
    return np.asarray(np.divide(np.where(there, values, 0.0).sum(axis=0), counted, out=nothing, where=counted > 0))


def _corrected(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(1 - expected >= _SURE, (observed - expected) / (1 - expected), np.nan))


def _counts(votes: Floats, values: Floats) -> Floats:
    """How many votes each unit has for each value (units x values)."""
    raters, units = np.nonzero(~np.isnan(votes))
    cells = np.searchsorted(values, votes[raters, units])
    flat = np.bincount(units * len(values) + cells, minlength=votes.shape[1] * len(values))
    return np.asarray(flat.reshape(votes.shape[1], len(values)), dtype=np.float64)


def _drawn(parts: NDArray[Any], documents: Ints, times: NDArray[np.int64]) -> Floats:
    """The sum of the units' parts in each draw (draws x the shape of a part)."""
    shape = parts.shape[1:]
    width = int(np.prod(shape))
    sums = np.zeros((times.shape[1], width))
    np.add.at(sums, documents, parts.reshape(len(parts), width))
    return np.asarray((times.astype(np.float64) @ sums).reshape(len(times), *shape))
