"""Thresholds that turn scores into decisions, tuned only on data set apart (AggreFact's percentile protocol).

Candidates are the percentiles 0, 0.2, ..., 99.8 of the development scores; the last one with the best balanced
accuracy is kept; a score *above* the threshold is decided 1 (Laban et al., 2022, whose code Tang et al., 2023, and
FENICE's ``aggrefact.py`` took over). ``Candidates`` names the other ways.
"""

from collections.abc import Hashable
from enum import StrEnum
from typing import NamedTuple, assert_never

import numpy as np

from .base import Floats, Ints, Labels, Seed, Status, Values, as_pairs, complete, generator, seed_number
from .classification import NO_NEGATIVES, NO_POSITIVES, classify, decide


class Candidates(StrEnum):
    """Which thresholds are tried, and what is the best of them; of equals always the last, which is the highest.

    ``percentiles``: 0, 0.2, ..., 99.8, equal accuracies compared as fractions, both classes needed. ``released``: the
    same percentiles as the released code steps and compares them, in floating point, and where the development data
    have one class only its recall is what is maximised, as scikit-learn's balanced accuracy then is. ``scores``: every
    score observed, so that no threshold at all does better; it moves along under any increasing transformation.
    """

    PERCENTILES = "percentiles"
    RELEASED = "released"
    SCORES = "scores"


class Threshold(NamedTuple):
    """A tuned threshold and the balanced accuracy it reached on the development data.

    With ``Candidates.RELEASED`` and one class, that is its recall, and ``reason`` says so beside the status ``ok``.
    """

    threshold: float | None
    balanced_accuracy: float | None
    n: int
    missing: int
    status: Status
    reason: str | None


class GroupedAccuracy(NamedTuple):
    """Balanced accuracy with one threshold a group: per group, and their mean weighted by size.

    ``weight`` sums the sizes of the groups that have a value; ``undefined`` names the groups without one.
    """

    value: float | None
    weight: int
    groups: dict[Hashable, float]
    undefined: dict[Hashable, str]


class Spread(NamedTuple):
    """The mean and standard deviation of a statistic over bootstrap draws, and how many draws gave a value."""

    mean: float | None
    deviation: float | None
    resamples: int
    seed: int | None


def tune_threshold(labels: Values, scores: Values, candidates: str = Candidates.PERCENTILES) -> Threshold:
    """Return the best threshold among the candidates; undefined when a class is absent (save with ``released``).

    >>> got = tune_threshold([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    >>> round(got.threshold, 4), got.balanced_accuracy
    (0.7988, 1.0)
    >>> tune_threshold([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "scores").threshold
    0.2
    """
    how = Candidates(candidates)
    gold, column, missing = as_pairs(labels, scores)
    if not np.isin(gold, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    n = len(gold)
    shell = Threshold(None, None, n, missing, Status.UNDEFINED, None)
    if n == 0:
        return shell._replace(reason="no complete pairs")
    lacking = NO_POSITIVES if not gold.any() else NO_NEGATIVES if gold.all() else None
    if lacking is not None and how is not Candidates.RELEASED:
        return shell._replace(reason=lacking)
    match how:
        case Candidates.RELEASED:
            # Not arange(500) / 5: it differs in the last bits, and so may the percentile that falls on a score.
            tried = np.percentile(column, np.arange(0, 100, 0.2))
            rounded = _rounded_accuracy(gold, column, tried)
            return _last_best(shell, tried, rounded, lacking and f"{lacking}: its recall")
        case Candidates.SCORES:
            tried = np.unique(column)
        case Candidates.PERCENTILES:
            tried = np.percentile(column, np.arange(0, 500) / 5)
        case _:
            assert_never(how)
    right, whole = _right_at(gold, column, tried)
    return _last_best(shell, tried, right, None, whole)


def _last_best(shell: Threshold, tried: Floats, values: Floats | Ints, note: str | None, whole: int = 1) -> Threshold:
    best = len(values) - 1 - int(np.argmax(values[::-1]))
    return shell._replace(
        threshold=float(tried[best]), balanced_accuracy=float(values[best] / whole), status=Status.OK, reason=note
    )  # fmt: skip


def _rounded_accuracy(gold: Floats, scores: Floats, thresholds: Floats) -> Floats:
    """Balanced accuracy above each threshold as scikit-learn rounds it: the mean recall of the classes present."""
    negatives, positives = np.sort(scores[gold == 0]), np.sort(scores[gold == 1])
    rejected = np.searchsorted(negatives, thresholds, side="right")
    hits = len(positives) - np.searchsorted(positives, thresholds, side="right")
    recalls = [part / len(of) for part, of in ((rejected, negatives), (hits, positives)) if len(of)]
    return np.asarray(sum(recalls[1:], recalls[0]) / len(recalls), dtype=np.float64)


def tune_thresholds(labels: Values, scores: Values, groups: Labels) -> dict[Hashable, Threshold]:
    """Return one tuned threshold a group (AggreFact: origin, data set and system category)."""
    return {
        group: tune_threshold(gold, column) for group, (gold, column) in _split(labels, scores, groups).items()
    }  # fmt: skip


def grouped_accuracy(
    labels: Values, scores: Values, groups: Labels, thresholds: dict[Hashable, Threshold]
) -> GroupedAccuracy:
    """Apply each group's threshold to test data and average the balanced accuracies weighted by group size.

    A group without a threshold, or with one class only, has no balanced accuracy and is named with the reason.

    >>> tuned = tune_thresholds([0, 1, 0, 1], [1, 2, 10, 20], ["a", "a", "b", "b"])
    >>> grouped_accuracy([0, 1, 1, 0], [1, 2, 20, 10], ["a", "a", "b", "b"], tuned).value
    1.0
    """
    accuracies: dict[Hashable, float] = {}
    lost: dict[Hashable, str] = {}
    total, weight = 0.0, 0
    for group, (gold, column) in _split(labels, scores, groups).items():
        tuned = thresholds.get(group)
        if tuned is None or tuned.threshold is None:
            lost[group] = "no threshold" if tuned is None else f"no threshold: {tuned.reason}"
            continue
        got = classify(gold, decide(column, tuned.threshold)).balanced_accuracy
        if got.value is None:
            lost[group] = got.reason or ""
            continue
        accuracies[group] = got.value
        total, weight = total + got.value * got.n, weight + got.n
    return GroupedAccuracy(total / weight if weight else None, weight, accuracies, lost)


def bootstrap_deviation(
    labels: Values, scores: Values, threshold: float, resamples: int = 1000, seed: Seed = 0
) -> Spread:
    """Return mean and standard deviation of balanced accuracy over bootstrap draws of the rows.

    The spread is of the draws (divided by their number - 1). Draws with one class only are left out and counted.
    All draws are made at once: a draw of n rows is a multinomial count of the four cells of the confusion table,
    which has the same distribution as drawing the rows.
    """
    gold, column, _ = as_pairs(labels, scores)
    decided = column > threshold
    cells = np.array([(gold == g)[decided == d].sum() for g in (1, 0) for d in (True, False)], dtype=np.float64)
    if not cells.sum():
        return Spread(None, None, 0, seed_number(seed))
    drawn = generator(seed).multinomial(int(cells.sum()), cells / cells.sum(), resamples)
    tp, fn, fp, tn = drawn.T.astype(np.float64)
    whole = (tp + fn > 0) & (tn + fp > 0)
    accuracy = (tp[whole] / (tp + fn)[whole] + tn[whole] / (tn + fp)[whole]) / 2
    if len(accuracy) < 2:
        return Spread(None, None, len(accuracy), seed_number(seed))
    return Spread(float(accuracy.mean()), float(accuracy.std(ddof=1)), len(accuracy), seed_number(seed))


def _right_at(gold: Floats, scores: Floats, thresholds: Floats) -> tuple[Ints, int]:
    """Return the balanced accuracy of deciding 1 above each threshold as whole numbers over a common denominator.

    (TP / P + TN / N) / 2 = (TP N + TN P) / (2 P N): equal accuracies then compare equal, whatever the rounding.
    """
    positives, negatives = np.sort(scores[gold == 1]), np.sort(scores[gold == 0])
    p, n = len(positives), len(negatives)
    hits = p - np.searchsorted(positives, thresholds, side="right").astype(np.int64)
    rejected = np.searchsorted(negatives, thresholds, side="right").astype(np.int64)
    return hits * n + rejected * p, 2 * p * n


def _split(labels: Values, scores: Values, groups: Labels) -> dict[Hashable, tuple[Floats, Floats]]:
    (gold, column), kept = complete(labels, scores)
    if len(groups) != len(kept):
        raise ValueError(f"{len(groups)} group labels for {len(kept)} rows")
    rows: dict[Hashable, list[int]] = {}
    present = [group for group, keep in zip(groups, kept, strict=True) if keep]
    for row, group in enumerate(present):
        rows.setdefault(group, []).append(row)
    return {group: (gold[picked], column[picked]) for group, picked in rows.items()}
