"""Linear models by scikit-learn: combinations of a few inputs, heads on a network's states, and calibration.

Penalties are in units that do not depend on the number of rows: `penalty` x rows is scikit-learn's `alpha` or 1 / `C`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from summeter.evaluators.fused import Combination, Link
from summeter.interrupt import checkpoint
from summeter.models.local.regressor import Layer, Scale
from summeter.records import InstallError
from summeter.stats import correlate
from summeter.stats.base import Bools, Floats, Ints

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

CalibrationKind = Literal["linear", "isotonic"]
PENALTIES: Final = tuple(float(10**power) for power in np.arange(-3, 1.01, 0.5))
"""Penalties that are tried for a combination of a few inputs."""
HEAD_PENALTIES: Final = tuple(float(10**power) for power in np.arange(-3, 2.01, 0.5))
"""Penalties that are tried for a head: states are many, and may need more of it."""
FEWEST_RESIDUALS = 20
"""Fewer dev ratings than this give no interval."""
_LEAST_PENALTY = 1e-9
_ROUNDING = 1e-9  # of sums of weights that stand for whole numbers


def need_sklearn() -> None:
    """InstallError where scikit-learn is missing."""
    try:
        import sklearn  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise InstallError.missing("scikit-learn", "train") from error


def fit(inputs: Floats, labels: Floats, link: Link, penalty: float) -> Combination:
    """Ridge regression (`linear`), or logistic regression of labels in [0, 1], on standardised inputs.

    >>> rule = fit(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 5.0, 7.0]), "linear", 0.0)
    >>> rule.values(np.array([[4.0]])).round(6).tolist()
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
        # A label of .7 is a yes of weight .7 and a no of weight .3.
        classes, sure = np.repeat([1, 0], len(labels)), np.concatenate([labels, 1 - labels])
        model = LogisticRegression(C=1 / strength, solver="newton-cholesky", tol=1e-10, max_iter=1000)
        model.fit(np.vstack([scaled, scaled])[sure > 0], classes[sure > 0], sure[sure > 0])
        weights, intercept = model.coef_[0], model.intercept_[0]
    return Combination(
        link=link, intercept=float(intercept), weights=tuple(weights.tolist()), means=tuple(scaler.mean_.tolist()),
        deviations=tuple(scaler.scale_.tolist()),
    )  # fmt: skip


def loss_of(predicted: Floats, labels: Floats, link: Link) -> float:
    """The mean squared error, or the mean log loss of probabilities."""
    if link == "linear":
        return float(((predicted - labels) ** 2).mean())
    chances = np.clip(predicted, 1e-12, 1 - 1e-12)
    return float(-(labels * np.log(chances) + (1 - labels) * np.log(1 - chances)).mean())


class CrossFitted(NamedTuple):
    """A combination fitted to all rows, with its penalty; and for each row the prediction of a fit to other folds."""

    combination: Combination
    penalty: float
    predicted: Floats


def choose(inputs: Floats, labels: Floats, link: Link, folds: Ints, penalties: Sequence[float] = PENALTIES) -> float:
    """The penalty whose cross-fitted predictions have the least loss; of equals the larger."""

    def loss(penalty: float) -> float:
        return loss_of(_by_fold(inputs, labels, folds, lambda x, y, _: fit(x, y, link, penalty)), labels, link)

    return min(sorted(penalties, reverse=True), key=loss)


def cross_fit(
    inputs: Floats, labels: Floats, link: Link, folds: Ints, penalties: Sequence[float] = PENALTIES
) -> CrossFitted:
    """A fit to all rows, and predictions of each fold by fits to the others.

    `folds` numbers each row's fold; all rows of a document have the same. The penalty of a fold's fit is chosen among
    the other folds alone, so no label of a document contributes to its own prediction.
    """

    def chosen(x: Floats, y: Floats, rest: Ints) -> Combination:
        penalty = choose(x, y, link, rest, penalties) if len(np.unique(rest)) > 1 else penalties[len(penalties) // 2]
        return fit(x, y, link, penalty)

    penalty = choose(inputs, labels, link, folds, penalties)
    return CrossFitted(fit(inputs, labels, link, penalty), penalty, _by_fold(inputs, labels, folds, chosen))


def _by_fold(
    inputs: Floats, labels: Floats, folds: Ints, fitted: Callable[[Floats, Floats, Ints], Combination]
) -> Floats:
    """The prediction of each row by what `fitted` makes of the other folds' inputs, labels and folds."""
    predicted = np.full(len(labels), np.nan)
    for fold in np.unique(folds):
        checkpoint()
        inside = folds == fold
        predicted[inside] = fitted(inputs[~inside], labels[~inside], folds[~inside]).values(inputs[inside])
    return predicted


def mean_pearson(outputs: Floats, targets: Floats, names: Sequence[str]) -> float | None:
    """The mean over aspects of Pearson's r of the mean output and the mean target; None where an aspect has none."""
    values = []
    for name in dict.fromkeys(names):
        places = [place for place, own in enumerate(names) if own == name]
        given = ~np.isnan(targets[:, places])
        sums, counts = np.where(given, targets[:, places], 0).sum(axis=1), given.sum(axis=1)
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        values.append(correlate(outputs[:, places].mean(axis=1), means, "pearson").value)
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def ridge(states: Floats, targets: Floats, train: Bools, dev: Bools) -> tuple[Layer, list[float]]:
    """A ridge regression for each output on standardised states, the penalty chosen by Pearson's r on dev.

    `targets` has shape (rows, outputs), NaN where a rating is missing: each output is fitted to the rows that have it.
    Returns the affine map of the raw states and the penalty of each output.
    """
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    weights, biases = np.zeros((states.shape[1], targets.shape[1])), np.zeros(targets.shape[1])
    chosen = [0.0] * targets.shape[1]
    masks, columns = np.unique(train[:, None] & ~np.isnan(targets), axis=1, return_inverse=True)
    for number, rows in enumerate(masks.T):
        checkpoint()
        outputs, scaler = np.flatnonzero(columns == number), StandardScaler().fit(states[rows])
        scaled, on_dev = scaler.transform(states[rows]), scaler.transform(states[dev])
        # The largest first: of equals it is taken, and where dev has no ratings.
        tried = [
            Ridge(alpha=penalty * len(scaled), solver="svd").fit(scaled, targets[np.ix_(rows, outputs)])
            for penalty in reversed(HEAD_PENALTIES)
        ]
        predicted = [model.predict(on_dev).reshape(len(on_dev), -1) for model in tried]
        for place, output in enumerate(outputs.tolist()):
            reached = [correlate(values[:, place], targets[dev, output], "pearson").value for values in predicted]
            best = int(np.argmax([-2.0 if value is None else value for value in reached]))
            chosen[output] = HEAD_PENALTIES[-1 - best]
            layer = unscaled(
                np.atleast_2d(tried[best].coef_)[place], np.atleast_1d(tried[best].intercept_)[place], scaler
            )
            weights[:, output], biases[output] = layer.weight[:, 0], layer.bias[0]
    return Layer(weights, biases), chosen


def unscaled(weights: Floats, bias: Floats, scaler: StandardScaler) -> Layer:
    """The affine map of raw states that has these weights (outputs x states) on standardised ones."""
    weight = np.atleast_2d(weights).T / scaler.scale_[:, None]
    return Layer(weight, np.atleast_1d(bias) - scaler.mean_ @ weight)


def logistic(states: Floats, labels: Floats, train: Bools, dev: Bools) -> Layer:
    """A logistic regression on standardised states, the penalty chosen by the log loss on dev. `labels` are 1, 0 or
    NaN. Returns the affine map of the raw states to log-odds."""
    fitted, choosing = train & ~np.isnan(labels), dev & ~np.isnan(labels)
    rules = [fit(states[fitted], labels[fitted], "logistic", penalty) for penalty in reversed(HEAD_PENALTIES)]
    rule = min(rules, key=lambda rule: loss_of(rule.values(states[choosing]), labels[choosing], "logistic"))
    weights = np.asarray(rule.weights) / np.asarray(rule.deviations)
    return Layer(weights[:, None], np.array([rule.intercept - float(np.asarray(rule.means) @ weights)]))


def calibrated(
    outputs: Floats, ratings: Floats, documents: Ints, ends: tuple[float, float], how: CalibrationKind, coverage: float
) -> Scale:
    """How outputs of an aspect (on 0 to 1) become ratings, fitted on dev.

    The half-width of the interval is split-conformal (Vovk et al., 2005; Lei et al., 2018) over documents, from
    absolute residuals, each of a calibration fitted to the other half of the documents (see `half_width`).
    """
    given = ~np.isnan(ratings)
    outputs, ratings, documents = outputs[given], ratings[given], documents[given]

    def scale_of(rows: Bools, width: float | None) -> Scale:
        points = (
            _isotonic(outputs[rows], ratings[rows]) if how == "isotonic" else _line(outputs[rows], ratings[rows], ends)
        )
        x, y = (tuple(values.tolist()) for values in points)
        return Scale(low=ends[0], high=ends[1], outputs=x, ratings=y, half_width=width, coverage=coverage)

    _, first, number = np.unique(documents, return_index=True, return_inverse=True)
    half = np.argsort(np.argsort(first))[number] % 2 == 0  # every other document, in their order
    residuals = np.full(len(ratings), np.nan)
    for fitted in (half, ~half):
        if fitted.any() and (~fitted).any():
            residuals[~fitted] = np.abs(ratings[~fitted] - scale_of(fitted, None).rated(outputs[~fitted]))
    known = ~np.isnan(residuals)
    return scale_of(np.ones_like(half), half_width(residuals[known], documents[known], coverage))


def half_width(residuals: Floats, documents: Ints, coverage: float) -> float | None:
    """The split-conformal half-width of an interval for a summary of a new document.

    Summaries of one document are alike, so documents count, not summaries (hierarchical conformal prediction: Lee,
    Barber and Willett, 2023): of K documents each has the weight 1 / (K + 1), shared by its residuals, and the
    half-width is the least residual up to which the weights add up to `coverage`. With one summary a document it is the
    ceil((K + 1) * coverage)-th smallest. None with fewer than 20 residuals, or where the documents are too few for the
    coverage (.9 needs 9).

    >>> half_width(np.arange(1.0, 101.0), np.arange(100), 0.9)
    91.0
    >>> half_width(np.arange(1.0, 101.0), np.arange(100) // 20, 0.9) is None  # 5 documents
    True
    """
    if len(residuals) < FEWEST_RESIDUALS:
        return None
    _, place, counts = np.unique(documents, return_inverse=True, return_counts=True)
    order = np.argsort(residuals, kind="stable")
    reached = np.cumsum(1 / counts[place[order]]) / (len(counts) + 1)
    enough = np.flatnonzero(reached >= coverage - _ROUNDING)
    return float(residuals[order[enough[0]]]) if len(enough) else None


def _line(outputs: Floats, ratings: Floats, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """The least-squares line at 0 and 1; where it does not rise (the judge knows nothing), the line of the training's
    own scale with people's mean: a calibration never reverses a judge."""
    spread = float(((outputs - outputs.mean()) ** 2).sum())
    slope = 0.0 if spread < 1e-12 else float(((outputs - outputs.mean()) * (ratings - ratings.mean())).sum()) / spread
    if slope <= 0:
        slope = ends[1] - ends[0]
    bottom = float(ratings.mean()) - slope * float(outputs.mean())
    return np.array([0.0, 1.0]), np.array([bottom, bottom + slope])


def _isotonic(outputs: Floats, ratings: Floats) -> tuple[Floats, Floats]:
    """The non-decreasing fit, as the points where it changes."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression().fit(outputs, ratings)
    x, y = np.asarray(model.X_thresholds_, dtype=np.float64), np.asarray(model.y_thresholds_, dtype=np.float64)
    if len(x) == 2:  # a scale of two points is a line that goes on
        x, y = np.insert(x, 1, x.mean()), np.insert(y, 1, y.mean())
    return x, y
