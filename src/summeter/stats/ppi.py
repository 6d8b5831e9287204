"""Prediction-powered inference: means from many machine judgments and few human labels.

The mean of the machine judgments over all items is inexpensive but biased; the bias is estimated on a human-labelled
sample and subtracted, which gives a valid confidence interval (Angelopoulos et al., 2023, Science 382). PPI++ weights
the machine by how well it predicts the human labels, so that the interval is never much wider than that from the human
labels alone (Angelopoulos, Duchi & Zrnic, 2023). The human labels must be a *random* sample of the items; a sample
chosen by the machine's score would be biased.
"""

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from .base import Estimate, Floats, Ints, Labels, Status, Values, codes, floats, t_quantile, undefined

NO_SPREAD = "all labels are equal: no interval"
TOO_FEW_LABELS = "fewer than 2 labelled clusters: no interval"


class PpiMean(NamedTuple):
    """A mean estimated from human labels and machine judgments, and from the human labels alone.

    ``estimate`` is the prediction-powered mean, with the numbers of rows with both judgments (n), of rows without a
    machine judgment (missing) and of labelled clusters. ``human`` is the mean of the labels alone. ``unlabelled`` is
    the number of rows with a machine judgment only. ``weight`` is the weight of the machine (lambda), and ``bias`` is
    the machine mean minus the human mean on the labelled rows; both are None if there are no labels.
    """

    estimate: Estimate
    human: Estimate
    unlabelled: int
    weight: float | None = None
    bias: float | None = None

    @property
    def narrower(self) -> float | None:
        """Width of the interval divided by that from the labels alone, or None if either is undefined."""
        ends = [self.estimate.low, self.estimate.high, self.human.low, self.human.high]
        low, high, human_low, human_high = (math.nan if end is None else end for end in ends)
        share = (high - low) / (human_high - human_low) if human_high > human_low else math.nan
        return None if math.isnan(share) else share


def ppi_mean(
    human: Values,
    machine: Values,
    clusters: Labels | None = None,
    level: float = 0.95,
    tuned: bool = True,  # noqa: FBT001, FBT002 - reads as ppi_mean(..., tuned=False)
) -> PpiMean:
    """Return the prediction-powered mean of the human judgments over all items, with an interval.

    ``human`` and ``machine`` are aligned. None or NaN in ``human`` marks an unlabelled row; in ``machine`` it marks a
    missing judgment, whose row is dropped and counted. The value is w mean(machine, unlabelled) + mean(human - w
    machine, labelled), where w is the weight of the machine. Plain PPI uses w = 1; if ``tuned`` is True, w = cov / ((1
    + n / N) var), clipped to [0, 1] (PPI++, section 6). The standard error is that of two independent means, summed
    within clusters if they are given. The half-width uses Student's t with one degree of freedom fewer than labelled
    clusters, because labels are few. For the difference of two systems, pass the differences per document. Raises
    ValueError if ``level`` is not between 0 and 1 or the lengths differ.

    If the machine values are 2 and 4 on rows with the human labels 1 and 3, and 3 and 5 on the other rows, plain PPI
    gives 4 + (-1) = 3.

    >>> ppi_mean([1, 3, None, None], [2, 4, 3, 5], tuned=False).estimate.value
    3.0
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    people, judged, unit, missing = _judged_rows(human, machine, clusters)
    labelled = ~np.isnan(people)
    n, rest = int(labelled.sum()), int((~labelled).sum())
    units = len(np.unique(unit[labelled]))
    counts: dict[str, Any] = {"n": n, "missing": missing, "clusters": units}
    by = "Student's t by labelled document"
    if n == 0:
        none = undefined("no human label beside a machine judgment", n, missing)
        return PpiMean(none, none, rest)
    weight, spread = 1.0 if rest > 1 else 0.0, float(judged.var(ddof=1)) if rest > 1 else 0.0
    if tuned:
        centred = (side[labelled] - side[labelled].mean() for side in (people, judged))
        covariance = float(np.prod(list(centred), axis=0).mean())
        weight = min(1.0, max(0.0, covariance / ((1 + n / rest) * spread))) if spread > 0 else 0.0
    bias = float((judged - people)[labelled].mean())
    plain = Estimate(float(people[labelled].mean()), **counts, method=f"{level:.0%} mean, {by}")
    corrected = float((people[labelled] - weight * judged[labelled]).mean())
    powered = corrected + (weight * float(judged[~labelled].mean()) if weight else 0.0)
    value = replace(plain, value=powered, method=f"{level:.0%} prediction-powered, {by}")

    def with_interval(estimate: Estimate, error: float) -> Estimate:
        if units < 2:
            return replace(estimate, status=Status.NO_INTERVAL, reason=TOO_FEW_LABELS)
        if error <= 1e-12 * float(np.abs(people[labelled]).max()):
            return replace(estimate, status=Status.NO_INTERVAL, reason=NO_SPREAD)
        middle, step = estimate.value or 0.0, t_quantile(level, units - 1) * error
        return replace(estimate, low=middle - step, high=middle + step)

    combined = with_interval(value, _standard_error(people, judged, unit, weight) if units > 1 else 0.0)
    if combined.low is not None and rest < 2:
        combined = replace(combined, reason="fewer than 2 unlabelled rows: human labels alone")
    alone = with_interval(plain, _standard_error(people, judged, unit, 0.0) if units > 1 else 0.0)
    return PpiMean(combined, alone, rest, weight, bias)


def error_to_find(difference: float, level: float = 0.95, power: float | None = None) -> float:
    """Return the largest standard error with which a true ``difference`` is detected.

    A difference is detected if the normal interval at ``level`` excludes 0, which happens with probability ``power``.
    If ``power`` is None, the half-width of the interval equals the difference. All label plans use this function
    together with the fact that the standard error of a mean decreases with the square root of the number of labels.

    >>> round(error_to_find(0.1), 4), round(error_to_find(0.1, power=0.8), 4)
    (0.051, 0.0357)
    """
    sides = NormalDist().inv_cdf((1 + level) / 2) + (0.0 if power is None else NormalDist().inv_cdf(power))
    return difference / sides


def labels_to_find(labels: int, error: float, target: float) -> int:
    """Return the number of labels that reduces the standard error to ``target``.

    ``error`` is the standard error with ``labels`` labels.

    >>> labels_to_find(50, 0.1, 0.05)
    200
    """
    return max(2, math.ceil(labels * (error / target) ** 2 - 1e-9))


def labels_needed(
    human: Values,
    machine: Values,
    half_width: float,
    level: float = 0.95,
    power: float | None = None,
) -> Estimate:
    """Return how many rows people must label for an interval with the given ``half_width``.

    The plan uses a pilot: the variance and covariance of the rows labelled so far, and the variance of the machine over
    all rows, which are the pool from which rows are labelled. With m of T rows labelled and the best weight, the
    variance is s_y^2 / m - c^2 (T - m) / (m T s_f^2), where s_y^2 is the human variance, s_f^2 that of the machine and
    c the covariance. If ``power`` is given, the number suffices to detect a true difference of ``half_width`` with that
    probability. To compare two systems, pass the differences per document, and the difference to be detected as
    ``half_width``.

    The value is None if labelling all n rows would not suffice. ``details`` holds the number of labels needed without
    the machine (``human_only``, not limited by the pool) and the size of the pool. Raises ValueError if ``half_width``
    is not positive.
    """
    if half_width <= 0:
        raise ValueError(f"half_width must be positive, got {half_width}")
    values, judged, _, _ = _judged_rows(human, machine, None)
    labelled = ~np.isnan(values)
    pool, n = len(values), int(labelled.sum())
    if n < 2:
        return undefined("fewer than 2 labels in the pilot", pool)
    error = error_to_find(half_width, level, power)
    target = error**2
    people, on_labelled = values[labelled], judged[labelled]
    spread, covariance = float(people.var(ddof=1)), float(np.cov(people, on_labelled)[0, 1])
    predicted = float(judged.var(ddof=1))
    m = np.arange(2, pool + 1)
    helps = covariance > 0 and predicted > 0
    # The weight is clipped at 1, as in the estimate; if it is clipped, the variance is that with weight 1.
    weight = np.minimum((pool - m) / pool * covariance / predicted, 1.0) if helps else np.zeros(len(m))
    rest = np.maximum(pool - m, 1)
    variance = weight**2 * predicted / rest + (spread - 2 * weight * covariance + weight**2 * predicted) / m
    enough = np.flatnonzero(variance <= target)
    alone = labels_to_find(n, math.sqrt(spread / n), error)
    details = {"human_only": alone, "pool": pool}
    if not len(enough):
        return replace(undefined(f"not even labelling all {pool} rows reaches it", pool), details=details)
    return Estimate(float(m[enough[0]]), pool, details=details)


def _judged_rows(human: Values, machine: Values, clusters: Labels | None) -> tuple[Floats, Floats, Ints, int]:
    """Return human values, machine values and clusters of the rows with a machine value, and the number of others."""
    people, judged = floats(human), floats(machine)
    if len(people) != len(judged):
        raise ValueError(f"arrays of different lengths: {len(people)}, {len(judged)}")
    labels = np.arange(len(people)) if clusters is None else codes(clusters)
    if len(labels) != len(people):
        raise ValueError(f"{len(labels)} cluster labels for {len(people)} rows")
    kept = ~np.isnan(judged)
    return people[kept], judged[kept], labels[kept], int((~kept).sum())


def _standard_error(people: Floats, judged: Floats, clusters: Ints, weight: float) -> float:
    """Return the cluster-robust standard error over labelled and unlabelled rows.

    If every row is a cluster, it is sqrt(s^2(human - w machine) / n + w^2 s^2(machine) / N), where s^2 is the unbiased
    variance.
    """
    labelled = ~np.isnan(people)
    pulls = np.zeros(int(clusters.max()) + 1)
    for rows, values in ((labelled, people - weight * judged), (~labelled, weight * judged)):
        n, units = int(rows.sum()), len(np.unique(clusters[rows]))
        if units > 1:
            centred = (values[rows] - values[rows].mean()) / n * math.sqrt(units / (units - 1))
            np.add.at(pulls, clusters[rows], centred)
    return math.sqrt(float((pulls**2).sum()))
