"""Do the raters agree? Krippendorff's alpha, pairwise correlation of raters, and their spread.

Votes come as a matrix raters x items, None or NaN where a rater gave none. The kappas live in ``kappa``,
intraclass correlation in ``icc``, spans in ``spans``.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple, assert_never

import numpy as np

from summeter.choices import Coefficient

from .base import CONSTANT, Floats, Ints, Labels, Statistic, Status, codes, undefined
from .correlation import GroupedStatistic, raw
from .votes import Agreement, AgreementFunction, Parts, Votes, code_matrix, number_matrix

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
    return alpha_function(votes, level).agreement()


def alpha_function(votes: Votes, level: str = Level.NOMINAL, clusters: Ints | None = None) -> AgreementFunction:
    """Return Krippendorff's alpha as a function of the weights of clusters.

    ``clusters`` numbers those of the items 0, 1, ...; each item is its own by default.
    """
    kind = Level(level)
    cells, categories = code_matrix(votes if kind is Level.NOMINAL else number_matrix(votes))
    given = (cells >= 0).sum(axis=0)
    paired = given >= 2
    shell = Agreement(
        f"alpha_{kind.value}", None, int(paired.sum()), int((~paired).sum()), int((cells >= 0).any(axis=1).sum()),
        int(given[paired].sum()), None, None, Status.UNDEFINED, CONSTANT if paired.any() else NOT_PAIRED,
    )  # fmt: skip
    units = np.arange(len(paired)) if clusters is None else clusters
    size = int(units.max(initial=-1)) + 1
    if not paired.any():
        return AgreementFunction(shell, lambda weights: (np.full(len(weights), np.nan),) * 2, _alpha, size)
    rater, item = np.nonzero((cells >= 0) & paired)
    cast = _Cast(cells[rater, item], item, given.astype(np.float64), units.astype(np.int64), size, len(categories))
    if kind is Level.NOMINAL:
        return AgreementFunction(shell, _nominal(cast), _alpha, size)
    if kind is Level.ORDINAL:
        return AgreementFunction(shell, _ordinal(cast), _alpha, size)
    values = np.array(categories, dtype=np.float64)
    if kind is Level.RATIO:
        if len(values) and values[0] < 0:
            raise ValueError("ratio votes must not be negative")
        return AgreementFunction(shell, _ratio(cast, values), _alpha, size)
    if kind is Level.INTERVAL:
        # What is expected is rounding where it is tiny beside the largest distance there is.
        largest = float(np.ptp(values)) ** 2 if len(values) > 1 else 1.0
        return AgreementFunction(shell, _interval(cast, values), _alpha, size, lambda expected: expected / largest)
    assert_never(kind)


class _Cast(NamedTuple):
    """The votes of items with two votes or more: category and item of each; of all items their votes and clusters."""

    category: Ints
    item: Ints
    given: Floats
    units: Ints
    size: int
    width: int

    def sums(self, *columns: Floats) -> Floats:
        """The sums over clusters (clusters x columns) of columns of votes."""
        unit = self.units[self.item]
        return np.stack([np.bincount(unit, weights=column, minlength=self.size) for column in columns], axis=1)

    def over(self) -> Floats:
        """One over the votes of an item less one, for each vote."""
        return 1 / (self.given[self.item] - 1)

    def table(self, rows: Ints, size: int, weights: Floats | None = None) -> Any:
        """How many votes each item or cluster (``rows`` of the votes) has for each category, as a sparse matrix."""
        from scipy.sparse import csr_matrix

        each = np.ones(len(rows)) if weights is None else weights
        return csr_matrix((each, (rows, self.category)), shape=(size, self.width))


def _alpha(observed: Floats, expected: Floats) -> Floats:
    return 1 - observed / expected


def _nominal(cast: _Cast) -> Parts:
    """Of the ordered pairs of an item's votes those that differ, over its votes less one; so for all votes together."""
    table = cast.table(cast.item, len(cast.given))
    same = np.asarray(table.multiply(table).sum(axis=1)).ravel()[cast.item] / cast.given[cast.item] - 1
    sums = cast.sums(1 - same * cast.over(), np.ones(len(cast.item)))
    totals = cast.table(cast.units[cast.item], cast.size)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        inside, n = (weights @ sums).T
        counts = weights @ totals
        return inside / n, 1 - (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))

    return parts


def _interval(cast: _Cast, values: Floats) -> Parts:
    """Squared distances from sums: of all pairs of m votes, sum (a - b)^2 = 2 m S2 - 2 S1^2."""
    vote = values[cast.category]
    vote = vote - vote.mean() if len(values) > 1 else np.zeros(len(vote))
    items = len(cast.given)
    first, second = (np.bincount(cast.item, weights=side, minlength=items) for side in (vote, vote**2))
    within = (2 * (cast.given * second - first**2))[cast.item] / cast.given[cast.item] * cast.over()
    sums = cast.sums(within, np.ones(len(vote)), vote, vote**2)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        inside, n, one, two = (weights @ sums).T
        return inside / n, 2 * (n * two - one**2) / (n * (n - 1))

    return parts


def _ordinal(cast: _Cast) -> Parts:
    """Squared distances of average ranks, which are those of the votes drawn."""
    unit = cast.units[cast.item]
    totals = cast.table(unit, cast.size)
    weighed = cast.table(unit, cast.size, cast.given[cast.item] * cast.over())
    table = cast.table(cast.item, len(cast.given))
    over = 1 / np.maximum(cast.given - 1, 1)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        counts = weights @ totals
        n = counts.sum(axis=1)
        ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
        squares = ((weights @ weighed) * ranks**2).sum(axis=1)
        sums = (table @ ranks.T).T ** 2 * over
        inside = 2 * (squares - (sums * weights[:, cast.units]).sum(axis=1))
        # Centred on their mean, the ranks sum to 0, so over all pairs only the squares remain.
        return inside / n, 2 * (counts * ranks**2).sum(axis=1) / (n - 1)

    return parts


def _ratio(cast: _Cast, values: Floats) -> Parts:
    gap, whole = np.subtract.outer(values, values), np.add.outer(values, values)
    distance = np.divide(gap, whole, out=np.zeros_like(gap), where=whole > 0) ** 2
    table = cast.table(cast.item, len(cast.given)).toarray()
    within = ((table @ distance) * table).sum(axis=1)[cast.item] / cast.given[cast.item] * cast.over()
    sums = cast.sums(within, np.ones(len(cast.item)))
    totals = cast.table(cast.units[cast.item], cast.size)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        inside, n = (weights @ sums).T
        counts = weights @ totals
        return inside / n, ((counts @ distance) * counts).sum(axis=1) / (n * (n - 1))

    return parts


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
