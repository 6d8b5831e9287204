"""Many balanced accuracies and AUROCs over one set of drawn documents: a benchmark's cells, their means, differences.

A benchmark such as AggreFact is a table of cells (a data set, a kind of summarizer), and one document may stand in
several of them. So documents are drawn once for the whole table, whole and with replacement; each draw gives every cell
a value, and means over cells and differences between judges are taken within the draw.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from .base import Bools, Floats, Ints, generator

_CELLS = 500_000  # numbers at a time: more is no faster


class Draws(NamedTuple):
    """``resamples`` times ``units`` units with replacement, the same for the same seed.

    They are held nowhere, but drawn anew, in blocks, whenever they are gone through.
    """

    units: int
    resamples: int
    seed: int = 0

    def blocks(self, width: int = 1) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of draws: which they are, and how often each unit (a column) was drawn in each (a row).

        ``width`` is how many numbers a draw takes for whoever uses it.

        >>> [(rows, found.sum(axis=1).tolist()) for rows, found in Draws(3, 2).blocks()]
        [(slice(0, 2, None), [3.0, 3.0])]
        """
        rng = generator(self.seed)
        size = max(1, _CELLS // max(1, self.units, width))
        for start in range(0, self.resamples, size):
            rows = slice(start, min(start + size, self.resamples))
            many = rows.stop - start
            picks = rng.integers(0, self.units, (many, self.units)) if self.units else np.zeros((many, 0), np.int64)
            picks += np.arange(many)[:, None] * self.units
            times = np.bincount(picks.ravel(), minlength=many * self.units).reshape(many, self.units)
            yield rows, times.astype(np.float64)


class Drawn(Protocol):
    """A statistic of every draw."""

    @property
    def width(self) -> int:
        """How many numbers it takes a draw."""
        ...

    def of(self, weights: Floats) -> Floats:
        """Return its value (or values, draws x cells) from how often each unit was drawn, draws x units."""
        ...


def drawn(wanted: Sequence[Drawn], draws: Draws) -> list[Floats]:
    """Return the values of each statistic in every draw; the draws are gone through once."""
    parts: list[list[Floats]] = [[] for _ in wanted]
    for _, weights in draws.blocks(max((one.width for one in wanted), default=1)):
        for one, its in zip(wanted, parts, strict=True):
            its.append(one.of(weights))
    nothing = np.zeros((0, draws.units))
    return [np.concatenate(its) if its else one.of(nothing) for one, its in zip(wanted, parts, strict=True)]


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


class Accuracies:
    """Balanced accuracies, draws x cells; ``counts`` has units x 4 a cell (`confusion_by_unit`)."""

    def __init__(self, counts: Sequence[Floats], lone: Sequence[bool] | None = None) -> None:
        self._table = np.concatenate(list(counts), axis=1)
        self._lone = None if lone is None else np.asarray(lone, dtype=np.bool_)
        self.width = self._table.shape[1]

    def of(self, weights: Floats) -> Floats:
        """See `Drawn`."""
        return accuracy_of((weights @ self._table).reshape(len(weights), self.width // 4, 4), self._lone)


class Area:
    """The AUROC, NaN where a class was not drawn; rows with NaN count nowhere.

    With weights w (how often a row's unit was drawn): the sum over positives of w times the weight of the negatives
    below plus half of those level, over the product of both classes' weights.
    """

    def __init__(self, labels: Floats, scores: Floats, unit: Ints) -> None:
        kept = ~(np.isnan(labels) | np.isnan(scores))
        gold, column, where = labels[kept], scores[kept], unit[kept]
        order = np.argsort(column, kind="stable")
        self._gold, self._unit = gold[order], where[order]
        self._starts = np.flatnonzero(np.append(True, np.diff(column[order]) != 0))
        self.width = len(order)

    def of(self, weights: Floats) -> Floats:
        """See `Drawn`."""
        if not self.width:
            return np.full(len(weights), np.nan)
        times = weights[:, self._unit]
        up = np.add.reduceat(times * self._gold, self._starts, axis=1)
        down = np.add.reduceat(times * (1 - self._gold), self._starts, axis=1)
        below = np.cumsum(down, axis=1) - down / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((up * below).sum(axis=1) / (up.sum(axis=1) * down.sum(axis=1)))
