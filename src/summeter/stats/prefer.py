"""Which of two systems is better: points over documents, correct preferences (#CP), win rates, order effects.

A document gives a system 1 point when it scores above its rival, 1/2 when equal, 0 when below (Shen et al., 2023,
section 4.4). Scores compare exactly, so form means alike on both sides. A system is preferred when it has more
than half the points, and exactly half is a verdict of its own; any number of documents will do.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Floats, Statistic, Status, Values, as_pairs, complete, floats, undefined


class PairPreference(NamedTuple):
    """Two systems compared by people and by an evaluator over the documents where both could.

    ``gold_points`` and ``points`` are those of the ``first`` system, out of ``n``. ``agree`` is None without
    common documents.
    """

    first: int
    second: int
    gold_points: float | None
    points: float | None
    n: int
    missing: int
    agree: bool | None
    status: Status
    reason: str | None


class CorrectPreferences(NamedTuple):
    """#CP: how many pairs of systems the evaluator orders as people do, out of how many, and each pair."""

    correct: int
    total: int
    undefined: int
    pairs: list[PairPreference]

    @property
    def share(self) -> float | None:
        """Correct pairs over pairs with a verdict; None when there are none."""
        return self.correct / self.total if self.total else None


class OrderEffect(NamedTuple):
    """How verdicts change when the two summaries swap places.

    ``consistent`` pairs got the same verdict in both orders. Of the others, ``first_slot`` and ``second_slot``
    chose the same place both times, and ``half_tied`` were a tie in one order only.
    """

    consistent: int
    first_slot: int
    second_slot: int
    half_tied: int
    n: int
    missing: int

    @property
    def flip_rate(self) -> float | None:
        """The share of pairs whose verdict changes with the order; None without pairs judged in both."""
        return 1 - self.consistent / self.n if self.n else None


def points(first: Values, second: Values) -> Floats:
    """Return 1, 1/2 or 0 for the first system on each document, NaN where a score is missing.

    >>> points([3, 2, 1], [2, 2, 2]).tolist()
    [1.0, 0.5, 0.0]
    """
    gap = floats(first) - floats(second)
    return np.where(np.isnan(gap), np.nan, (np.sign(gap) + 1) / 2)


def both_orders(ab: Values, ba: Values) -> Floats:
    """Return the points of head-to-head verdicts given in both orders: the mean of the two, NaN where one is missing.

    Each array holds the points of the *first system* (1 preferred, 1/2 tie, 0 rival preferred), whichever place
    its summary had in the prompt.

    >>> both_orders([1, 1, 0.5], [1, 0, 1]).tolist()
    [1.0, 0.5, 0.75]
    """
    return np.asarray((_verdicts(ab) + _verdicts(ba)) / 2)


def order_effect(ab: Values, ba: Values) -> OrderEffect:
    """Count how often verdicts survive the swap of places (points of the first system, shown first in ``ab``).

    >>> order_effect([1, 1, 0, 0.5], [1, 0, 1, 1])
    OrderEffect(consistent=1, first_slot=1, second_slot=1, half_tied=1, n=4, missing=0)
    """
    (one, two), kept = complete(_verdicts(ab), _verdicts(ba))
    same = int((one == two).sum())
    first, second = int((one - two == 1).sum()), int((two - one == 1).sum())
    return OrderEffect(same, first, second, len(one) - same - first - second, len(one), int((~kept).sum()))


def compare_pair(gold: Values, evaluator: Values, first: int = 0, second: int = 1) -> PairPreference:
    """Compare two systems by points a document, people's and the evaluator's (from ``points`` or ``both_orders``).

    Agreement: both above half, both below half, or both exactly half of the points.

    >>> compare_pair([1, 1, 0], [1, 0.5, 0.5]).agree
    True
    """
    people, machine, missing = as_pairs(gold, evaluator)
    n = len(people)
    if n == 0:
        reason = ALL_MISSING if missing else EMPTY
        return PairPreference(first, second, None, None, 0, missing, None, Status.UNDEFINED, reason)
    theirs, ours = float(people.sum()), float(machine.sum())
    agree = bool(np.sign(theirs - n / 2) == np.sign(ours - n / 2))
    return PairPreference(first, second, theirs, ours, n, missing, agree, Status.OK, None)


def correct_preferences(
    gold: Values, scores: Values, pairs: Sequence[tuple[int, int]] | None = None
) -> CorrectPreferences:
    """Count the pairs of systems on which scores prefer as people do (#CP, Shen et al., 2023).

    ``gold`` and ``scores`` are matrices systems x documents, NaN where missing; ``pairs`` defaults to all pairs, use
    ``chain`` for neighbours. A document counts for a pair when all four scores are there.

    >>> correct_preferences([[5, 4], [3, 3], [1, 3]], [[.9, .8], [.5, .4], [.6, .5]]).correct
    2
    """
    people, machine = floats(gold, 2), floats(scores, 2)
    if people.shape != machine.shape:
        raise ValueError(f"gold has shape {people.shape}, scores {machine.shape}")
    wanted = list(combinations(range(len(people)), 2)) if pairs is None else list(pairs)
    return tally(
        [
            compare_pair(points(people[i], people[j]), points(machine[i], machine[j]), i, j)
            for i, j in wanted
        ]
    )  # fmt: skip


def tally(pairs: Sequence[PairPreference]) -> CorrectPreferences:
    """Sum up compared pairs; those without a verdict are counted apart."""
    judged = [pair for pair in pairs if pair.agree is not None]
    correct = sum(bool(pair.agree) for pair in judged)
    return CorrectPreferences(correct, len(judged), len(pairs) - len(judged), list(pairs))


def chain(means: Values) -> list[tuple[int, int]]:
    """Return the pairs of neighbours in the ranking from best to worst (equal means keep their order).

    Systems without a mean are left out.

    >>> chain([2.0, 5.0, 3.0])
    [(1, 2), (2, 0)]
    """
    column = floats(means)
    present = np.flatnonzero(~np.isnan(column))
    ranked = present[np.argsort(-column[present], kind="stable")]
    return [(int(i), int(j)) for i, j in pairwise(ranked)]


def win_rates(scores: Values) -> list[Statistic]:
    """Return each system's share of points against all others (ties one half) over a systems x documents matrix.

    ``n`` counts comparisons, ``missing`` those that could not be made.

    >>> [rate.value for rate in win_rates([[3, 3], [2, 3], [1, 1]])]
    [0.875, 0.625, 0.0]
    """
    matrix = floats(scores, 2)
    rates: list[Statistic] = []
    for i, row in enumerate(matrix):
        gap = np.sign(row - np.delete(matrix, i, axis=0))
        made = int((~np.isnan(gap)).sum())
        missing = gap.size - made
        if made == 0:
            rates.append(undefined("win_rate", ALL_MISSING if missing else EMPTY, 0, missing))
        else:
            rates.append(Statistic("win_rate", float((np.nansum(gap) / made + 1) / 2), made, missing))
    return rates


def best_rates(scores: Values) -> list[Statistic]:
    """Return each system's share of documents on which it is the best (SummQual's win rate).

    Systems that share the best score of a document share its point. A document enters when any two systems have a
    score there; a system's missing score cannot win. The shares sum to 1.

    >>> [rate.value for rate in best_rates([[3, 3], [2, 3], [1, 1]])]
    [0.75, 0.25, 0.0]
    """
    matrix = floats(scores, 2)
    kept = (~np.isnan(matrix)).sum(axis=0) >= 2
    n, missing = int(kept.sum()), int((~kept).sum())
    if n == 0:
        return [undefined("best_rate", "no document with 2 scores", n, missing) for _ in matrix]
    used = matrix[:, kept]
    best = used == np.nanmax(used, axis=0)
    shares = (best / best.sum(axis=0)).mean(axis=1)
    return [Statistic("best_rate", float(share), n, missing) for share in shares]


def _verdicts(values: Values) -> Floats:
    column = floats(values)
    if not np.isin(column[~np.isnan(column)], (0.0, 0.5, 1.0)).all():
        raise ValueError("verdicts must be 1 (first system), 0.5 (tie) or 0 (rival), None for missing")
    return column
