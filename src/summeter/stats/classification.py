"""Binary decisions: the confusion table, the rates computed from it, and AUROC for scores.

1 is the positive class (supported, present, preferred); a decision is compared with the gold label 0 or 1. A rate with
an empty denominator is None, with the reason. Values agree with scikit-learn where it defines them. For resampling, all
statistics are functions of the counts of each unit (document).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .base import (
    ALL_MISSING,
    EMPTY,
    Bools,
    Estimate,
    Floats,
    Ints,
    Values,
    as_pairs,
    complete,
    undefined,
)
from .resample import Bootstrap

NO_POSITIVES = "no positive label"
NO_NEGATIVES = "no negative label"

RATES = ("balanced_accuracy", "sensitivity", "specificity", "precision", "recall", "f1", "accuracy")
"""Rates computed from a confusion table."""


class Confusion(NamedTuple):
    """Numbers of decisions by label.

    ``missing`` is the number of pairs dropped because either value was missing.
    """

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int
    missing: int = 0

    @property
    def n(self) -> int:
        """Number of complete pairs."""
        return self.true_positive + self.false_positive + self.true_negative + self.false_negative

    @property
    def positives(self) -> int:
        """Number of labels equal to 1."""
        return self.true_positive + self.false_negative

    @property
    def negatives(self) -> int:
        """Number of labels equal to 0."""
        return self.true_negative + self.false_positive


class Classification(NamedTuple):
    """Rates computed from one confusion table.

    Each rate is an estimate with a sample size, a missing count and, if it is undefined, the reason.
    """

    confusion: Confusion
    balanced_accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    accuracy: Estimate


def confusion(labels: Values, predictions: Values) -> Confusion:
    """Return the numbers of decisions by label.

    Labels and decisions are 0 or 1; pairs with a missing value (None or NaN) are dropped and counted.

    Raises ValueError for any other value; use ``decide`` to threshold scores.

    >>> confusion([1, 1, 0, 0, None], [1, 0, 0, 1, 1])
    Confusion(true_positive=1, false_positive=1, true_negative=1, false_negative=1, missing=1)
    """
    gold, predicted, missing = as_pairs(labels, predictions)
    for name, column in (("labels", gold), ("predictions", predicted)):
        if not np.isin(column, (0.0, 1.0)).all():
            raise ValueError(f"{name} must be 0 or 1 (None for missing)")
    tp, fp = int((gold * predicted).sum()), int(((1 - gold) * predicted).sum())
    return Confusion(tp, fp, int((gold == 0).sum()) - fp, int(gold.sum()) - tp, missing)


def decide(scores: Values, threshold: float) -> Floats:
    """Return the decision for each score.

    It is 1.0 above the threshold, 0.0 at or below it, and NaN for missing scores.
    """
    column = np.asarray(scores, dtype=np.float64)
    return np.where(np.isnan(column), np.nan, (column > threshold).astype(np.float64))


def classify(labels: Values, predictions: Values) -> Classification:
    """Return all rates of the confusion table.

    sensitivity = recall = TP / P, specificity = TN / N, balanced accuracy = their mean, precision = TP / (TP + FP), F1
    = 2 TP / (2 TP + FP + FN), accuracy = (TP + TN) / n. Balanced accuracy requires labels of both classes.

    >>> got = classify([1, 1, 1, 0], [1, 1, 0, 0])
    >>> round(got.balanced_accuracy.value, 4), got.precision.value, got.f1.value
    (0.8333, 1.0, 0.8)
    """
    table = confusion(labels, predictions)
    reasons = {
        "sensitivity": NO_POSITIVES, "recall": NO_POSITIVES, "specificity": NO_NEGATIVES,
        "precision": "no positive prediction", "f1": "no positive label or prediction", "accuracy": EMPTY,
        "balanced_accuracy": NO_NEGATIVES if table.positives else NO_POSITIVES,
    }  # fmt: skip
    counts = np.array([table.true_positive, table.positives, table.true_negative, table.negatives], dtype=np.float64)
    rates = {}
    for name, reason in reasons.items():
        value = float(rate_of(name, counts))
        if np.isnan(value):
            reason = reason if table.n else ALL_MISSING if table.missing else EMPTY  # noqa: PLW2901
            rates[name] = undefined(reason, table.n, table.missing)
        else:
            rates[name] = Estimate(value, table.n, table.missing)
    return Classification(table, **rates)


def auroc(labels: Values, scores: Values) -> Estimate:
    """Return the area under the ROC curve.

    It is the probability that a positive scores above a negative, where ties count 1/2.

    The area equals Mann-Whitney's U divided by the product of the class sizes, and is computed in O(n log n). Raises
    ValueError if a label is not 0, 1 or missing.

    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]).value
    0.875
    """
    gold, column, missing = as_pairs(labels, scores)
    if not np.isin(gold, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    n, positives = len(gold), int(gold.sum())
    if n == 0:
        return undefined(ALL_MISSING if missing else EMPTY, n, missing)
    if positives in (0, n):
        return undefined(NO_NEGATIVES if positives else NO_POSITIVES, n, missing)
    return Estimate(float(Area(gold, column, np.zeros(n, np.int64))(np.ones((1, 1)))[0]), n, missing)


def areas(labels: Floats, scores: Floats) -> Floats:
    """Return the AUROC of each row of ``scores`` (lists x rows).

    The value is NaN if there is only one class, or if all scores of a row are equal.

    >>> areas(np.array([0.0, 0.0, 1.0, 1.0]), np.array([[0.1, 0.4, 0.4, 0.8], [1.0, 2.0, 0.5, 0.1]])).tolist()
    [0.875, 0.0]
    """
    from scipy.stats import rankdata

    positive = labels == 1
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return np.full(len(scores), np.nan)
    ranks = np.asarray(rankdata(scores, axis=-1), dtype=np.float64)
    wins = ranks[:, positive].sum(axis=-1) - positives * (positives + 1) / 2
    constant = (scores == scores[:, :1]).all(axis=-1)
    return np.where(constant, np.nan, wins / (positives * negatives))


def classification_interval(labels: Values, predictions: Values, statistic: str, bootstrap: Bootstrap) -> Estimate:
    """Return a rate of ``classify``, or the ``auroc`` of scores, with an interval.

    ``bootstrap`` resamples the rows.

    Raises ValueError for an unknown statistic.

    >>> got = classification_interval([1, 1, 0, 0], [1, 1, 0, 1], "balanced_accuracy", Bootstrap(4, resamples=100))
    >>> got.value, got.n, got.low is not None
    (0.75, 4, True)
    """
    (gold, predicted), kept = complete(labels, predictions)
    used, missing = bootstrap.subset(kept), int((~kept).sum())
    if statistic == "auroc":
        area, reason = Area(gold, predicted, used.codes), auroc(gold, predicted).reason
        return used.interval(area, n=len(gold), missing=missing, width=area.width, undefined=reason or EMPTY)
    if statistic not in RATES:
        raise ValueError(f"unknown statistic {statistic!r}; there are: {', '.join((*RATES, 'auroc'))}")
    rate: Estimate = getattr(classify(gold, predicted), statistic)
    counts = confusion_by_unit(gold, predicted, used.codes, used.units)
    return used.interval(
        lambda weights: rate_of(statistic, weights @ counts),
        n=len(gold),
        missing=missing,
        undefined=rate.reason or EMPTY,
    )


def rate_of(name: str, counts: Floats) -> Floats:
    """Return one of `RATES`, computed from counts, or NaN if the denominator is 0.

    ``counts`` has the shape (..., 4), in the order of `confusion_by_unit`.

    >>> rate_of("f1", np.array([2.0, 3.0, 1.0, 1.0])).item()
    0.8
    """
    hits, positives, rejected, negatives = np.moveaxis(counts, -1, 0)
    false = negatives - rejected
    parts = {
        "sensitivity": (hits, positives),
        "recall": (hits, positives),
        "specificity": (rejected, negatives),
        "precision": (hits, hits + false),
        "f1": (2 * hits, positives + hits + false),
        "accuracy": (hits + rejected, positives + negatives),
    }
    if name == "balanced_accuracy":
        return (rate_of("sensitivity", counts) + rate_of("specificity", counts)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(*parts[name]))


def confusion_by_unit(labels: Floats, decided: Floats, unit: Ints, units: int) -> Floats:
    """Return the counts of decisions by unit (units x 4).

    The columns are true positives, positives, true negatives and negatives. Rows with NaN are ignored.

    >>> confusion_by_unit(np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, np.nan]), np.array([0, 0, 1]), 2).tolist()
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    kept = ~(np.isnan(labels) | np.isnan(decided))
    gold, predicted, where = labels[kept], decided[kept], unit[kept]
    cells = ((gold == 1) & (predicted == 1), gold == 1, (gold == 0) & (predicted == 0), gold == 0)
    return np.stack([np.bincount(where[cell], minlength=units) for cell in cells], axis=1).astype(np.float64)


def accuracy_of(counts: Floats, single_class: Bools | None = None) -> Floats:
    """Return balanced accuracy, or NaN if only one class has counts.

    ``counts`` has the shape (..., cells, 4), with columns as in `confusion_by_unit`. In cells where ``single_class`` is
    True, the recall of the only class is returned instead.

    >>> accuracy_of(np.array([[3.0, 4.0, 1.0, 2.0], [3.0, 4.0, 0.0, 0.0]]), np.array([False, True])).tolist()
    [0.625, 0.75]
    """
    both = rate_of("balanced_accuracy", counts)
    if single_class is None:
        return both
    recall = np.where(counts[..., 1] > 0, rate_of("sensitivity", counts), rate_of("specificity", counts))
    return np.asarray(np.where(single_class, recall, both))


class Accuracies:
    """Balanced accuracies (draws x cells) as a function of weights.

    ``counts`` has one units x 4 array per cell (see `confusion_by_unit`).
    """

    def __init__(self, counts: Sequence[Floats], single_class: Sequence[bool] | None = None) -> None:
        self._table = np.concatenate(list(counts), axis=1)
        self._single_class = None if single_class is None else np.asarray(single_class, dtype=np.bool_)
        self.width = self._table.shape[1]

    def __call__(self, weights: Floats) -> Floats:
        """Return the accuracies of each draw (draws x cells)."""
        return accuracy_of((weights @ self._table).reshape(len(weights), self.width // 4, 4), self._single_class)


class Area:
    """AUROC as a function of weights, NaN for a draw without one of the classes.

    Rows with NaN are ignored. The weight of a row is how often its unit was drawn. AUROC is a sum over the positives,
    divided by the product of the total weights of the two classes. The term of a positive is its weight times the total
    weight of the negatives with lower scores, plus half that of the negatives with equal scores.
    """

    def __init__(self, labels: Floats, scores: Floats, unit: Ints) -> None:
        kept = ~(np.isnan(labels) | np.isnan(scores))
        gold, column, where = labels[kept], scores[kept], unit[kept]
        order = np.argsort(column, kind="stable")
        self._gold, self._unit = gold[order], where[order]
        self._starts = np.flatnonzero(np.append(True, np.diff(column[order]) != 0))
        self.width = len(order)

    def __call__(self, weights: Floats) -> Floats:
        """Return the area of each draw."""
        if not self.width:
            return np.full(len(weights), np.nan)
        times = weights[:, self._unit]
        up = np.add.reduceat(times * self._gold, self._starts, axis=1)
        down = np.add.reduceat(times * (1 - self._gold), self._starts, axis=1)
        below = np.cumsum(down, axis=1) - down / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((up * below).sum(axis=1) / (up.sum(axis=1) * down.sum(axis=1)))
