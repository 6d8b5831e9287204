"""Inter-annotator agreement: Krippendorff's alpha, kappas, AC1, AC2 and intraclass correlation.

Votes form a raters x items matrix of numbers; None or NaN is a missing vote. ``scale`` lists all possible categories in
order. Weighted coefficients, AC1 and AC2 depend on the scale, so pass it if a category may not
occur in the votes. ``clusters`` gives the cluster of each item as 0, 1, ...; by default each item is a cluster. Each
coefficient for categories is a function of cluster weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple, assert_never

import numpy as np

from .base import CONSTANT, Floats, Ints, Values, floats, mean_present, split_rows
from .correlation import raw
from .resample import Measurement, of_rows

Parts = Callable[[Floats], tuple[Floats, Floats]]
"""A function that maps weights (draws x clusters) to each draw's observed and expected (dis)agreement."""

NOT_PAIRED = "no item has 2 votes"
_SURE = 1e-12


class MeasurementLevel(StrEnum):
    """Level of measurement, which determines the distance of two votes."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


class Weights(StrEnum):
    """Agreement weights of two different categories."""

    IDENTITY = "identity"
    LINEAR = "linear"
    QUADRATIC = "quadratic"
    ORDINAL = "ordinal"


class Model(StrEnum):
    """The six forms of the intraclass correlation (Shrout & Fleiss, 1979).

    The first part says whether each item has new random raters (1), or all items have the same random raters (2) or the
    same fixed raters (3). The second part says whether the reliability is that of one rater (1) or of the mean of all k
    raters (k).
    """

    ICC1 = "1,1"
    ICC2 = "2,1"
    ICC3 = "3,1"
    ICC1K = "1,k"
    ICC2K = "2,k"
    ICC3K = "3,k"


def _of_parts(
    shell: Measurement, parts: Parts, units: int, *, agreement: bool = False, largest: float = 1.0
) -> Measurement:
    """Return the coefficient 1 - observed / expected disagreement.

    If `agreement` is True, `parts` returns agreements, which are 1 - disagreement. The coefficient is undefined if the
    expected disagreement, relative to the `largest` distance of two votes, is not positive.
    """

    def weighted(weights: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            observed, expected = (1 - part if agreement else part for part in parts(weights))
            left = expected / largest
            return np.asarray(np.where(left > _SURE * (1 + left), 1 - observed / expected, np.nan))

    shell = replace(shell, weighted=weighted)
    if not shell.n:
        return shell
    unweighted = np.ones((1, units))
    with np.errstate(divide="ignore", invalid="ignore"):
        observed, expected = (None if np.isnan(part[0]) else float(part[0]) for part in parts(unweighted))
    coefficient = float(weighted(unweighted)[0])
    shell = replace(shell, details={**shell.details, "observed": observed, "expected": expected})
    return shell if np.isnan(coefficient) else replace(shell, value=coefficient, reason=None)


def _shell(counts: Ints, raters: int, width: int) -> Measurement:
    """Return a result without a value; ``counts`` is the number of votes on each item."""
    paired = counts >= 2
    return Measurement(
        None,
        int(paired.sum()),
        int((~paired).sum()),
        reason=CONSTANT if paired.any() else NOT_PAIRED,
        width=width,
        details={"raters": raters, "votes": int(counts[paired].sum()), "observed": None, "expected": None},
    )


# ---- votes


def _code_matrix(votes: Values, scale: Sequence[float] | None = None) -> tuple[Ints, tuple[float, ...]]:
    """Return votes as category codes (raters x items, -1 if missing), and the categories.

    The categories are ``scale``, or the sorted distinct votes if ``scale`` is None. Raises ValueError for a vote that
    is not on the scale.
    """
    matrix = floats(votes, 2)
    known = ~np.isnan(matrix)
    categories = np.unique(matrix[known]) if scale is None else np.asarray(scale, dtype=np.float64)
    if not np.isin(matrix[known], categories).all():
        unknown = np.setdiff1d(matrix[known], categories)[:5].tolist()
        raise ValueError(f"votes are not on the scale {categories.tolist()}: {unknown}")
    order = np.argsort(categories)
    cells = np.full(matrix.shape, -1, np.int64)
    cells[known] = order[np.searchsorted(categories, matrix[known], sorter=order)]
    return cells, tuple(categories.tolist())


# ---- Krippendorff


def krippendorff_alpha(
    votes: Values, level: str = MeasurementLevel.NOMINAL, clusters: Ints | None = None
) -> Measurement:
    """Return Krippendorff's alpha for any number of raters, who may have missing votes.

    Alpha is 1 - observed disagreement / expected disagreement.

    Items with fewer than two votes cannot show agreement; they are left out and counted as missing. The distance of two
    votes c and k is 0 or 1 (nominal), (c - k)^2 (interval), ((c - k) / (c + k))^2 for votes >= 0 (ratio), or the
    squared number of pairable votes from c to k, where votes equal to c or k count half (ordinal; Krippendorff, 2011).
    The ordinal distance is computed as the interval distance of average ranks, which is equal. Alpha is undefined if
    all pairable votes are equal.

    Two raters with the votes 0 0 1 1 and 0 1 1 1: the observed disagreement is 2/8; with three 0s and five 1s, the
    expected disagreement is 2*3*5/(8*7) = .5357; alpha = 1 - .25 / .5357.

    >>> round(krippendorff_alpha([[0, 0, 1, 1], [0, 1, 1, 1]]).value, 4)
    0.5333
    """
    kind = MeasurementLevel(level)
    cells, categories = _code_matrix(votes)
    shell, paired = _alpha_shell(cells, len(categories), clusters)
    if not shell.n:
        return shell
    size = paired.size
    values = np.array(categories)
    match kind:
        case MeasurementLevel.NOMINAL:
            return _of_parts(shell, _nominal(paired), size)
        case MeasurementLevel.ORDINAL:
            return _of_parts(shell, _ordinal(paired), size)
        case MeasurementLevel.RATIO:
            if values[0] < 0:
                raise ValueError("ratio votes must not be negative")
            gap, whole = np.subtract.outer(values, values), np.add.outer(values, values)
            ratios = np.divide(gap, whole, out=np.zeros_like(gap), where=whole > 0)
            return _of_parts(shell, _by_distance(paired, ratios**2), size)
        case MeasurementLevel.INTERVAL:
            # An expected disagreement that is tiny relative to the largest distance is a rounding error.
            largest = float(np.ptp(values)) ** 2 if len(values) > 1 else 1.0
            return _of_parts(shell, _interval(paired, values), size, largest=largest)
        case _:
            assert_never(kind)


class _PairedVotes(NamedTuple):
    """Votes on items with at least two votes.

    Each vote has a category and an item; each item has a number of votes and a cluster.
    """

    category: Ints
    item: Ints
    counts: Floats
    units: Ints
    size: int
    width: int

    def sums(self, *columns: Floats) -> Floats:
        """Return the sum of each column of votes within each cluster (clusters x columns)."""
        unit = self.units[self.item]
        return np.stack([np.bincount(unit, weights=column, minlength=self.size) for column in columns], axis=1)

    def over(self) -> Floats:
        """Return 1 / (number of votes on the item - 1) for each vote."""
        return 1 / (self.counts[self.item] - 1)

    def table(self, rows: Ints, size: int, weights: Floats | None = None) -> Any:
        """Return the votes per category in each row (an item or a cluster), as a sparse matrix."""
        from scipy.sparse import csr_matrix

        each = np.ones(len(rows)) if weights is None else weights
        return csr_matrix((each, (rows, self.category)), shape=(size, self.width))


def _alpha_shell(cells: Ints, width: int, clusters: Ints | None) -> tuple[Measurement, _PairedVotes]:
    """Return an alpha whose value is not computed yet, and the votes that it uses."""
    counts = (cells >= 0).sum(axis=0)
    paired = counts >= 2
    shell = _shell(counts, int((cells >= 0).any(axis=1).sum()), cells.shape[1])
    units = np.arange(len(paired)) if clusters is None else clusters
    rater, item = np.nonzero((cells >= 0) & paired)
    size = int(units.max(initial=-1)) + 1
    return shell, _PairedVotes(cells[rater, item], item, counts.astype(np.float64), units.astype(np.int64), size, width)


def masi_alpha(votes: Sequence[Sequence[frozenset[str] | None]], clusters: Ints | None = None) -> Measurement:
    """Return Krippendorff's alpha with `masi_distance` (Passonneau, 2006).

    Each vote is a set of categories, or None if it is missing.

    Two raters with the votes {a} {a} {b} and {a} {a, b} {b}: the distances are 0, 2/3 and 0, so the observed
    disagreement is 2/9. Of the 15 pairs of three {a}, two {b} and one {a, b}, the six a-b pairs have distance 1, and
    the three a-ab and two b-ab pairs 2/3, so the expected disagreement is 28/45, and alpha = 1 - 10/28.

    >>> a, b = frozenset("a"), frozenset("b")
    >>> round(masi_alpha([[a, a, b], [a, a | b, b]]).value, 4)
    0.6429
    """
    codes: dict[frozenset[str], int] = {}
    cells = np.array(
        [[-1 if vote is None else codes.setdefault(vote, len(codes)) for vote in row] for row in votes], np.int64
    ).reshape(len(votes), -1)
    shell, paired = _alpha_shell(cells, len(codes), clusters)
    if not shell.n:
        return shell
    distances = np.array([[masi_distance(left, right) for right in codes] for left in codes])
    return _of_parts(shell, _by_distance(paired, distances), paired.size)


def masi_distance(left: Any, right: Any) -> float:
    """Return the MASI distance of two sets, from 0 (equal) to 1 (disjoint; Passonneau, 2006).

    The distance is 1 - weight * Jaccard index. The weight is 1 for equal sets, 2/3 if one set contains the other, and
    1/3 otherwise.

    >>> round(masi_distance({"a", "b"}, {"a"}), 4), masi_distance({"a"}, {"b"})
    (0.6667, 1.0)
    """
    both = len(left & right)
    if left == right:
        return 0.0
    weight = 2 / 3 if both and both == min(len(left), len(right)) else 1 / 3
    return 1 - weight * both / len(left | right)


def _nominal(paired: _PairedVotes) -> Parts:
    """Return the parts of nominal alpha, from the ordered pairs of unequal votes on each item."""
    table = paired.table(paired.item, len(paired.counts))
    same = np.asarray(table.multiply(table).sum(axis=1)).ravel()[paired.item] / paired.counts[paired.item] - 1
    sums = paired.sums(1 - same * paired.over(), np.ones(len(paired.item)))
    totals = paired.table(paired.units[paired.item], paired.size)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        inside, n = (weights @ sums).T
        counts = weights @ totals
        return inside / n, 1 - (counts * (counts - 1)).sum(axis=1) / (n * (n - 1))

    return parts


def _interval(paired: _PairedVotes, values: Floats) -> Parts:
    """Return the parts of interval alpha, from sums of votes and of their squares.

    For m votes with the sum S1 and the sum of squares S2, the sum of (a - b)^2 over all ordered pairs is 2 m S2 - 2
    S1^2.
    """
    vote = values[paired.category]
    vote = vote - vote.mean() if len(values) > 1 else np.zeros(len(vote))
    items = len(paired.counts)
    first, second = (np.bincount(paired.item, weights=side, minlength=items) for side in (vote, vote**2))
    within = (2 * (paired.counts * second - first**2))[paired.item] / paired.counts[paired.item] * paired.over()
    sums = paired.sums(within, np.ones(len(vote)), vote, vote**2)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        inside, n, sum_of_votes, sum_of_squares = (weights @ sums).T
        return inside / n, 2 * (n * sum_of_squares - sum_of_votes**2) / (n * (n - 1))

    return parts


def _ordinal(paired: _PairedVotes) -> Parts:
    """Return the parts of ordinal alpha: squared distances of the sampled votes' average ranks."""
    unit = paired.units[paired.item]
    totals = paired.table(unit, paired.size)
    weighed = paired.table(unit, paired.size, paired.counts[paired.item] * paired.over())
    table = paired.table(paired.item, len(paired.counts))
    over = 1 / np.maximum(paired.counts - 1, 1)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        counts = weights @ totals
        n = counts.sum(axis=1)
        ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
        squares = ((weights @ weighed) * ranks**2).sum(axis=1)
        sums = (table @ ranks.T).T ** 2 * over
        inside = 2 * (squares - (sums * weights[:, paired.units]).sum(axis=1))
        # Ranks centred on their mean sum to 0, so the sum over all pairs depends only on their squares.
        return inside / n, 2 * (counts * ranks**2).sum(axis=1) / (n - 1)

    return parts


def _by_distance(paired: _PairedVotes, distance: Floats) -> Parts:
    """Return the parts of alpha with any distance, given as a categories x categories matrix."""
    table = paired.table(paired.item, len(paired.counts)).toarray()
    within = ((table @ distance) * table).sum(axis=1)[paired.item] / paired.counts[paired.item] * paired.over()
    sums = paired.sums(within, np.ones(len(paired.item)))
    totals = paired.table(paired.units[paired.item], paired.size)

    def parts(weights: Floats) -> tuple[Floats, Floats]:
        inside, n = (weights @ sums).T
        counts = weights @ totals
        return inside / n, ((counts @ distance) * counts).sum(axis=1) / (n * (n - 1))

    return parts


# ---- kappas, AC1 and AC2


def cohen_kappa(
    votes: Values,
    weights: str = Weights.IDENTITY,
    scale: Sequence[float] | None = None,
    clusters: Ints | None = None,
) -> Measurement:
    """Return Cohen's kappa of two raters (Cohen, 1960; weighted: Cohen, 1968), or the mean over all pairs of raters.

    Kappa is (po - pe) / (1 - pe), where po is the observed and pe the expected agreement on the items that both judged.
    pe is computed from each rater's distribution over the categories. Kappa is undefined if both raters give the same
    category to all items. In a mean (Light, 1971), pairs whose kappa is undefined are left out, and ``n`` is the number
    of items with at least two votes.

    Two raters with the votes 1 1 0 0 and 1 0 0 0: po = .75, pe = .5 * .25 + .5 * .75 = .5, kappa = .5.

    >>> cohen_kappa([[1, 1, 0, 0], [1, 0, 0, 0]]).value
    0.5
    """
    cells, categories = _code_matrix(votes, scale)
    weight = weight_matrix(max(1, len(categories)), weights)
    pairs = [_cohen(left, right, weight, clusters) for left, right in combinations(cells, 2)]
    if len(cells) == 2:
        return pairs[0]

    def mean(draws: Floats) -> Floats:
        return mean_present(np.array([pair.weighted(draws) for pair in pairs]).reshape(len(pairs), len(draws)))

    counts, raters = (cells >= 0).sum(axis=0), int((cells >= 0).any(axis=1).sum())
    shell = replace(_shell(counts, raters, len(categories) ** 2), weighted=mean)
    units = cells.shape[1] if clusters is None else int(clusters.max(initial=-1)) + 1
    value = float(mean(np.ones((1, units)))[0])
    return shell if np.isnan(value) else replace(shell, value=value, reason=None)


def _cohen(left: Ints, right: Ints, weight: Floats, clusters: Ints | None) -> Measurement:
    both = (left >= 0) & (right >= 0)
    q = len(weight)
    unit = np.arange(len(both)) if clusters is None else clusters
    size = int(unit.max(initial=-1)) + 1
    cells = unit[both] * q * q + left[both] * q + right[both]
    sums = np.bincount(cells, minlength=size * q * q).reshape(size, q * q).astype(np.float64)

    def parts(draws: Floats) -> tuple[Floats, Floats]:
        table = (draws @ sums).reshape(-1, q, q)
        n_drawn = table.sum(axis=(1, 2))
        observed = (table * weight).sum(axis=(1, 2)) / n_drawn
        rows, columns = table.sum(axis=2) / n_drawn[:, None], table.sum(axis=1) / n_drawn[:, None]
        return observed, ((rows @ weight) * columns).sum(axis=1)

    return _of_parts(_shell(2 * both, 2, q * q), parts, size, agreement=True)


def fleiss_kappa(votes: Values, scale: Sequence[float] | None = None, clusters: Ints | None = None) -> Measurement:
    """Return Fleiss' kappa (Fleiss, 1971); the raters need not be the same for every item.

    The observed agreement is averaged over items with at least two votes, and the shares of the categories over items
    with at least one vote (Gwet, 2014, eq. 2.26). If all items have equally many votes, this is Fleiss' definition.
    """
    return _gwet("kappa_fleiss", votes, scale, Weights.IDENTITY, clusters)


def gwet_ac1(votes: Values, scale: Sequence[float] | None = None, clusters: Ints | None = None) -> Measurement:
    """Return Gwet's AC1 (Gwet, 2008).

    Unlike kappa, AC1 stays near the observed agreement if one category is prevalent.

    The expected agreement pe is the sum of pi_k (1 - pi_k) / (q - 1) over the q categories of the scale. If all votes
    are equal, AC1 is 1 if the scale has two categories, and undefined without a scale, because then q = 1.

    Two raters agree on 1 for nine items and give 1 and 0 to the tenth: po = .9, pi = .95 and .05, pe = 2 * .95 * .05 =
    .095.

    >>> round(gwet_ac1([[1] * 10, [1] * 9 + [0]]).value, 6)
    0.889503
    """
    return _gwet("ac1", votes, scale, Weights.IDENTITY, clusters)


def gwet_ac2(
    votes: Values,
    weights: str = Weights.QUADRATIC,
    scale: Sequence[float] | None = None,
    clusters: Ints | None = None,
) -> Measurement:
    """Return Gwet's AC2 (Gwet, 2014, eq. 3.6), which is AC1 with partial credit.

    The expected agreement pe is T times the sum of pi_k (1 - pi_k) / (q (q - 1)), where T is the sum of all weights.
    Items with one vote contribute to the shares of the categories but not to the observed agreement.
    """
    return _gwet("ac2", votes, scale, weights, clusters)


def _gwet(name: str, votes: Values, scale: Sequence[float] | None, weights: str, clusters: Ints | None) -> Measurement:
    cells, categories = _code_matrix(votes, scale)
    q, items = len(categories), cells.shape[1]
    weight = weight_matrix(q, weights)
    raters, columns = np.nonzero(cells >= 0)
    flat = columns * max(1, q) + cells[raters, columns]
    counts = np.bincount(flat, minlength=items * max(1, q)).reshape(items, max(1, q)).astype(np.float64)
    m = counts.sum(axis=1)
    paired, judged = m >= 2, m > 0
    table, sizes = counts[paired], m[paired]
    credit = np.zeros(len(m))
    credit[paired] = (table * (table @ weight - 1)).sum(axis=1) / (sizes * (sizes - 1)) if q else 0.0
    shares = np.divide(counts, m[:, None], out=np.zeros_like(counts), where=judged[:, None])
    unit = np.arange(items) if clusters is None else clusters
    sums = np.zeros((int(unit.max(initial=-1)) + 1, 3 + shares.shape[1]))
    np.add.at(sums, unit, np.column_stack([credit, paired, judged, shares]))

    def parts(draws: Floats) -> tuple[Floats, Floats]:
        drawn = draws @ sums
        observed, share = drawn[:, 0] / drawn[:, 1], drawn[:, 3:] / drawn[:, 2:3]
        if name == "kappa_fleiss":
            return observed, (share**2).sum(axis=1)
        if q < 2:
            return observed, np.full(len(draws), np.nan)
        return observed, weight.sum() * (share * (1 - share)).sum(axis=1) / (q * (q - 1))

    shell = _shell(m.astype(np.int64), len(np.unique(raters)), q)
    return _of_parts(shell, parts, len(sums), agreement=True)


def weight_matrix(q: int, weights: str = Weights.IDENTITY) -> Floats:
    """Return the q x q matrix of agreement weights.

    For two categories at distance d on the scale, linear weights are 1 - d / (q - 1), quadratic weights 1 - d^2 / (q -
    1)^2, and ordinal weights 1 - C(d + 1, 2) / C(q, 2) (Gwet, 2014).

    >>> weight_matrix(3, "linear").tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    kind = Weights(weights)
    distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q))).astype(np.float64)
    if q < 2:
        return np.eye(q)
    match kind:
        case Weights.IDENTITY:
            return np.eye(q)
        case Weights.LINEAR:
            return np.asarray(1 - distance / (q - 1))
        case Weights.QUADRATIC:
            return np.asarray(1 - distance**2 / (q - 1) ** 2)
        case Weights.ORDINAL:
            return np.asarray(1 - distance * (distance + 1) / (q * (q - 1)))
        case _:
            assert_never(kind)


# ---- ratings


def icc(votes: Values, model: str = Model.ICC2, clusters: Ints | None = None) -> Measurement:
    """Return an intraclass correlation, with the p-value of the F test against zero.

    ``votes`` is a raters x items matrix. Items with a missing vote are dropped and counted. Forms 1 and 2 measure
    absolute agreement, and form 3 measures consistency. The result is undefined if there are fewer than 2 items or
    raters, or if there is no variance between items.

    >>> round(icc([[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]], "2,1").value, 2)
    0.29
    """
    from scipy.special import fdtrc  # the tail of the F distribution

    kind = Model(model)
    matrix = floats(votes, 2)
    k, items = matrix.shape
    complete_items = ~np.isnan(matrix).any(axis=0)
    n = int(complete_items.sum())
    shell = Measurement(None, n, items - n)

    def of_rows_of(rows: Floats) -> tuple[float | None, float | None, str | None]:
        """Return the coefficient, the p-value, and the reason if the coefficient is undefined."""
        kept = matrix[:, rows.astype(np.int64)]
        kept = kept[:, ~np.isnan(kept).any(axis=0)]
        if kept.shape[1] < 2 or k < 2:
            return None, None, "fewer than 2 complete items" if kept.shape[1] < 2 else "fewer than 2 raters"
        if (kept == kept[0, 0]).all():
            return None, None, CONSTANT
        # Mean squares between items, within items, between raters, and residual (Shrout & Fleiss, 1979, pp. 423-426).
        count, grand, of_items, of_raters = kept.shape[1], kept.mean(), kept.mean(axis=0), kept.mean(axis=1)
        between = k * float(((of_items - grand) ** 2).sum()) / (count - 1)
        within = float(((kept - of_items) ** 2).sum()) / (count * (k - 1))
        raters = count * float(((of_raters - grand) ** 2).sum()) / (k - 1)
        residual = float(((kept - of_items - of_raters[:, None] + grand) ** 2).sum()) / ((count - 1) * (k - 1))
        error = within if kind in (Model.ICC1, Model.ICC1K) else residual
        below = {
            Model.ICC1: between + (k - 1) * within,
            Model.ICC2: between + (k - 1) * residual + k * (raters - residual) / count,
            Model.ICC3: between + (k - 1) * residual,
            Model.ICC1K: between,
            Model.ICC2K: between + (raters - residual) / count,
            Model.ICC3K: between,
        }[kind]
        if below <= 0:
            return None, None, "no variance to divide"
        df = count * (k - 1) if kind in (Model.ICC1, Model.ICC1K) else (count - 1) * (k - 1)
        p = float(fdtrc(count - 1, df, between / error)) if error > 0 else 0.0
        return (between - error) / below, p, None

    value, p, reason = of_rows_of(np.arange(items, dtype=np.float64))
    labels = np.arange(items) if clusters is None else clusters
    weighted = of_rows(lambda rows: of_rows_of(rows)[0], [np.arange(items, dtype=np.float64)], labels)
    return replace(shell, value=value, p=p, reason=reason, weighted=weighted)


def mean_pairwise(votes: Values, coefficient: str = "pearson", clusters: Ints | None = None) -> Measurement:
    """Return the mean over documents of the mean pairwise correlation of raters.

    This is the agreement reported for SummQual.

    ``clusters`` gives the document of each item; without it, all items belong to one document. Pairs of raters whose
    correlation is undefined (for example, because a rater gives all items the same score) are left out, and so are
    documents without a defined pair. ``missing`` is the number of items with fewer than two votes.

    >>> round(mean_pairwise([[1, 2, 3], [1, 2, 3], [3, 2, 1]]).value, 4)
    -0.3333
    """
    matrix = floats(votes, 2)
    items = matrix.shape[1]
    n = int(((~np.isnan(matrix)).sum(axis=0) >= 2).sum())
    of_document = np.zeros(items, np.int64) if clusters is None else clusters
    means: list[float] = []
    for _, rows in split_rows(of_document):
        votes_of_document = matrix[:, rows]
        voting = votes_of_document[(~np.isnan(votes_of_document)).any(axis=1)]
        values = []
        for left, right in combinations(voting, 2):
            both = ~(np.isnan(left) | np.isnan(right))
            if (value := raw(left[both], right[both], coefficient)) is not None:
                values.append(value)
        means += [float(np.mean(values))] if values else []
    documents = len(np.unique(of_document))
    details = {"documents": len(means), "undefined_documents": documents - len(means)}
    if not means:
        reason = "no document has two raters whose votes vary" if n else NOT_PAIRED
        return Measurement(None, n, items - n, reason=reason, details=details)
    return Measurement(float(np.mean(means)), n, items - n, rows=np.array(means), details=details)


def mean_of_items(votes: Values, of_item: Callable[[Floats], Floats]) -> Measurement:
    """Return the mean of ``of_item`` over the items with at least two votes.

    ``of_item`` maps a votes x items matrix (NaN if missing) to one value per item.

    >>> mean_of_items([[1, 1, 2], [1, 3, None]], lambda votes: np.nanstd(votes, axis=0)).value
    0.5
    """
    matrix = floats(votes, 2)
    paired = (~np.isnan(matrix)).sum(axis=0) >= 2
    n = int(paired.sum())
    values = np.full(matrix.shape[1], np.nan)
    if not n:
        return Measurement(None, 0, len(paired), reason=NOT_PAIRED)
    values[paired] = of_item(matrix[:, paired])
    return Measurement(float(np.nanmean(values)), n, len(paired) - n, rows=values)
