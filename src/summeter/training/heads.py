"""Heads on states that do not change: ridge regression, and how outputs become ratings with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from summeter.evaluators.fused import Combination
from summeter.interrupt import checkpoint
from summeter.models.local.regressor import Layer, Scale
from summeter.stats import correlate
from summeter.stats.base import Bools, Floats, Ints
from summeter.training.linear import fit, loss_of

CalibrationKind = Literal["linear", "isotonic"]
PENALTIES: tuple[float, ...] = tuple(float(10**power) for power in np.arange(-3, 2.01, 0.5))
"""Penalties that are tried: states are many, and need more of it than the few inputs of `linear`."""
FEWEST_RESIDUALS = 20
"""Fewer dev ratings than this give no interval."""
_SLACK = 1e-9  # of sums of weights that stand for whole numbers


def pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's r of the rows that have both; None where it is undefined."""
    return correlate(x, y, "pearson").value


def mean_pearson(outputs: Floats, targets: Floats, names: Sequence[str]) -> float | None:
    """The mean over aspects of Pearson's r of the mean output and the mean target; None where an aspect has none."""
    values = []
    for name in dict.fromkeys(names):
        places = [place for place, own in enumerate(names) if own == name]
        value = pearson(outputs[:, places].mean(axis=1), row_means(targets[:, places]))
        if value is None:
            return None
        values.append(value)
    return float(np.mean(values)) if values else None


def row_means(values: Floats) -> Floats:
    """The mean of each row's numbers, NaN where it has none."""
    given = ~np.isnan(values)
    count = given.sum(axis=1)
    return np.where(count > 0, np.where(given, values, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)


def ridge(states: Floats, targets: Floats, train: Bools, dev: Bools) -> tuple[Layer, list[float]]:
    """A ridge regression for each output on standardised states, the penalty chosen by Pearson's r on dev.

    `targets` has shape (rows, outputs), NaN where a rating is missing: each output is fitted to the rows that have it.
    Returns the affine map of the raw states and the penalty of each output.
    """
    weights, biases = np.zeros((states.shape[1], targets.shape[1])), np.zeros(targets.shape[1])
    chosen = [0.0] * targets.shape[1]
    for places in _alike(train[:, None] & ~np.isnan(targets)):
        checkpoint()
        fitted = train & ~np.isnan(targets[:, places[0]])
        spread = Spread.of(states[fitted])
        # One decomposition for all outputs of the same rows and all penalties: states are many, and `linear.fit` would
        # solve for each anew.
        left, sizes, right = np.linalg.svd(spread.scaled(states[fitted]), full_matrices=False)
        known = spread.scaled(states[dev]) @ right.T
        for place in places:
            target = targets[:, place]
            mean = float(target[fitted].mean())
            moments = left.T @ (target[fitted] - mean)
            best: tuple[float, float, Floats] | None = None
            for penalty in reversed(PENALTIES):  # of equals, and where dev has no ratings, the largest
                shrunk = sizes / (sizes**2 + len(left) * penalty) * moments
                reached = pearson(known @ shrunk, target[dev])
                score = -2.0 if reached is None else reached
                if best is None or score > best[0]:
                    best = score, penalty, shrunk
            assert best is not None  # noqa: S101 - there are penalties
            chosen[place] = best[1]
            weights[:, place] = (best[2] @ right) / spread.deviations
            biases[place] = mean - float(spread.means @ weights[:, place])
    return Layer(weights, biases), chosen


class Spread(NamedTuple):
    """What standardises states; what does not vary is left as it is, about its mean."""

    means: Floats
    deviations: Floats

    @classmethod
    def of(cls, states: Floats) -> Spread:
        """Of rows of states."""
        deviations = states.std(axis=0)
        return cls(states.mean(axis=0), np.where(deviations > 1e-9, deviations, 1.0))

    def scaled(self, states: Floats) -> Floats:
        """Standardised states."""
        return (states - self.means) / self.deviations


def _alike(masks: Bools) -> list[list[int]]:
    """The columns that are alike, together."""
    groups: dict[bytes, list[int]] = {}
    for place, column in enumerate(masks.T):
        groups.setdefault(column.tobytes(), []).append(place)
    return list(groups.values())


def logistic(states: Floats, labels: Floats, train: Bools, dev: Bools) -> Layer:
    """A logistic regression on standardised states, the penalty chosen by the log loss on dev. `labels` are 1, 0 or
    NaN. Returns the affine map of the raw states to log-odds."""
    fitted, choosing = train & ~np.isnan(labels), dev & ~np.isnan(labels)
    rules = [fit(states[fitted], labels[fitted], "logistic", penalty) for penalty in reversed(PENALTIES)]
    losses = [loss_of(rule.values(states[choosing]), labels[choosing], "logistic") for rule in rules]
    return _layer(rules[int(np.argmin(losses))])


def _layer(rule: Combination) -> Layer:
    """A combination of standardised inputs as an affine map of the inputs as they are."""
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
    residuals = np.full(len(ratings), np.nan)
    order = {code: number for number, code in enumerate(dict.fromkeys(documents.tolist()))}
    half = np.array([order[code] % 2 == 0 for code in documents.tolist()], dtype=bool)
    for fitted in (half, ~half):
        if fitted.any() and (~fitted).any():
            scale = _scale(outputs[fitted], ratings[fitted], ends, how, coverage, None)
            residuals[~fitted] = np.abs(ratings[~fitted] - scale.rated(outputs[~fitted]))
    known = ~np.isnan(residuals)
    width = half_width(residuals[known], documents[known], coverage)
    return _scale(outputs, ratings, ends, how, coverage, width)


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
    enough = np.flatnonzero(reached >= coverage - _SLACK)
    return float(residuals[order[enough[0]]]) if len(enough) else None


def _scale(
    outputs: Floats, ratings: Floats, ends: tuple[float, float], how: CalibrationKind, coverage: float,
    width: float | None,
) -> Scale:  # fmt: skip
    low, high = ends
    points = _isotonic(outputs, ratings) if how == "isotonic" else _linear(outputs, ratings, ends)
    return Scale(
        low=low, high=high, outputs=points[0], ratings=points[1], half_width=width, coverage=coverage
    )  # fmt: skip


_Points = tuple[tuple[float, ...], tuple[float, ...]]


def _linear(outputs: Floats, ratings: Floats, ends: tuple[float, float]) -> _Points:
    """The least-squares line; where it does not rise (the judge knows nothing), the line of the training's own scale
    with people's mean: a calibration never turns a judge round."""
    low, high = ends
    spread = float(((outputs - outputs.mean()) ** 2).sum())
    slope = 0.0 if spread < 1e-12 else float(((outputs - outputs.mean()) * (ratings - ratings.mean())).sum()) / spread
    if slope <= 0:
        slope = high - low
    bottom = float(ratings.mean()) - slope * float(outputs.mean())
    return (0.0, 1.0), (bottom, bottom + slope)


def _isotonic(outputs: Floats, ratings: Floats) -> _Points:
    """The non-decreasing fit, as the points where it changes."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(outputs, kind="stable")
    x, first = np.unique(outputs[order], return_index=True)
    sums = np.add.reduceat(ratings[order], first)
    counts = np.diff(np.append(first, len(outputs))).astype(np.float64)
    y = np.asarray(isotonic_regression(sums / counts, weights=counts).x, dtype=np.float64)
    edge = np.ones(len(y), dtype=bool)
    edge[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    if edge.sum() == 2:  # two points would be a line that goes on
        edge[len(edge) // 2] = True
    return tuple(x[edge].tolist()), tuple(y[edge].tolist())
