"""Judging yes-or-no decisions: the confusion table and what is read from it, and AUROC for scores.

1 is the positive class (supported, present, preferred); a decision is compared with the gold label 0 or 1. Rates
whose denominator is empty are None with the reason. Values agree with scikit-learn where it defines them.
"""

from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Floats, Labels, Seed, Statistic, Values, as_pairs, undefined
from .correlation import average_ranks
from .resample import Interval, bootstrap

NO_POSITIVES = "no positive label"
NO_NEGATIVES = "no negative label"


class Confusion(NamedTuple):
    """Counts of decisions against labels, with the pairs dropped because either was missing."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int
    missing: int = 0

    @property
    def n(self) -> int:
        """The number of decided pairs."""
        return self.true_positive + self.false_positive + self.true_negative + self.false_negative

    @property
    def positives(self) -> int:
        """The number of labels that are 1."""
        return self.true_positive + self.false_negative

    @property
    def negatives(self) -> int:
        """The number of labels that are 0."""
        return self.true_negative + self.false_positive


class Classification(NamedTuple):
    """The statistics of one confusion table, each with its own n, missing count and reason when undefined."""

    confusion: Confusion
    balanced_accuracy: Statistic
    sensitivity: Statistic
    specificity: Statistic
    precision: Statistic
    recall: Statistic
    f1: Statistic
    accuracy: Statistic


def confusion(labels: Values, predictions: Values) -> Confusion:
    """Count decisions against labels, both 0 or 1 with None or NaN for missing (dropped in pairs).

    Raises ValueError for any other value: threshold scores first, with ``decide``.

    >>> confusion([1, 1, 0, 0, None], [1, 0, 0, 1, 1])
    Confusion(true_positive=1, false_positive=1, true_negative=1, false_negative=1, missing=1)
    """
    gold, said, missing = as_pairs(labels, predictions)
    for name, column in (("labels", gold), ("predictions", said)):
        if not np.isin(column, (0.0, 1.0)).all():
            raise ValueError(f"{name} must be 0 or 1 (None for missing)")
    tp, fp = int((gold * said).sum()), int(((1 - gold) * said).sum())
    return Confusion(tp, fp, int((gold == 0).sum()) - fp, int(gold.sum()) - tp, missing)


def decide(scores: Values, threshold: float) -> Floats:
    """Return 1.0 where the score lies above the threshold, 0.0 at or below it, NaN where it is missing."""
    column = np.asarray(scores, dtype=np.float64)
    return np.where(np.isnan(column), np.nan, (column > threshold).astype(np.float64))


def classify(labels: Values, predictions: Values) -> Classification:
    """Return every statistic of the confusion table.

    sensitivity = recall = TP / P, specificity = TN / N, balanced accuracy = their mean, precision = TP / (TP + FP),
    F1 = 2 TP / (2 TP + FP + FN), accuracy = (TP + TN) / n. Balanced accuracy needs both classes among the labels.

    >>> got = classify([1, 1, 1, 0], [1, 1, 0, 0])
    >>> round(got.balanced_accuracy.value, 4), got.precision.value, got.f1.value
    (0.8333, 1.0, 0.8)
    """
    return from_confusion(confusion(labels, predictions))


def from_confusion(table: Confusion) -> Classification:
    """Return every statistic of a confusion table that is already counted; see ``classify``."""
    tp, fp, tn, fn, _ = table
    sensitivity = _rate("sensitivity", tp, tp + fn, NO_POSITIVES, table)
    specificity = _rate("specificity", tn, tn + fp, NO_NEGATIVES, table)
    if sensitivity.value is None or specificity.value is None:
        reason = (sensitivity if sensitivity.value is None else specificity).reason or EMPTY
        balanced = undefined("balanced_accuracy", reason, table.n, table.missing)
    else:
        mean = (sensitivity.value + specificity.value) / 2
        balanced = Statistic("balanced_accuracy", mean, table.n, table.missing)
    return Classification(
        confusion=table,
        balanced_accuracy=balanced,
        sensitivity=sensitivity,
        specificity=specificity,
        precision=_rate("precision", tp, tp + fp, "no positive prediction", table),
        recall=sensitivity._replace(name="recall"),
        f1=_rate("f1", 2 * tp, 2 * tp + fp + fn, "no positive label or prediction", table),
        accuracy=_rate("accuracy", tp + tn, table.n, EMPTY, table),
    )


def auroc(labels: Values, scores: Values) -> Statistic:
    """Return the area under the ROC curve: the chance that a positive scores above a negative, ties one half.

    From the rank sum (Mann-Whitney), O(n log n): (R+ - P (P + 1) / 2) / (P N) with average ranks.

    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]).value
    0.875
    """
    gold, column, missing = as_pairs(labels, scores)
    if not np.isin(gold, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    n, positives = len(gold), int(gold.sum())
    if n == 0:
        return undefined("auroc", ALL_MISSING if missing else EMPTY, n, missing)
    if positives in (0, n):
        return undefined("auroc", NO_NEGATIVES if positives else NO_POSITIVES, n, missing)
    ranked = float(average_ranks(column)[gold == 1].sum())
    area = (ranked - positives * (positives + 1) / 2) / (positives * (n - positives))
    return Statistic("auroc", area, n, missing)


def classification_interval(
    labels: Values,
    predictions: Values,
    statistic: str = "balanced_accuracy",
    clusters: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Interval:
    """Return one statistic of ``classify``, or ``auroc`` of scores, with a bootstrap interval by cluster."""
    if statistic not in {*Classification._fields, "auroc"} - {"confusion"}:
        raise ValueError(f"unknown statistic {statistic!r}")

    def value(gold: Floats, said: Floats) -> float | None:
        got = auroc(gold, said) if statistic == "auroc" else getattr(classify(gold, said), statistic)
        return got.value if isinstance(got, Statistic) else None

    return bootstrap(value, [labels, predictions], clusters, resamples, level, seed)


def _rate(name: str, part: int, whole: int, reason: str, table: Confusion) -> Statistic:
    if whole == 0:
        if table.n == 0:
            reason = ALL_MISSING if table.missing else EMPTY
        return undefined(name, reason, table.n, table.missing)
    return Statistic(name, part / whole, table.n, table.missing)
