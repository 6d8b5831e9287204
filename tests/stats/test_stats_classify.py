"""Classification and thresholds, by hand and compared with scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import (
    Bootstrap,
    auroc,
    classify,
    decide,
    tune_threshold,
)

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


def test_auroc_by_hand() -> None:
    # Positives .4 and .8, negatives .1 and .4: of 4 pairs three are won and one tied.
    assert auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]).value == 3.5 / 4


@given(scored)
@settings(max_examples=50, deadline=None)
def test_auroc_as_in_scikit_learn(rows: list[tuple[int, float]]) -> None:
    labels, scores = zip(*rows, strict=True)
    got = auroc(labels, scores)
    if 0 < sum(labels) < len(labels):
        assert got.value == pytest.approx(sklearn.metrics.roc_auc_score(labels, scores), abs=1e-9)
    else:
        assert got.value is None


def test_intervals_by_cluster() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    said = np.where(rng.random(80) < 0.8, labels, 1 - labels)
    documents = Bootstrap(np.arange(80) // 4, 200)
    for got in (classify(labels, said, documents.codes)["balanced_accuracy"], auroc(labels, said, documents.codes)):
        estimate = got.estimate(documents)
        assert estimate.value == pytest.approx(classify(labels, said)["balanced_accuracy"].value)
        assert estimate.low < estimate.value < estimate.high


@given(scored)
@settings(max_examples=10, deadline=None)
def test_threshold_equals_the_plain_loop(rows: list[tuple[int, float]]) -> None:
    labels, scores = zip(*rows, strict=True)
    got = tune_threshold(labels, scores)
    if not 0 < sum(labels) < len(labels):
        assert got.threshold is None
        assert got.reason in ("no positive label", "no negative label")
        return
    best, kept = -1.0, None
    for step in range(500):
        threshold = float(np.percentile(scores, step / 5))
        accuracy = classify(labels, decide(scores, threshold))["balanced_accuracy"].value
        if accuracy >= best - 1e-12:
            best, kept = max(best, accuracy), threshold
    assert got.balanced_accuracy == pytest.approx(best, abs=1e-12)
    assert got.threshold == pytest.approx(kept, abs=1e-12)


def test_threshold_by_hand() -> None:
    # The last candidate that still separates is the last below .8: percentile 66.6 of (.1, .2, .8, .9) lies at
    # position 1.998, .2 + .998 * .6 = .7988.
    got = tune_threshold([0, 0, 1, 1, None], [0.1, 0.2, 0.8, 0.9, 0.5])
    assert (got.balanced_accuracy, got.n, got.missing) == (1.0, 4, 1)
    assert got.threshold == pytest.approx(0.7988)
    assert tune_threshold([], []).reason == "no complete pairs"
    with pytest.raises(ValueError, match="0 or 1"):
        tune_threshold([2], [1])
