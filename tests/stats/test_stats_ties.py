"""Pairwise accuracy and tie calibration, by hand and compared with trying every epsilon."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import pairwise_accuracy

rows = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 8).map(lambda x: x / 4), st.integers(0, 2)),
    min_size=2,
    max_size=14,
)


def plain(gold: list[float], scores: list[float], groups: list[int], epsilon: float, average: str) -> float | None:
    shares = []
    for group in dict.fromkeys(groups):
        inside = [i for i, g in enumerate(groups) if g == group]
        right = []
        for i, j in combinations(inside, 2):
            called = 0 if abs(scores[i] - scores[j]) <= epsilon else np.sign(scores[i] - scores[j])
            right.append(called == np.sign(gold[i] - gold[j]))
        if right:
            shares.append(right)
    if not shares:
        return None
    return float(np.mean([np.mean(r) for r in shares] if average == "group" else [r for s in shares for r in s]))


def test_by_hand() -> None:
    # Gold 1 1 2 3: one tie and five orders. Scores .5 .6 .4 .9: the tie is missed, (1,3) and (2,3) are
    # reversed, the three orders against the last are right: 3 of 6.
    assert pairwise_accuracy([1, 1, 2, 3], [0.5, 0.6, 0.4, 0.9]).value == 0.5
    # With epsilon .1 the tie is found, and (1, 3), .1 apart, becomes a wrong tie instead of a wrong order.
    assert pairwise_accuracy([1, 1, 2, 3], [0.5, 0.6, 0.4, 0.9], epsilon=0.1).value == pytest.approx(4 / 6)


def test_calibration_by_hand() -> None:
    # Gold ties the first two and the last two; differences .5 and .25 separate from 2.5 and more.
    got = pairwise_accuracy([1, 1, 5, 5], [1.0, 1.5, 4.0, 4.25], epsilon=None)
    assert (got.value, got.details["epsilon"], got.details["pairs"]) == (1.0, 0.5, 6)
    # Without ties in gold no epsilon helps.
    assert pairwise_accuracy([1, 2, 3], [0.1, 0.5, 0.6], epsilon=None).details["epsilon"] == 0.0


@given(rows, st.sampled_from(["pooled", "group"]), st.sampled_from([0.0, 0.25, 0.5]))
@settings(max_examples=100, deadline=None)
def test_accuracy_equals_the_plain_count(rows: list[tuple[int, float, int]], average: str, epsilon: float) -> None:
    gold, scores, groups = (list(column) for column in zip(*rows, strict=True))
    got = pairwise_accuracy(gold, scores, groups, epsilon, average)
    want = plain(gold, scores, groups, epsilon, average)
    assert (got.value is None) == (want is None)
    if want is not None:
        assert got.value == pytest.approx(want)


@given(rows, st.sampled_from(["pooled", "group"]))
@settings(max_examples=100, deadline=None)
def test_calibration_finds_the_best_epsilon(rows: list[tuple[int, float, int]], average: str) -> None:
    gold, scores, groups = (list(column) for column in zip(*rows, strict=True))
    got = pairwise_accuracy(gold, scores, groups, None, average)
    tried = {e: plain(gold, scores, groups, e, average) for e in np.arange(0, 2.25, 0.25)}
    if got.value is None:
        assert tried[0.0] is None
        return
    best = max(tried.values())
    assert got.value == pytest.approx(best)
    # The smallest of equally good values.
    assert got.details["epsilon"] == min(e for e, value in tried.items() if value == pytest.approx(best, abs=1e-12))


def test_missing_groups_and_reasons() -> None:
    got = pairwise_accuracy([1, 2, None, 3], [1, 2, 3, 4], ["a", "a", "b", "b"])
    assert (got.value, got.n, got.missing) == (1.0, 3, 1)
    assert (got.details["groups"], got.details["groups_too_small"]) == (1, 1)
    assert pairwise_accuracy([1], [1]).value is None
    assert pairwise_accuracy([], []).value is None
    assert pairwise_accuracy([1, 2], [1, 2], ["a", "b"], epsilon=None).reason == "no group has 2 complete rows"
    with pytest.raises(ValueError, match="epsilon"):
        pairwise_accuracy([1], [1], epsilon=-1)
    with pytest.raises(ValueError, match="average"):
        pairwise_accuracy([1], [1], average="system")
    with pytest.raises(ValueError, match="group labels"):
        pairwise_accuracy([1, 2], [1, 2], ["a"])


def test_rounding_does_not_split_equal_differences() -> None:
    # .3 - .2 and .2 - .1 differ in the last bit; both are a difference of .1.
    assert pairwise_accuracy([1, 1, 1], [0.1, 0.2, 0.3], epsilon=0.1).value == pytest.approx(2 / 3)
