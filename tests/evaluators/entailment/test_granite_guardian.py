"""Granite Guardian: the bodies that a server receives, hand-worked probabilities, and unusable replies."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from evaluators.networks import document, judge
from models.server import Call, Reply, StubServer, json_reply, ok

from summeter.engine.api import evaluate
from summeter.evaluators.base import Tools
from summeter.evaluators.entailment.granite_guardian import CRITERION, GraniteGuardian
from summeter.models.base import Completion, TokenLogprobs
from summeter.models.providers.scripted import Scripted
from summeter.models.structured import BoundLLM
from summeter.records import CapabilityError, Judgment, UsageError

SOURCE, CLAIM = "Ada sold the mill.", "Ada sold it."
Tokens = list[list[tuple[str, float]]]
NO_THOUGHTS = "<think>\n</think><score> no </score>"
NO_THEN_SURE: Tokens = [[("No", 0.6), (" yes", 0.2), ("NO", 0.1), ("Yesterday", 0.1)], [("<end>", 1.0), ("Yes", 0.1)]]
"""No with 0.6 + 0.1, yes with 0.2 and, at the second token, 0.1."""


def served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, text: str, tokens: Tokens | None, server: str = "stub"
) -> tuple[list[Judgment], list[dict[str, Any]]]:
    """Return the judgments of one summary and the bodies that the server received."""
    monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")
    (tmp_path / "data.jsonl").write_text(json.dumps({"document": SOURCE, "summary": CLAIM}) + "\n")
    sent = []

    def behave(call: Call) -> Reply:
        sent.append(call.body)
        body = json.loads(ok(text).content)
        if tokens is not None:
            rows = [[{"token": token, "logprob": math.log(share)} for token, share in row] for row in tokens]
            body["choices"][0]["logprobs"] = {"content": [{**row[0], "top_logprobs": row} for row in rows]}
        return json_reply(body)

    name = f"openai-api/{server}/guardian" if server == "stub" else f"{server}/guardian"
    options: dict[str, Any] = {"models": {"judge": name}, "out": tmp_path / "run", "progress": False}
    with StubServer(behave) as stub:
        run = evaluate(tmp_path / "data.jsonl", [spec], base_url=stub.url, **options)
    return list(run.judgments()), sent


def test_release_3_has_a_context_turn_and_sums_over_the_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,), (body,) = served(
        tmp_path, monkeypatch, "granite_guardian[3.2]", "No\n<confidence> High </confidence>", NO_THEN_SURE
    )
    assert body["messages"] == [{"role": "context", "content": SOURCE}, {"role": "assistant", "content": CLAIM}]
    assert body["chat_template_kwargs"] == {"guardian_config": {"risk_name": "groundedness"}}
    assert (body["logprobs"], body["top_logprobs"], "documents" in body) == (True, 20, False)
    assert (row.value, row.label) == (pytest.approx(0.7 / (0.7 + 0.3)), 1)


def test_release_3_3_passes_the_document_beside_the_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [[("<score>", 1.0)], [(" no", 0.2), (" yes", 0.8)], [("</score>", 1.0)]]
    yes = "<think>\n</think><score> yes </score>"
    (row,), (body,) = served(tmp_path, monkeypatch, "granite_guardian[3.3]", yes, tokens)
    assert body["messages"] == [{"role": "assistant", "content": CLAIM}]
    assert body["documents"] == [{"doc_id": "0", "text": SOURCE}]
    assert body["chat_template_kwargs"] == {"guardian_config": {"criteria_id": "groundedness"}, "think": False}
    assert (row.value, row.label) == (pytest.approx(0.2), 0)


def test_release_4_1_thinks_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = "<think>The sale is\n stated.</think><score> no </score>"
    (row,), (body,) = served(tmp_path, monkeypatch, "granite_guardian[think=true]", reply, None)
    assert body["documents"] == [{"doc_id": "0", "text": SOURCE}]
    assert "chat_template_kwargs" not in body
    claim, block = body["messages"]
    assert (claim["role"], block["role"]) == ("assistant", "user")
    think, criterion, scoring = block["content"].split("\n\n")
    assert think.startswith("<guardian><think>As a judge agent,")
    assert criterion == f"### Criteria: {CRITERION}"
    assert scoring.startswith("### Scoring Schema: If the last assistant's text meets the criteria, return 'yes';")
    assert "logprobs" not in body
    assert (row.value, (row.reason or "").endswith(": The sale is stated.")) == (1, True)
    _, (body,) = served(tmp_path / "..", monkeypatch, "granite_guardian", NO_THOUGHTS, NO_THEN_SURE)
    # The text of the released code for this mode.
    block = body["messages"][1]["content"].partition("\n\n")[0]
    assert hashlib.sha256(block.encode()).hexdigest()[:8] == "6b1ce10b"


def test_a_server_that_would_ignore_the_fields_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CapabilityError, match="ollama/guardian does not support extra_body: use a server"):
        served(tmp_path, monkeypatch, "granite_guardian", NO_THOUGHTS, NO_THEN_SURE, "ollama")


def test_the_release_must_be_that_of_the_model() -> None:
    name = "vllm/ibm-granite/granite-guardian-3.3-8b"
    bound = BoundLLM(Scripted(lambda _: Completion(text=NO_THOUGHTS, logprobs=sure("no")), id=name))
    tools = Tools("s", llms={"judge": bound})
    with pytest.raises(UsageError, match=r"is of release 3\.3: use granite_guardian\[release=3\.3\]"):
        judge(GraniteGuardian(), document(SOURCE), CLAIM, tools=tools)
    ((row,),) = judge(GraniteGuardian(release="3.3"), document(SOURCE), CLAIM, tools=tools)
    assert row.value == pytest.approx(1)


def sure(word: str, share: float = 1.0) -> tuple[TokenLogprobs, ...]:
    return (TokenLogprobs(token=word, logprob=math.log(share)),)


@pytest.mark.parametrize(
    ("release", "text", "logprobs", "status", "why"),
    [
        ("3", "Perhaps.", sure("no"), "unparsed", "does not start with yes or no"),
        ("3", "No-one knows.", sure("no"), "unparsed", "does not start with yes or no"),
        ("3", "I'm sorry, but I can't.", sure("no"), "refused", "refused"),
        ("3", "No", sure("N"), "unparsed", "neither yes nor no"),
        ("4.1", "no", sure("no"), "unparsed", "no single <score>"),
        ("4.1", "<score> no </score><score> yes </score>", sure("no"), "unparsed", "no single <score>"),
        ("4.1", "<score> no </score>", sure("no", 1.5), "unparsed", "log-probability"),
    ],
)
def test_unusable_replies_have_no_value(
    release: Any, text: str, logprobs: tuple[TokenLogprobs, ...], status: str, why: str
) -> None:
    bound = BoundLLM(Scripted(lambda _: Completion(text=text, logprobs=logprobs)))
    ((row,),) = judge(GraniteGuardian(release=release), document(SOURCE), CLAIM, tools=Tools("s", {"judge": bound}))
    assert (row.status, row.value) == (status, None)
    assert re.search(why, row.reason or "")
