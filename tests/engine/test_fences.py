"""Fences in prompts depend on a secret of the call store, but keys of calls do not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from summeter.engine.api import evaluate
from summeter.evaluators.rating.rts import ReasonThenScore
from summeter.models.base import Completion, Request
from summeter.models.prompts import fence_code
from summeter.models.providers.scripted import Scripted
from summeter.runs.calls import CallStore

ROW = {"doc_id": "d", "document": "It rained all day.", "summary": "It rained."}
REPLY = '{"reason": "Short.", "score": 4}'


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Every request that gets as far as a model."""
    requests: list[Request] = []
    complete = Scripted.complete

    async def keep(self: Scripted, request: Request) -> Completion:
        requests.append(request)
        return await complete(self, request)

    monkeypatch.setattr(Scripted, "complete", keep)
    return requests


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "judge.jsonl"
    rules = [{"reply": "Let me see.", "times": 1}, {"reply": REPLY}]
    file.write_text("".join(json.dumps(rule) + "\n" for rule in rules), "utf-8")
    return f"scripted/{file}"


def _codes(request: Request) -> set[str]:
    return set(re.findall(r"<<<(?:end of )?\w+ ([0-9a-f]{16})>>>", request.prompt))


def test_nobody_who_knows_the_texts_can_compute_the_fence(tmp_path: Path, model: str, sent: list[Request]) -> None:
    evaluate([ROW], [ReasonThenScore()], models=model, out=tmp_path / "one")
    first, repaired = sent
    assert len(_codes(first)) == 2
    assert _codes(first) == _codes(repaired)  # the repair turn asks in the same fences
    assert fence_code(ROW["document"]) not in first.prompt
    evaluate([ROW], [ReasonThenScore()], models=model, out=tmp_path / "other")
    assert not _codes(sent[-1]) & _codes(first)  # every store has its own secret
    assert sent[-2].key == first.key  # and the same keys


def test_a_run_that_is_carried_on_sends_the_same_fences(tmp_path: Path, model: str, sent: list[Request]) -> None:
    evaluate([ROW], [ReasonThenScore()], models=model, out=tmp_path / "run")
    evaluate([ROW], [ReasonThenScore(aspect="fluency")], models=model, out=tmp_path / "run")
    assert _codes(sent[0]) == _codes(sent[-1])


def test_what_is_stored_has_the_hash_it_goes_by(tmp_path: Path, model: str, sent: list[Request]) -> None:
    run = evaluate([ROW], [ReasonThenScore()], models=model, out=tmp_path / "run")
    with CallStore(run.folder / "calls.sqlite") as store:
        calls = {call.key: store.request(call.key) for call in store.tokens()}
        assert store.fence_secret() == store.fence_secret()
    assert list(calls) == [Request.model_validate(json.loads(request)).key for request in calls.values()]
    assert len(sent) == len(calls) == 2
