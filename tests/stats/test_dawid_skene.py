"""Dawid-Skene: a hand-worked example, and equality with crowd-kit."""

from __future__ import annotations

import numpy as np
import pytest

from summeter.stats.dawid_skene import dawid_skene


def test_one_round_by_hand() -> None:
    # Raters A and C say 1 1 0, and B says 1 0 0. The shares of 1 are 1, 2/3 and 0, and the prior of 1 is 5/9.
    # A and C: P(1|1) = 1 and P(1|0) = (1/3) / (4/3) = 1/4. B: P(0|1) = (2/3) / (5/3) = 2/5 and P(0|0) = 1.
    # Item 2: 5/9 * 1 * 2/5 * 1 = 2/9 for 1, and 4/9 * 1/4 * 1 * 1/4 = 1/36 for 0, which is 8/9 for 1.
    got = dawid_skene([[1, 1, 0], [1, 0, 0], [1, 1, 0]], rounds=1)
    assert got.probabilities[:, 1] == pytest.approx([1, 8 / 9, 0], abs=1e-9)
    assert got.prior == pytest.approx([10 / 27, 17 / 27])
    # With the new probabilities, A says 1 to 1/9 of an item of class 0, out of 1 + 1/9.
    assert got.errors[0] == pytest.approx(np.array([[0.9, 0], [0.1, 1]]), abs=1e-9)


def test_lone_constant_and_opposed_raters() -> None:
    assert dawid_skene([[1, None, 0]]).probabilities[[0, 2], 1] == pytest.approx([1, 0], abs=1e-9)
    assert np.isnan(dawid_skene([[1, None, 0]]).probabilities[1]).all()
    assert dawid_skene([[0, 1], [1, 0]]).probabilities == pytest.approx(np.full((2, 2), 0.5))
    pair = [[1, 1, 0, 0, 1], [1, 1, 0, 0, 0], [1, 0, 0, 0, 1]]
    with_constant = dawid_skene([*pair, [1] * 5]).probabilities
    assert with_constant.argmax(axis=1).tolist() == dawid_skene(pair).probabilities.argmax(axis=1).tolist()
    assert dawid_skene([[1, 1], [1, None]]).classes.tolist() == [1]
    with pytest.raises(ValueError, match="no votes"):
        dawid_skene([[None, None]])


@pytest.mark.filterwarnings("ignore")  # of crowd-kit, about pandas
@pytest.mark.parametrize("seed", range(12))
def test_equals_crowd_kit(seed: int) -> None:
    aggregation = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    classes, items, raters = rng.integers(2, 5), rng.integers(2, 60), rng.integers(1, 6)
    truth = rng.integers(0, classes, items)
    votes = np.where(rng.random((raters, items)) < 0.6, truth, rng.integers(0, classes, (raters, items))).astype(float)
    votes[rng.random((raters, items)) < 0.3] = np.nan
    rater, item = np.nonzero(~np.isnan(votes))
    frame = pandas.DataFrame({"task": item, "worker": rater, "label": votes[rater, item].astype(int)})
    expected = aggregation.DawidSkene().fit(frame)
    got = dawid_skene(votes)
    assert got.classes.tolist() == sorted(expected.probas_.columns)
    theirs = expected.probas_.sort_index()[got.classes.astype(int)].to_numpy()
    assert got.probabilities[np.unique(item)] == pytest.approx(theirs, abs=1e-9)
    for (worker, said), row in expected.errors_.iterrows():
        ours = got.errors[worker, got.classes.tolist().index(said)]
        assert ours == pytest.approx(row[got.classes.astype(int)].to_numpy(), abs=1e-8)
