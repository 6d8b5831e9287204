"""Fit linear models with scikit-learn.

The models are combinations of a few inputs, heads on the hidden states of networks, and calibrations. Penalties do not
depend on the number of rows: `penalty` times the number of rows is scikit-learn's `alpha` or 1 / `C`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from summeter.evaluators.fused import Combination, Link
from summeter.interrupt import checkpoint
from summeter.models.local.regressor import Layer, Scale
from summeter.records import InstallError
from summeter.stats import correlate
from summeter.stats.base import Bools, Floats, Ints
from summeter.training.ratings import known_mean

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

CalibrationKind = Literal["linear", "isotonic"]
PENALTIES: Final = tuple(float(10**power) for power in np.arange(-3, 1.01, 0.5))
"""Candidate penalties for a combination of a few inputs."""
HEAD_PENALTIES: Final = tuple(float(10**power) for power in np.arange(-3, 2.01, 0.5))
"""Candidate penalties for a head, which has more inputs and may need a larger penalty."""
FEWEST_RESIDUALS = 20
"""Minimum number of ratings in dev from which an interval is computed."""
_LEAST_PENALTY = 1e-9
_ROUNDING = 1e-9  # tolerance of cumulative weights


def need_sklearn() -> None:
    """Raise InstallError if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401 - availability check
    except ImportError as error:
        raise InstallError.missing("scikit-learn", "train") from error


def fit(inputs: Floats, labels: Floats, link: Link, penalty: float) -> Combination:
    """Fit a ridge regression (`linear`) or a logistic regression (`logistic`) to standardised inputs.

    The labels of a logistic regression are in [0, 1].

    >>> model = fit(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0]), "linear", 0.0)
    >>> model.values(np.array([[4.0]])).round(6).tolist()
    [9.0]
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(inputs)
    scaled, strength = scaler.transform(inputs), max(penalty, _LEAST_PENALTY) * len(labels)
    model: Any
    if link == "linear":
        model = Ridge(alpha=strength, solver="svd").fit(scaled, labels)
        weights, intercept = model.coef_, model.intercept_
    else:
        # A label of 0.7 is a 1 with weight 0.7 and a 0 with weight 0.3.
        classes, shares = np.repeat([1, 0], len(labels)), np.concatenate([labels, 1 - labels])
        model = LogisticRegression(C=1 / strength, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(np.vstack([scaled, scaled])[shares > 0], classes[shares > 0], shares[shares > 0])
        weights, intercept = model.coef_[0], model.intercept_[0]
    return Combination(
        link=link, intercept=float(intercept), weights=tuple(weights.tolist()), means=tuple(scaler.mean_.tolist()),
        deviations=tuple(scaler.scale_.tolist()),
    )  # fmt: skip


def loss_of(predicted: Floats, labels: Floats, link: Link) -> float:
    """Return the mean squared error (`linear`) or the mean log loss of probabilities (`logistic`)."""
    if link == "linear":
        return float(((predicted - labels) ** 2).mean())
    probabilities = np.clip(predicted, 1e-12, 1 - 1e-12)
    return float(-(labels * np.log(probabilities) + (1 - labels) * np.log(1 - probabilities)).mean())


def choose(inputs: Floats, labels: Floats, link: Link, folds: Ints, penalties: Sequence[float] = PENALTIES) -> float:
    """Return the penalty with the lowest loss of cross-fitted predictions.

    If several penalties have the lowest loss, the largest of them is returned.
    """

    def loss(penalty: float) -> float:
        return loss_of(_by_fold(inputs, labels, folds, lambda x, y, _: fit(x, y, link, penalty)), labels, link)

    return min(sorted(penalties, reverse=True), key=loss)


def cross_fit(
    inputs: Floats, labels: Floats, link: Link, folds: Ints, penalties: Sequence[float] = PENALTIES
) -> tuple[Combination, float, Floats]:
    """Fit a combination to all rows, and predict each fold by a fit to the other folds.

    Returns the combination, its penalty, and the prediction for each row by a fit to the other folds.

    `folds` holds the fold of each row, which is the same for all rows of a document. The penalty of each fit is chosen
    only within the folds to which it is fitted, so that the labels of a document do not affect its predictions.
    """

    def fit_rest(x: Floats, y: Floats, rest: Ints) -> Combination:
        penalty = choose(x, y, link, rest, penalties) if len(np.unique(rest)) > 1 else penalties[len(penalties) // 2]
        return fit(x, y, link, penalty)

    penalty = choose(inputs, labels, link, folds, penalties)
    return fit(inputs, labels, link, penalty), penalty, _by_fold(inputs, labels, folds, fit_rest)


def _by_fold(
    inputs: Floats, labels: Floats, folds: Ints, fit_rest: Callable[[Floats, Floats, Ints], Combination]
) -> Floats:
    """Return the prediction for each row by a combination fitted to the other folds.

    `fit_rest` fits a combination to the inputs, labels and folds of the rows in the other folds.
    """
    predicted = np.full(len(labels), np.nan)
    for fold in np.unique(folds):
        checkpoint()
        inside = folds == fold
        predicted[inside] = fit_rest(inputs[~inside], labels[~inside], folds[~inside]).values(inputs[inside])
    return predicted


def mean_pearson(outputs: Floats, targets: Floats, names: Sequence[str]) -> float | None:
    """Return the mean over aspects of Pearson's r between the mean outputs and the mean targets.

    `names` holds the aspect of each output. Returns None if the correlation is undefined for an aspect.
    """
    values = []
    for name in dict.fromkeys(names):
        columns = [column for column, aspect in enumerate(names) if aspect == name]
        means = known_mean(targets[:, columns], axis=1)
        values.append(correlate(outputs[:, columns].mean(axis=1), means, "pearson").value)
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def ridge(states: Floats, targets: Floats, train: Bools, dev: Bools) -> tuple[Layer, list[float]]:
    """Fit a ridge regression to standardised states for each output.

    The penalty of each output is chosen by Pearson's r on dev. `targets` has shape (rows, outputs), with NaN for
    missing ratings; each output is fitted to the rows with a rating. `train` and `dev` are masks of the rows. Returns
    the affine map of the unscaled states and the penalty of each output.
    """
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    weights, biases = np.zeros((states.shape[1], targets.shape[1])), np.zeros(targets.shape[1])
    penalties = [0.0] * targets.shape[1]
    masks, columns = np.unique(train[:, None] & ~np.isnan(targets), axis=1, return_inverse=True)
    for number, rows in enumerate(masks.T):
        checkpoint()
        outputs, scaler = np.flatnonzero(columns == number), StandardScaler().fit(states[rows])
        scaled, on_dev = scaler.transform(states[rows]), scaler.transform(states[dev])
        # The largest penalty comes first, so that it is chosen among equals and if dev has no ratings.
        models = [
            Ridge(alpha=penalty * len(scaled), solver="svd").fit(scaled, targets[np.ix_(rows, outputs)])
            for penalty in reversed(HEAD_PENALTIES)
        ]
        predicted = [model.predict(on_dev).reshape(len(on_dev), -1) for model in models]
        for column, output in enumerate(outputs.tolist()):
            scores = [correlate(values[:, column], targets[dev, output], "pearson").value for values in predicted]
            best = int(np.argmax([-2.0 if value is None else value for value in scores]))
            penalties[output] = HEAD_PENALTIES[-1 - best]
            layer = unscaled(
                np.atleast_2d(models[best].coef_)[column], np.atleast_1d(models[best].intercept_)[column], scaler
            )
            weights[:, output], biases[output] = layer.weight[:, 0], layer.bias[0]
    return Layer(weights, biases), penalties


def unscaled(weights: Floats, bias: Floats, scaler: StandardScaler) -> Layer:
    """Convert weights for standardised states to an affine map of the unscaled states.

    `weights` has shape (outputs, states).
    """
    weight = np.atleast_2d(weights).T / scaler.scale_[:, None]
    return Layer(weight, np.atleast_1d(bias) - scaler.mean_ @ weight)


def logistic(states: Floats, labels: Floats, train: Bools, dev: Bools) -> Layer:
    """Fit a logistic regression to standardised states, with the penalty chosen by the log loss on dev.

    `labels` are 1, 0, or NaN if unknown. Returns the affine map from the unscaled states to log-odds.
    """
    fit_rows, dev_rows = train & ~np.isnan(labels), dev & ~np.isnan(labels)
    models = [fit(states[fit_rows], labels[fit_rows], "logistic", penalty) for penalty in reversed(HEAD_PENALTIES)]
    best = min(models, key=lambda model: loss_of(model.values(states[dev_rows]), labels[dev_rows], "logistic"))
    weights = np.asarray(best.weights) / np.asarray(best.deviations)
    return Layer(weights[:, None], np.array([best.intercept - float(np.asarray(best.means) @ weights)]))


def calibrated(
    outputs: Floats, ratings: Floats, documents: Ints, ends: tuple[float, float], how: CalibrationKind, coverage: float
) -> Scale:
    """Fit the conversion of an aspect's outputs to ratings.

    All rows are from the dev set. In the outputs, 0 and 1 stand for the ends of the scale. The half-width of the
    interval is split-conformal (Vovk et al., 2005; Lei et al., 2018) over documents (see `half_width`). Each absolute
    residual is computed with a calibration that was fitted to the other half of the documents.
    """
    rated = ~np.isnan(ratings)
    outputs, ratings, documents = outputs[rated], ratings[rated], documents[rated]

    def scale_of(rows: Bools, width: float | None) -> Scale:
        points = (
            _isotonic(outputs[rows], ratings[rows]) if how == "isotonic" else _line(outputs[rows], ratings[rows], ends)
        )
        x, y = (tuple(values.tolist()) for values in points)
        return Scale(low=ends[0], high=ends[1], outputs=x, ratings=y, half_width=width, coverage=coverage)

    _, first, number = np.unique(documents, return_index=True, return_inverse=True)
    half = np.argsort(np.argsort(first))[number] % 2 == 0  # every second document, in their order
    residuals = np.full(len(ratings), np.nan)
    for fitted in (half, ~half):
        if fitted.any() and (~fitted).any():
            residuals[~fitted] = np.abs(ratings[~fitted] - scale_of(fitted, None).rated(outputs[~fitted]))
    known = ~np.isnan(residuals)
    return scale_of(np.ones_like(half), half_width(residuals[known], documents[known], coverage))


def half_width(residuals: Floats, documents: Ints, coverage: float) -> float | None:
    """Return the split-conformal half-width of the interval for a summary of a new document.

    Summaries of the same document are dependent, so the exchangeable units are documents (hierarchical conformal
    prediction; Lee, Barber and Willett, 2023): each of the K documents has the weight 1 / (K + 1), which is divided
    equally among its residuals, and the half-width is the smallest residual at which the cumulative weight reaches
    `coverage`. With one summary per document, this is the ceil((K + 1) * coverage)-th smallest residual. Returns None
    if there are fewer than 20 residuals, or too few documents for the coverage (a coverage of 0.9 needs 9 documents).

    >>> half_width(np.arange(1.0, 101.0), np.arange(100), 0.9)
    91.0
    >>> half_width(np.arange(1.0, 101.0), np.arange(100) // 20, 0.9) is None  # 5 documents
    True
    """
    if len(residuals) < FEWEST_RESIDUALS:
        return None
    _, document, counts = np.unique(documents, return_inverse=True, return_counts=True)
    order = np.argsort(residuals, kind="stable")
    cumulative = np.cumsum(1 / counts[document[order]]) / (len(counts) + 1)
    enough = np.flatnonzero(cumulative >= coverage - _ROUNDING)
    return float(residuals[order[enough[0]]]) if len(enough) else None


def _line(outputs: Floats, ratings: Floats, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the least-squares line as the points at the outputs 0 and 1.

    If the fitted slope is not positive, the slope of the training scale is used, so that calibration never reverses a
    judge.
    """
    spread = float(((outputs - outputs.mean()) ** 2).sum())
    slope = 0.0 if spread < 1e-12 else float(((outputs - outputs.mean()) * (ratings - ratings.mean())).sum()) / spread
    if slope <= 0:
        slope = ends[1] - ends[0]
    bottom = float(ratings.mean()) - slope * float(outputs.mean())
    return np.array([0.0, 1.0]), np.array([bottom, bottom + slope])


def _isotonic(outputs: Floats, ratings: Floats) -> tuple[Floats, Floats]:
    """Return the isotonic regression as the points between which it is interpolated."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression().fit(outputs, ratings)
    x, y = np.asarray(model.X_thresholds_, dtype=np.float64), np.asarray(model.y_thresholds_, dtype=np.float64)
    if len(x) == 2:  # two points would be extrapolated as a line
        x, y = np.insert(x, 1, x.mean()), np.insert(y, 1, y.mean())
    return x, y
