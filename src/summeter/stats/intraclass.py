"""Intraclass correlation: how much of the variance of ratings is between the items (Shrout & Fleiss, 1979)."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from .base import CONSTANT, Statistic, f_tail, undefined
from .votes import Votes, number_matrix


class Model(StrEnum):
    """The six forms of Shrout and Fleiss.

    First figure: raters drawn anew for each item (1), the same random raters for all (2), these raters only (3).
    Second: the reliability of one rater (1) or of the mean of all k.
    """

    ICC1 = "1,1"
    ICC2 = "2,1"
    ICC3 = "3,1"
    ICC1K = "1,k"
    ICC2K = "2,k"
    ICC3K = "3,k"


class _Squares(NamedTuple):
    """Mean squares: between items, within items, between raters, residual."""

    between: float
    within: float
    raters: float
    residual: float


def icc(votes: Votes, model: str = Model.ICC2) -> Statistic:
    """Return an intraclass correlation of a raters x items matrix, with the p-value of its F test against zero.

    Items on which some rater gave no vote are dropped and counted. Absolute agreement for forms 1 and 2,
    consistency for form 3. Undefined with fewer than 2 items or raters, or when all items have the same mean and
    nothing varies.

    >>> round(icc([[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]], "2,1").value, 2)
    0.29
    """
    kind = Model(model)
    matrix = number_matrix(votes)
    whole = ~np.isnan(matrix).any(axis=0)
    k, n, missing = len(matrix), int(whole.sum()), int((~whole).sum())
    name = "icc"
    if n < 2 or k < 2:
        return undefined(name, "fewer than 2 complete items" if n < 2 else "fewer than 2 raters", n, missing)
    kept = matrix[:, whole]
    if (kept == kept[0, 0]).all():
        return undefined(name, CONSTANT, n, missing)
    squares = _mean_squares(kept)
    part, total = _ratio(kind, squares, n, k)
    if total <= 0:
        return undefined(name, "no variance to divide", n, missing)
    return Statistic(name, part / total, n, missing, _f_p(kind, squares, n, k))


def _mean_squares(matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> _Squares:
    k, n = matrix.shape
    grand = matrix.mean()
    items, raters = matrix.mean(axis=0), matrix.mean(axis=1)
    between = k * float(((items - grand) ** 2).sum()) / (n - 1)
    within = float(((matrix - items) ** 2).sum()) / (n * (k - 1))
    spread = n * float(((raters - grand) ** 2).sum()) / (k - 1)
    residual = float(((matrix - items - raters[:, None] + grand) ** 2).sum()) / ((n - 1) * (k - 1))
    return _Squares(between, within, spread, residual)


def _ratio(kind: Model, squares: _Squares, n: int, k: int) -> tuple[float, float]:
    """Return numerator and denominator (Shrout & Fleiss, 1979, pp. 423-426)."""
    between, within, raters, residual = squares
    return {
        Model.ICC1: (between - within, between + (k - 1) * within),
        Model.ICC2: (between - residual, between + (k - 1) * residual + k * (raters - residual) / n),
        Model.ICC3: (between - residual, between + (k - 1) * residual),
        Model.ICC1K: (between - within, between),
        Model.ICC2K: (between - residual, between + (raters - residual) / n),
        Model.ICC3K: (between - residual, between),
    }[kind]


def _f_p(kind: Model, squares: _Squares, n: int, k: int) -> float:
    first = kind in (Model.ICC1, Model.ICC1K)
    below = squares.within if first else squares.residual
    d1, d2 = n - 1, n * (k - 1) if first else (n - 1) * (k - 1)
    if below <= 0:
        return 0.0
    f = squares.between / below
    return f_tail(f, d1, d2)
