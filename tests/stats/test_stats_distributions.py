"""Tail probabilities of distributions, over a wide range of arguments."""

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.stats import correlate
from summeter.stats.base import f_tail, t_quantile, t_two_sided


@together("df", [1, 2, 3.5, 10, 98, 1198, 1e5, 1e6])
@together("t", [0.0, 1e-3, 0.1, 1.0, 2.5, 8.0, 30.0])
def test_t_tail_is_scipys(df: float, t: float) -> None:
    assert t_two_sided(t, df) == pytest.approx(2 * scipy.stats.t.sf(t, df), rel=1e-9, abs=1e-300)


@given(st.floats(0, 100), st.integers(1, 40), st.integers(1, 400))
def test_f_tail_is_scipys(f: float, df1: int, df2: int) -> None:
    assert f_tail(f, df1, df2) == pytest.approx(scipy.stats.f.sf(f, df1, df2), rel=1e-9, abs=1e-300)


@together("df", [1, 2, 7, 30, 1e4])
@together("level", [0.5, 0.9, 0.95, 0.999])
def test_t_quantile_inverts_the_tail(df: float, level: float) -> None:
    assert t_two_sided(t_quantile(level, df), df) == pytest.approx(1 - level, abs=1e-13)
    assert t_quantile(level, df) == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, df), rel=1e-8)


def test_t_quantile_with_infinite_df_is_normal() -> None:
    assert t_quantile(0.95, math.inf) == pytest.approx(1.959963984540054, abs=1e-12)


def test_kendall_exact_by_hand() -> None:
    # Of the 6 orders of 3 items, 1 has no inversion and 2 have one: P(at most one) = 3/6, twice that is 1.
    assert correlate([1, 2, 3], [1, 2, 3], "kendall_b").p == pytest.approx(2 / 6)
    assert correlate([1, 2, 3], [1, 3, 2], "kendall_b").p == pytest.approx(1.0)
    # Of the 24 orders of 4 items 1 + 3 + 5 have at most two inversions.
    assert correlate([1, 2, 3, 4], [2, 1, 4, 3], "kendall_b").p == pytest.approx(2 * 9 / 24)
    assert correlate([1, 2], [1, 2], "kendall_b").p == 1.0
