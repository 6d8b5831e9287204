"""Bootstrap intervals: coverage, undefined cases, and independence of order and blocks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.stats import Bootstrap, Estimate, Status, of_rows


def bootstrap_mean(values: Any, clusters: Any = None, resamples: int = 2000, **more: Any) -> Estimate:
    return Bootstrap(len(values) if clusters is None else clusters, resamples, **more).mean(values)


def bootstrap(
    statistic: Callable[..., float | None], arrays: Any, clusters: Any = None, resamples: int = 2000
) -> Estimate:
    columns = [np.asarray(column, float) for column in arrays]
    drawn = Bootstrap(len(columns[0]) if clusters is None else clusters, resamples)
    return drawn.interval(of_rows(statistic, columns, drawn.codes))


scores = st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=12)


@given(scores)
@settings(max_examples=60, deadline=None)
def test_mean_interval_or_reason(values: list[int | None]) -> None:
    got = bootstrap_mean(values, resamples=50)
    present = [v for v in values if v is not None]
    assert (got.n, got.missing) == (len(present), len(values) - len(present))
    if not present:
        assert got.value is None
        assert got.status is Status.UNDEFINED
        assert got.reason in ("no values", "all values missing")
    elif len(present) == 1:
        assert (got.value, got.low, got.high, got.status) == (present[0], None, None, Status.NO_INTERVAL)
        assert got.reason is not None
    else:
        assert got.value == pytest.approx(np.mean(present))
        assert min(present) <= got.low <= got.high <= max(present)


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    values, labels = rng.normal(size=60), rng.integers(0, 9, 60)
    order = rng.permutation(60)
    one, two = bootstrap_mean(values, labels), bootstrap_mean(values[order], labels[order])
    assert one.low == pytest.approx(two.low, abs=1e-12)
    assert one.high == pytest.approx(two.high, abs=1e-12)


def test_exact_distribution_of_two_values() -> None:
    # Two values 0 and 1 give means 0, 1/2, 1 with chances 1/4, 1/2, 1/4: the middle 40 % are all 1/2.
    got = bootstrap_mean([0, 1], resamples=4000, level=0.4)
    assert (got.low, got.high) == (0.5, 0.5)
    # The middle 60 % begin at the 20th percentile, which is 0.
    got = bootstrap_mean([0, 1], resamples=4000, level=0.6)
    assert (got.low, got.high) == (0.0, 1.0)


def test_repeated_values_have_the_correct_spread() -> None:
    # 900 ones and 100 zeros go through the multinomial path; the standard error is sqrt(.9 * .1 / 1000).
    got = bootstrap_mean([1] * 900 + [0] * 100, resamples=20_000)
    width = 2 * 1.96 * np.sqrt(0.09 / 1000)
    assert got.high - got.low == pytest.approx(width, rel=0.05)


def test_clusters_widen_the_interval() -> None:
    # Ten documents, each with ten equal values: the effective sample size is ten.
    values = np.repeat(np.arange(10.0), 10)
    plain, clustered = bootstrap_mean(values), bootstrap_mean(values, np.repeat(np.arange(10), 10))
    assert clustered.clusters == 10
    assert clustered.high - clustered.low == pytest.approx(np.sqrt(10) * (plain.high - plain.low), rel=0.15)


def test_unequal_clusters_weigh_rows_not_clusters() -> None:
    # Clusters (0, 0, 0) and (4): the mean is 1; draws give 0, 4 or (0 + 4) / 4 = 1.
    got = bootstrap_mean([0, 0, 0, 4], ["a", "a", "a", "b"], resamples=500)
    assert (got.value, got.low, got.high) == (1.0, 0.0, 4.0)


def test_interval_is_scipys_within_monte_carlo_error() -> None:
    values = np.random.default_rng(5).exponential(size=40)
    got = bootstrap_mean(values, resamples=20_000)
    want = scipy.stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    assert got.low == pytest.approx(want.low, abs=0.02)
    assert got.high == pytest.approx(want.high, abs=0.02)


def test_general_bootstrap_agrees_with_the_one_for_means() -> None:
    values, labels = np.random.default_rng(2).normal(size=80), np.arange(80) % 16
    one = bootstrap_mean(values, labels, resamples=8000)
    two = bootstrap(lambda x: float(x.mean()), [values], labels, resamples=8000)
    assert one.value == pytest.approx(two.value)
    assert one.low == pytest.approx(two.low, abs=0.02)
    assert one.high == pytest.approx(two.high, abs=0.02)


def test_undefined_draws_are_counted_or_end_the_interval() -> None:
    def spread(x: np.ndarray) -> float | None:
        return None if len(set(x)) < 2 else float(x.std())

    some = bootstrap(spread, [[1, 2, 3]], resamples=400)
    assert some.status is Status.OK
    assert some.reason is not None
    assert "left out" in some.reason
    assert some.resamples < 400
    most = bootstrap(lambda x: None if x.sum() < 9 else 1.0, [[1, 1, 1, 1, 1, 2]], resamples=100)
    assert most.value is None
    # Six times (5/6)^5 / 6 = .40 of the draws hold the 2 just once.
    most = bootstrap(lambda x: 1.0 if (x == 2).sum() == 1 else None, [[2, 1, 1, 1, 1, 1]])
    assert (most.value, most.low, most.status) == (1.0, None, Status.NO_INTERVAL)


def test_coverage_of_the_percentile_interval() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(300):
        got = bootstrap_mean(rng.normal(size=40), resamples=300, seed=rng)
        hits += got.low <= 0 <= got.high
    # 300 intervals at 95 %: binomial s.d. 1.3 points; the percentile interval at n = 40 covers about 93 %.
    assert 0.88 <= hits / 300 <= 0.98


def test_many_different_clusters_are_normal_and_say_so() -> None:
    rng = np.random.default_rng(3)
    values = rng.exponential(size=60_000)
    got = bootstrap_mean(values)
    assert (got.method, got.resamples, got.status) == ("95% normal interval by document", 0, Status.OK)
    assert got.high - got.value == pytest.approx(1.959964 * values.std() / np.sqrt(60_000), rel=1e-6)
    # One value that outweighs all others keeps the bootstrap.
    values[0] = 1e6
    assert bootstrap_mean(values, resamples=20).method == "95% percentile bootstrap by document, 20 resamples, seed 0"
    # Uneven clusters: the error is that of a ratio of sums.
    labels = rng.integers(0, 70_000, 120_000)
    ratio = bootstrap_mean(rng.normal(size=120_000) + labels % 2, labels)
    assert ratio.method == "95% normal interval by document"
    assert ratio.low < ratio.value < ratio.high


@pytest.mark.parametrize("scale", [1e308, 1e200])
def test_a_mean_of_huge_values(scale: float) -> None:
    values = [1.0, -1.0, 1.5, None, 1.0]
    small = Bootstrap(5, 50).mean(values)
    huge = Bootstrap(5, 50).mean([None if value is None else value * scale for value in values])
    for name in ("value", "low", "high"):
        assert getattr(huge, name) == pytest.approx(getattr(small, name) * scale)
    assert (huge.n, huge.missing, huge.interval) == (small.n, small.missing, small.interval)
