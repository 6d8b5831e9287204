"""Pairwise accuracy with tie calibration (Deutsch et al., 2023): ties are predictions too.

People often give two summaries the same score; an evaluator with continuous scores never does, and Kendall's tau
either punishes it for that or looks away. Pairwise accuracy counts a pair as right when evaluator and people agree
on its order *or* on its being a tie; calibration finds the difference below which the evaluator's scores should be
called tied.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .base import Floats, Ints, Labels, Values, as_pairs, codes, complete, split_rows
from .resample import Measurement

_SLACK = 1 + 1e-12


class _Pairs(NamedTuple):
    """All pairs within groups: sign of the gold difference, the score difference, and the pair's weight."""

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
    """Return the share of pairs that scores order or tie as gold does (Deutsch et al., 2023, eq. 3, acc_eq).

    A pair is tied by the scores when they differ by at most ``epsilon``; gold ties are exact. With ``groups``
    (documents) only rows of the same group are paired; ``average`` is ``pooled`` (each pair weighs the same) or
    ``group`` (mean over the groups of their accuracies, as in WMT's "group by item").

    ``details`` of the result: ``epsilon``; ``pairs``, their number over all ``groups``; ``groups_too_small``, how
    many groups have fewer than two complete rows.

    Gold 1, 1, 2 and scores .1, .2, .3: the tie is missed, both orders are right, 2/3; with epsilon .1 the tie is
    found and (.2, .3) lost.

    >>> round(pairwise_accuracy([1, 1, 2], [.1, .2, .3]).value, 4)
    0.6667
    """
    if epsilon < 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    return _measured(gold, scores, groups, average, lambda _: epsilon)


def calibrate_ties(gold: Values, scores: Values, groups: Labels | None = None, average: str = "pooled") -> Measurement:
    """Return pairwise accuracy at the epsilon that makes it highest on these very pairs (Deutsch et al., 2023).

    Every observed difference (and 0) is tried in one sorted pass, O(P log P) for P pairs; of equally good ones the
    smallest is kept. Use ``pairwise_accuracy`` with the found epsilon on other data for a held-out figure.

    >>> got = calibrate_ties([1, 1, 5, 5], [1.0, 1.5, 4.0, 4.25])
    >>> got.value, got.details["epsilon"]
    (1.0, 0.5)
    """
    return _measured(gold, scores, groups, average, _best_epsilon)


def _measured(
    gold: Values, scores: Values, groups: Labels | None, average: str, choose: Callable[[_Pairs], float]
) -> Measurement:
    if average not in ("pooled", "group"):
        raise ValueError(f"average must be 'pooled' or 'group', got {average!r}")
    left, right, missing = as_pairs(gold, scores)
    _, kept = complete(gold, scores)
    every = np.zeros(len(kept), np.int64) if groups is None else codes(groups)
    if len(every) != len(kept):
        raise ValueError(f"{len(every)} group labels for {len(kept)} rows")
    pairs, used = _all_pairs(left, right, every[kept], by_group=average == "group")
    total = len(np.unique(every))
    details = {"epsilon": 0.0, "pairs": len(pairs.gold), "groups": used, "groups_too_small": total - used}
    if not len(pairs.gold):
        return Measurement(None, len(left), missing, reason="no group has 2 complete rows", details=details)
    epsilon = choose(pairs)
    # _SLACK lets a difference equal to epsilon in exact arithmetic count as tied whatever its rounding.
    called = np.where(np.abs(pairs.score) <= epsilon * _SLACK, 0.0, np.sign(pairs.score))
    value = float(pairs.weight[called == pairs.gold].sum() / pairs.weight.sum())
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
    """Sweep epsilon upwards: a pair that becomes tied wins if gold ties it, and loses if its order was right."""
    size = np.abs(pairs.score)
    order = np.argsort(size, kind="stable")
    size, gold, sign = size[order], pairs.gold[order], np.sign(pairs.score)[order]
    gain = pairs.weight[order] * ((gold == 0).astype(np.float64) - (gold == sign))
    # Pairs with equal scores are tied at any epsilon: changing their call gains nothing.
    gain[size == 0] = 0.0
    reached = np.cumsum(gain)
    last = np.append(size[1:] > size[:-1] * _SLACK, True)
    ends, totals = size[last], reached[last]
    best = int(np.argmax(np.round(totals, 9)))
    return float(ends[best]) if totals[best] > 1e-9 else 0.0
