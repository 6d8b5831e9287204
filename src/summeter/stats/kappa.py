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
from .votes import Agreement, Counted, Votes, code_matrix, count_votes

NOT_PAIRED = "no item has 2 votes"
_SURE = 1e-12


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
    return _cohen(cells[0], cells[1], weight_matrix(len(categories), weights))


def mean_cohen_kappa(
    votes: Votes, weights: str = Weights.IDENTITY, scale: Sequence[Hashable] | None = None
) -> Agreement:
    """Return the mean of Cohen's kappa over all pairs of raters with common items (Light, 1971).

    Pairs without a kappa are left out; ``n`` counts the items with two votes or more.
    """
    cells, categories = code_matrix(votes, scale)
    given = (cells >= 0).sum(axis=0)
    paired = given >= 2
    shell = Agreement(
        "mean_kappa_cohen",
        None,
        int(paired.sum()),
        int((~paired).sum()),
        int((cells >= 0).any(axis=1).sum()),
        int(given[paired].sum()),
        None,
        None,
        Status.UNDEFINED,
    )
    weight = weight_matrix(len(categories), weights)
    pairs = [_cohen(one, two, weight) for one, two in combinations(cells, 2)]
    values = [pair.value for pair in pairs if pair.value is not None]
    if not values:
        reason = CONSTANT if any(pair.n for pair in pairs) else NOT_PAIRED
        return shell._replace(reason=reason)
    return shell._replace(value=float(np.mean(values)), status=Status.OK)


def fleiss_kappa(votes: Votes, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Fleiss' kappa (1971) for any number of raters, who need not be the same for every item.

    With unequal numbers of votes the observed agreement averages over items with two or more, and the shares of
    the categories average over items with any (Gwet, 2014, eq. 2.26); with equal numbers it is Fleiss' own.
    """
    counted = count_votes(votes, scale)
    shell, observed = _observed("kappa_fleiss", counted, weight_matrix(len(counted.categories), "identity"))
    if observed is None:
        return shell
    return _chance_corrected(shell, observed, float((_shares(counted) ** 2).sum()))


def gwet_ac1(votes: Votes, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Gwet's AC1 (2008), which stays near the observed agreement when one category prevails.

    pe = sum of pi_k (1 - pi_k) / (q - 1) over the q categories of the scale. With a scale of two and all votes alike
    it is 1; without a scale that case has q = 1 and is undefined.

    Two raters, 9 items both 1 and one split: po = .9, pi = .95 and .05, pe = 2 * .95 * .05 = .095.

    >>> round(gwet_ac1([[1] * 10, [1] * 9 + [0]]).value, 6)
    0.889503
    """
    return gwet_ac2(votes, Weights.IDENTITY, scale)._replace(name="ac1")


def gwet_ac2(votes: Votes, weights: str = Weights.QUADRATIC, scale: Sequence[Hashable] | None = None) -> Agreement:
    """Return Gwet's AC2 (2014, eq. 3.6), AC1 with part marks for near categories: pe = T sum pi (1 - pi) / (q (q - 1)).

    T is the sum of all weights. Items with one vote inform the shares of the categories but not the agreement.
    """
    counted = count_votes(votes, scale)
    q = len(counted.categories)
    weight = weight_matrix(q, weights)
    shell, observed = _observed("ac2", counted, weight)
    if observed is None:
        return shell
    if q < 2:
        return shell._replace(value=None, status=Status.UNDEFINED, reason=CONSTANT)
    shares = _shares(counted)
    expected = float(weight.sum()) * float((shares * (1 - shares)).sum()) / (q * (q - 1))
    return _chance_corrected(shell, observed, expected)


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


def _cohen(one: Ints, two: Ints, weight: Floats) -> Agreement:
    both = (one >= 0) & (two >= 0)
    n, q = int(both.sum()), len(weight)
    shell = Agreement("kappa_cohen", None, n, len(both) - n, 2, 2 * n, None, None, Status.UNDEFINED)
    if n == 0:
        return shell._replace(reason="no item was judged by both raters")
    table = np.bincount(one[both] * q + two[both], minlength=q * q).reshape(q, q) / n
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    return _chance_corrected(shell, float((weight * table).sum()), float((weight * chance).sum()))


def _observed(name: str, counted: Counted, weight: Floats) -> tuple[Agreement, float | None]:
    sizes = counted.table.sum(axis=1)
    paired = sizes >= 2
    n, missing = int(paired.sum()), int((~paired).sum())
    total = int(sizes[paired].sum())
    shell = Agreement(name, None, n, missing, counted.raters, total, None, None, Status.UNDEFINED)
    if n == 0:
        return shell._replace(reason=NOT_PAIRED), None
    table, m = counted.table[paired], sizes[paired]
    credit = (table * (table @ weight - 1)).sum(axis=1) / (m * (m - 1))
    return shell, float(credit.mean())


def _shares(counted: Counted) -> Floats:
    sizes = counted.table.sum(axis=1)
    judged = sizes > 0
    return np.asarray((counted.table[judged] / sizes[judged, None]).mean(axis=0))


def _chance_corrected(shell: Agreement, observed: float, expected: float) -> Agreement:
    if 1 - expected < _SURE:
        return shell._replace(observed=observed, expected=expected, status=Status.UNDEFINED, reason=CONSTANT)
    value = (observed - expected) / (1 - expected)
    return shell._replace(value=value, observed=observed, expected=expected, status=Status.OK)
