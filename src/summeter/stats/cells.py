"""Many balanced accuracies and AUROCs over one set of drawn documents: a benchmark's cells, their means, differences.

A benchmark such as AggreFact is a table of cells (a data set, a kind of summarizer), and one document may stand in
several of them. So documents are drawn once for the whole table, whole and with replacement; each draw gives every cell
a value, and means over cells and differences between judges are taken within the draw.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from .base import Bools, Floats, Ints, Seed, generator

_CELLS = 4_000_000  # numbers at a time


def drawn_weights(units: int, resamples: int, seed: Seed = 0, width: int = 1) -> Iterator[Floats]:
    """Yield blocks of draws, each a row of how often every unit was drawn; the rows of all blocks are ``resamples``.

    ``width`` is how many numbers a caller keeps beside each weight: blocks become the smaller for it.

    >>> [block.sum(axis=1).tolist() for block in drawn_weights(3, 2)]
    [[3.0, 3.0]]
    """
    rng = generator(seed)
    size = max(1, _CELLS // max(1, units * width))
    for start in range(0, resamples, size):
        picks = rng.integers(0, max(units, 1), (min(size, resamples - start), units))
        yield np.stack([np.bincount(row, minlength=units) for row in picks]).astype(np.float64)


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


def accuracy_draws(
    counts: Sequence[Floats], resamples: int, seed: Seed = 0, lone: Sequence[bool] | None = None
) -> Floats:
    """Return draws x cells balanced accuracies; ``counts`` has units x 4 a cell (`confusion_by_unit`)."""
    table = np.stack(list(counts), axis=1)
    units, cells, _ = table.shape
    flat, marks = table.reshape(units, -1), None if lone is None else np.asarray(lone, dtype=np.bool_)
    blocks = drawn_weights(units, resamples, seed)
    return np.concatenate([accuracy_of((block @ flat).reshape(-1, cells, 4), marks) for block in blocks])


def auroc_draws(labels: Floats, scores: Floats, unit: Ints, units: int, resamples: int, seed: Seed = 0) -> Floats:
    """Return the AUROC of each draw, NaN where a class was not drawn; rows with NaN count nowhere.

    With weights w (how often a row's unit was drawn): the sum over positives of w times the weight of the negatives
    below plus half of those level, over the product of both classes' weights. The draws are those of `accuracy_draws`.
    """
    kept = ~(np.isnan(labels) | np.isnan(scores))
    gold, column, where = labels[kept], scores[kept], unit[kept]
    order = np.argsort(column, kind="stable")
    gold, where = gold[order], where[order]
    starts = np.flatnonzero(np.append(True, np.diff(column[order]) != 0)) if len(order) else np.zeros(0, np.int64)
    values = []
    for block in drawn_weights(units, resamples, seed, 4):
        if not len(starts):
            values.append(np.full(len(block), np.nan))
            continue
        weights = block[:, where]
        up = np.add.reduceat(weights * gold, starts, axis=1)
        down = np.add.reduceat(weights * (1 - gold), starts, axis=1)
        below = np.cumsum(down, axis=1) - down / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            values.append((up * below).sum(axis=1) / (up.sum(axis=1) * down.sum(axis=1)))
    return np.concatenate(values) if values else np.zeros(0)
