"""Chance-corrected agreement on categories: Cohen's and Fleiss' kappa, Gwet's AC1 and AC2.

Votes come as a matrix raters x items, None or NaN for no vote, of numbers or strings. ``scale`` lists all
categories that could have been given, in order. Weighted coefficients and AC1/AC2 depend on it, so give it: on
a subset where no one used the value 3, the scale seen is shorter than the scale asked. Weights use the position on
the scale.
"""

from collections.abc import Hashable, Sequence
from enum import StrEnum
from itertools import combinations

import numpy as np

from .base import CONSTANT, Floats, Ints, Status
from .resample import Weighted
from .votes import Agreement, AgreementFunction, Votes, code_matrix, count_votes

NOT_PAIRED = "no item has 2 votes"


class Weights(StrEnum):
    """How much of an agreement two different categories still are."""

    IDENTITY = "identity"
    LINEAR = "linear"
    QUADRATIC = "quadratic"
    ORDINAL = "ordinal"


def cohen_kappa(votes: Votes, weights: str = Weights.IDENTITY, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Cohen's kappa of two raters (1960; weighted, 1968): (po - pe) / (1 - pe) over the items both judged.

    pe comes from each rater's own shares of the categories. Raises ValueError unless there are two rows; for more
    raters see ``mean_cohen_kappa``. Undefined when both raters always give the same one category.

    Votes 1 1 0 0 against 1 0 0 0: po = .75, pe = .5 * .25 + .5 * .75 = .5, kappa = .5.

    >>> cohen_kappa([[1, 1, 0, 0], [1, 0, 0, 0]]).value
    0.5
    """
    cells, categories = code_matrix(votes, scale)
    if len(cells) != 2:
        raise ValueError(f"Cohen's kappa is for 2 raters, got {len(cells)}")
    return _cohen(
        cells[0], cells[1], weight_matrix(max(1, len(categories)), weights), np.arange(cells.shape[1])
    ).agreement()


def mean_cohen_kappa(
    votes: Votes, weights: str = Weights.IDENTITY, scale: Sequence[Hashable] | None = None
) -> Agreement:
    """Return the mean of Cohen's kappa over all pairs of raters with common items (Light, 1971).

    Pairs without a kappa are left out; ``n`` counts the items with two votes or more.
    """
    return _mean_cohen(votes, weights, scale, None)[0]


def cohen_function(
    votes: Votes, scale: Sequence[Hashable] | None = None, clusters: Ints | None = None
) -> tuple[Agreement, Weighted]:
    """Return Cohen's kappa (of more than two raters the mean over their pairs), and as a function of the weights of
    clusters (0, 1, ...; each item its own by default)."""
    whole, weighted = _mean_cohen(votes, Weights.IDENTITY, scale, clusters)
    return (cohen_kappa(votes, scale=scale) if len(votes) == 2 else whole)._replace(name="kappa_cohen"), weighted


def _mean_cohen(
    votes: Votes, weights: str, scale: Sequence[Hashable] | None, clusters: Ints | None
) -> tuple[Agreement, Weighted]:
    cells, categories = code_matrix(votes, scale)
    given = (cells >= 0).sum(axis=0)
    paired = given >= 2
    shell = Agreement(
        "mean_kappa_cohen", None, int(paired.sum()), int((~paired).sum()), int((cells >= 0).any(axis=1).sum()),
        int(given[paired].sum()), None, None, Status.UNDEFINED, CONSTANT if paired.any() else NOT_PAIRED,
    )  # fmt: skip
    unit = np.arange(cells.shape[1]) if clusters is None else clusters
    weight = weight_matrix(max(1, len(categories)), weights)
    pairs = [_cohen(one, two, weight, unit) for one, two in combinations(cells, 2)]

    def mean(draws: Floats) -> Floats:
        values = np.array([pair(draws) for pair in pairs]).reshape(len(pairs), len(draws))
        there = ~np.isnan(values)
        counts = there.sum(axis=0)
        sums = np.where(there, values, 0.0).sum(axis=0)
        return np.asarray(np.divide(sums, counts, out=np.full(len(draws), np.nan), where=counts > 0))

    value = float(mean(np.ones((1, int(unit.max(initial=-1)) + 1)))[0])
    if np.isnan(value):
        return shell, mean
    return shell._replace(value=value, status=Status.OK, reason=None), mean


def fleiss_kappa(votes: Votes, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Fleiss' kappa (1971) for any number of raters, who need not be the same for every item.

    With unequal numbers of votes the observed agreement averages over items with two or more, and the shares of
    the categories average over items with any (Gwet, 2014, eq. 2.26); with equal numbers it is Fleiss' own.
    """
    return gwet_function("kappa_fleiss", votes, scale).agreement()


def gwet_ac1(votes: Votes, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Gwet's AC1 (2008), which stays near the observed agreement when one category prevails.

    pe = sum of pi_k (1 - pi_k) / (q - 1) over the q categories of the scale. With a scale of two and all votes alike
    it is 1; without a scale that case has q = 1 and is undefined.

    Two raters, 9 items both 1 and one split: po = .9, pi = .95 and .05, pe = 2 * .95 * .05 = .095.

    >>> round(gwet_ac1([[1] * 10, [1] * 9 + [0]]).value, 6)
    0.889503
    """
    return gwet_function("ac1", votes, scale).agreement()


def gwet_ac2(votes: Votes, weights: str = Weights.QUADRATIC, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Gwet's AC2 (2014, eq. 3.6), AC1 with part marks for near categories: pe = T sum pi (1 - pi) / (q (q - 1)).

    T is the sum of all weights. Items with one vote inform the shares of the categories but not the agreement.
    """
    return gwet_function("ac2", votes, scale, weights).agreement()


def gwet_function(
    name: str,
    votes: Votes,
    scale: Sequence[Hashable] | None = None,
    weights: str = Weights.QUADRATIC,
    clusters: Ints | None = None,
) -> AgreementFunction:
    """Return ``kappa_fleiss``, ``ac1`` or ``ac2`` as a function of the weights of clusters.

    ``clusters`` numbers those of the items 0, 1, ...; each item is its own by default. ``weights`` are those of ac2.
    """
    if name not in ("kappa_fleiss", "ac1", "ac2"):
        raise ValueError(f"no coefficient {name!r}; there are: kappa_fleiss, ac1, ac2")
    counted = count_votes(votes, scale)
    q = len(counted.categories)
    weight = weight_matrix(q, weights if name == "ac2" else Weights.IDENTITY)
    unit = np.arange(len(counted.table)) if clusters is None else clusters
    m = counted.table.sum(axis=1)
    paired, judged = m >= 2, m > 0
    table, sizes = counted.table[paired], m[paired]
    shell = Agreement(
        name, None, int(paired.sum()), int((~paired).sum()), counted.raters, int(sizes.sum()), None, None,
        Status.UNDEFINED, CONSTANT if paired.any() else NOT_PAIRED,
    )  # fmt: skip
    credit = np.zeros(len(m))
    credit[paired] = (table * (table @ weight - 1)).sum(axis=1) / (sizes * (sizes - 1)) if q else 0.0
    shares = np.divide(counted.table, m[:, None], out=np.zeros_like(counted.table), where=judged[:, None])
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

    return AgreementFunction(shell, parts, _chance_corrected, len(sums), _left)


def weight_matrix(q: int, weights: str = Weights.IDENTITY) -> Floats:
    """Return the q x q agreement weights, 1 on the diagonal, by distance on the scale.

    linear 1 - d / (q - 1), quadratic 1 - d^2 / (q - 1)^2, ordinal 1 - C(d + 1, 2) / C(q, 2) (Gwet, 2014).

    >>> weight_matrix(3, "linear").tolist()
    [[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]]
    """
    kind = Weights(weights)
    distance = np.abs(np.subtract.outer(np.arange(q), np.arange(q))).astype(np.float64)
    if kind is Weights.IDENTITY or q < 2:
        return np.eye(q)
    if kind is Weights.LINEAR:
        return np.asarray(1 - distance / (q - 1))
    if kind is Weights.QUADRATIC:
        return np.asarray(1 - distance**2 / (q - 1) ** 2)
    return np.asarray(1 - distance * (distance + 1) / (q * (q - 1)))


def _cohen(one: Ints, two: Ints, weight: Floats, unit: Ints) -> AgreementFunction:
    both = (one >= 0) & (two >= 0)
    n, q = int(both.sum()), len(weight)
    shell = Agreement(
        "kappa_cohen", None, n, len(both) - n, 2, 2 * n, None, None, Status.UNDEFINED,
        CONSTANT if n else "no item was judged by both raters",
    )  # fmt: skip
    size = int(unit.max(initial=-1)) + 1
    cells = unit[both] * q * q + one[both] * q + two[both]
    sums = np.bincount(cells, minlength=size * q * q).reshape(size, q * q).astype(np.float64)

    def parts(draws: Floats) -> tuple[Floats, Floats]:
        table = (draws @ sums).reshape(-1, q, q)
        n_drawn = table.sum(axis=(1, 2))
        observed = (table * weight).sum(axis=(1, 2)) / n_drawn
        rows, columns = table.sum(axis=2) / n_drawn[:, None], table.sum(axis=1) / n_drawn[:, None]
        return observed, ((rows @ weight) * columns).sum(axis=1)

    return AgreementFunction(shell, parts, _chance_corrected, size, _left)


def _left(expected: Floats) -> Floats:
    return 1 - expected


def _chance_corrected(observed: Floats, expected: Floats) -> Floats:
    return (observed - expected) / (1 - expected)
