"""Prompts and files that settings name: read once, copied into the run, identified by 64 bits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.evaluators.claims.factscore import FactScore
from summeter.evaluators.ensemble import Ensemble
from summeter.evaluators.fenice.evaluator import Fenice
from summeter.evaluators.geval.geval import GEval
from summeter.evaluators.overlap.bertscore import BertScore
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.models.base import Completion, Request
from summeter.models.providers.scripted import Scripted
from summeter.runs.calls import CallStore

ROWS = [{"doc_id": f"d{day}", "document": f"It rained {day} days.", "summary": "It rained."} for day in range(6)]
REPLY = '{"reason": "Short.", "score": 4}'


def _rules(tmp_path: Path) -> str:
    file = tmp_path / "judge.jsonl"
    file.write_text(json.dumps({"reply": REPLY}) + "\n", "utf-8")
    return f"scripted/{file}"


def _questions(run: Run) -> list[str]:
    with CallStore(run.folder / "calls.sqlite") as store:
        return [json.loads(store.request(call.key))["messages"][-1]["content"] for call in store.tokens()]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "rts.txt").write_text("First wording: {{ summary }} of {{ document }}", "utf-8")
    return folder


def test_a_template_edited_while_the_run_goes_on_is_not_read(
    tmp_path: Path, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Scripted.complete

    async def edit(self: Scripted, request: Request) -> Completion:
        (prompts / "rts.txt").write_text("Second wording: {{ summary }} of {{ document }}", "utf-8")
        return await asked(self, request)

    monkeypatch.setattr(Scripted, "complete", edit)
    judge = ReasonThenScore(prompts=prompts)
    run = evaluate(ROWS, [judge], models=_rules(tmp_path), out=tmp_path / "run", concurrency=1)
    assert [question.split(":")[0] for question in _questions(run)] == ["First wording"] * len(ROWS)
    again = evaluate(ROWS, [ReasonThenScore(prompts=prompts)], models=_rules(tmp_path), out=tmp_path / "run")
    assert len({row.signature for row in again.judgments()}) == 2
    kept = {file.read_text("utf-8").split(":")[0] for file in (tmp_path / "run" / "prompts").iterdir()}
    assert kept == {"First wording", "Second wording"}


def test_the_run_keeps_every_template_under_the_hash_of_the_signature(tmp_path: Path) -> None:
    run = evaluate(ROWS[:1], [ReasonThenScore()], models=_rules(tmp_path), out=tmp_path / "run")
    (hashed,) = re.findall(r"prompt:([0-9a-f]+)", run.judgments()[0].signature)
    assert len(hashed) == 16
    (file,) = (tmp_path / "run" / "prompts").iterdir()
    assert file.name == f"rts.{hashed}.txt"
    assert file.read_text("utf-8") == ReasonThenScore().load_template("rts").source


@pytest.mark.parametrize(
    ("judge", "names"),
    [
        (GEval(), {"geval", "geval_steps"}),
        (GEval(steps=("Score it.",), key_facts="auto"), {"geval", "key_facts_reference", "key_facts_document"}),
        (FactScore(), {"claims", "factscore"}),
        (Fenice(claims="llm"), {"claims"}),
        (Fenice(), set()),
        (Ensemble(of="rts+mcq"), set()),  # its members stand in the run by themselves
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_all_templates_that_bear_on_a_judgment_are_kept(judge: Any, names: set[str]) -> None:
    assert {Path(file).name.split(".")[0] for file in judge.files_to_keep()} == names


def test_a_file_of_numbers_is_read_once_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "base.csv"
    file.write_text("LAYER,P,R,F\n10,0.5,0.4,0.3\n", "utf-8")
    judge = BertScore(rescale=True, baseline=file)
    signed = judge.sign({"encoder": "a/b"})
    file.unlink()
    assert judge.sign({"encoder": "a/b"}) == signed
    ((name, text),) = judge.files_to_keep().items()
    (hashed,) = re.findall(r"baseline:([0-9a-f]{16})", signed)
    assert (name, text) == (f"files/base.{hashed}.csv", "LAYER,P,R,F\n10,0.5,0.4,0.3\n")
