"""Comparison of pairs: p by hand and as in scipy, intervals consistent with p, corrections, and error rates."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import clusters_of_equals, holm, paired_differences, sign_flips, significance
from summeter.stats.base import Floats, Values
from summeter.stats.significance import PairDifference, permuted_differences

cell = st.sampled_from([0.0, 0.25, 0.5, 1.0, None])


def pair(first: Values, second: Values, alpha: float = 0.05) -> PairDifference:
    ((found,),) = paired_differences([{"a": first, "b": second}], alpha)
    return found


def named(table: Floats) -> dict[str, Floats]:
    return {str(number): row for number, row in enumerate(table)}


def test_an_interval_contains_the_differences_that_are_not_rejected() -> None:
    rng = np.random.default_rng(4)
    gaps = np.round(rng.normal(0.3, 1, 9), 2)
    found = pair(list(gaps), [0.0] * 9)
    signs = np.array(list(product([1, -1], repeat=9)))

    def p(difference: float) -> float:
        left = gaps - difference
        return float((np.abs(signs @ left) >= abs(left.sum()) - 1e-9).mean())

    assert found.low is not None
    assert found.high is not None
    for end, inside, outside in ((found.low, 1e-6, -1e-6), (found.high, -1e-6, 1e-6)):
        assert p(end + inside) > 0.05
        assert p(end + outside) <= 0.05


@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=9))
def test_an_interval_excludes_zero_exactly_where_a_difference_is_claimed(rows: list[tuple[float | None, ...]]) -> None:
    (found,) = paired_differences([dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))])
    for one in found:
        if one.low is not None and one.high is not None and one.difference is not None:
            assert one.low <= one.difference <= one.high
            assert one.low <= 0 <= one.high or one.better is not None
            assert not one.low < 0 < one.high or one.better is None
        assert one.better is None or (one.n >= 6 and one.p_holm is not None and one.p_holm <= 0.05)
        assert (one.difference is None) == (one.p is None) == (one.n == 0)
        assert one.low is not None or one.reason is not None


def test_below_six_items_nothing_is_claimed() -> None:
    few = pair([9, 9, 9, 9, 9], [1, 1, 1, 1, 1], alpha=0.2)
    assert (few.p, few.p_holm, few.better) == (2 / 32, 2 / 32, None)
    assert few.low is None or few.low <= 0
    alone = pair([1], [0])
    assert (alone.difference, alone.p, alone.low) == (1.0, 1.0, None)
    assert alone.reason == "1 document: too few for an interval"
    assert pair([None, 1], [1, None]).reason == "all values missing"


def test_permutations_are_raised_for_many_pairs() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((12, 40)) + np.arange(12)[:, None]
    (found,) = paired_differences([named(table)], permutations=20)
    assert all(one.better is not None for one in found)
    # 10 x 66 pairs / .05.
    assert found[0].method == "paired permutation, 13200 flips"
    assert found[0].text is not None
    assert "simultaneous over 66 pairs, 13200 permutations" in found[0].text


def test_matrices_are_one_family() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.random((2, 10)), rng.random((3, 10))
    pairs = paired_differences([named(one), named(two)], permutations=500)
    assert [len(found) for found in pairs] == [1, 3]
    assert {found.family for found in (*pairs[0], *pairs[1])} == {4}


def test_error_rate_and_coverage() -> None:
    """Equal systems have claims in about 5 % of sets; all intervals of a set hold in about 95 %."""
    rng = np.random.default_rng(2)
    claimed = 0
    for _ in range(250):
        ((one,),) = paired_differences([named(rng.normal(size=(2, rng.integers(2, 50))))], permutations=200)
        claimed += one.better is not None
    assert claimed <= 0.08 * 250
    truth, sets, held, wrong = np.r_[np.zeros(4), rng.normal(size=3)], 40, 0, 0
    for _ in range(sets):
        scores = rng.normal(size=(7, 25)) + rng.normal(size=25) + truth[:, None]
        (found,) = paired_differences([named(scores)], permutations=200)
        gaps = [truth[int(one.first)] - truth[int(one.second)] for one in found]
        held += all(
            one.low is not None and one.high is not None and one.low <= gap <= one.high
            for one, gap in zip(found, gaps, strict=True)
        )
        wrong += any(one.better is not None and gap == 0 for one, gap in zip(found, gaps, strict=True))
    assert held >= 0.9 * sets
    assert wrong <= 0.1 * sets


def test_the_normal_limit_agrees_with_sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(1)
    gaps = numbers.normal(0.01, 0.3, (3000, 3))
    gaps[:, 1] -= 0.01
    gaps[:200, 0] = np.nan
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    sampled = permuted_differences(pairs, gaps, 0.05, 3, 20_000, 0)
    monkeypatch.setattr(significance, "_MANY", 2800)
    monkeypatch.setattr(significance, "_SHARE", 5e-3)
    computed = permuted_differences(pairs, gaps, 0.05, 3, 20_000, 0)
    assert {pair.method for pair in computed} == {"paired permutation, normal limit"}
    for one, other in zip(computed, sampled, strict=True):
        assert one.difference == pytest.approx(other.difference)
        assert (one.n, one.missing, one.units, one.family) == (other.n, other.missing, other.units, other.family)
        assert one.p == pytest.approx(other.p, abs=0.01)
        assert one.low == pytest.approx(other.low, abs=6e-4)
        assert one.high == pytest.approx(other.high, abs=6e-4)
    # A pair with too few documents, or with a dominating document, is still sampled.
    gaps[:400, 0] = np.nan
    gaps[7, 2] = 1000
    mixed = permuted_differences(pairs, gaps, 0.05, 3, 20_000, 0)
    assert ["normal" in pair.method for pair in mixed] == [False, True, False]
    monkeypatch.undo()
    unpatched = permuted_differences(pairs, gaps, 0.05, 3, 20_000, 0)
    for one, other in ((mixed[0], unpatched[0]), (mixed[2], unpatched[2])):
        assert (one.p, one.low, one.high) == pytest.approx((other.p, other.low, other.high))
        assert (one.method, one.text, one.n) == (other.method, other.text, other.n)


# ---- permutations


def test_exact_by_hand() -> None:
    # Differences 1, 2: flips give sums 3, 1, -1, -3; two of four reach 3.
    got = pair([2, 4], [1, 2])
    assert (got.difference, got.p, got.method) == (1.5, 0.5, "paired permutation, exact, 4 flips")


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
@settings(max_examples=50, deadline=None)
def test_exact_equals_the_full_enumeration(differences: list[int]) -> None:
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
            for signs in product((1, -1), repeat=len(differences))]  # fmt: skip
    want = sum(total >= abs(sum(differences)) for total in sums) / len(sums)
    assert pair(differences, [0] * len(differences)).p == want


def test_exact_equals_scipy() -> None:
    a, b = [3.1, 2.2, 5.5, 4.1, 2.0, 3.3], [2.9, 2.4, 4.1, 3.9, 2.1, 2.2]
    want = scipy.stats.permutation_test(
        (a, b), lambda x, y: np.mean(x) - np.mean(y), permutation_type="samples", n_resamples=10_000
    )
    got = pair(a, b)
    assert got.difference == pytest.approx(want.statistic, abs=1e-12)
    assert got.p == pytest.approx(want.pvalue, abs=1e-12)


def test_rounding_does_not_hide_equal_flips() -> None:
    # .1 + .2 - .3 is not 0 in floating point; flips that equal the observed sum exactly must still count.
    assert pair([0.1, 0.2, 0.3], [0, 0, 0.6]).p == 1.0


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


# ---- corrections


def test_holm_by_hand() -> None:
    # Sorted .01 .03 .04 times 3, 2, 1: .03, .06, .04 made monotone: .03, .06, .06.
    assert holm([0.01, 0.04, None, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), None, pytest.approx(0.06)]
    # Four equal p-values of .3 are limited to 1.
    assert holm([0.3] * 4) == [1.0] * 4
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_follows_its_definition(p: list[float]) -> None:
    got = holm(p)
    for i, value in enumerate(p):
        # The step-down rule: the largest (m - rank + 1) p over all p-values up to this one, ties in any order.
        ranked = sorted(p)
        last = max(k for k, q in enumerate(ranked) if q == value)
        want = min(1.0, max((len(p) - k) * ranked[k] for k in range(last + 1)))
        assert got[i] == pytest.approx(want)
        assert got[i] >= value


def test_clusters_by_hand() -> None:
    # A > B > C > D by mean; only A-C, A-D and B-D are significant.
    p = [[None, 0.5, 0.01, 0.01], [0.5, None, 0.3, 0.01], [0.01, 0.3, None, 0.4], [0.01, 0.01, 0.4, None]]
    # C is worse than A and starts the second cluster, in which D is not worse than C.
    assert clusters_of_equals([4, 3, 2, 1], p) == [1, 1, 2, 2]
    # The order of the systems in the input does not matter.
    back = [[row[::-1] for row in p][i] for i in (3, 2, 1, 0)]
    assert clusters_of_equals([1, 2, 3, 4], back) == [2, 2, 1, 1]
