"""The adapters in the real packages (`make adapters`); `compute` needs none of them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from summeter.adapters import compute, judge
from summeter.evaluators import Evaluator, Item, Judgment, Prepared, Tools
from summeter.records import UsageError

DOCUMENT = "Ana walked to the mill. It was closed on Monday."
GOOD, BAD = "Ana walked to the mill.", "Ben sold a boat."


class Broken(Evaluator):
    """A judge that fails on every summary."""

    name, version = "broken", "1"
    summary = "Fails."
    aspects = ("faithfulness",)
    reads_sentences = False

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        return [self.builder(item, prepared, tools).failed("faithfulness", "unparsed", "no answer")]


def test_lists_of_texts() -> None:
    found = compute([GOOD, BAD, ""], sources=[DOCUMENT] * 3, references=[GOOD] * 3, evaluators=["support", "rouge"])
    assert found["support/faithfulness_scores"] == [1.0, 0.0, None]
    assert (found["support/faithfulness"], found["support/faithfulness_missing"]) == (0.5, 1)
    assert found["rouge/rouge1_scores"][0] == 1.0
    assert compute([BAD], [DOCUMENT], evaluators=Broken())["faithfulness"] is None
    with pytest.raises(UsageError):
        compute([GOOD], sources=[])


def test_one_text() -> None:
    result = judge(DOCUMENT, BAD)["faithfulness"]
    assert result.value == 0.0
    assert result.reason
    assert judge(DOCUMENT, GOOD, Broken())["faithfulness"] == (None, "no answer")


@pytest.mark.adapters
def test_inspect_ai_and_its_log(tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    from summeter.adapters.inspect_ai import summary_scorer
    from summeter.meta import trust

    @solver
    def summarizer() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("made-up", [GOOD, BAD][int(state.sample_id) % 2])
            return state

        return solve

    samples = [Sample(id=n, input=DOCUMENT, metadata={"human": n % 2 == 0}) for n in range(40)]
    task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=summarizer(), scorer=summary_scorer())
    (log,) = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), log_format="json", display="none")
    assert log.status == "success", log.error
    score = log.samples[1].scores["summary_scorer"]
    assert score.value["faithfulness"] == 0.0
    assert "faithfulness: " in score.explanation
    (file,) = tmp_path.glob("*.json")
    logged = json.loads(file.read_text())["samples"][0]["scores"]["summary_scorer"]["value"]
    assert {"faithfulness", "conciseness"} <= set(logged)
    study = trust(file, judge="summary_scorer.faithfulness", human=("human",))
    assert study.one(statistic="agreement", system=None).value == pytest.approx(1.0)


@pytest.mark.adapters
def test_deepeval() -> None:
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    case = pytest.importorskip("deepeval.test_case").LLMTestCase
    from summeter.adapters.deepeval import SummaryMetric

    metric = SummaryMetric(threshold=0.8)
    assert metric.measure(case(input="?", context=[DOCUMENT], actual_output=GOOD)) == 1.0
    assert metric.is_successful()
    assert asyncio.run(metric.a_measure(case(input=DOCUMENT, actual_output=BAD))) == 0.0
    assert not metric.is_successful()
    assert metric.reason
    failing = SummaryMetric(evaluators=Broken())
    assert failing.measure(case(input=DOCUMENT, actual_output=GOOD)) is None
    assert (failing.is_successful(), failing.error) == (False, "no answer")
    with pytest.raises(UsageError):
        SummaryMetric("tone").measure(case(input=DOCUMENT, actual_output=GOOD))


@pytest.mark.adapters
def test_ragas() -> None:
    pytest.importorskip("ragas")
    from summeter.adapters.ragas import summary_metric

    metric = summary_metric()
    found = metric.score(response=BAD, retrieved_contexts=[DOCUMENT])
    assert found.value == 0.0
    assert found.reason
    missing: Any = summary_metric(evaluators=Broken()).score(response=GOOD, retrieved_contexts=[DOCUMENT])
    assert missing.value is None


@pytest.mark.adapters
def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    from summeter.adapters.mlflow import summary_scorer

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)
    data = [{"inputs": {"document": DOCUMENT}, "outputs": text} for text in (GOOD, BAD)]
    result = mlflow.genai.evaluate(data=data, scorers=[summary_scorer()])
    assert result.metrics["faithfulness/mean"] == 0.5
    feedback = summary_scorer(Broken())(inputs=data[0]["inputs"], outputs=GOOD)
    assert [(one.name, one.value, one.error.error_message) for one in feedback] == [
        ("faithfulness", None, "no answer"),
    ]
