"""Ridge regression, calibration and intervals with hand-computed results."""

from __future__ import annotations

import numpy as np
import pytest

from summeter.models.local.regressor import Scale
from summeter.training.linear import HEAD_PENALTIES, calibrated, half_width, logistic, ridge

RNG = np.random.default_rng(5)
STATES = RNG.normal(size=(300, 6)) * np.array([1, 10, 0.1, 1, 1, 0]) + 3
TRUE = STATES @ np.array([1.0, 0.1, -5.0, 0, 0, 0])
TRAIN = np.arange(300) < 200


def test_ridge_equals_sklearn_for_the_chosen_penalty() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    target = TRUE + RNG.normal(size=300) * 2
    layer, (penalty,) = ridge(STATES, target[:, None], TRAIN, ~TRAIN)
    scaler = StandardScaler().fit(STATES[TRAIN])
    peer = Ridge(alpha=penalty * TRAIN.sum()).fit(scaler.transform(STATES[TRAIN]), target[TRAIN])
    ours = (STATES @ layer.weight + layer.bias)[:, 0]
    assert ours == pytest.approx(peer.predict(scaler.transform(STATES)), abs=1e-9)


def test_each_output_is_fitted_to_the_rows_that_have_it() -> None:
    targets = np.stack([TRUE, -TRUE], axis=1)
    targets[::2, 1] = np.nan
    layer, _ = ridge(STATES, targets, TRAIN, ~TRAIN)
    alone, _ = ridge(STATES, targets[:, 1:], TRAIN & ~np.isnan(targets[:, 1]), ~TRAIN)
    assert (STATES @ layer.weight + layer.bias)[:, 1] == pytest.approx(
        (STATES @ alone.weight + alone.bias)[:, 0], abs=1e-9
    )


def test_logistic_separates_and_is_calibrated() -> None:
    labels = (RNG.random(300) < 1 / (1 + np.exp(-(TRUE - TRUE.mean())))).astype(float)
    layer = logistic(STATES, labels, TRAIN, ~TRAIN)
    odds = (STATES @ layer.weight + layer.bias)[:, 0]
    assert np.corrcoef(odds, TRUE)[0, 1] > 0.95
    assert float(np.mean(1 / (1 + np.exp(-odds)))) == pytest.approx(labels.mean(), abs=0.05)


def test_a_line_is_least_squares_and_is_extrapolated() -> None:
    outputs = np.array([0.0, 0.5, 1.0, 0.5])
    ratings = np.array([1.0, 3.0, 5.0, 3.0])
    scale = calibrated(outputs, ratings, np.arange(4), (1, 5), "linear", 0.9)
    assert scale.rated(np.array([0.0, 0.25, 1.5])).tolist() == pytest.approx([1.0, 2.0, 7.0])
    assert scale.half_width is None  # four residuals are too few


def test_calibration_never_reverses_a_judge() -> None:
    outputs = np.linspace(0, 1, 30)
    scale = calibrated(outputs, 5 - 4 * outputs, np.arange(30), (1, 5), "linear", 0.9)
    assert (np.diff(scale.rated(outputs)) > 0).all()


def test_isotonic_equals_sklearn_and_is_flat_beyond_its_ends() -> None:
    from sklearn.isotonic import IsotonicRegression

    outputs = RNG.random(100).round(2)
    ratings = 1 + 4 * outputs**2 + RNG.normal(size=100) * 0.3
    scale = calibrated(outputs, ratings, np.arange(100), (1, 5), "isotonic", 0.9)
    peer = IsotonicRegression(out_of_bounds="clip").fit(outputs, ratings)
    at = np.linspace(-0.5, 1.5, 201)
    assert scale.rated(at) == pytest.approx(peer.predict(at), abs=1e-9)


def test_the_interval_has_its_nominal_coverage() -> None:
    shares = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        outputs = rng.random(400)
        ratings = 1 + 4 * outputs + rng.normal(size=400)
        scale = calibrated(outputs[:200], ratings[:200], np.arange(200), (1, 5), "linear", 0.8)
        assert scale.half_width is not None
        shares.append((np.abs(scale.rated(outputs[200:]) - ratings[200:]) <= scale.half_width).mean())
    assert np.mean(shares) == pytest.approx(0.8, abs=0.02)


def test_a_half_width_needs_enough_residuals() -> None:
    assert half_width(np.ones(19), np.arange(19), 0.5) is None
    assert half_width(np.ones(50), np.arange(50), 0.99) is None
    assert half_width(np.arange(1.0, 20.0 + 1), np.arange(20), 0.9) == 19.0


def test_a_half_width_counts_documents_not_summaries() -> None:
    assert half_width(np.ones(160), np.arange(160) // 20, 0.9) is None  # 8 documents: 8/9 is less than .9
    assert half_width(np.ones(180), np.arange(180) // 20, 0.9) == 1.0
    held = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        residuals = np.abs(np.repeat(rng.normal(size=10), 12) + 0.1 * rng.normal(size=120))  # 10 documents, 12 systems
        width = half_width(residuals, np.arange(120) // 12, 0.9)
        assert width is not None
        held.append(abs(rng.normal() + 0.1 * rng.normal()) <= width)
    assert np.mean(held) >= 0.88


def test_the_penalty_is_the_largest_without_ratings_on_dev() -> None:
    target = TRUE + RNG.normal(size=300)
    _, (penalty,) = ridge(STATES, np.where(TRAIN, target, np.nan)[:, None], TRAIN, ~TRAIN)
    assert penalty == HEAD_PENALTIES[-1]


def test_one_point_is_a_constant() -> None:
    scale = Scale(low=1, high=5, outputs=(0.5,), ratings=(3.0,), half_width=None, coverage=0.9)
    assert scale.rated(np.array([0.0, 1.0])).tolist() == [3.0, 3.0]
