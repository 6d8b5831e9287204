"""A label never contradicts its value, and the run records the threshold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from evaluators.networks import FakeNetwork, document, judge, logits_of, networks
from evaluators.test_bad_replies import HARNESSES
from evaluators.test_bad_replies import judge as answered
from numpy.typing import NDArray
from together import together

from summeter.engine.api import evaluate
from summeter.evaluators.base import Evaluator, Tools
from summeter.evaluators.catalog import CATALOG, find
from summeter.evaluators.derived import DerivedEvaluator, MemberJudgments
from summeter.evaluators.ensemble import Ensemble
from summeter.evaluators.entailment.reasons import rounded
from summeter.evaluators.entailment.summac import SummaC
from summeter.evaluators.fenice.evaluator import Fenice
from summeter.evaluators.support.evaluator import Support
from summeter.models.networks import Classify, FindLabels, Labels
from summeter.records import Judgment, Target

SUMMARIES = ("Ada sold the mill. It rained in May. Nobody was hurt.", "The boat sank, and the crew swam home.")


def drawn_logits(request: Classify) -> NDArray[np.float64]:
    """Return pseudorandom probabilities by text, many of them close to a half."""
    rng = random.Random(repr(request.texts))
    entail = rng.choice([0.5, 0.4996, 0.5004, rng.random()])
    contradict = rng.choice([0.0, rng.random() * (1 - entail)])
    return logits_of((entail, 1 - entail - contradict, contradict))


def local_judges() -> list[Evaluator]:
    """Return every judge of the catalog that asks no LLM, some with several thresholds."""
    known = [find(name)() for name in CATALOG if name != "ensemble"]
    judges = [judge for judge in known if not judge.asks_llm and not judge.needs]
    lines = [made(threshold=line) for made in (Fenice, SummaC) for line in (-1.0, 0.0, 0.4998, 1.0)]
    return [
        *(judge for judge in judges if not isinstance(judge, DerivedEvaluator)),
        *lines,
        Fenice(step="nli_sent"),
        SummaC(labels="ec"),
        Support(base_rate=0.9),
    ]


@together("evaluator", local_judges())
def test_a_label_is_a_threshold_of_its_value(evaluator: Evaluator) -> None:
    source = document(*(f"Ada sold mill {at} in May." for at in range(12)))
    source = source.model_copy(update={"key_facts": ("Ada sold a mill.", "It snowed.")})
    kinds = Labels(("entity error", "relation error", "no error"), several=False)
    answers = {Classify: drawn_logits, FindLabels: lambda _: kinds}
    nli = FakeNetwork(answers)
    others = {} if "classifier" in evaluator.required_roles else {"classifier": nli}
    tools = Tools(signature="s", networks=networks(evaluator, **others))
    rows = [row for some in judge(evaluator, source, *SUMMARIES, tools=tools) for row in some]
    assert any(row.label is not None for row in rows) or evaluator.decision_threshold is None
    assert_labels_follow(evaluator, rows)


def assert_labels_follow(evaluator: Evaluator, rows: Sequence[Judgment]) -> None:
    """Check that each binary label equals its value, or is on the value's side of the threshold."""
    labelled = [row for row in rows if row.status == "ok" and row.label is not None]
    line = evaluator.decision_threshold
    for row in labelled:
        assert row.value is not None
        if row.target.unit in evaluator.binary_units:
            assert row.label == row.value
        else:
            assert line is not None
            assert row.label == int(row.value >= line)


@together("name", HARNESSES)
def test_a_label_from_a_reply_follows_its_value(name: str) -> None:
    harness = HARNESSES[name]
    for reply in (harness.good, harness.other):
        rows = answered(harness, reply)[1]
        assert all(row.status == "ok" for row in rows)
        assert_labels_follow(harness.evaluator, rows)


@pytest.mark.parametrize("how", ["majority", "auto"])
def test_the_label_of_an_ensemble_follows_its_value(how: str) -> None:
    rng = random.Random(7)
    specs = ("support", "finesure.fact_check", "summac")  # judges of the aspect; their labels are drawn
    for members in (2, 3):
        ensemble = Ensemble(aspect="faithfulness", of="+".join(specs[:members]), how=how)
        judged = [
            MemberJudgments((f"d{n}", "s", None), tuple((random_judgment(rng, f"d{n}"),) for _ in range(members)))
            for n in range(40)
        ]
        rows = list(ensemble.derive(judged, "s"))
        assert {row.label for row in rows if row.status == "ok"} == {0, 1}
        assert_labels_follow(ensemble, rows)


def random_judgment(rng: random.Random, document_id: str) -> Judgment:
    label = rng.randint(0, 1)
    target = Target(document_id=document_id, system="s", unit="summary")
    return Judgment(target=target, aspect="faithfulness", judge="m", signature="m", value=float(label), label=label)


def test_rounded_values_show_the_side_of_the_threshold() -> None:
    for value in (0.4996, 0.499999, 0.5 - 2**-54, 0.5, 0.5004, -0.003, 0.0):
        for line in (0.5, 0.0):
            assert (float(rounded(value, line)) >= line) == (value >= line)


def test_the_run_stores_thresholds(tmp_path: Path) -> None:
    rows = [{"doc_id": "d", "system": "s", "document": "Ada sold the mill.", "summary": "Ada sold it."}]
    run = evaluate(rows, ["support"], out=tmp_path / "run")
    assert [entry.threshold for entry in run.manifest.judges] == [0.5]
