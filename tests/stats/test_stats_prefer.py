"""Preferences, win rates and Bradley-Terry, by hand and against direct maximisation."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import (
    Games,
    PairPreference,
    Status,
    best_rates,
    bradley_terry,
    chain,
    compare_pair,
    games_from_scores,
    order_effect,
    points,
    tally,
)


def games(*rows: tuple[int, int, float | None]) -> Games:
    first, second, result = zip(*rows, strict=True)
    return Games(np.array(first), np.array(second), np.array(result, dtype=float))


def test_points_compare_exactly() -> None:
    got = points([3, 2, 1, None], [2, 2, 2, 1])
    assert got[:3].tolist() == [1.0, 0.5, 0.0]
    assert math.isnan(got[3])


def test_pair_verdicts_for_any_number_of_documents() -> None:
    # People 2 of 3, evaluator 1.5 of 3: above half against exactly half.
    assert compare_pair([1, 1, 0], [1, 0.5, 0]).agree is False
    # Exactly half for both is agreement, as is below half for both.
    assert compare_pair([1, 0], [0.5, 0.5]).agree is True
    assert compare_pair([0, 0, 1], [0, 0.5, 0.5]).agree is True
    got = compare_pair([1, None, 0, 1], [1, 1, None, 1])
    assert (got.gold_points, got.points, got.n, got.missing) == (2.0, 2.0, 2, 2)
    assert compare_pair([None], [1]).reason == "all values missing"
    assert compare_pair([], []).agree is None


def preferred(gold: Any, scores: Any, pair: tuple[int, int]) -> PairPreference:
    return compare_pair(*(points(side[pair[0]], side[pair[1]]) for side in (gold, scores)))


def test_correct_preferences_by_hand() -> None:
    gold = [[5, 4], [3, 3], [1, 3]]
    scores = [[0.9, 0.8], [0.5, 0.4], [0.6, 0.5]]
    # Pairs (0, 1) and (0, 2) agree; for (1, 2) people give 1.5 of 2 to system 1, the scores none.
    pairs = [preferred(gold, scores, pair) for pair in ((0, 1), (0, 2), (1, 2))]
    got = tally(pairs)
    assert (got.correct, got.total, got.undefined) == (2, 3, 0)
    assert got.share == pytest.approx(2 / 3)
    assert (pairs[2].gold_points, pairs[2].points) == (1.5, 0.0)
    empty = tally([preferred([[None], [1]], [[1], [1]], (0, 1))])
    assert (empty.total, empty.undefined, empty.share) == (0, 1, None)


@given(st.lists(st.tuples(*[st.integers(1, 3)] * 4), min_size=1, max_size=12), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_preferences_ignore_document_order_and_swap_with_the_pair(rows: list[tuple[int, ...]], seed: int) -> None:
    table = np.array(rows, dtype=float).T
    order = np.random.default_rng(seed).permutation(table.shape[1])
    one = preferred(table[:2], table[2:], (0, 1))
    two = preferred(table[:2, order], table[2:, order], (1, 0))
    assert one.agree == two.agree
    assert one.points + two.points == one.n
    assert preferred(table, table, (0, 3)).agree


def test_chain_from_best_to_worst() -> None:
    assert chain([2.0, 5.0, None, 3.0, 3.0]) == [(1, 3), (3, 4), (4, 0)]
    assert chain([1.0]) == []


def test_order_effect() -> None:
    # Points of the first system; it stood first in ab, second in ba.
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
    # Three wins to one: the likelihood is greatest at p = 3/4, a difference of log 3.
    fit = bradley_terry(games((0, 1, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0)), 2, resamples=50)
    assert [s.system for s in fit.strengths] == [0, 1]
    assert fit.strengths[0].interval.value == pytest.approx(math.log(3) / 2, abs=1e-9)


def test_bradley_terry_is_the_maximum_of_the_likelihood() -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 5, (5, 40)) + np.arange(5)[:, None] * 0.5
    played = games_from_scores(scores)
    fit = bradley_terry(played, 5, resamples=50)

    def loss(s: np.ndarray) -> float:
        gap = s[played.second] - s[played.first]
        return float((np.logaddexp(0, gap) * played.points + np.logaddexp(0, -gap) * (1 - played.points)).sum())

    best = scipy.optimize.minimize(loss, np.zeros(5), tol=1e-12).x
    found = {s.system: s.interval.value for s in fit.strengths}
    assert [found[i] for i in range(5)] == pytest.approx(list(best - best.mean()), abs=1e-5)
    assert (fit.clusters, fit.n, fit.status) == (40, 400, Status.OK)
    for s in fit.strengths:
        assert s.interval.low < s.interval.value < s.interval.high
    assert sum(found.values()) == pytest.approx(0, abs=1e-9)


def test_a_system_that_wins_everything_needs_a_prior() -> None:
    never = games((0, 1, 1), (0, 1, 1), (1, 2, 1), (2, 1, 1))
    got = bradley_terry(never, 3)
    assert (got.strengths, got.status) == ([], Status.UNDEFINED)
    assert "prior" in got.reason
    finite = bradley_terry(never, 3, prior=1.0, resamples=50)
    assert finite.strengths[0].system == 0
    assert finite.status is Status.OK


def test_bradley_terry_says_when_it_has_no_interval() -> None:
    # One win each: half of the resamples have a winner of everything.
    few = bradley_terry(games((0, 1, 1), (0, 1, 0)), 2, resamples=400)
    assert few.lost > 100
    one = Games(np.array([0, 0]), np.array([1, 1]), np.array([1.0, 0.0]), ["a", "a"])
    got = bradley_terry(one, 2)
    assert (got.status, got.strengths[0].interval.low) == (Status.NO_INTERVAL, None)
    # The only win of 1 and the only win of 2 are both drawn in less than half of the resamples.
    rare = bradley_terry(games(*[(0, 1, 1)] * 9, (1, 2, 1), (2, 0, 1)), 3, resamples=200)
    assert rare.status is Status.NO_INTERVAL
    assert "undefined in" in rare.reason
    assert rare.strengths[0].interval.low is None


def test_bradley_terry_missing_and_bad_games() -> None:
    got = bradley_terry(games((0, 1, 1), (0, 1, 0), (0, 1, None)), 2, resamples=10)
    assert (got.n, got.missing) == (2, 1)
    assert bradley_terry(games((0, 1, None)), 2).reason == "all values missing"
    with pytest.raises(ValueError, match="two different systems"):
        bradley_terry(games((1, 1, 1)), 2)
    with pytest.raises(ValueError, match="same length"):
        bradley_terry(Games(np.array([0]), np.array([1, 1]), np.array([1.0])), 2)
