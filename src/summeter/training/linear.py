"""Ridge and logistic regression on a few inputs, cross-fitted: a prediction of training data is made by weights, and
under a penalty, that nothing of its document bore on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from summeter.evaluators.fused import Combination, Link
from summeter.stats.base import Bools, Floats, Ints

PENALTIES: Final = tuple(float(10**power) for power in np.arange(-3, 1.01, 0.5))
"""Penalties that are tried: each is added to the squares of the standardised inputs, whose mean is 1."""
_ROUNDS = 50
_TINY = 1e-9


class CrossFitted(NamedTuple):
    """A combination fitted to all rows, with its penalty; and for each row the prediction of a fit to other folds."""

    combination: Combination
    penalty: float
    predicted: Floats


def fit(inputs: Floats, labels: Floats, link: Link, penalty: float) -> Combination:
    """The weights with the least loss + `penalty` / 2 x (sum of squared weights), on standardised inputs.

    The loss is half the mean squared error (`linear`), or the mean log loss of labels in [0, 1] (`logistic`, by
    Newton's method): each has one optimum, whatever the seed. An input that does not vary has the weight 0.

    >>> rule = fit(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0]), "linear", 0.0)
    >>> rule.values(np.array([[4.0]])).round(6).tolist()
    [9.0]
    """
    means, deviations = inputs.mean(axis=0), inputs.std(axis=0)
    varies = deviations > _TINY * np.maximum(1.0, np.abs(means))
    scaled = np.where(varies, (inputs - means) / np.where(varies, deviations, 1.0), 0.0)
    match link:
        case "linear":
            intercept, weights = _ridge(scaled, labels, penalty)
        case "logistic":
            intercept, weights = _logistic(scaled, labels, penalty)
    return Combination(
        link=link,
        intercept=intercept,
        weights=tuple(np.where(varies, weights, 0.0).tolist()),
        means=tuple(means.tolist()),
        deviations=tuple(np.where(varies, deviations, 1.0).tolist()),
    )


def _ridge(scaled: Floats, labels: Floats, penalty: float) -> tuple[float, Floats]:
    moments = scaled.T @ scaled / len(labels) + max(penalty, _TINY) * np.eye(scaled.shape[1])
    mean = float(labels.mean())
    return mean, np.asarray(np.linalg.solve(moments, scaled.T @ (labels - mean) / len(labels)), dtype=np.float64)


def _logistic(scaled: Floats, labels: Floats, penalty: float) -> tuple[float, Floats]:
    rows = np.column_stack([np.ones(len(labels)), scaled])
    held = np.diag([_TINY, *[max(penalty, _TINY)] * scaled.shape[1]])
    weights = np.zeros(rows.shape[1])

    def loss(at: Floats) -> float:
        score = rows @ at
        return float((np.logaddexp(0, score) - labels * score).mean() + at @ held @ at / 2)

    for _ in range(_ROUNDS):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -500, 500)))
        slope = rows.T @ (chances - labels) / len(labels) + held @ weights
        curvature = rows.T @ (rows * (chances * (1 - chances))[:, None]) / len(labels) + held
        step, size = np.linalg.solve(curvature, slope), 1.0
        before = loss(weights)
        while size > _TINY and loss(weights - size * step) > before:
            size /= 2
        weights = weights - size * step
        if float(np.abs(size * step).max()) < _TINY:
            break
    return float(weights[0]), weights[1:]


def loss_of(predicted: Floats, labels: Floats, link: Link) -> float:
    """The mean squared error, or the mean log loss of probabilities."""
    match link:
        case "linear":
            return float(((predicted - labels) ** 2).mean())
        case "logistic":
            chances = np.clip(predicted, 1e-12, 1 - 1e-12)
            return float(-(labels * np.log(chances) + (1 - labels) * np.log(1 - chances)).mean())


def predictions(inputs: Floats, labels: Floats, link: Link, penalty: float, folds: Ints) -> Floats:
    """Each row's prediction by a fit to the rows of the other folds."""
    predicted = np.full(len(labels), np.nan)
    for fold in np.unique(folds):
        inside = folds == fold
        predicted[inside] = fit(inputs[~inside], labels[~inside], link, penalty).values(inputs[inside])
    return predicted


def choose(inputs: Floats, labels: Floats, link: Link, folds: Ints, penalties: Sequence[float] = PENALTIES) -> float:
    """The penalty whose cross-fitted predictions have the least loss; of equals the larger."""
    losses = [loss_of(predictions(inputs, labels, link, each, folds), labels, link) for each in penalties]
    return max(zip(penalties, losses, strict=True), key=lambda each: (-each[1], each[0]))[0]


def cross_fit(
    inputs: Floats, labels: Floats, link: Link, folds: Ints, penalties: Sequence[float] = PENALTIES
) -> CrossFitted:
    """A fit to all rows, and predictions of each fold by fits to the others.

    `folds` numbers each row's fold; a document lies in one. The penalty of a fold's fit is chosen among the other folds
    alone, so nothing of a document bears on its own prediction.
    """
    predicted = np.full(len(labels), np.nan)
    for fold in np.unique(folds):
        inside: Bools = folds == fold
        x, y, rest = inputs[~inside], labels[~inside], folds[~inside]
        penalty = choose(x, y, link, rest, penalties) if len(np.unique(rest)) > 1 else penalties[len(penalties) // 2]
        predicted[inside] = fit(x, y, link, penalty).values(inputs[inside])
    penalty = choose(inputs, labels, link, folds, penalties)
    return CrossFitted(fit(inputs, labels, link, penalty), penalty, predicted)
