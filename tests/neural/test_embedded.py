"""The embedded network: its name, plain cases, independence of batches, and its use in a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from summeter.engine.api import evaluate
from summeter.evaluators.support.network import MODEL, combination, signed
from summeter.models.local.load import identify, local_network
from summeter.models.local.loaded_model import open_model
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import entailments
from summeter.records import UsageError

TEXT = "Profits at the mill rose 14 percent in May. Staff numbers fell."
ROWS = [
    {"doc_id": "d", "system": system, "document": TEXT, "summary": summary, "key_facts": ["Profits rose."]}
    for system, summary in (("a", "The number of staff fell."), ("b", "The mill was sold to a bank."))
]


@pytest.fixture(scope="module")
def nli() -> LocalNetwork:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: make neural")
    opened = open_model(MODEL, "classifier")
    return local_network(opened)


def test_the_combination_was_fitted_on_the_weights_that_are_shipped(nli: LocalNetwork) -> None:
    assert nli.id == combination()["card"]["network"]


def test_plain_cases(nli: LocalNetwork) -> None:
    same, foreign, against = asyncio.run(
        entailments(nli, [
            (TEXT, "Staff numbers fell."),
            (TEXT, "A train from Lisbon was late."),
            ("The council did not approve the plan.", "The council approved the plan."),
        ])
    )  # fmt: skip
    assert same.entail > 0.5
    assert foreign.entail < same.entail / 2
    assert against.entail < same.entail


def test_a_result_does_not_depend_on_its_batch(nli: LocalNetwork) -> None:
    pairs = [(TEXT, "Staff numbers fell."), (TEXT * 3, "It rained."), ("Rain.", "It rained for days and days in May.")]
    together = asyncio.run(entailments(nli, pairs))
    alone = [asyncio.run(entailments(nli, [pair]))[0] for pair in pairs]
    for one, other in zip(together, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_a_run_uses_and_signs_the_embedded_network(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime: make neural")
    run = evaluate(ROWS, ["support[network=true]"], out=tmp_path / "run")
    sentences = [one for one in run.judgments() if one.target.unit == "sentence" and one.aspect == "faithfulness"]
    by_system = {one.target.system: one for one in sentences}
    first, second = by_system["a"], by_system["b"]
    assert first.value is not None
    assert second.value is not None
    assert first.value > second.value
    assert f"support:{combination()['card']['network']}" in first.signature
    assert str(signed()["joint"]) in first.signature
    again = evaluate(ROWS, ["support[network=true]"], out=tmp_path / "run")
    assert [one.value for one in again.judgments()] == [one.value for one in run.judgments()]
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["judges"][0]["models"]["support"] == nli_id()


def nli_id() -> str:
    return combination()["card"]["network"]


def test_another_network_is_refused_and_unknown_ones_are_named() -> None:
    with pytest.raises(UsageError, match="known: support"):
        identify("nli", "embedded/other", "classifier")


@pytest.mark.usefixtures("nli")
def test_a_run_is_replayed_by_the_models_it_names(tmp_path: Path) -> None:
    row = {"document": "Ana Ruiz came home. She won gold.", "summary": "Ana Ruiz won gold.", "id": "a"}
    (tmp_path / "d.jsonl").write_text(json.dumps(row) + "\n")
    cluster = [{"mention": "Ana Ruiz", "passage": "Ana Ruiz came"}, {"mention": "She", "passage": "She won gold"}]
    (tmp_path / "r.jsonl").write_text(json.dumps({"reply": {"clusters": [cluster]}}) + "\n")
    asked: dict[str, Any] = {"evaluators": ["fenice[claims=sentence,coref=llm]"], "progress": False}
    models = {"nli": "embedded/support", "resolver": f"scripted/{tmp_path / 'r.jsonl'}"}
    run = evaluate(tmp_path / "d.jsonl", **asked, models=models, out=tmp_path / "run")
    (tmp_path / "r.jsonl").unlink()
    again = evaluate(tmp_path / "d.jsonl", **asked, replay=tmp_path / "run", out=tmp_path / "again")
    assert [row.value for row in again.judgments()] == [row.value for row in run.judgments()] != [None]
