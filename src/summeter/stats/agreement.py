"""Do the raters agree? Krippendorff's alpha, pairwise correlation of raters, and their spread.

Votes come as a matrix raters x items, None or NaN where a rater gave none. The kappas live in ``kappa``,
intraclass correlation in ``icc``, spans in ``spans``.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from summeter.choices import Coefficient

from .base import CONSTANT, Floats, Labels, Statistic, Status, codes, undefined
from .correlation import GroupedStatistic, average_ranks, raw
from .votes import Agreement, Counted, Votes, count_votes, number_matrix, voters

NOT_PAIRED = "no item has 2 votes"


class Level(StrEnum):
    """The level of measurement, which decides how far apart two votes are."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


def krippendorff_alpha(votes: Votes, level: str = Level.NOMINAL) -> Agreement:
    """Return Krippendorff's alpha, 1 - observed / expected disagreement, for any number of raters and missing votes.

    Items with fewer than two votes cannot show agreement; they are left out and counted as missing. Distances:
    nominal 0/1, interval (c - k)^2, ratio ((c - k) / (c + k))^2 for votes >= 0, ordinal the squared number of
    pairable votes between the two values counting half of each end (Krippendorff, 2011). That last is the interval
    distance of average ranks, which is how it is computed. Undefined when all pairable votes are alike. Nominal
    votes may be strings.

    Two raters, votes 0 0 1 1 against 0 1 1 1: observed 2/8; expected with three 0s and five 1s 2*3*5/(8*7);
    alpha = 1 - .25 / .5357.

    >>> round(krippendorff_alpha([[0, 0, 1, 1], [0, 1, 1, 1]]).value, 4)
    0.5333
    """
    kind = Level(level)
    name = f"alpha_{kind.value}"
    if kind is Level.NOMINAL:
        return _nominal(name, count_votes(votes))
    matrix = number_matrix(votes)
    here = ~np.isnan(matrix)
    paired = here.sum(axis=0) >= 2
    n, missing = int(paired.sum()), int((~paired).sum())
    kept, present = matrix[:, paired], here[:, paired]
    shell = Agreement(name, None, n, missing, voters(matrix), int(present.sum()), None, None, Status.UNDEFINED)
    if n == 0:
        return shell._replace(reason=NOT_PAIRED)
    values = kept[present]
    if (values == values[0]).all():
        return shell._replace(reason=CONSTANT)
    if kind is Level.RATIO:
        return _filled(shell, *_ratio_disagreement(kept, present))
    scaled = np.zeros(kept.shape)
    scaled[present] = average_ranks(values) if kind is Level.ORDINAL else values
    return _filled(shell, *_square_disagreement(scaled, present))


def mean_pairwise(
    votes: Votes, coefficient: str = Coefficient.PEARSON, groups: Labels | None = None
) -> GroupedStatistic:
    """Return the mean correlation over pairs of raters within groups, averaged over groups (SummQual's agreement).

    Within each group (a document; one group of all items by default) every pair of raters with two common items is
    correlated, and the group has the mean of its defined pairs. A group in which no pair is defined (a rater who
    gives all summaries the same score) is counted as undefined, not as zero. ``missing`` counts items with fewer
    than two votes.

    >>> mean_pairwise([[1, 2, 3, 5, 5, 5], [1, 2, 3, 4, 5, 3]], groups=list("aaabbb")).undefined
    1
    """
    kind = Coefficient(coefficient)
    matrix = number_matrix(votes)
    items = matrix.shape[1]
    labels = np.zeros(items, np.int64) if groups is None else codes(groups)
    if len(labels) != items:
        raise ValueError(f"{len(labels)} group labels for {items} items")
    means: list[float] = []
    total = int(labels.max(initial=-1)) + 1
    for group in range(total):
        inside = matrix[:, labels == group]
        found = _pair_values(inside[(~np.isnan(inside)).sum(axis=1) >= 2], kind)
        if found:
            means.append(float(np.mean(found)))
    here = (~np.isnan(matrix)).sum(axis=0) >= 2
    reason = None if means else "undefined in every group"
    return GroupedStatistic(
        f"mean_pairwise_{kind.value}",
        float(np.mean(means)) if means else None,
        int(here.sum()),
        int((~here).sum()),
        len(means),
        total - len(means),
        Status.OK if means else Status.UNDEFINED,
        reason,
    )


def rater_deviation(votes: Votes) -> Statistic:
    """Return the mean over items of the population standard deviation of their votes (Shen et al., Table 20).

    Items with fewer than two votes are left out and counted as missing.

    >>> round(rater_deviation([[5, 4], [4, 4], [3, 4]]).value, 6)
    0.408248
    """
    matrix = number_matrix(votes)
    paired = (~np.isnan(matrix)).sum(axis=0) >= 2
    n, missing = int(paired.sum()), int((~paired).sum())
    if n == 0:
        return undefined("rater_deviation", NOT_PAIRED, n, missing)
    value = float(np.nanstd(matrix[:, paired], axis=0).mean())
    return Statistic("rater_deviation", value, n, missing)


def _pair_values(matrix: Floats, kind: Coefficient) -> Sequence[float]:
    found: list[float] = []
    for one, two in combinations(matrix, 2):
        both = ~(np.isnan(one) | np.isnan(two))
        value = raw(one[both], two[both], kind)
        if value is not None:
            found.append(value)
    return found


def _filled(shell: Agreement, observed: float, expected: float) -> Agreement:
    if expected <= 0:
        return shell._replace(reason=CONSTANT)
    return shell._replace(
        value=1 - observed / expected, observed=observed, expected=expected, status=Status.OK
    )  # fmt: skip


def _nominal(name: str, counted: Counted) -> Agreement:
    sizes = counted.table.sum(axis=1)
    paired = sizes >= 2
    table, m = counted.table[paired], sizes[paired]
    n = float(m.sum())
    shell = Agreement(
        name, None, int(paired.sum()), int((~paired).sum()), counted.raters, int(n), None, None, Status.UNDEFINED
    )
    if n == 0:
        return shell._replace(reason=NOT_PAIRED)
    agreeing = float(((table * (table - 1)).sum(axis=1) / (m - 1)).sum()) / n
    totals = table.sum(axis=0)
    chance = float((totals * (totals - 1)).sum()) / (n * (n - 1))
    return _filled(shell, 1 - agreeing, 1 - chance)


def _square_disagreement(values: Floats, present: NDArray[np.bool_]) -> tuple[float, float]:
    """Return observed and expected squared differences from sums: of all pairs, sum (a - b)^2 = 2 m S2 - 2 S1^2."""
    values = np.where(present, values - values[present].mean(), 0.0)
    m = present.sum(axis=0).astype(np.float64)
    within = 2 * (m * (values**2).sum(axis=0) - values.sum(axis=0) ** 2) / (m - 1)
    n = float(m.sum())
    # Centred on their mean, the votes sum to 0, so over all pairs only the squares remain.
    return float(within.sum()) / n, 2 * float((values**2).sum()) / (n - 1)


def _ratio_disagreement(matrix: Floats, present: NDArray[np.bool_]) -> tuple[float, float]:
    values, cells = np.unique(matrix[present], return_inverse=True)
    if values[0] < 0:
        raise ValueError("ratio votes must not be negative")
    gap, whole = np.subtract.outer(values, values), np.add.outer(values, values)
    distance = np.divide(gap, whole, out=np.zeros_like(gap), where=whole > 0) ** 2
    items = np.nonzero(present)[1]
    table: NDArray[Any] = np.zeros((matrix.shape[1], len(values)))
    np.add.at(table, (items, cells), 1.0)
    m = table.sum(axis=1)
    n = float(m.sum())
    observed = float((((table @ distance) * table).sum(axis=1) / (m - 1)).sum()) / n
    totals = table.sum(axis=0)
    return observed, float(totals @ distance @ totals) / (n * (n - 1))
