"""Pairwise accuracy with tie calibration (Deutsch et al., 2023).

Annotators often give two summaries the same score; an evaluator with continuous scores hardly ever does, and Kendall's
tau either penalises the evaluator for that or ignores ties. Pairwise accuracy counts a pair as correct if the evaluator
and the annotators agree on the order *or* agree that there is a tie. Calibration finds the difference below which two
scores of the evaluator are treated as tied.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .base import Floats, Ints, Labels, Values, as_pairs, codes, complete, split_rows
from .resample import Measurement

_SLACK = 1 + 1e-12


class _Pairs(NamedTuple):
    """All pairs within groups.

    Each pair has the sign of the gold difference, the difference of the scores, and a weight.
    """

    gold: Floats
    score: Floats
    weight: Floats


def pairwise_accuracy(
    gold: Values,
    scores: Values,
    groups: Labels | None = None,
    epsilon: float = 0.0,
    average: str = "pooled",
) -> Measurement:
    """Return the share of pairs that the scores order or tie as the gold does.

    This is acc_eq of Deutsch et al. (2023, eq. 3).

    Two scores are tied if they differ by at most ``epsilon``; gold ties are exact. With ``groups`` (documents) only
    rows of the same group are paired; ``average`` is ``pooled`` (every pair has the same weight) or ``group`` (the mean
    of the groups' accuracies, as in WMT's "group by item").

    The ``details`` of the result are ``epsilon``; ``pairs``, the number of pairs in all ``groups``; and
    ``groups_too_small``, the number of groups with fewer than two complete rows. Raises ValueError if ``epsilon`` is
    negative or ``average`` is unknown.

    In the example, the tie is missed and both orders are right, so the accuracy is 2/3. With an epsilon of .1 the tie
    is found, but the order of (.2, .3) is lost.

    >>> round(pairwise_accuracy([1, 1, 2], [.1, .2, .3]).value, 4)
    0.6667
    """
    if epsilon < 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    return _accuracy(gold, scores, groups, average, lambda _: epsilon)


def calibrate_ties(gold: Values, scores: Values, groups: Labels | None = None, average: str = "pooled") -> Measurement:
    """Return pairwise accuracy with the best epsilon for the same pairs (Deutsch et al., 2023).

    All observed differences, and 0, are tried in one sorted pass, which takes O(P log P) for P pairs. The smallest of
    equally good values is chosen. To evaluate on other data, pass this epsilon to ``pairwise_accuracy``.

    >>> got = calibrate_ties([1, 1, 5, 5], [1.0, 1.5, 4.0, 4.25])
    >>> got.value, got.details["epsilon"]
    (1.0, 0.5)
    """
    return _accuracy(gold, scores, groups, average, _best_epsilon)


def _accuracy(
    gold: Values, scores: Values, groups: Labels | None, average: str, choose: Callable[[_Pairs], float]
) -> Measurement:
    if average not in ("pooled", "group"):
        raise ValueError(f"average must be 'pooled' or 'group', got {average!r}")
    left, right, missing = as_pairs(gold, scores)
    _, kept = complete(gold, scores)
    all_groups = np.zeros(len(kept), np.int64) if groups is None else codes(groups)
    if len(all_groups) != len(kept):
        raise ValueError(f"{len(all_groups)} group labels for {len(kept)} rows")
    pairs, used = _all_pairs(left, right, all_groups[kept], by_group=average == "group")
    total = len(np.unique(all_groups))
    details = {"epsilon": 0.0, "pairs": len(pairs.gold), "groups": used, "groups_too_small": total - used}
    if not len(pairs.gold):
        return Measurement(None, len(left), missing, reason="no group has 2 complete rows", details=details)
    epsilon = choose(pairs)
    # _SLACK makes a difference that equals epsilon in exact arithmetic count as tied despite rounding.
    predicted = np.where(np.abs(pairs.score) <= epsilon * _SLACK, 0.0, np.sign(pairs.score))
    value = float(pairs.weight[predicted == pairs.gold].sum() / pairs.weight.sum())
    return Measurement(value, len(left), missing, details={**details, "epsilon": epsilon})


def _all_pairs(gold: Floats, scores: Floats, labels: Ints, *, by_group: bool) -> tuple[_Pairs, int]:
    parts: list[_Pairs] = []
    for _, rows in split_rows(labels):
        if len(rows) < 2:
            continue
        i, j = np.triu_indices(len(rows), 1)
        gap = scores[rows[i]] - scores[rows[j]]
        weight = np.full(len(gap), 1 / len(gap) if by_group else 1.0)
        parts.append(_Pairs(np.sign(gold[rows[i]] - gold[rows[j]]), gap, weight))
    if not parts:
        empty = np.empty(0)
        return _Pairs(empty, empty, empty), 0
    return _Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True))), len(parts)


def _best_epsilon(pairs: _Pairs) -> float:
    """Return the smallest epsilon with the highest accuracy.

    Epsilon is increased step by step: a newly tied pair is a gain if it is tied in the gold, and a loss if its order
    was right.
    """
    size = np.abs(pairs.score)
    order = np.argsort(size, kind="stable")
    size, gold, sign = size[order], pairs.gold[order], np.sign(pairs.score)[order]
    gain = pairs.weight[order] * ((gold == 0).astype(np.float64) - (gold == sign))
    # Pairs with equal scores are tied at any epsilon.
    gain[size == 0] = 0.0
    reached = np.cumsum(gain)
    last = np.append(size[1:] > size[:-1] * _SLACK, True)
    ends, totals = size[last], reached[last]
    best = int(np.argmax(np.round(totals, 9)))
    return float(ends[best]) if totals[best] > 1e-9 else 0.0
