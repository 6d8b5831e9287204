"""Stores that an earlier version wrote still answer: no key of a call or of a result has changed since.

`before/` was written by summeter of 22 November 2026 (`questions.py` is what was asked); nothing here may compute or
send anything.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from models.before.questions import FORM_SCHEMA, MODEL, NETWORK, QUESTIONS, prompt_turns, read

from summeter.models.base import Entailment, Generation, Message
from summeter.models.local.encoder import LocalEncoder
from summeter.models.local.nli import LocalNLI
from summeter.models.local.seq2seq import LocalSeq2Seq
from summeter.models.prompts import Prompt
from summeter.models.resolve import stack_replay
from summeter.models.structured import Answer, BoundLLM, Form, Sampling, Settings
from summeter.records import ReplayMiss
from summeter.runs.calls import CallStore
from summeter.runs.results import ResultStore

BEFORE = Path(__file__).parent / "before"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BEFORE, tmp_path / "before"))


def ask(store: CallStore, text: str, settings: dict[str, Any], asked: dict[str, Any]) -> Answer[dict[str, Any]]:
    llm = BoundLLM(stack_replay(MODEL, store), Settings(**settings))
    turns = tuple(Message(role=role, content=content) for role, content in prompt_turns(text))
    return asyncio.run(llm.ask(Prompt("p", "h", turns), Form("f", FORM_SCHEMA, read), Sampling(**asked)))


def test_recorded_calls_are_replayed(stored: Path) -> None:
    with CallStore(stored / "calls.sqlite") as store:
        assert len(store) == len(QUESTIONS) + 1  # one was repaired
        answers = [ask(store, *question) for question in QUESTIONS]
        with pytest.raises(ReplayMiss):
            ask(store, "plain", {"temperature": 0.5}, {})
    assert {answer.status for answer in answers} == {"ok"}
    assert [len(answer.calls) for answer in answers] == [1, 1, 1, 1, 1, 2]
    # A second repeat draws from 10,000 on.
    assert [answer.data["draw"] for answer in answers if answer.data] == [0, 0, 2, 10_001, 0, 0]


def test_recorded_results_of_networks_are_replayed(stored: Path) -> None:
    with ResultStore(stored / "results.sqlite") as store:
        nli = LocalNLI(NETWORK, None, store)
        assert asyncio.run(nli.classify([("A premise.", "A hypothesis.")])) == [Entailment(0.5, 0.25, 0.25)]
        assert asyncio.run(nli.count(["Ümlaut"])) == [6]
        assert nli.limit == 509
        assert asyncio.run(LocalEncoder(NETWORK, None, store).embed(["A text."])).tolist() == [
            pytest.approx([0.6, 0.8])
        ]
        seq2seq = LocalSeq2Seq(NETWORK, None, store)
        assert asyncio.run(seq2seq.generate(["A source."], Generation(32))) == ["generated"]
        assert asyncio.run(seq2seq.score([("A source.", "A target.")])) == [-1.25]
        with pytest.raises(ReplayMiss):
            asyncio.run(nli.classify([("A premise.", "Another.")]))
