"""Many balanced accuracies and AUROCs over one set of drawn documents: a benchmark's cells, their means, differences.

A benchmark such as AggreFact is a table of cells (a data set, a kind of summarizer), and one document may stand in
several of them. So documents are drawn once for the whole table, whole and with replacement; each draw gives every cell
a value, and means over cells and differences between judges are taken within the draw.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .base import Bools, Floats, Ints, Seed, generator

Weights = NDArray[np.uint16]
"""How often each unit (a column) was drawn in each draw (a row)."""

_CELLS = 2_000_000  # numbers at a time


def drawn_weights(units: int, resamples: int, seed: Seed = 0) -> Weights:
    """Draw ``units`` units with replacement, ``resamples`` times; two bytes a unit and draw.

    >>> drawn_weights(3, 2).sum(axis=1).tolist()
    [3, 3]
    """
    rng = generator(seed)
    found = np.zeros((resamples, units), dtype=np.uint16)
    for row in found:
        row[:] = np.bincount(rng.integers(0, units, units), minlength=units) if units else 0
    return found


def confusion_by_unit(labels: Floats, decided: Floats, unit: Ints, units: int) -> Floats:
    """Return units x 4 counts of true positives, positives, true negatives, negatives; rows with NaN count nowhere.

    >>> confusion_by_unit(np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, np.nan]), np.array([0, 0, 1]), 2).tolist()
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    kept = ~(np.isnan(labels) | np.isnan(decided))
    gold, said, where = labels[kept], decided[kept], unit[kept]
    parts = ((gold == 1) & (said == 1), gold == 1, (gold == 0) & (said == 0), gold == 0)
    return np.stack([np.bincount(where[part], minlength=units) for part in parts], axis=1).astype(np.float64)


def accuracy_of(counts: Floats, lone: Bools | None = None) -> Floats:
    """Return balanced accuracy from counts (..., cells, 4) as `confusion_by_unit` has them; NaN with one class only.

    ``lone`` marks the cells whose recall of their only class is taken instead.

    >>> accuracy_of(np.array([[3.0, 4.0, 1.0, 2.0], [3.0, 4.0, 0.0, 0.0]]), np.array([False, True])).tolist()
    [0.625, 0.75]
    """
    found, positives, rejected, negatives = np.moveaxis(counts, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = found / positives, rejected / negatives
    both = (up + down) / 2
    if lone is None:
        return np.asarray(both)
    return np.asarray(np.where(lone, np.where(positives > 0, up, down), both))


def accuracy_draws(counts: Sequence[Floats], weights: Weights, lone: Sequence[bool] | None = None) -> Floats:
    """Return draws x cells balanced accuracies; ``counts`` has units x 4 a cell (`confusion_by_unit`)."""
    table = np.stack(list(counts), axis=1)
    units, cells, _ = table.shape
    flat, marks = table.reshape(units, -1), None if lone is None else np.asarray(lone, dtype=np.bool_)
    found = np.full((len(weights), cells), np.nan)
    for rows in _blocks(len(weights), units + cells * 4):
        found[rows] = accuracy_of((weights[rows].astype(np.float64) @ flat).reshape(-1, cells, 4), marks)
    return found


def auroc_draws(labels: Floats, scores: Floats, unit: Ints, weights: Weights) -> Floats:
    """Return the AUROC of each draw, NaN where a class was not drawn; rows with NaN count nowhere.

    With weights w (how often a row's unit was drawn): the sum over positives of w times the weight of the negatives
    below plus half of those level, over the product of both classes' weights.
    """
    kept = ~(np.isnan(labels) | np.isnan(scores))
    gold, column, where = labels[kept], scores[kept], unit[kept]
    order = np.argsort(column, kind="stable")
    gold, where = gold[order], where[order]
    values = np.full(len(weights), np.nan)
    if not len(order):
        return values
    starts = np.flatnonzero(np.append(True, np.diff(column[order]) != 0))
    for rows in _blocks(len(weights), len(order)):
        drawn = weights[rows][:, where].astype(np.float64)
        up = np.add.reduceat(drawn * gold, starts, axis=1)
        down = np.add.reduceat(drawn * (1 - gold), starts, axis=1)
        below = np.cumsum(down, axis=1) - down / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            values[rows] = (up * below).sum(axis=1) / (up.sum(axis=1) * down.sum(axis=1))
    return values


def _blocks(rows: int, width: int) -> Iterator[slice]:
    size = max(1, _CELLS // max(1, width))
    for start in range(0, rows, size):
        yield slice(start, start + size)
