"""Paired permutation tests: exact by hand, identical to a plain loop, and valid under the null."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import PairDifference, paired_differences, permuted_differences, sign_flips
from summeter.stats.base import Values


def compared(a: Values, b: Values, permutations: int = 10_000, seed: int = 0) -> PairDifference:
    ((pair,),) = paired_differences([{"a": a, "b": b}], permutations=permutations, seed=seed)
    return pair


def test_exact_by_hand() -> None:
    # Differences 1, 2: flips give sums 3, 1, -1, -3; two of four reach 3.
    got = compared([2, 4], [1, 2])
    assert (got.difference, got.p, got.method) == (1.5, 0.5, "paired permutation, exact, 4 flips")


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
@settings(max_examples=50, deadline=None)
def test_exact_equals_the_full_enumeration(differences: list[int]) -> None:
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
            for signs in product((1, -1), repeat=len(differences))]  # fmt: skip
    want = sum(total >= abs(sum(differences)) for total in sums) / len(sums)
    assert compared(differences, [0] * len(differences)).p == want


def test_exact_equals_scipy() -> None:
    a, b = [3.1, 2.2, 5.5, 4.1, 2.0, 3.3], [2.9, 2.4, 4.1, 3.9, 2.1, 2.2]
    want = scipy.stats.permutation_test(
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=10_000
    )
    got = compared(a, b)
    assert got.difference == pytest.approx(want.statistic, abs=1e-12)
    assert got.p == pytest.approx(want.pvalue, abs=1e-12)


def test_identical_to_the_plain_loop_for_identical_flips() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 6, 40) / 3, rng.integers(1, 6, 40) / 3
    got = compared(a, b, 2000, 5)
    flips = sign_flips(40, 2000, 5)
    assert not flips.exact
    observed = abs(np.mean(a - b))
    count = sum(abs(np.mean(row * (a - b))) >= observed - 1e-12 for row in np.concatenate(list(flips.blocks)))
    assert got.p == (count + 1) / 2001


def test_sampled_equals_scipy_within_monte_carlo_error() -> None:
    rng = np.random.default_rng(8)
    a = rng.normal(size=60)
    b = a + rng.normal(0.15, 0.7, size=60)
    want = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=9999,
        vectorized=True, rng=1,
    ).pvalue  # fmt: skip
    got = compared(a, b).p
    # Both are proportions of about 10,000 draws: four standard deviations of their difference.
    assert got == pytest.approx(want, abs=4 * np.sqrt(2 * want * (1 - want) / 10_000))


def test_clusters_flip_together() -> None:
    # Two documents whose differences sum to 2 and 1: sums 3, 1, -1, -3, so p = 1/2, not 1/4 as by rows.
    assert compared([2, 1], [0, 0]).p == 0.5
    assert compared([1, 1, 1], [0, 0, 0]).p == 0.25


def test_rounding_does_not_hide_equal_flips() -> None:
    # .1 + .2 - .3 is not 0 in floating point; flips that equal the observed sum exactly must still count.
    assert compared([0.1, 0.2, 0.3], [0, 0, 0.6]).p == 1.0


def test_many_tests_equal_single_tests() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(1, 6, (4, 30)).astype(float)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    (tests,) = paired_differences([dict(zip("abcd", scores, strict=True))], permutations=2000, seed=9)
    assert len(tests) == 6
    flips = np.concatenate(list(sign_flips(30, 2000, 9).blocks))
    for test in tests:
        a, b = scores["abcd".index(test.first)], scores["abcd".index(test.second)]
        gaps = np.nan_to_num(a - b)
        count = sum(abs(row @ gaps) >= abs(gaps.sum()) - 1e-9 for row in flips)
        assert test.p == (count + 1) / 2001
        kept = ~np.isnan(a - b)
        assert (test.n, test.missing) == (kept.sum(), 30 - kept.sum())
        assert test.difference == pytest.approx((a - b)[kept].mean())


def test_p_is_uniform_under_the_null() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.normal(size=(2, 40, 500))
    pairs = permuted_differences([("a", "b")] * 500, one - two, 0.05, 1, 400, 2)
    p = np.array([pair.p for pair in pairs])
    # 500 p-values; the share at or below .05 has a standard deviation of 1 point.
    assert 0.02 <= np.mean(p <= 0.05) <= 0.08
