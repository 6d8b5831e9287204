"""Do probabilities mean what they say? Expected calibration error, Brier score and the bins of a reliability plot."""

from typing import NamedTuple

import numpy as np

from .base import ALL_MISSING, EMPTY, Floats, Statistic, Values, as_pairs, undefined


class Bin(NamedTuple):
    """One bin of a reliability plot: its edges, the mean probability, the share of positives and the count.

    ``mean`` and ``share`` are None in an empty bin.
    """

    low: float
    high: float
    mean: float | None
    share: float | None
    n: int


def brier(labels: Values, probabilities: Values) -> Statistic:
    """Return the Brier score, the mean squared distance of probability and label (0 is best, Brier, 1950).

    >>> round(brier([1, 0], [0.8, 0.4]).value, 12)
    0.1
    """
    gold, given, missing = _checked(labels, probabilities)
    if len(gold) == 0:
        return undefined("brier", ALL_MISSING if missing else EMPTY, 0, missing)
    return Statistic("brier", float(((given - gold) ** 2).mean()), len(gold), missing)


def reliability_bins(labels: Values, probabilities: Values, bins: int = 10) -> list[Bin]:
    """Return ``bins`` bins of equal width over [0, 1]; a probability on an inner edge belongs to the upper bin.

    >>> reliability_bins([1, 0, 1], [0.9, 0.1, 0.7], bins=2)[1].n
    2
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    gold, given, _ = _checked(labels, probabilities)
    edges = np.arange(bins + 1) / bins
    place = np.clip(np.searchsorted(edges, given, side="right") - 1, 0, bins - 1)
    found: list[Bin] = []
    for k in range(bins):
        inside = place == k
        n = int(inside.sum())
        mean = float(given[inside].mean()) if n else None
        share = float(gold[inside].mean()) if n else None
        found.append(Bin(float(edges[k]), float(edges[k + 1]), mean, share, n))
    return found


def expected_calibration_error(labels: Values, probabilities: Values, bins: int = 10) -> Statistic:
    """Return ECE: over bins of equal width, the mean gap of mean probability and share of positives, weighted by size.

    Naeini et al. (2015), eq. 2.

    >>> round(expected_calibration_error([1, 0], [0.9, 0.1]).value, 12)
    0.1
    """
    gold, _, missing = _checked(labels, probabilities)
    n = len(gold)
    if n == 0:
        return undefined("ece", ALL_MISSING if missing else EMPTY, 0, missing)
    gaps = [
        abs(b.mean - b.share) * b.n
        for b in reliability_bins(labels, probabilities, bins)
        if b.mean is not None and b.share is not None
    ]
    return Statistic("ece", sum(gaps) / n, n, missing)


def _checked(labels: Values, probabilities: Values) -> tuple[Floats, Floats, int]:
    gold, given, missing = as_pairs(labels, probabilities)
    if not np.isin(gold, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    if ((given < 0) | (given > 1)).any():
        raise ValueError("probabilities must lie between 0 and 1")
    return gold, given, missing
