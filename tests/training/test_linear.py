"""Linear models: cross-fitted predictions do not depend on the document's own labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from summeter.training.linear import choose, cross_fit, fit

RNG = np.random.default_rng(7)
INPUTS = RNG.normal(size=(120, 5)) * np.array([1.0, 20.0, 0.1, 3.0, 1.0]) + np.array([0.0, 100.0, 0.5, -3.0, 2.0])
RATED = 3 + INPUTS @ np.array([0.5, -0.02, 3.0, 0.0, 0.1]) + RNG.normal(size=120)


def test_logistic_values_are_those_of_scikit_learn() -> None:
    yes = (RATED + RNG.normal(size=120) > np.median(RATED)).astype(float)
    scaled = StandardScaler().fit_transform(INPUTS)
    expected = LogisticRegression(C=1 / (0.01 * len(yes)), tol=1e-10, max_iter=1000).fit(scaled, yes)
    assert fit(INPUTS, yes, "logistic", 0.01).values(INPUTS) == pytest.approx(
        expected.predict_proba(scaled)[:, 1], abs=1e-5
    )


def test_perfectly_separable_labels_have_finite_weights() -> None:
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    fitted = fit(x, np.array([0.0, 0.0, 1.0, 1.0]), "logistic", 1e-3)
    assert np.isfinite(fitted.weights).all()
    assert (fitted.values(x) > 0.5).tolist() == [False, False, True, True]


def test_an_input_that_does_not_vary_weighs_nothing() -> None:
    x = np.column_stack([INPUTS[:, 0], np.full(120, 7.0)])
    assert fit(x, RATED, "linear", 0.01).weights[1] == 0.0


def test_predictions_of_a_fold_do_not_depend_on_its_labels() -> None:
    folds = np.arange(120) % 4
    before = cross_fit(INPUTS, RATED, "linear", folds)[2]
    changed = np.where(folds == 2, -RATED, RATED)
    after = cross_fit(INPUTS, changed, "linear", folds)[2]
    assert np.array_equal(before[folds == 2], after[folds == 2])
    assert not np.array_equal(before[folds == 1], after[folds == 1])


def test_noise_is_penalised_and_signal_is_not() -> None:
    folds = np.arange(120) % 5
    noise = np.random.default_rng(3).normal(size=(120, 40))
    assert choose(noise, RNG.permutation(RATED), "linear", folds) > choose(INPUTS, RATED, "linear", folds)
