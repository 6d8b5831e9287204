"""Williams' test and the permutation test of two correlations with the same gold."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from summeter.stats import Status, correlate, permute_correlations, williams, williams_from_r


def test_williams_by_hand() -> None:
    # r12 .4, r13 .5, r23 .1, n 103: K = 1 - .16 - .25 - .01 + 2 * .4 * .5 * .1 = .62;
    # t = -.1 sqrt(102 * 1.1 / (2 * .62 * 102/100 + .81/4 * .729)) = -.1 sqrt(112.2 / 1.41242...) = -.891,
    # as printed in the documentation of R's psych::r.test: t = -0.89, p < 0.37.
    got = williams_from_r(0.4, 0.5, 0.1, 103)
    t = -0.1 * math.sqrt(112.2 / (2 * 0.62 * 1.02 + 0.2025 * 0.729))
    assert got.details["t"] == pytest.approx(t, abs=1e-12)
    assert round(got.details["t"], 2) == -0.89
    assert got.p == pytest.approx(2 * scipy.stats.t.sf(abs(t), 100), abs=1e-12)
    assert got.value == pytest.approx(-0.1)


def test_williams_from_scores_and_from_correlations() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=50)
    a, b = gold + rng.normal(size=50), gold + 2 * rng.normal(size=50)
    got = williams([*gold, None], [*a, 1], [*b, 1])
    want = williams_from_r(correlate(gold, a).value, correlate(gold, b).value, correlate(a, b).value, 50)
    assert (got.details["t"], got.p, got.n, got.missing) == (want.details["t"], want.p, 50, 1)
    swapped = williams(gold, b, a)
    assert swapped.details["t"] == pytest.approx(-got.details["t"])
    assert swapped.p == pytest.approx(got.p)


def test_williams_undefined_cases() -> None:
    assert williams([1, 2, 3], [1, 2, 3], [1, 3, 2]).reason == "fewer than 4 complete rows"
    assert williams([1, 2, 3, 4], [1, 1, 1, 1], [1, 3, 2, 4]).reason == "constant input"
    same = williams([1, 2, 3, 5], [1, 3, 2, 4], [2, 6, 4, 8])
    assert (same.p, same.status, same.reason) == (
        None, Status.UNDEFINED, "the evaluators are the same up to scale"
    )  # fmt: skip
    with pytest.raises(ValueError, match="at least 4"):
        williams_from_r(0.1, 0.2, 0.3, 3)


SCIPY: dict[str, Any] = {
    "pearson": scipy.stats.pearsonr,
    "spearman": scipy.stats.spearmanr,
    "kendall_b": scipy.stats.kendalltau,
    "kendall_c": lambda x, y: scipy.stats.kendalltau(x, y, variant="c"),
}


@pytest.mark.parametrize("coefficient", list(SCIPY))
def test_permutation_equals_the_plain_loop(coefficient: str) -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(1, 6, 24).astype(float)
    a, b = gold + rng.normal(size=24), gold + 2 * rng.normal(size=24)
    labels = np.arange(24) // 2
    got = permute_correlations(gold, a, b, coefficient, labels, resamples=100, seed=4)
    correlate = SCIPY[coefficient]
    one, two = scipy.stats.zscore(a), scipy.stats.zscore(b)
    observed = correlate(gold, a)[0] - correlate(gold, b)[0]
    swaps = np.random.default_rng(4).integers(0, 2, (100, 12), dtype=np.int8)[:, labels] == 1
    count = 0
    for mask in swaps:
        gap = correlate(gold, np.where(mask, two, one))[0] - correlate(gold, np.where(mask, one, two))[0]
        count += abs(gap) >= abs(observed) - 1e-12
    assert got.value == pytest.approx(observed, abs=1e-12)
    assert got.p == (count + 1) / 101


def test_permutation_power_and_type_1_error() -> None:
    rng = np.random.default_rng(2)
    gold = rng.normal(size=100)
    good, poor = gold + 0.3 * rng.normal(size=100), rng.normal(size=100)
    assert permute_correlations(gold, good, poor).p < 0.01
    assert permute_correlations(gold, good, good).p == 1.0
    false = [
        permute_correlations(g, g + rng.normal(size=30), g + rng.normal(size=30), resamples=200, seed=rng).p
        for g in rng.normal(size=(200, 30))
    ]
    assert np.mean(np.array(false) <= 0.05) <= 0.10
