"""Correlation within groups, averaged over them: per document or per system, with constant groups counted."""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from summeter.choices import Coefficient

from .base import Labels, Statistic, Status, Values, codes, complete, split_rows
from .correlation import correlate

NO_GROUP = "undefined in every group"


class GroupedStatistic(NamedTuple):
    """A mean over groups: ``groups`` had a value and entered, ``undefined`` had none and are only counted."""

    name: str
    value: float | None
    n: int
    missing: int
    groups: int
    undefined: int
    status: Status
    reason: str | None


def correlation_by_group(
    x: Values, y: Values, groups: Labels, coefficient: str = Coefficient.PEARSON
) -> dict[Hashable, Statistic]:
    """Return the correlation of x and y within each group, in order of first appearance, reasons included.

    >>> got = correlation_by_group([1, 2, 3, 5, 5], [1, 2, 4, 1, 2], list("aaabb"), "kendall_b")
    >>> round(got["a"].value, 12), got["b"].reason
    (1.0, 'constant input')
    """
    # None and NaN both become NaN here once, so that slicing stays cheap.
    columns = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not len(columns[0]) == len(columns[1]) == len(groups):
        raise ValueError(f"lengths differ: {len(columns[0])}, {len(columns[1])}, {len(groups)} groups")
    labels = codes(groups)
    names = list(dict.fromkeys(groups))
    return {
        names[group]: correlate(columns[0][rows], columns[1][rows], coefficient)
        for group, rows in split_rows(labels)
    }  # fmt: skip


def mean_correlation(x: Values, y: Values, groups: Labels, coefficient: str = Coefficient.PEARSON) -> GroupedStatistic:
    """Return the mean over groups of the correlation within each (summary-level correlation "by document").

    Every group with a value weighs the same. Groups without one (constant scores, fewer than two pairs) are left
    out and counted in ``undefined``.

    >>> got = mean_correlation([1, 2, 3, 5, 5], [1, 2, 4, 1, 2], list("aaabb"), "kendall_b")
    >>> round(got.value, 12), got.groups, got.undefined
    (1.0, 1, 1)
    """
    found = correlation_by_group(x, y, groups, coefficient)
    values = [got.value for got in found.values() if got.value is not None]
    _, kept = complete(x, y)
    name = Coefficient(coefficient).value
    n, missing = int(kept.sum()), int((~kept).sum())
    if not values:
        return GroupedStatistic(name, None, n, missing, 0, len(found), Status.UNDEFINED, NO_GROUP)
    lost = len(found) - len(values)
    return GroupedStatistic(name, float(np.mean(values)), n, missing, len(values), lost, Status.OK, None)
