"""Correlations by hand, compared with scipy, and for invalid input."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from summeter.stats import (
    Bootstrap,
    Estimate,
    Status,
    auroc,
    correlate,
    correlation_by_group,
    correlation_of,
)
from summeter.stats.correlation import CORRELATIONS, weighted_correlations


def correlation_interval(
    x: Any, y: Any, coefficient: str = "pearson", clusters: Any = None, resamples: int = 1000, level: float = 0.95
) -> Estimate:
    drawn = Bootstrap(len(x) if clusters is None else clusters, resamples, level)
    left, right = np.asarray(x, float), np.asarray(y, float)
    return drawn.interval(correlation_of(left, right, drawn.codes, coefficient), width=len(left))


kendall_b, kendall_c = (partial(correlate, coefficient=name) for name in ("kendall_b", "kendall_c"))
pearson, spearman = correlate, partial(correlate, coefficient="spearman")

SCIPY = {
    "pearson": scipy.stats.pearsonr,
    "spearman": scipy.stats.spearmanr,
    "kendall_b": scipy.stats.kendalltau,
    "kendall_c": lambda x, y: scipy.stats.kendalltau(x, y, variant="c"),
}
pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=60)
real = st.floats(-100, 100, allow_subnormal=False).map(lambda x: round(x, 3))


def same(got: Estimate, want: Any) -> None:
    assert got.value == pytest.approx(want.statistic, abs=1e-9)
    # If r is 1 up to rounding, scipy's p is 0 or 1e-8, depending on the last bit; here it is 0.
    loose = 1e-7 if abs(want.statistic) > 1 - 1e-12 else 1e-9
    assert got.p == pytest.approx(want.pvalue, abs=loose)


def test_pearson_by_hand() -> None:
    # x 1 2 3 4 (deviations -1.5 -.5 .5 1.5), y 2 1 4 3 (-.5 -1.5 1.5 .5): cross 3, squares 5 and 5.
    assert pearson([1, 2, 3, 4], [2, 1, 4, 3]).value == pytest.approx(3 / 5, abs=1e-15)


@pytest.mark.parametrize("scale", [1e307, 1e200, 1e-200, 1e-300, 5e-324])
def test_scale_invariance_of_extreme_values(scale: float) -> None:
    x, y = np.array([1.0, 2.0, 3.0, 1.0]) * scale, np.array([2.0, 1.0, 4.0, 3.0]) * scale
    want = correlate([1, 2, 3, 1], [2, 1, 4, 3])
    for other in (y, y / scale):
        got = correlate(x, other)
        assert (got.value, got.p) == (pytest.approx(want.value), pytest.approx(want.p))


def test_spearman_by_hand() -> None:
    # Ranks 1 2 3 4 against 2 1 4 3: squared differences sum to 4; 1 - 6 * 4 / (4 * 15) = .6.
    assert spearman([10, 20, 30, 40], [0.2, 0.1, 9.0, 0.3]).value == pytest.approx(0.6, abs=1e-15)
    # Ties share ranks: 1, 2.5, 2.5, 4 against 1, 2, 3, 4: cross 4.5, squares 4.5 and 5.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]).value == pytest.approx(4.5 / math.sqrt(22.5), abs=1e-15)


def test_kendall_by_hand() -> None:
    # x 1 2 2 3, y 1 2 3 3: of 6 pairs one is tied in x, one in y, 4 concordant: 4 / sqrt(5 * 5).
    assert kendall_b([1, 2, 2, 3], [1, 2, 3, 3]).value == pytest.approx(0.8, abs=1e-15)
    # tau-c of the same: 2 * 4 / (16 * (3 - 1) / 3).
    assert kendall_c([1, 2, 2, 3], [1, 2, 3, 3]).value == pytest.approx(0.75, abs=1e-15)


@pytest.mark.parametrize("coefficient", list(SCIPY))
@given(pairs=pairs)
@settings(max_examples=80, deadline=None)
def test_tied_scores_as_in_scipy(coefficient: str, pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    got = correlate(x, y, coefficient)
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert (got.value, got.p, got.status, got.reason) == (None, None, Status.UNDEFINED, "constant input")
        return
    want = SCIPY[coefficient](x, y)
    same(got, want)


@pytest.mark.parametrize("coefficient", list(SCIPY))
@given(x=st.lists(real, min_size=3, max_size=40, unique=True), seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_untied_scores_as_in_scipy(coefficient: str, x: list[float], seed: int) -> None:
    # Up to 33 untied pairs the Kendall p-value is exact, beyond that normal.
    y = np.random.default_rng(seed).normal(size=len(x))
    assume(np.ptp(x) > 1e-2)
    got, want = correlate(x, y, coefficient), SCIPY[coefficient](x, y)
    same(got, want)


def test_large_samples_as_in_scipy() -> None:
    rng = np.random.default_rng(0)
    for levels in (3, 40, None):
        x = rng.normal(size=20_000)
        y = x + rng.normal(size=20_000)
        if levels:
            x, y = np.round(x * levels), np.round(y * levels / 5)
        for coefficient, reference in SCIPY.items():
            got, want = correlate(x, y, coefficient), reference(x, y)
            assert got.value == pytest.approx(want.statistic, abs=1e-9)
            assert got.p == pytest.approx(want.pvalue, abs=1e-9)


@pytest.mark.parametrize("coefficient", ["kendall_b", "kendall_c"])
@given(pairs=pairs, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_all_ways_of_counting_pairs_agree(coefficient: str, pairs: list[tuple[int, int]], seed: int) -> None:
    # Pairs of more than 60 rows are counted by sorting if each draw has different lists.
    x, y = (np.tile(np.array(column, dtype=float), 1 + seed % 3) for column in zip(*pairs, strict=True))
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(x))).astype(float)
    by_signs = weighted_correlations(x, y, weights, coefficient)
    one_a_draw = weighted_correlations(np.tile(x, (3, 1)), np.tile(y, (3, 1)), weights, coefficient)
    assert one_a_draw == pytest.approx(by_signs, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("coefficient", list(CORRELATIONS))
@given(pairs=pairs, seed=st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_order_of_rows_does_not_matter(coefficient: str, pairs: list[tuple[int, int]], seed: int) -> None:
    shuffled = [pairs[i] for i in np.random.default_rng(seed).permutation(len(pairs))]
    one, two = (correlate(*zip(*rows, strict=True), coefficient) for rows in (pairs, shuffled))
    assert (one.value is None) == (two.value is None)
    if one.value is not None:
        assert one.value == pytest.approx(two.value, abs=1e-12)
        assert -1 <= one.value <= 1
        # Symmetric in its arguments, and odd under a change of sign if it is scale-free.
        x, y = zip(*pairs, strict=True)
        assert correlate(y, x, coefficient).value == pytest.approx(one.value, abs=1e-12)
        if CORRELATIONS[coefficient].scale_free:
            assert correlate(x, [-v for v in y], coefficient).value == pytest.approx(-one.value, abs=1e-12)


@pytest.mark.parametrize("coefficient", list(CORRELATIONS))
def test_missing_few_and_none(coefficient: str) -> None:
    got = correlate([1, None, 3, 4, float("nan")], [1, 2, None, 4, 5], coefficient)
    assert (got.n, got.missing) == (2, 3)
    assert got.value == pytest.approx(1.0)
    for x, y in (([1], [2]), ([], []), ([None, None], [1, 2])):
        got = correlate(x, y, coefficient)
        assert (got.value, got.reason) == (None, "fewer than 2 pairs")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=2, max_size=40))
@settings(max_examples=60, deadline=None)
def test_tau_of_a_binary_label_is_a_scaled_auroc(rows: list[tuple[int, int]]) -> None:
    scores, labels = zip(*rows, strict=True)
    got, area = kendall_b(scores, labels), auroc(labels, scores)
    assume(got.value is not None)
    n, ones = len(rows), sum(labels)
    tied = sum(c * (c - 1) // 2 for c in np.bincount(scores))
    factor = math.sqrt(ones * (n - ones) / (n * (n - 1) / 2 - tied))
    assert got.value == pytest.approx((2 * area.value - 1) * factor, abs=1e-12)


def test_by_group_with_undefined_groups() -> None:
    x = [1, 2, 3, 5, 5, 5, 1, 1, 2]
    y = [1, 2, 3, 1, 2, 3, 2, 1, None]
    groups = ["a", "a", "a", "b", "b", "b", "c", "d", "d"]
    found = correlation_by_group(x, y, groups, "kendall_b")
    assert list(found) == ["a", "b", "c", "d"]
    assert [got.reason for got in found.values()] == [
        None, "constant input", "fewer than 2 pairs", "fewer than 2 pairs"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="lengths"):
        correlation_by_group([1, 2], [1, 2], ["a"])


def test_interval_with_undefined_draws() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=120)
    y = x + rng.normal(size=120)
    got = correlation_interval(x, y, "spearman", np.arange(120) // 4, resamples=300)
    assert got.value == spearman(x, y).value
    assert got.low < got.value < got.high
    assert got.clusters == 30
    few = correlation_interval([1, 2, 3], [1, 3, 2], "pearson", resamples=200)
    assert few.reason is not None
    assert few.resamples < 200


@pytest.mark.parametrize("coefficient", list(CORRELATIONS))
@given(pairs=pairs, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_weighted_draws_equal_repeated_rows(coefficient: str, pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = (np.array(column) / 3 for column in zip(*pairs, strict=True))
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, 5, len(x)), return_inverse=True)[1]
    units = labels.max() + 1
    times = rng.multinomial(units, np.full(units, 1 / units), 8)
    drawn = weighted_correlations(x, y, times[:, labels].astype(float), coefficient)
    for row, got in zip(times, drawn, strict=True):
        want = correlate(np.repeat(x, row[labels]), np.repeat(y, row[labels]), coefficient).value
        assert np.isnan(got) if want is None else got == pytest.approx(want, abs=1e-9)


def test_reasons_for_a_missing_interval() -> None:
    assert correlation_interval([1, 1], [1, 2]).status is Status.UNDEFINED
    assert correlation_interval([1], [1]).status is Status.UNDEFINED
    assert correlation_interval([1, 2], [1, 2], clusters=["a", "a"]).reason == "fewer than 2 clusters: no interval"
    # One of two clusters is constant: a draw is defined only if it contains the other cluster.
    half = correlation_interval([1, 1, 1, 2], [1, 2, 1, 1], clusters=["a", "a", "b", "b"], resamples=100)
    assert half.status is Status.NO_INTERVAL
    assert "undefined in" in half.reason
    # Six rows with a single different x, which a third of the draws do not contain.
    lost = correlation_interval([1, 2, 1, 1, 1, 1], [2, 1, 1, 1, 1, 3], resamples=400)
    assert lost.status is Status.OK
    assert "left out" in lost.reason
    assert lost.resamples < 400
    with pytest.raises(ValueError, match="level"):
        correlation_interval([1, 2], [1, 2], level=2)
