"""Classification and thresholds, by hand and compared with plain loops and scikit-learn."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import Bootstrap, Candidates, auroc, classify, decide, tune_threshold

decided = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=40)
scored = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6).map(lambda x: x / 6)), min_size=1, max_size=40)


def test_by_hand() -> None:
    # Labels 1 1 1 0 0, decisions 1 0 1 1 0: TP 2, FN 1, FP 1, TN 1.
    got = classify([1, 1, 1, 0, 0, None], [1, 0, 1, 1, 0, 1])
    counts = {"true_positive": 2, "false_positive": 1, "true_negative": 1, "false_negative": 1}
    assert got["f1"].details == counts
    assert got["sensitivity"].value == got["recall"].value == pytest.approx(2 / 3)
    assert got["specificity"].value == pytest.approx(1 / 2)
    assert got["balanced_accuracy"].value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert got["precision"].value == pytest.approx(2 / 3)
    assert got["f1"].value == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert got["accuracy"].value == pytest.approx(3 / 5)
    assert (got["f1"].n, got["f1"].missing) == (5, 1)


@given(decided)
@settings(max_examples=40, deadline=None)
def test_as_in_scikit_learn(rows: list[tuple[int, int]]) -> None:
    labels, said = zip(*rows, strict=True)
    got, m = classify(labels, said), sklearn.metrics
    assert got["accuracy"].value == pytest.approx(m.accuracy_score(labels, said), abs=1e-12)
    if 0 < sum(labels) < len(labels):
        assert got["balanced_accuracy"].value == pytest.approx(m.balanced_accuracy_score(labels, said), abs=1e-12)
    else:
        assert got["balanced_accuracy"].value is None
        assert got["balanced_accuracy"].reason in ("no positive label", "no negative label")
    if sum(said):
        assert got["precision"].value == pytest.approx(m.precision_score(labels, said, zero_division=0), abs=1e-12)
    else:
        assert got["precision"].reason == "no positive prediction"
    if sum(labels):
        assert got["recall"].value == pytest.approx(m.recall_score(labels, said), abs=1e-12)
    if sum(labels) + sum(said):
        assert got["f1"].value == pytest.approx(m.f1_score(labels, said, zero_division=0), abs=1e-12)


@given(scored)
@settings(max_examples=50, deadline=None)
def test_auroc_as_in_scikit_learn(rows: list[tuple[int, float]]) -> None:
    labels, scores = zip(*rows, strict=True)
    got = auroc(labels, scores)
    if 0 < sum(labels) < len(labels):
        assert got.value == pytest.approx(sklearn.metrics.roc_auc_score(labels, scores), abs=1e-9)
    else:
        assert got.value is None


def test_threshold_by_hand() -> None:
    # The last candidate that still separates is the last below .8: percentile 66.6 of (.1, .2, .8, .9) lies at
    # position 1.998, .2 + .998 * .6 = .7988.
    got = tune_threshold([0, 0, 1, 1, None], [0.1, 0.2, 0.8, 0.9, 0.5])
    assert (got.balanced_accuracy, got.n, got.missing) == (1.0, 4, 1)
    assert got.threshold == pytest.approx(0.7988)
    assert tune_threshold([], []).reason == "no complete pairs"
    with pytest.raises(ValueError, match="0 or 1"):
        tune_threshold([2], [1])


POINTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(-40, 40).map(lambda n: n / 16)), min_size=1, max_size=30
)  # fmt: skip
BOTH = POINTS.filter(lambda rows: len({label for label, _ in rows}) == 2)


def columns(rows: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [label for label, _ in rows], [score for _, score in rows]


def accuracy(labels: list[int], said: list[int]) -> float:
    """Return balanced accuracy as in scikit-learn: the mean recall of the present classes."""
    recalls = [
        [s == label for one, s in zip(labels, said, strict=True) if one == label] for label in sorted(set(labels))
    ]
    return float(np.mean([sum(right) / len(right) for right in recalls]))


def plain(labels: list[int], scores: list[float]) -> tuple[float, float]:
    """Return the last best percentile in steps of .2 as threshold; only scores above it are decided 1."""
    best, kept = 0.0, 0.0
    for threshold in np.percentile(scores, np.arange(0, 100, 0.2)).tolist():
        value = accuracy(labels, [int(score > threshold) for score in scores])
        if value >= best:
            best, kept = value, threshold
    return kept, best


@settings(max_examples=25)
@given(POINTS)
def test_released_follows_the_released_code(rows: list[tuple[int, float]]) -> None:
    labels, scores = columns(rows)
    got = tune_threshold(labels, scores, Candidates.RELEASED)
    assert (got.threshold, got.balanced_accuracy) == plain(labels, scores)
    assert (got.reason is None) == (len(set(labels)) == 2)
    # With exact comparison of the accuracies, the last of equally good percentiles is never lower.
    exact = tune_threshold(labels, scores)
    if got.reason is None:
        assert exact.balanced_accuracy == pytest.approx(got.balanced_accuracy, abs=1e-12)
        assert exact.threshold >= got.threshold - 1e-12
    else:
        assert (exact.threshold, exact.reason) == (None, got.reason.removesuffix(": its recall"))


@given(BOTH)
def test_scores_finds_the_highest_best_threshold(rows: list[tuple[int, float]]) -> None:
    labels, scores = columns(rows)
    tries = [t for score in scores for t in (score, math.nextafter(score, -math.inf), math.nextafter(score, math.inf))]
    worth = {t: accuracy(labels, [int(score > t) for score in scores]) for t in tries}
    got = tune_threshold(labels, scores, Candidates.SCORES)
    assert got.threshold in scores
    assert got.balanced_accuracy == pytest.approx(max(worth.values()), abs=1e-12)
    better = [t for t in set(scores) if t > got.threshold]
    assert all(worth[t] < got.balanced_accuracy + 1e-12 for t in better)


@given(BOTH, BOTH, st.sampled_from([lambda x: 3 * x - 7, math.exp, lambda x: x**3 + x, math.atan]))
def test_scores_is_invariant_under_increasing_transformations(
    dev: list[tuple[int, float]], test: list[tuple[int, float]], turn: Callable[[float], float]
) -> None:
    labels, scores = columns(dev)
    plainly = tune_threshold(labels, scores, "scores").threshold
    turned = tune_threshold(labels, [turn(one) for one in scores], "scores").threshold
    assert turned == turn(plainly)
    _, unseen = columns(test)
    assert decide(unseen, plainly).tolist() == decide([turn(one) for one in unseen], turned).tolist()


def test_released_and_scores_by_hand() -> None:
    # Label 0: .1 .4; label 1: .3 .9. Thresholds in [.1, .3) and [.4, .9) give an accuracy of .75. The last percentile
    # below .9 is 99.8, at position .998 * 3 = 2.994 of .1 .3 .4 .9: .4 + .994 * .5 = .897.
    got = tune_threshold([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], "released")
    assert got.threshold == pytest.approx(0.897)
    assert got.balanced_accuracy == 0.75
    assert tune_threshold([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], "scores").threshold == 0.4
    # With one class its recall is maximised: the lowest threshold, which the lowest score is not above.
    single = tune_threshold([1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], "released")
    assert (single.balanced_accuracy, single.reason) == (0.75, "no negative label: its recall")
    assert tune_threshold([1, 1], [0.1, 0.2], "scores").threshold is None
    assert tune_threshold([], [], "released").reason == "no complete pairs"


def test_weights_equal_repeated_rows() -> None:
    rng = np.random.default_rng(3)
    units, n = 9, 60
    unit = rng.integers(0, units, n)
    labels, scores = rng.integers(0, 2, n).astype(float), np.round(rng.random(n), 1)
    scores[:4] = np.nan
    said = decide(scores, 0.5)
    bootstrap = Bootstrap(units, 25, seed=7)
    (weights,) = bootstrap.weights()
    assert (weights.sum(axis=1) == units).all()
    accuracies = [classify(labels, one, unit)["balanced_accuracy"].weighted for one in (said, 1 - said)]
    samples = bootstrap.samples(*accuracies, auroc(labels, scores, unit).weighted)
    for draw, a, other, b in zip(weights.astype(int), *samples, strict=True):
        rows = np.repeat(np.arange(n), draw[unit])
        rows = rows[~np.isnan(scores[rows])]
        assert a == pytest.approx(classify(labels[rows], said[rows])["balanced_accuracy"].value, abs=1e-12)
        assert other == pytest.approx(1 - a, abs=1e-12)
        assert b == pytest.approx(sklearn.metrics.roc_auc_score(labels[rows], scores[rows]), abs=1e-12)


def test_memory_does_not_grow_with_resamples() -> None:
    units, unit = 2000, np.arange(2000)
    labels = (unit % 2).astype(float)
    wanted = classify(labels, labels, unit)["accuracy"].weighted

    def most(resamples: int) -> int:
        tracemalloc.start()
        Bootstrap(units, resamples, seed=np.random.default_rng(0)).samples(wanted)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    # A block is 250 draws; in two bytes each, 3,000 more draws of 2,000 documents would be 12 MB.
    assert most(4000) - most(1000) < 3e6
