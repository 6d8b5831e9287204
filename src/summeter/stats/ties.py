"""Pairwise accuracy with tie calibration (Deutsch et al., 2023).

Annotators often give two summaries the same score; an evaluator with continuous scores hardly ever does, and Kendall's
tau either penalises the evaluator for that or ignores ties. Pairwise accuracy counts a pair as correct if the evaluator
and the annotators agree on the order *or* agree that there is a tie. Calibration finds the difference below which two
scores of the evaluator are treated as tied.
"""

import numpy as np

from .base import Floats, Labels, Values, codes, complete, split_rows
from .resample import Measurement

_SLACK = 1 + 1e-12


def pairwise_accuracy(
    gold: Values,
    scores: Values,
    groups: Labels | None = None,
    epsilon: float | None = 0.0,
    average: str = "pooled",
) -> Measurement:
    """Return the share of pairs that the scores order or tie as the gold does.

    This is acc_eq of Deutsch et al. (2023, eq. 3).

    Two scores are tied if they differ by at most ``epsilon``; gold ties are exact. If ``epsilon`` is None, it is
    calibrated: of 0 and all observed differences, the smallest of those with the highest accuracy is chosen, in
    O(P log P) for P pairs. To evaluate on other data, pass this epsilon. With ``groups`` (documents) only
    rows of the same group are paired; ``average`` is ``pooled`` (every pair has the same weight) or ``group`` (the mean
    of the groups' accuracies, as in WMT's "group by item").

    The ``details`` of the result are ``epsilon``; ``pairs``, the number of pairs in all ``groups``; and
    ``groups_too_small``, the number of groups with fewer than two complete rows. Raises ValueError if ``epsilon`` is
    negative or ``average`` is unknown.

    In the example, the tie is missed and both orders are right, so the accuracy is 2/3. With an epsilon of .1 the tie
    is found, but the order of (.2, .3) is lost.

    >>> round(pairwise_accuracy([1, 1, 2], [.1, .2, .3]).value, 4)
    0.6667
    >>> got = pairwise_accuracy([1, 1, 5, 5], [1.0, 1.5, 4.0, 4.25], epsilon=None)
    >>> got.value, got.details["epsilon"]
    (1.0, 0.5)
    """
    if epsilon is not None and epsilon < 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    if average not in ("pooled", "group"):
        raise ValueError(f"average must be 'pooled' or 'group', got {average!r}")
    (left, right), kept = complete(gold, scores)
    labels = np.zeros(len(kept), np.int64) if groups is None else codes(groups)
    if len(labels) != len(kept):
        raise ValueError(f"{len(labels)} group labels for {len(kept)} rows")
    # The sign of the gold difference, the difference of the scores, and the weight of each pair in each group.
    parts: list[tuple[Floats, Floats, Floats]] = []
    for _, rows in split_rows(labels[kept]):
        if len(rows) > 1:
            i, j = np.triu_indices(len(rows), 1)
            weight = np.full(len(i), 1 / len(i) if average == "group" else 1.0)
            parts.append((np.sign(left[rows[i]] - left[rows[j]]), right[rows[i]] - right[rows[j]], weight))
    n, missing = len(left), int((~kept).sum())
    too_small = len(np.unique(labels)) - len(parts)
    details = {"epsilon": 0.0, "pairs": 0, "groups": len(parts), "groups_too_small": too_small}
    if not parts:
        return Measurement(None, n, missing, reason="no group has 2 complete rows", details=details)
    sign, gap, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    if epsilon is None:
        epsilon = _best_epsilon(sign, gap, weight)
    # _SLACK makes a difference that equals epsilon in exact arithmetic count as tied despite rounding.
    predicted = np.where(np.abs(gap) <= epsilon * _SLACK, 0.0, np.sign(gap))
    value = float(weight[predicted == sign].sum() / weight.sum())
    return Measurement(value, n, missing, details={**details, "epsilon": epsilon, "pairs": len(sign)})


def _best_epsilon(sign: Floats, gap: Floats, weight: Floats) -> float:
    """Return the smallest epsilon with the highest accuracy.

    Epsilon is increased step by step: a newly tied pair is a gain if it is tied in the gold, and a loss if its order
    was right.
    """
    size = np.abs(gap)
    order = np.argsort(size, kind="stable")
    size, gold, predicted = size[order], sign[order], np.sign(gap)[order]
    gain = weight[order] * ((gold == 0).astype(np.float64) - (gold == predicted))
    # Pairs with equal scores are tied at any epsilon.
    gain[size == 0] = 0.0
    reached = np.cumsum(gain)
    last = np.append(size[1:] > size[:-1] * _SLACK, True)
    ends, totals = size[last], reached[last]
    best = int(np.argmax(np.round(totals, 9)))
    return float(ends[best]) if totals[best] > 1e-9 else 0.0
