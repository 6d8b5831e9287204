"""Binary decisions: the confusion table, the rates computed from it, and AUROC for scores.

1 is the positive class (supported, present, preferred); a decision is compared with the gold label 0 or 1. A rate with
an empty denominator is None, with the reason. Values agree with scikit-learn where it defines them. For resampling, all
statistics are functions of the counts of each unit (document).
"""

import numpy as np

from .base import EMPTY, Bools, Floats, Ints, Values, complete
from .resample import Measurement, empty_reason

NO_POSITIVES = "no positive label"
NO_NEGATIVES = "no negative label"

RATES = ("balanced_accuracy", "sensitivity", "specificity", "precision", "recall", "f1", "accuracy")
"""Rates computed from a confusion table."""


def decide(scores: Values, threshold: float) -> Floats:
    """Return the decision for each score.

    It is 1.0 above the threshold, 0.0 at or below it, and NaN for missing scores.
    """
    column = np.asarray(scores, dtype=np.float64)
    return np.where(np.isnan(column), np.nan, (column > threshold).astype(np.float64))


def classify(labels: Values, predictions: Values, clusters: Ints | None = None) -> dict[str, Measurement]:
    """Return the `RATES` of the confusion table, by name. ``details`` holds the numbers of decisions by label.

    Labels and decisions are 0 or 1; pairs with a missing value (None or NaN) are dropped and counted. ``clusters``
    gives the cluster of each pair as 0, 1, ...; by default each pair is a cluster. sensitivity = recall = TP / P,
    specificity = TN / N, balanced accuracy = their mean, precision = TP / (TP + FP), F1 = 2 TP / (2 TP + FP + FN),
    accuracy = (TP + TN) / n. Balanced accuracy requires labels of both classes. Raises ValueError for any other label
    or decision; use ``decide`` to threshold scores.

    >>> got = classify([1, 1, 1, 0], [1, 1, 0, 0])
    >>> round(got["balanced_accuracy"].value, 4), got["precision"].value, got["f1"].value
    (0.8333, 1.0, 0.8)
    """
    (gold, predicted), kept = complete(labels, predictions)
    for name, column in (("labels", gold), ("predictions", predicted)):
        if not np.isin(column, (0.0, 1.0)).all():
            raise ValueError(f"{name} must be 0 or 1 (None for missing)")
    n, missing = len(gold), int((~kept).sum())
    unit = np.arange(len(kept)) if clusters is None else clusters
    counts = confusion_by_unit(gold, predicted, unit[kept], int(unit.max(initial=-1)) + 1)
    hits, positives, rejected, negatives = totals = counts.sum(axis=0)
    details = {
        "true_positive": int(hits), "false_positive": int(negatives - rejected),
        "true_negative": int(rejected), "false_negative": int(positives - hits),
    }  # fmt: skip
    reasons = {
        "sensitivity": NO_POSITIVES, "recall": NO_POSITIVES, "specificity": NO_NEGATIVES,
        "precision": "no positive prediction", "f1": "no positive label or prediction", "accuracy": EMPTY,
        "balanced_accuracy": NO_NEGATIVES if positives else NO_POSITIVES,
    }  # fmt: skip
    rates = {}
    for name in RATES:
        value = float(rate_of(name, totals))
        known, reason = (value, None) if n and not np.isnan(value) else (None, reasons[name])
        if not n:
            reason = empty_reason(missing)
        rates[name] = Measurement(
            known, n, missing, reason=reason, details=details,
            weighted=lambda weights, name=name: rate_of(name, weights @ counts),  # type: ignore[misc]
        )  # fmt: skip
    return rates


def auroc(labels: Values, scores: Values, clusters: Ints | None = None) -> Measurement:
    """Return the area under the ROC curve.

    It is the probability that a positive scores above a negative, where ties count 1/2. ``clusters`` gives the cluster
    of each row as 0, 1, ...; by default each row is a cluster.

    The area equals Mann-Whitney's U divided by the product of the class sizes, and is computed in O(n log n): it is a
    sum over the positives, divided by the product of the total weights of the two classes. The term of a positive is
    its weight times the total weight of the negatives with lower scores, plus half that of the negatives with equal
    scores. Raises ValueError if a label is not 0, 1 or missing.

    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]).value
    0.875
    """
    (gold, column), kept = complete(labels, scores)
    if not np.isin(gold, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    n, missing, positives = len(gold), int((~kept).sum()), int(gold.sum())
    if not n:
        return Measurement(None, 0, missing, reason=empty_reason(missing))
    order = np.argsort(column, kind="stable")
    positive, unit = gold[order], (np.arange(len(kept)) if clusters is None else clusters)[kept][order]
    starts = np.flatnonzero(np.append(True, np.diff(column[order]) != 0))

    def area(times: Floats) -> Floats:
        """Return the area for each row of the weights of the sorted rows."""
        up = np.add.reduceat(times * positive, starts, axis=1)
        down = np.add.reduceat(times * (1 - positive), starts, axis=1)
        below = np.cumsum(down, axis=1) - down / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((up * below).sum(axis=1) / (up.sum(axis=1) * down.sum(axis=1)))

    absent = NO_POSITIVES if not positives else NO_NEGATIVES if positives == n else None
    value = None if absent else float(area(np.ones((1, n)))[0])
    return Measurement(value, n, missing, reason=absent, weighted=lambda weights: area(weights[:, unit]), width=n)


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


def accuracy_of(counts: Floats, single_class: Bools) -> Floats:
    """Return balanced accuracy, or NaN if only one class has counts.

    ``counts`` has the shape (..., cells, 4), with columns as in `confusion_by_unit`. In cells where ``single_class`` is
    True, the recall of the only class is returned instead.

    >>> accuracy_of(np.array([[3.0, 4.0, 1.0, 2.0], [3.0, 4.0, 0.0, 0.0]]), np.array([False, True])).tolist()
    [0.625, 0.75]
    """
    recall = np.where(counts[..., 1] > 0, rate_of("sensitivity", counts), rate_of("specificity", counts))
    return np.asarray(np.where(single_class, recall, rate_of("balanced_accuracy", counts)))
