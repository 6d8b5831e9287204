"""Preferences, win rates and Bradley-Terry, by hand and compared with direct maximisation."""

import math

import numpy as np
import pytest
import scipy.optimize

from summeter.stats import (
    Status,
    best_rates,
    bradley_terry,
    order_effect,
)


def games(*rows: tuple[int, int, float | None]) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the pairs and points of games that are documents of their own."""
    points = np.full((len(rows), len(rows)), np.nan)
    np.fill_diagonal(points, np.array([result for *_, result in rows], dtype=float))
    return [(first, second) for first, second, _ in rows], points


def test_order_effect() -> None:
    # Points of the first system, which is shown first in ab and second in ba.
    ab, ba = [1, 1, 0, 0.5, None, 0], [1, 0, 1, 1, 1, 0]
    got = order_effect(ab, ba)
    assert (got.consistent, got.first_slot, got.second_slot, got.half_tied, got.n, got.missing) == (2, 1, 1, 1, 5, 1)
    assert got.flip_rate == pytest.approx(3 / 5)
    assert order_effect([], []).flip_rate is None
    with pytest.raises(ValueError, match="verdicts"):
        order_effect([2], [1])


def test_best_rates_share_ties() -> None:
    rates = best_rates([[3, 3, None], [2, 3, None], [1, 1, 5]]).statistics
    assert [rate.value for rate in rates] == [0.75, 0.25, 0.0]
    assert (rates[0].n, rates[0].missing) == (2, 1)
    assert best_rates([[None], [1]]).statistics[0].reason == "no document with 2 scores"


def test_bradley_terry_by_hand() -> None:
    # Three wins and one loss: the likelihood is greatest at p = 3/4, a difference of log 3.
    fit = bradley_terry(*games((0, 1, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0)), 2, resamples=50)
    assert [strength.value for strength in fit] == pytest.approx([math.log(3) / 2, -math.log(3) / 2], abs=1e-9)


def test_bradley_terry_maximises_the_likelihood() -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 5, (5, 40)) + np.arange(5)[:, None] * 0.5
    first, second = np.triu_indices(5, 1)
    won = (np.sign(scores[first] - scores[second]) + 1) / 2
    fit = bradley_terry(list(zip(first, second, strict=True)), won, 5, resamples=50)

    def loss(s: np.ndarray) -> float:
        gap = (s[second] - s[first])[:, None]
        return float((np.logaddexp(0, gap) * won + np.logaddexp(0, -gap) * (1 - won)).sum())

    best = scipy.optimize.minimize(loss, np.zeros(5), tol=1e-12).x
    assert [strength.value for strength in fit] == pytest.approx(list(best - best.mean()), abs=1e-5)
    for strength in fit:
        assert (strength.clusters, strength.n, strength.status) == (40, 400, Status.OK)
        assert strength.low < strength.value < strength.high
    assert sum(strength.value for strength in fit) == pytest.approx(0, abs=1e-9)


def test_a_system_that_wins_everything_needs_a_prior() -> None:
    never = games((0, 1, 1), (0, 1, 1), (1, 2, 1), (2, 1, 1))
    assert {strength.status for strength in bradley_terry(*never, 3)} == {Status.UNDEFINED}
    finite = bradley_terry(*never, 3, prior=1.0, resamples=50)
    assert max(finite, key=lambda strength: strength.value) is finite[0]
    assert finite[0].status is Status.OK


def test_bradley_terry_without_an_interval() -> None:
    # One win each: half of the resamples have a winner of everything.
    assert bradley_terry(*games((0, 1, 1), (0, 1, 0)), 2, resamples=400)[0].lost > 100
    got = bradley_terry([(0, 1), (0, 1)], [[1.0], [0.0]], 2)[0]  # one document
    assert (got.status, got.low) == (Status.NO_INTERVAL, None)
    # The only win of 1 and the only win of 2 are both drawn in less than half of the resamples.
    rare = bradley_terry(*games(*[(0, 1, 1)] * 9, (1, 2, 1), (2, 0, 1)), 3, resamples=200)[0]
    assert (rare.status, rare.low) == (Status.NO_INTERVAL, None)


def test_bradley_terry_missing_and_bad_games() -> None:
    got = bradley_terry([(0, 1)], [[1, 0, None]], 2, resamples=10)[0]
    assert (got.n, got.missing) == (2, 1)
    assert bradley_terry(*games((0, 1, None)), 2)[0].reason == "all values missing"
    with pytest.raises(ValueError, match="two different systems"):
        bradley_terry(*games((1, 1, 1)), 2)
