"""The share of good items, corrected for the errors of the judge that counted them (Rogan & Gladen, 1978)."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from .base import Estimate, Floats, Labels, codes, undefined

METHOD = "adjusted for both samples (Lee et al., 2025)"


def rogan_gladen(
    rate: float,
    n: float,
    sensitivity: float,
    positives: float,
    specificity: float,
    negatives: float,
    level: float = 0.95,
) -> Estimate:
    """Return the true share of 1 among items of which a judge labels the share ``rate`` as 1.

    The judge labelled ``n`` items. Its sensitivity was measured on other items, ``positives`` with the true label 1,
    and its specificity on ``negatives`` with the true label 0; both must hold for the ``n`` items too. The value is
    (rate + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1]. The interval allows for the error of
    both samples. It is that of Lee et al. (2025, arXiv 2511.21140), who add z^2 / 2 successes and failures to the rate
    and one of each to the sensitivity and specificity. Sample sizes can be effective sizes (see `effective_size`). The
    estimate is undefined if the judge does not tell the labels apart.

    (0.7 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.714

    >>> got = rogan_gladen(0.7, 200, 0.9, 50, 0.8, 50)
    >>> round(got.value, 3), round(got.low, 5), round(got.high, 5)
    (0.714, 0.58422, 0.86393)
    """
    size = round(n)
    if not positives or not negatives:
        return undefined(f"no labelled item is {'0' if positives else '1'}", size)
    z = NormalDist().inv_cdf((1 + level) / 2)
    p, m = (n * rate + z**2 / 2) / (n + z**2), n + z**2
    (q1, m1), (q0, m0) = (
        ((count * share + 1) / (count + 2), count + 2)
        for share, count in ((sensitivity, positives), (specificity, negatives))
    )
    if sensitivity + specificity <= 1 or q1 + q0 <= 1:
        return undefined("the judge does not tell 1 from 0 better than chance", size)
    value, theta = (
        min(1.0, max(0.0, (share + no - 1) / (yes + no - 1)))
        for share, yes, no in ((rate, sensitivity, specificity), (p, q1, q0))
    )
    shift = 2 * z**2 * (theta * q1 * (1 - q1) / m1 - (1 - theta) * q0 * (1 - q0) / m0)
    variance = p * (1 - p) / m + (1 - theta) ** 2 * q0 * (1 - q0) / m0 + theta**2 * q1 * (1 - q1) / m1
    error = math.sqrt(variance) / (q1 + q0 - 1)
    low, high = (min(1.0, max(0.0, theta + shift + side * z * error)) for side in (-1, 1))
    got = Estimate(value, size, low=low, high=high, method=f"{100 * level:g}% interval, {METHOD}")
    return got if low <= value <= high else replace(got, low=min(low, value), high=max(high, value))


def effective_size(labels: Floats, clusters: Labels) -> float:
    """Return the number of independent items that determine the share of 1 as precisely as clustered items.

    It is at most the number of items, and equals it if each item is a cluster. If all labels are equal, so that their
    correlation within clusters is unknown, it is the number of clusters.

    >>> clusters = ["a", "a", "b", "b"]
    >>> effective_size(np.array([1.0, 1.0, 0.0, 0.0]), clusters), effective_size(np.ones(4), clusters)
    (1.0, 2.0)
    """
    n, unit = len(labels), codes(clusters)
    size = int(unit.max(initial=-1)) + 1
    share = float(labels.mean()) if n else 0.0
    if size < 2 or size == n or share in {0.0, 1.0}:
        return float(size)
    pulls = np.bincount(unit, labels - share) / n
    variance = float((pulls**2).sum()) * size / (size - 1)
    return min(float(n), share * (1 - share) / variance)
