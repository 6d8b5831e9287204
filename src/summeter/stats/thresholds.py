"""Thresholds that turn scores into decisions, tuned on development data.

By default, thresholds are tuned by the percentile protocol of AggreFact. Candidates are the percentiles 0, 0.2, ...,
99.8 of the development scores; the last candidate with the best balanced accuracy is chosen, and a score *above* the
threshold gives the decision 1 (Laban et al., 2022; their code is also used by Tang et al., 2023, and by FENICE's
``aggrefact.py``). See ``Candidates`` for alternatives.
"""

from enum import StrEnum
from typing import NamedTuple, assert_never

import numpy as np

from .base import Floats, Values, complete
from .classification import NO_NEGATIVES, NO_POSITIVES


class Candidates(StrEnum):
    """Candidate thresholds, and how they are compared.

    The last (highest) of equally good thresholds is chosen.

    ``percentiles``: the percentiles 0, 0.2, ..., 99.8, with balanced accuracies compared as exact fractions; both
    classes are required. ``released``: the same percentiles, computed and compared in floating point as in the released
    code; if the development data have only one class, the recall of that class is maximised, as with scikit-learn's
    balanced accuracy. ``scores``: every observed score, so that no other threshold is better than the best candidate;
    the choice is invariant under increasing transformations.
    """

    PERCENTILES = "percentiles"
    RELEASED = "released"
    SCORES = "scores"


class Threshold(NamedTuple):
    """A tuned threshold and its balanced accuracy on the development data.

    ``reason`` says why there is no threshold. With ``Candidates.RELEASED`` and a single class, the accuracy is the
    recall of that class, and ``reason`` says so.
    """

    threshold: float | None
    balanced_accuracy: float | None
    n: int
    missing: int
    reason: str | None


def tune_threshold(labels: Values, scores: Values, candidates: str = Candidates.PERCENTILES) -> Threshold:
    """Return the best candidate threshold.

    The threshold is undefined if a class is absent, except with ``released``. Raises ValueError if a label is not 0, 1
    or missing.

    >>> got = tune_threshold([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    >>> round(got.threshold, 4), got.balanced_accuracy
    (0.7988, 1.0)
    >>> tune_threshold([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "scores").threshold
    0.2
    """
    how = Candidates(candidates)
    (gold, column), kept = complete(labels, scores)
    if not np.isin(gold, (0.0, 1.0)).all():
        raise ValueError("labels must be 0 or 1 (None for missing)")
    n = len(gold)
    shell = Threshold(None, None, n, len(kept) - n, None)
    if n == 0:
        return shell._replace(reason="no complete pairs")
    absent_class = NO_POSITIVES if not gold.any() else NO_NEGATIVES if gold.all() else None
    if absent_class is not None and how is not Candidates.RELEASED:
        return shell._replace(reason=absent_class)
    match how:
        case Candidates.SCORES:
            tried = np.unique(column)
        case Candidates.PERCENTILES:
            tried = np.percentile(column, np.arange(0, 500) / 5)
        case Candidates.RELEASED:
            # arange(500) / 5 differs in the last bits, which matters if a percentile equals a score.
            tried = np.percentile(column, np.arange(0, 100, 0.2))
        case _:
            assert_never(how)
    positives, negatives = np.sort(column[gold == 1]), np.sort(column[gold == 0])
    hits = len(positives) - np.searchsorted(positives, tried, side="right").astype(np.int64)
    rejected = np.searchsorted(negatives, tried, side="right").astype(np.int64)
    if how is Candidates.RELEASED:
        # The mean recall of the classes that are present, rounded as in scikit-learn.
        recalls = [part / len(of) for part, of in ((rejected, negatives), (hits, positives)) if len(of)]
        values: Floats = np.asarray(sum(recalls[1:], recalls[0]) / len(recalls))
        whole = 1
    else:
        # (TP / P + TN / N) / 2 = (TP N + TN P) / (2 P N), in integers, so that equal accuracies compare equal.
        values = (hits * len(negatives) + rejected * len(positives)).astype(np.float64)
        whole = 2 * len(positives) * len(negatives)
    best = len(values) - 1 - int(np.argmax(values[::-1]))
    note = f"{absent_class}: its recall" if absent_class else None
    return shell._replace(threshold=float(tried[best]), balanced_accuracy=float(values[best] / whole), reason=note)
