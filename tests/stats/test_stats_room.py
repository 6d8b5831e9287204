"""No statistic returns NaN or changes its input."""

import math
from typing import Any

import numpy as np
import pytest

from summeter import stats
from summeter.stats.base import complete
from summeter.stats.correlation import CORRELATIONS


def numbers(value: Any) -> list[float]:
    if isinstance(value, float):
        return [value]
    if isinstance(value, dict):
        return [x for inner in value.values() for x in numbers(inner)]
    if isinstance(value, (list, tuple)):
        return [x for inner in value for x in numbers(inner)]
    return []


ODD = [
    ([], []),
    ([None], [None]),
    ([1], [1]),
    ([None, None], [1, 0]),
    ([1, 1, 1], [0, 1, 1]),
    ([1, 1], [1, 1]),
    ([0, 0, 1], [0.5, 0.5, 0.5]),
    ([0, 1, None], [0, None, 1]),
    ([0, 1], [0, 1]),
]


@pytest.mark.parametrize(("x", "y"), ODD)
def test_odd_input_never_gives_nan_or_a_warning(x: list[float | None], y: list[float | None]) -> None:
    results: list[Any] = [
        stats.Bootstrap(len(x)).mean(x),
        stats.Bootstrap(len(y), 50).mean(y),
        stats.paired_differences([{"x": x, "y": y}]),
        stats.auroc(x, y).estimate(stats.Bootstrap(len(x), 20)),
        stats.tune_threshold(x, y),
        stats.pairwise_accuracy(x, y),
        stats.pairwise_accuracy(x, y, epsilon=None, average="group"),
        stats.williams(x, y, y),
        stats.permute_correlations(x, y, x, resamples=20),
        stats.ppi_mean(x, y),
        stats.ppi_mean(x, y, tuned=False),
        stats.labels_needed(x, y, 0.1),
    ]
    results += [stats.correlate(x, y, c) for c in CORRELATIONS]
    (left, right), _ = complete(x, y)
    rows = stats.Bootstrap(len(left), 20)
    results += [rows.interval(stats.correlation_of(left, right, rows.codes, c)) for c in CORRELATIONS]
    if not any(v == 0.5 for v in y):
        rates = stats.classify(x, y).values()
        results += [stats.order_effect(x, y), *(rate.estimate(stats.Bootstrap(len(x), 20)) for rate in rates)]
    if x:
        matrix = [x, y]
        results += [stats.krippendorff_alpha(matrix, level) for level in stats.MeasurementLevel]
        results += [stats.icc(matrix, model) for model in stats.Model]
        results += [stats.gwet_ac2(matrix, weights) for weights in stats.Weights]
        results += [stats.cohen_kappa(matrix), stats.fleiss_kappa(matrix)]
        results += [stats.mean_pairwise(matrix)]
        results += [stats.best_rates(matrix).statistics, stats.win_rates(matrix).statistics]
        results += [
            stats.paired_differences([dict(enumerate(matrix))]),
            stats.bradley_terry([(0, 1)], [stats.points(x, y)], 2),
        ]
        results += [stats.gwet_ac1(matrix).estimate(stats.Bootstrap(len(x), 20))]
    for result in results:
        assert not [v for v in numbers(result) if math.isnan(v) or math.isinf(v)], result


def test_numpy_input_is_not_changed() -> None:
    x = np.array([3.0, np.nan, 1.0, 2.0])
    before = x.copy()
    stats.Bootstrap(4).mean(x)
    stats.correlate(x, x, "spearman")
    stats.pairwise_accuracy(x, x, epsilon=None)
    np.testing.assert_array_equal(x, before)
