"""Preferences between systems: points, rates, order effects and Bradley-Terry strengths.

A system gets 1 point on a document if it scores above its rival, 1/2 if the scores are equal, and 0 if it scores below
(Shen et al., 2023, section 4.4). Scores are compared exactly, so compute both sides in the same way. A system is
preferred if it has more than half of the points; exactly half is a third verdict.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .base import (
    Estimate,
    Floats,
    Ints,
    Seed,
    Values,
    codes,
    complete,
    floats,
    ratio,
    undefined,
)
from .resample import Bootstrap, empty_reason

_MAX_STEPS, _TOLERANCE = 20_000, 1e-12
_DIGITS = 9
_SPLIT = "some systems never lost (or never won) to the others, or never met: strengths are not finite; give a prior"


class OrderEffect(NamedTuple):
    """How verdicts change when the order of the two summaries is swapped.

    ``consistent`` counts the pairs with the same verdict in both orders. Of the other pairs, ``first_slot``
    (``second_slot``) counts those in which the summary shown first (second) was chosen both times, and ``half_tied``
    those that were a tie in one order only.
    """

    consistent: int
    first_slot: int
    second_slot: int
    half_tied: int
    n: int
    missing: int

    @property
    def flip_rate(self) -> float | None:
        """Share of pairs whose verdict depends on the order, or None if no pair was judged in both orders."""
        return 1 - self.consistent / self.n if self.n else None


def points(first: Values, second: Values) -> Floats:
    """Return the first system's points on each document: 1, 1/2 or 0, or NaN if a score is missing.

    >>> points([3, 2, 1], [2, 2, 2]).tolist()
    [1.0, 0.5, 0.0]
    """
    gap = floats(first) - floats(second)
    return np.where(np.isnan(gap), np.nan, (np.sign(gap) + 1) / 2)


def order_effect(ab: Values, ba: Values) -> OrderEffect:
    """Return the numbers of verdicts that change or do not change when the order is swapped.

    Verdicts are points of the first system, which is shown first in ``ab`` and second in ``ba``. Raises ValueError if a
    verdict is not 1, 0.5, 0 or missing.

    >>> order_effect([1, 1, 0, 0.5], [1, 0, 1, 1])
    OrderEffect(consistent=1, first_slot=1, second_slot=1, half_tied=1, n=4, missing=0)
    """
    for verdicts in (ab, ba):
        column = floats(verdicts)
        if not np.isin(column[~np.isnan(column)], (0.0, 0.5, 1.0)).all():
            raise ValueError("verdicts must be 1 (first system), 0.5 (tie) or 0 (rival), or None for missing")
    (shown_first, shown_second), kept = complete(ab, ba)
    turned, n = shown_first - shown_second, len(shown_first)
    same, first, second = (int((turned == gap).sum()) for gap in (0, 1, -1))
    return OrderEffect(same, first, second, n - same - first - second, n, int((~kept).sum()))


def side_of_half(points: Floats, n: Floats | int) -> Floats:
    """Return 1 if the points are above half of `n`, -1 if they are below it, and 0 if equal.

    Differences up to rounding are ignored.

    >>> side_of_half(np.array([1 / 2 + 5 / 6 + 1 / 6, 2.0, 1.0]), 3).tolist()  # the first is 1.5 + 2e-16
    [0.0, 1.0, -1.0]
    """
    return np.asarray(np.sign(np.round(points - n / 2, _DIGITS)))


class Rates(NamedTuple):
    """Points that each system won and could have won on each document.

    Both arrays are systems x documents. ``missing`` is the number of points of each system that could not be computed;
    ``reason`` says why a system without any point has no rate.
    """

    name: str
    won: Floats
    played: Floats
    missing: Ints
    reason: str

    def weighted(self, weights: Floats) -> Floats:
        """Return the rates (draws x systems) for weights of the documents (draws x documents)."""
        return ratio(weights @ self.won.T, weights @ self.played.T)

    @property
    def statistics(self) -> list[Estimate]:
        """Rate of each system."""
        values = self.weighted(np.ones((1, self.won.shape[1])))[0]
        counts = zip(values.tolist(), self.played.sum(axis=1).astype(int).tolist(), self.missing.tolist(), strict=True)
        return [
            Estimate(value, n, missing) if n else undefined(self.reason, n, missing) for value, n, missing in counts
        ]


def win_rates(scores: Values) -> Rates:
    """Return each system's share of points against all other systems on each document.

    >>> [rate.value for rate in win_rates([[3, 3], [2, 3], [1, None]]).statistics]
    [0.8333333333333334, 0.5, 0.0]
    """
    matrix = floats(scores, 2)
    systems, documents = matrix.shape
    gap = np.sign(matrix[:, None, :] - matrix[None, :, :])
    gap[np.arange(systems), np.arange(systems)] = np.nan
    met = ~np.isnan(gap)
    won, played = np.where(met, (gap + 1) / 2, 0.0).sum(axis=1), met.sum(axis=1).astype(np.float64)
    missing = (systems - 1) * documents - met.sum(axis=(1, 2))
    return Rates("win_rate", won, played, missing, "no document where it has a rival")


def best_rates(scores: Values) -> Rates:
    """Return each system's share of documents on which it is the best (SummQual's win rate).

    Systems that share the best score of a document share its point. A document is used if at least two systems have a
    score on it; a missing score cannot win. The shares sum to 1.

    >>> [rate.value for rate in best_rates([[3, 3], [2, 3], [1, 1]]).statistics]
    [0.75, 0.25, 0.0]
    """
    matrix = floats(scores, 2)
    kept = (~np.isnan(matrix)).sum(axis=0) >= 2
    used = matrix[:, kept]
    best = used == np.nanmax(used, axis=0) if used.size else used.astype(np.bool_)
    missing = np.full(len(matrix), int((~kept).sum()))
    return Rates("best_rate", best / best.sum(axis=0), np.ones(used.shape), missing, "no document with 2 scores")


# ---- strengths


def bradley_terry(
    pairs: Sequence[tuple[int, int]],
    points: Values,
    systems: int,
    prior: float = 0.0,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = 0,
) -> list[Estimate]:
    """Return the Bradley-Terry strength of each system, with intervals from resampled documents.

    ``pairs`` holds two system numbers each, and ``points`` the points of the first (pairs x documents; from 0 to 1, a
    tie is 0.5, NaN or None if there was no game).
    P(i beats j) = 1 / (1 + exp(s_j - s_i)); strengths are natural logarithms with mean 0 (Bradley & Terry, 1952; fitted
    with Hunter's MM algorithm, 2004). A tie is half a win for each side. Resamples with infinite strengths are left
    out.

    ``prior`` is the number of half-won games added between every two systems, which keeps strengths finite if a system
    wins every game. A prior of 0 gives the maximum-likelihood estimate, which is undefined in that case.

    After three wins and one loss, the strengths are +- log(3) / 2.

    >>> fit = bradley_terry([(0, 1)], [[1, 1, 1, 0]], systems=2, resamples=10)
    >>> [round(strength.value, 4) for strength in fit]
    [0.5493, -0.5493]
    """
    numbers, results = np.array(pairs, np.int64).reshape(-1, 2), floats(points, 2)
    played = ~np.isnan(results)
    n, missing = int(played.sum()), int((~played).sum())
    if (numbers[:, 0] == numbers[:, 1]).any() or ((results < 0) | (results > 1)).any():
        raise ValueError("a game needs two different systems and points between 0 and 1")
    if n == 0:
        return [undefined(empty_reason(missing), n, missing)] * systems
    wins = np.zeros((results.shape[1], systems, systems))
    for (first, second), won, met in zip(numbers, results, played, strict=True):
        wins[met, first, second] += won[met]
        wins[met, second, first] += 1 - won[met]
    wins = wins[played.any(axis=0)]
    pseudo = np.full((systems, systems), prior / 2)
    np.fill_diagonal(pseudo, 0.0)
    table = wins.reshape(len(wins), -1)

    def fitted(weights: Floats) -> Floats:
        sampled = (weights @ table).reshape(-1, systems, systems) + pseudo
        # Strengths are finite if every system is linked to every other by a path of wins (Ford, 1957).
        reach = (sampled > 0) | np.eye(systems, dtype=np.bool_)
        for _ in range(max(1, math.ceil(math.log2(max(2, systems))))):
            reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
        finite = reach.all(axis=(1, 2))
        values = np.full((len(sampled), systems), np.nan)
        values[finite] = _fit(sampled[finite])
        return values

    strengths = fitted(np.ones((1, len(wins))))[0]
    if np.isnan(strengths).any():
        return [undefined(_SPLIT, n, missing)] * systems
    bootstrap = Bootstrap(codes(range(len(wins))), resamples, level, seed)
    (samples,) = bootstrap.samples(fitted)
    return [bootstrap.of_samples(float(strengths[i]), samples[:, i], n=n, missing=missing) for i in range(systems)]


def _fit(wins: Floats) -> Floats:
    """Return the centred log strengths of each table of wins (tables x systems x systems).

    All tables are iterated together with Hunter (2004), eq. 3, p_i <- W_i / sum_j n_ij / (p_i + p_j), until no log
    strength changes.
    """
    won = wins.sum(axis=2)
    played = wins + wins.transpose(0, 2, 1)
    strength: Floats = np.ones(won.shape)
    active = np.arange(len(wins))
    for _ in range(_MAX_STEPS):
        current = strength[active]
        share = played[active] / (current[:, :, None] + current[:, None, :])
        updated = won[active] / share.sum(axis=2)
        updated /= np.exp(np.log(updated).mean(axis=1, keepdims=True))
        strength[active] = updated
        moved = np.abs(np.log(updated / current)).max(axis=1) > _TOLERANCE
        active = active[moved]
        if not len(active):
            break
    return np.log(strength)
