"""Prediction-powered estimates: by hand, warnings, and coverage of the intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from meta.makers import imported, people, ratings

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.meta._estimate import coverage, estimate, sample_warnings, simulate
from summeter.meta.results import Study
from summeter.records import Judgment, UsageError
from summeter.runs.run import RunFolder
from summeter.stats import labels_needed, ppi_mean

Table = dict[str, list[float | None]]


def run_of(table: Table) -> list[Judgment]:
    size = len(next(iter(table.values())))
    return ratings({f"d{n}": {s: values[n] for s, values in table.items()} for n in range(size)})


def gold_of(table: Table) -> list[Judgment]:
    return people({(f"d{n}", s): {"r": v} for s, values in table.items() for n, v in enumerate(values)})


def study_of(machine: Table, human: Table, **options: Any) -> Study:
    return estimate(run_of(machine), gold_of(human), **options)


class TestEstimate:
    def test_by_hand(self) -> None:
        # The machine says 2, 4 where people say 1, 3, and 3, 5 elsewhere: plain PPI is 4 + (-1) = 3.
        study = study_of({"a": [2, 4, 3, 5]}, {"a": [1, 3, None, None]}, tuned=False)
        row = study.one(statistic="ppi_mean")
        assert (row.value, row.n, row.missing, row.details["unlabelled"], row.details["weight"]) == (3.0, 2, 0, 2, 1.0)
        assert study.one(statistic="machine_mean").value == 3.5
        assert study.one(statistic="labelled_mean").value == 2.0
        bias = study.one(statistic="machine_bias")
        assert (bias.value, bias.n) == (1.0, 2)
        assert (bias.low, bias.high, bias.status) == (None, None, "no_interval")  # it is 1 on both: no spread
        assert bias.reason
        assert not study.where(statistic="human_mean").rows  # the labels need not be people's

    def test_a_pair_uses_documents_labelled_for_both(self) -> None:
        machine: Table = {"a": [5, 4, 5, 4, 5], "b": [1, 2, 2, 1, 1]}
        human: Table = {"a": [4, 4, 3, None, None], "b": [1, 1, None, 2, None]}
        row = study_of(machine, human).one(statistic="ppi_difference")
        assert (row.pair, row.n, row.details["comparisons"]) == ("a-b", 2, 1)
        got = ppi_mean([3, 3, None, None, None], [4, 2, 3, 3, 4])
        assert (row.value, row.details["human"]) == (got.estimate.value, 3.0)

    def test_labels_that_would_settle_a_pair(self) -> None:
        rng = np.random.default_rng(1)
        a, b = rng.random(50) + 0.1, rng.random(50)
        human: Table = {
            s: [float(v) if n < 20 else None for n, v in enumerate(x + 0.1 * rng.random(50))]
            for s, x in (("a", a), ("b", b))
        }
        study = study_of({"a": list(a), "b": list(b)}, human, difference=0.2)
        row = study.one(statistic="labels_needed")
        gaps = [None if one is None or two is None else one - two
                for one, two in zip(human["a"], human["b"], strict=True)]  # fmt: skip
        got = labels_needed(gaps, a - b, 0.2, 0.95, 0.8)
        assert (row.value, row.details["human_only"], row.details["pool"]) == (got.value, got.details["human_only"], 50)
        assert (row.details["power"], row.details["difference"]) == (0.8, 0.2)

    def test_labels_are_planned_at_the_level_that_settles(self) -> None:
        """With three pairs, the deciding intervals and the labels needed are those at 1 - .05 / 3."""
        rng = np.random.default_rng(2)
        table = {system: list(rng.random(60)) for system in "abc"}
        human: Table = {s: [v + rng.normal() / 9 if n < 30 else None for n, v in enumerate(table[s])] for s in "abc"}
        study = study_of(table, human, difference=0.1)
        row = study.one(statistic="labels_needed", pair="a-b")
        gaps = [None if x is None or y is None else x - y for x, y in zip(human["a"], human["b"], strict=True)]
        got = labels_needed(gaps, np.subtract(table["a"], table["b"]), 0.1, 1 - 0.05 / 3, 0.8)
        assert (row.value, row.details["human_only"]) == (got.value, got.details["human_only"])

    def test_only_the_pairs_asked_for(self) -> None:
        table: Table = {s: [1, 2, 3, 4] for s in "abc"}
        study = study_of(table, table, pairs=[("c", "a")])
        assert [row.pair for row in study.where(statistic="ppi_difference")] == ["c-a"]
        with pytest.raises(UsageError, match="unknown system 'x'"):
            study_of(table, table, pairs=[("x", "a")])

    def test_no_labels_at_all_is_no_number(self) -> None:
        study = study_of({"a": [1, 2], "b": [1, 2]}, {"a": [1, 2], "b": [None, None]})
        row = study.one(statistic="ppi_mean", system="b")
        assert (row.value, row.status, row.reason) == (None, "undefined", "no human label beside a machine judgment")
        assert study.one(statistic="machine_mean", system="b").value == 1.5
        pair = study.one(statistic="ppi_difference")
        assert (pair.value, pair.reason) == (None, "no document is labelled for both systems")
        assert study.one(statistic="labels_needed").value is None

    def test_several_pairs_widen_the_deciding_interval(self) -> None:
        rng = np.random.default_rng(4)
        table: Table = {s: [float(v) for v in rng.random(12)] for s in "abc"}
        for row in study_of(table, table).where(statistic="ppi_difference"):
            assert row.details["comparisons"] == 3
            assert row.details["low_adjusted"] < row.low  # type: ignore[operator]


class TestSmallGold:
    """The gold contains labelled documents only, as a distributed sample does."""

    def test_the_run_knows_the_others(self, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [
            {"doc_id": f"d{n}", "system": "a", "document": "It rained. " * (n + 1), "summary": "It rained. We left.",
             "domain": "news" if n < 6 else "talk"}
            for n in range(12)
        ]  # fmt: skip
        run = evaluate(load(rows), ["abstractiveness"], out=tmp_path / "run")
        sample = load([{**row, "human": {"ratings": {"novelty": 0.5}}} for row in rows[1:6:2]])
        study = estimate(run, sample, aspect="abstractiveness:novelty", by="domain")
        row = study.one(statistic="ppi_mean", domain=None)
        assert (row.n, row.details["unlabelled"], row.missing) == (3, 9, 0)
        assert study.one(statistic="ppi_mean", domain="talk").value is None
        assert "warning: novelty: no label in the domains talk; is the sample random?" in study.notes


class TestWarnings:
    def test_the_head_of_the_file(self) -> None:
        human = np.array([1.0] * 30 + [np.nan] * 30)
        machine = np.random.default_rng(0).random(60)
        assert sample_warnings(human, machine) == [
            "only the first 30 documents are labelled; draw a random sample instead"
        ]

    def test_chosen_by_the_machines_score(self) -> None:
        machine = np.random.default_rng(0).random(100)
        human = np.where(machine > 0.6, 1.0, np.nan)
        (told,) = sample_warnings(human, machine)
        assert "higher than those of others" in told

    def test_a_random_sample_passes(self) -> None:
        rng = np.random.default_rng(0)
        assert sample_warnings(np.where(rng.random(200) < 0.3, 1.0, np.nan), rng.random(200)) == []


class TestCoverage:
    def test_a_known_population(self) -> None:
        rng = np.random.default_rng(5)
        human = rng.normal(0.5, 0.2, 400)
        machine = human + rng.normal(0.1, 0.1, 400)
        got = coverage(human, machine, 40, draws=400, seed=1)
        # 400 draws at .95 have a standard error of .011.
        assert got.value == pytest.approx(0.95, abs=0.035)
        assert got.details["width"] / got.details["human_width"] < 0.75
        assert abs(got.details["bias"]) < 0.01
        assert got.details["machine_bias"] == pytest.approx(0.1, abs=0.02)

    def test_a_useless_machine_costs_little(self) -> None:
        rng = np.random.default_rng(6)
        got = coverage(rng.random(200), rng.random(200), 40, draws=200)
        assert 0.93 < got.details["width"] / got.details["human_width"] < 1.02

    def test_a_system_without_labels_is_undefined(self) -> None:
        table: Table = {"a": [1, 2, 3, 4, 5], "b": [1, None, None, None, None]}
        study = simulate(run_of(table), gold_of(table), 3, draws=5)
        assert study.one(statistic="coverage", system="b").status == "undefined"
        assert study.one(statistic="coverage", system="a").n == 5


@pytest.fixture(scope="module")
def qags(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Return the 235 summaries, judged by the embedded evaluator."""
    data = load(shared / "data" / "qags_cnndm.jsonl.gz")
    return evaluate(data, ["support"], out=tmp_path_factory.mktemp("qags") / "run")


@pytest.mark.shared
class TestRealSets:
    """Coverage is near 95 %; over a few hundred draws it can deviate by two or three points."""

    def test_realsumm_completeness_by_rouge(self, shared: Path, tmp_path: Path) -> None:
        data, run = imported(shared, "realsumm", tmp_path, "strict", "rouge_1_recall")
        study = simulate(run, data, 30, aspect="overall:completeness", draws=100, seed=1)
        rates = [row.value for row in study.where(statistic="coverage") if row.system is not None]
        assert len(rates) == 25
        assert 0.92 <= float(np.mean([rate for rate in rates if rate is not None])) <= 0.97
        assert study.one(statistic="width_ratio", system=None).value < 0.87  # type: ignore[operator]

    def test_qags_faithfulness_by_support(self, qags: RunFolder) -> None:
        study = simulate(qags, qags.data, 50, aspect="faithfulness", draws=300, seed=1)
        row = study.one(statistic="coverage")
        assert row.value is not None
        assert row.value >= 0.91
        assert abs(row.details["bias"]) < 0.02
        assert study.one(statistic="width_ratio").value < 1  # type: ignore[operator]
