"""Prediction-powered means: by hand, by formula, and coverage by simulation."""

import math

import numpy as np
import pytest
import scipy.stats
from together import together

from summeter.stats import Status, labels_needed, ppi_mean
from summeter.stats.base import t_quantile


def test_by_hand() -> None:
    # Machine 2 4 with human labels 1 3, and 3 5 elsewhere: 4 - 1 = 3. All differences are 1, so only the machine
    # varies: se^2 = s^2(3, 5) / 2 = 1; one degree of freedom.
    got = ppi_mean([1, 3, None, None, 2], [2, 4, 3, 5, None], tuned=False)
    combined, alone = got.estimate, got.human
    assert (combined.value, got.bias, alone.value, got.weight) == (3.0, 1.0, 2.0, 1.0)
    assert (combined.n, got.unlabelled, combined.missing) == (2, 2, 1)
    assert combined.high - combined.value == pytest.approx(scipy.stats.t.ppf(0.975, 1))
    # People alone: s^2 / n = 2 / 2.
    assert alone.high - alone.value == pytest.approx(scipy.stats.t.ppf(0.975, 1))


def test_formula_of_the_papers() -> None:
    rng = np.random.default_rng(0)
    y, extra = rng.normal(3, 1, 40), rng.normal(3.5, 1.1, 400)
    f = y + rng.normal(0.5, 0.5, 40)
    got = ppi_mean([*y, *[None] * 400], [*f, *extra])
    # PPI++ for a mean: lambda = cov(y, f) / ((1 + n / N) var(f)), var over all 440 machine values.
    weight = np.mean((y - y.mean()) * (f - f.mean())) / ((1 + 40 / 400) * np.var([*f, *extra], ddof=1))
    value = weight * extra.mean() + (y - weight * f).mean()
    error = math.sqrt(np.var(y - weight * f, ddof=1) / 40 + weight**2 * np.var(extra, ddof=1) / 400)
    assert got.weight == pytest.approx(weight, abs=1e-12)
    assert got.estimate.value == pytest.approx(value, abs=1e-12)
    assert got.estimate.high == pytest.approx(value + scipy.stats.t.ppf(0.975, 39) * error, abs=1e-7)


def test_useless_and_perfect_machines() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=300)
    labelled = [*y[:30], *[None] * 270]
    constant = ppi_mean(labelled, [1.0] * 300)
    assert (constant.weight, constant.estimate.value) == (0.0, pytest.approx(y[:30].mean()))
    assert constant.estimate.low == pytest.approx(constant.human.low)
    contrary = ppi_mean(labelled, -y)
    assert contrary.weight == 0.0
    perfect = ppi_mean(labelled, y, tuned=False)
    half = scipy.stats.t.ppf(0.975, 29) * y[30:].std(ddof=1) / math.sqrt(270)
    assert perfect.estimate.high - perfect.estimate.value == pytest.approx(half)


def test_all_rows_labelled() -> None:
    got = ppi_mean([1, 2, 3], [3, 3, 5])
    assert (got.estimate.value, got.estimate.low) == (2.0, got.human.low)
    half = scipy.stats.t.ppf(0.975, 2) / math.sqrt(3)
    assert got.estimate.high - 2 == pytest.approx(half)


def test_undefined_cases() -> None:
    assert ppi_mean([None, None], [1, 2]).estimate.status is Status.UNDEFINED
    assert ppi_mean([], []).estimate.value is None
    one = ppi_mean([1, None, None], [1, 2, 3])
    assert (one.estimate.low, one.estimate.status) == (None, Status.NO_INTERVAL)
    together = ppi_mean([1, 2, None, None], [1, 2, 3, 4], ["a", "a", "b", "c"])
    assert together.estimate.reason == "fewer than 2 labelled clusters: no interval"
    with pytest.raises(ValueError, match="lengths"):
        ppi_mean([1], [1, 2])
    with pytest.raises(ValueError, match="cluster labels"):
        ppi_mean([1], [1], ["a", "b"])
    with pytest.raises(ValueError, match="level"):
        ppi_mean([1], [1], level=95)


@together("df", [1, 2, 7, 30, 1e4, math.inf])
@together("level", [0.5, 0.9, 0.95, 0.999])
def test_quantiles_of_t_are_scipys(df: float, level: float) -> None:
    assert t_quantile(level, df) == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, df), rel=1e-8)


def coverage(trials: int, n: int, clusters: int | None, *, tuned: bool = True) -> tuple[float, float, float]:
    """Return the coverage of the intervals, their mean width, and the mean width of the human intervals.

    The machine is biased (+.6) and noisy; the true mean is 3.
    """
    rng = np.random.default_rng(n)
    hits, width, alone = 0, 0.0, 0.0
    size = clusters or 1
    for _ in range(trials):
        documents = np.repeat(rng.normal(0, 0.7, 400 // size), size)
        y = 3 + documents + rng.normal(0, 0.7, 400)
        f = y + 0.6 + rng.normal(0, 0.5, 400)
        labels = None if clusters is None else np.arange(400) // size
        got = ppi_mean(np.where(np.arange(400) < n, y, np.nan), f, labels, tuned=tuned)
        hits += got.estimate.low <= 3 <= got.estimate.high
        width += got.estimate.high - got.estimate.low
        alone += got.human.high - got.human.low
    return hits / trials, width / trials, alone / trials


@pytest.mark.parametrize("n", [10, 40, 120])
@pytest.mark.parametrize("tuned", [True, False])
def test_intervals_cover_at_the_stated_rate(n: int, tuned: bool) -> None:
    share, width, alone = coverage(500, n, None, tuned=tuned)
    # The binomial standard deviation of 500 intervals at 95 % is 1 point; three of them on each side.
    assert 0.92 <= share <= 0.98
    assert width < alone


def test_clustered_intervals_cover_too() -> None:
    share, width, alone = coverage(400, 80, 4)
    assert 0.91 <= share <= 0.99
    assert width < alone


def test_labels_needed_give_the_planned_width() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(0, 1, 2000)
    f = y + rng.normal(0.3, 0.5, 2000)
    plan = labels_needed([*y[:1000], *[None] * 1000], f, 0.1)
    assert plan.value < plan.details["human_only"]
    assert plan.details["human_only"] == math.ceil((1.959964 * y[:1000].std(ddof=1) / 0.1) ** 2)
    # With this number of labels the interval has about the planned width; with a third fewer it is wider.
    done = ppi_mean(np.where(np.arange(2000) < plan.value, y, np.nan), f).estimate
    assert (done.high - done.low) / 2 == pytest.approx(0.1, rel=0.12)
    fewer = ppi_mean(np.where(np.arange(2000) < plan.value * 2 // 3, y, np.nan), f).estimate
    assert (fewer.high - fewer.low) / 2 > 0.105


def test_labels_needed_formula() -> None:
    # s_y^2 = 2 (people 1 3), machine 1 3 1 3: s_f^2 = 4/3, c = 2: weight clipped at 1; at m = 2 of 4:
    # 4/3 / 2 + (2 - 4 + 4/3) / 2 = 1/3. Half-width 2 at 95 % allows (2 / 1.96)^2 = 1.04.
    plan = labels_needed([1, 3, None, None], [1, 3, 1, 3], 2.0)
    assert (plan.value, plan.details) == (2, {"human_only": 2, "pool": 4})
    assert labels_needed([1, 3, None, None], [1, 3, 1, 3], 0.1).reason == "not even labelling all 4 rows reaches it"
    assert labels_needed([1, None], [1, 2], 0.1).reason == "fewer than 2 labels in the pilot"
    flat = labels_needed([1, 3, 2, None], [1, 1, 1, 1], 1.2)
    assert flat.value == flat.details["human_only"] == 3
    with pytest.raises(ValueError, match="half_width"):
        labels_needed([1, 2], [1, 2], 0)


def test_power_requires_more_labels() -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(size=3000)
    f = y + rng.normal(size=3000)
    human = [*y[:200], *[None] * 2800]
    plain, strong = labels_needed(human, f, 0.15), labels_needed(human, f, 0.15, power=0.8)
    # (1.96 + .84)^2 / 1.96^2 = 2.04 times as many with people alone.
    assert strong.details["human_only"] / plain.details["human_only"] == pytest.approx(2.04, rel=0.03)
    assert strong.value > plain.value
