"""Statistics of a sample: pooled, averaged and by groups; new statistics are rows of the table."""

from __future__ import annotations

import numpy as np
import pytest
from meta.makers import people, ratings

from summeter.choices import Average, Level
from summeter.meta import correlate
from summeter.meta.inputs import judge_input
from summeter.meta.measure import STATISTICS, Statistic, estimate, measure
from summeter.meta.results import resampling
from summeter.meta.sample import Context, Rater, Sample, Units
from summeter.meta.selection import gold_scores
from summeter.scoring.table import Categorical, JudgmentTable
from summeter.stats import Measurement
from summeter.stats.base import Floats, Ints

JUDGED = {f"d{i}": {"A": float(i), "B": float(6 - i), "C": float(i * i % 7)} for i in range(6)}
RATED = {(d, s): {"x": value + (1 if s == "B" else 0)} for d, row in JUDGED.items() for s, value in row.items()}
DRAWS = resampling(200)


def both() -> Sample:
    """Return a judge and people that agree on A and C and differ by one on B."""
    judge = judge_input(ratings(JUDGED))
    gold = gold_scores(JudgmentTable.of(people(RATED)), "coherence", Level.SUMMARY)[0]
    return Sample.join([judge.scores(judge.questions()[0], Level.SUMMARY), gold])


def mean_gap(sample: Sample, clusters: Ints) -> Measurement:
    """Return the mean difference of judge and people."""
    gaps = sample.x - sample.y
    sums = np.stack([np.bincount(clusters, weights=side) for side in (gaps, np.ones(len(gaps)))], axis=1)

    def weighted(weights: Floats) -> Floats:
        total, n = (weights @ sums).T
        return np.asarray(total / n)

    return Measurement(float(gaps.mean()), len(gaps), weighted=weighted)


class TestANewStatistic:
    """A row in the table is sufficient for intervals, groups and averages."""

    def test_of_a_judge_and_people(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(STATISTICS, "mean_gap", Statistic("mean_gap", mean_gap, two=True, chance=0.0))  # type: ignore[arg-type]
        rows = list(measure(both(), ["mean_gap"], study="gaps", draws=DRAWS, by="system"))
        # On B people say one more; a third of the summaries is B's.
        assert [(row.system, row.value) for row in rows] == [
            (None, pytest.approx(-1 / 3)), ("A", 0.0), ("B", -1.0), ("C", 0.0),
        ]  # fmt: skip
        assert (rows[0].n, rows[0].judge, rows[0].gold_aspect) == (18, "j", "coherence")
        assert (rows[0].low, rows[0].high) == (pytest.approx(-1 / 3), pytest.approx(-1 / 3))  # each document has all
        within = estimate(both(), "mean_gap", DRAWS, Average.SYSTEM)
        assert within.value == pytest.approx(-1 / 3)


def test_a_classifier_within_documents_is_the_mean_of_documents() -> None:
    # d1: TPR 1, TNR 0 -> .5; d2: all right -> 1; d3 has one class and no value.
    labels = {"d1": ([1, 1], [1, 0]), "d2": ([1, 0], [1, 0]), "d3": ([1, 1], [1, 1])}
    documents = Categorical.of([d for d in labels for _ in range(2)])
    units = Units(Level.SENTENCE, documents, Categorical.same("A", 6), Categorical.same(None, 6), np.array([0, 1] * 3))
    values = np.array([[v for judge, _ in labels.values() for v in judge], [v for _, g in labels.values() for v in g]])
    raters = [Rater("j", "j|v:1", None, "faithfulness"), Rater("people", "human|v:1", None, "faithfulness")]
    sample = Sample.of_values(units, raters, values.astype(float))
    got = estimate(sample, "balanced_accuracy", DRAWS, Average.DOCUMENT)
    assert got.value == pytest.approx(0.75)
    assert (got.details["groups"], got.details["groups_too_small"]) == (2, 1)


def test_two_columns_are_crossed() -> None:
    sample = both()
    domains = {document: "news" if document < "d3" else "talk" for document in JUDGED}
    sample = Sample.join([sample.of_raters(0), sample.of_raters(1)], Context(domains=domains))
    rows = list(measure(sample, ["pearson"], study="correlation", draws=resampling(0), by="domain*system"))
    assert len(rows) == 1 + 2 * 3
    assert (rows[1].domain, rows[1].system, rows[1].n) == ("news", "A", 3)
    study = correlate(ratings(JUDGED), people(RATED), by="system*document", coefficients=("pearson",), resamples=0)
    crossed = study.rows[1]
    assert (crossed.system, crossed.details["by"], crossed.details["group"]) == ("A", "system*document", "A * d0")
