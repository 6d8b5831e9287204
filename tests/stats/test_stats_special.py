"""The p-value functions against scipy, over the range that judgments reach and far beyond."""

import math

import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from summeter.stats.special import (
    betainc,
    correlation_p,
    kendall_exact_p,
    normal_two_sided,
    t_quantile,
    t_two_sided,
)


@pytest.mark.parametrize("df", [1, 2, 3.5, 10, 98, 1198, 1e5, 1e6])
@pytest.mark.parametrize("t", [0.0, 1e-3, 0.1, 1.0, 2.5, 8.0, 30.0])
def test_t_tail_is_scipys(df: float, t: float) -> None:
    assert t_two_sided(t, df) == pytest.approx(2 * scipy.stats.t.sf(t, df), rel=1e-9, abs=1e-300)


def test_t_tail_by_hand() -> None:
    # One degree of freedom is the Cauchy distribution: P(|T| >= 1) = 1 - 2 atan(1) / pi = 1/2.
    assert t_two_sided(1.0, 1) == pytest.approx(0.5, abs=1e-15)


# Of a subnormal x scipy takes the power to three digits only (see the test by hand that follows).
@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.floats(0, 1, allow_subnormal=False))
def test_incomplete_beta_is_scipys(a: float, b: float, x: float) -> None:
    assert betainc(a, b, x) == pytest.approx(scipy.special.betainc(a, b, x), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("x", [5e-324, 1e-323, 1e-310])
def test_incomplete_beta_of_subnormal_numbers_by_hand(x: float) -> None:
    # For x -> 0: I_x(a, 2) = x^a / (a B(a, 2)) and a B(a, 2) = a G(a) G(2) / G(a + 2) = 1 / (a + 1).
    assert betainc(0.015625, 2, x) == pytest.approx(x**0.015625 * 1.015625, rel=1e-12)


@given(st.floats(-38, 38))
def test_normal_tail_is_scipys(z: float) -> None:
    assert normal_two_sided(z) == pytest.approx(2 * scipy.stats.norm.sf(abs(z)), rel=1e-12, abs=1e-310)


@pytest.mark.parametrize("df", [1, 2, 7, 30, 1e4])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_t_quantile_inverts_the_tail(df: float, level: float) -> None:
    assert t_two_sided(t_quantile(level, df), df) == pytest.approx(1 - level, abs=1e-13)
    assert t_quantile(level, df) == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, df), rel=1e-8)


def test_t_quantile_without_end_is_normal() -> None:
    assert t_quantile(0.95, math.inf) == pytest.approx(1.959963984540054, abs=1e-12)


def test_correlation_p_at_the_ends() -> None:
    assert correlation_p(1.0, 8) == 0.0
    assert correlation_p(0.0, 8) == 1.0


@pytest.mark.parametrize("n", [2, 3, 5, 9, 20, 33])
def test_kendall_exact_is_scipys_for_every_count(n: int) -> None:
    from scipy.stats import _mstats_basic

    total = n * (n - 1) // 2
    for concordant in range(0, total + 1, max(1, total // 40)):
        # scipy subtracts floats in its recursion, which costs it digits near the middle.
        expected = _mstats_basic._kendall_p_exact(n, concordant)
        assert kendall_exact_p(n, concordant) == pytest.approx(expected, rel=1e-9)


def test_kendall_exact_by_hand() -> None:
    # Of the 6 orders of 3 items, 1 has no inversion and 2 have one: P(at most one) = 3/6, twice that is 1.
    assert kendall_exact_p(3, 3) == pytest.approx(2 / 6)
    assert kendall_exact_p(3, 2) == pytest.approx(1.0)
    # Of the 24 orders of 4 items 1 + 3 + 5 have at most two inversions.
    assert kendall_exact_p(4, 4) == pytest.approx(2 * 9 / 24)
