"""Bounds on a mean loss, compared with hand computations and simulations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from summeter.stats import certified, risk_bound, risk_p_value


def test_p_value_without_errors() -> None:
    assert risk_p_value([0.0] * 59, 0.05) == pytest.approx(0.95**59)
    # More than .25 wrong means at least 3 of 10; the probability of none in 4 drawn is 7 6 5 4 / 10 9 8 7.
    assert risk_p_value([0.0] * 4, 0.25, 10) == pytest.approx(840 / 5040)


def test_p_value_of_the_complete_population() -> None:
    assert risk_p_value([0, 0, 0, 1], 0.25, 4) == 0.0
    assert risk_p_value([0, 0, 1, 1], 0.25, 4) == 1.0


def test_bound_of_binary_losses_is_clopper_pearson() -> None:
    # The upper end of Clopper & Pearson's interval is a quantile of the beta distribution.
    assert risk_bound([1] * 5 + [0] * 95).high == pytest.approx(stats.beta.ppf(0.95, 6, 95), abs=1e-6)


@pytest.mark.parametrize("losses", [[1.1], [-0.1], [0.5, None]])
def test_a_loss_lies_between_0_and_1(losses: list[float]) -> None:
    with pytest.raises(ValueError, match="losses must be between 0 and 1"):
        risk_p_value(losses, 0.5)


@pytest.mark.parametrize("population", [None, 600])
def test_type_1_error_of_graded_losses(population: int | None) -> None:
    rng = np.random.default_rng(1)
    losses = rng.beta(0.5, 4, 600) * (rng.random(600) < 0.7)
    bound = losses.mean() - 1e-9
    draws = [rng.choice(losses, 200, replace=population is None) for _ in range(400)]
    rejected = np.mean([risk_p_value(draw, bound, population) <= 0.05 for draw in draws])
    assert rejected <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_bound_of_graded_losses_is_tighter_than_hoeffding() -> None:
    losses = np.random.default_rng(2).beta(2, 18, 300)
    hoeffding = losses.mean() + (np.log(20) / 600) ** 0.5
    assert losses.mean() < risk_bound(losses).high < losses.mean() + (hoeffding - losses.mean()) / 2


def test_testing_stops_at_the_first_rule_that_fails() -> None:
    consumed = []

    def rules() -> Iterator[list[int]]:
        for errors in (0, 2, 40, 0):
            consumed.append(errors)
            yield [1] * errors + [0] * (200 - errors)

    assert certified(rules(), 0.05) == 2
    assert consumed == [0, 2, 40]
