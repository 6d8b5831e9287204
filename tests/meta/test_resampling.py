"""The weighted bootstrap equals a loop over the same draws."""

from __future__ import annotations

import numpy as np
import pytest
from meta.makers import people, ratings

from summeter.choices import Average
from summeter.meta import Level
from summeter.meta.inputs import judge_input
from summeter.meta.measure import estimate
from summeter.meta.results import resampling
from summeter.meta.sample import Sample, group_means
from summeter.meta.selection import gold_scores
from summeter.scoring import JudgmentTable
from summeter.stats import Status
from summeter.stats.correlation import CORRELATIONS, raw

SEED, RESAMPLES = 7, 300
RESAMPLE = resampling(RESAMPLES, seed=SEED)


@pytest.fixture(scope="module")
def pairs() -> Sample:
    """Return ratings 1-4 of twelve documents and five systems, with ties, a constant system and missing cells."""
    rng = np.random.default_rng(2)
    judge = {f"d{i}": {s: float(rng.integers(1, 5)) for s in "ABCD"} | {"E": 3.0} for i in range(12)}
    truth = {(d, s): {"a": float(rng.integers(1, 5))} for d, row in judge.items() for s in row}
    del judge["d3"]["A"], judge["d4"]["B"]
    read = judge_input(ratings(judge))
    gold = gold_scores(JudgmentTable.of(people(truth)), "coherence", Level.SUMMARY)[0]
    return Sample.join([read.scores(read.questions()[0], Level.SUMMARY), gold])


def loop(pairs: Sample, statistic: object) -> tuple[float, float]:
    """Return the same draws, computed from rows."""
    kept = pairs.take(pairs.complete)
    documents = np.unique(kept.units.document.codes, return_inverse=True)[1]
    size = documents.max() + 1
    times = np.random.default_rng(SEED).multinomial(size, np.full(size, 1 / size), RESAMPLES)
    found = []
    for row in times:
        rows = np.repeat(np.arange(len(kept)), row[documents])
        value = statistic(kept.x[rows], kept.y[rows], kept.units.system.codes[rows])  # type: ignore[operator]
        if value is not None:
            found.append(value)
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize("name", list(CORRELATIONS))
def test_means_of_systems(pairs: Sample, name: str) -> None:
    def statistic(x: np.ndarray, y: np.ndarray, system: np.ndarray) -> float | None:  # type: ignore[type-arg]
        return raw(group_means(x, system, 5), group_means(y, system, 5), name)

    at = pairs.at(Level.SYSTEM)
    got = estimate(at, name, RESAMPLE)
    assert (got.low, got.high) == pytest.approx(loop(pairs, statistic), abs=1e-9)
    assert (got.clusters, got.status) == (12, Status.OK)
    assert got.value == pytest.approx(raw(at.x, at.y, name), abs=1e-12)


@pytest.mark.parametrize("name", list(CORRELATIONS))
def test_averages_over_systems(pairs: Sample, name: str) -> None:
    def statistic(x: np.ndarray, y: np.ndarray, system: np.ndarray) -> float | None:  # type: ignore[type-arg]
        parts = [raw(x[system == one], y[system == one], name) for one in np.unique(system)]
        usable = [part for part in parts if part is not None]
        return float(np.mean(usable)) if usable else None

    got = estimate(pairs, name, RESAMPLE, Average.SYSTEM)
    assert (got.low, got.high) == pytest.approx(loop(pairs, statistic), abs=1e-9)


def test_one_document_has_no_interval(pairs: Sample) -> None:
    one = pairs.take(pairs.units.document.equal("d1"))
    got = estimate(one.at(Level.SYSTEM), "pearson", RESAMPLE)
    assert (got.low, got.status, got.reason) == (None, Status.NO_INTERVAL, "fewer than 2 clusters: no interval")
