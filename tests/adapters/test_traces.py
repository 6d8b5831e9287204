"""Scores sent to Langfuse and Phoenix, on a server that checks the shapes of the requests."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from models.server import Call, Reply, StubServer, json_reply

import summeter as sm
from summeter.adapters.traces import to_langfuse, to_phoenix
from summeter.records import SummeterError, UsageError

TEXT = {"type": "string", "minLength": 1}
LANGFUSE = {
    "type": "array", "minItems": 1, "maxItems": 100,
    "items": {
        "type": "object", "required": ["name", "value", "traceId"], "additionalProperties": False,
        "properties": {
            "id": TEXT, "name": TEXT, "value": {"type": "number"}, "dataType": {"const": "NUMERIC"}, "traceId": TEXT,
            "observationId": TEXT, "comment": TEXT, "metadata": {"type": "object"}, "timestamp": TEXT,
        },
    },
}  # fmt: skip
PHOENIX = {
    "type": "object", "required": ["data"], "additionalProperties": False,
    "properties": {
        "data": {
            "type": "array", "minItems": 1,
            "items": {
                "type": "object", "required": ["span_id", "name", "annotator_kind"], "additionalProperties": False,
                "properties": {
                    "span_id": TEXT, "name": TEXT, "annotator_kind": {"enum": ["LLM", "CODE", "HUMAN"]},
                    "identifier": TEXT, "metadata": {"type": "object"},
                    "result": {
                        "type": "object", "additionalProperties": False,
                        "properties": {"score": {"type": "number"}, "label": TEXT, "explanation": TEXT},
                    },
                },
            },
        }
    },
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> sm.Run:
    document = "The mill was closed on Monday."
    rows = [
        {"doc_id": "a", "document": document, "summary": "The mill was closed.", "trace_id": "t1", "span_id": "s1"},
        {"doc_id": "b", "document": document, "summary": "Ben sold 3 boats.", "trace_id": "t2", "span_id": "s2",
         "observation_id": "o2"},
        {"doc_id": "c", "document": document, "summary": "", "trace_id": "t3", "span_id": "s3"},
        {"doc_id": "d", "document": document, "summary": "The mill was closed."},
    ]  # fmt: skip
    return sm.evaluate(rows, "support", out=tmp_path / "run")


def given(content: Any, status: int = 200) -> Any:
    def behave(call: Call) -> Reply:
        return json_reply(content, status)

    return behave


def test_langfuse(run: sm.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="LANGFUSE_PUBLIC_KEY"):
        to_langfuse(run)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    with StubServer(given({"accepted": 2}, 202)) as server:
        found = to_langfuse(run, server.root)
        again = to_langfuse(run, server.root)
        first, second = server.calls
    assert found == again
    assert (found.missing > 0, found.without_id) == (True, 1)
    assert first.body == second.body
    jsonschema.validate(first.body, LANGFUSE)
    assert found.sent == len(first.body)
    assert first.headers["Authorization"] == f"Basic {base64.b64encode(b'pk:sk').decode()}"
    by_trace = {each["traceId"]: each for each in first.body if each["name"] == "support.faithfulness"}
    assert {trace: each["value"] for trace, each in by_trace.items()} == {"t1": 1.0, "t2": 0.0}
    assert by_trace["t2"]["observationId"] == "o2"
    assert "boats" in by_trace["t2"]["comment"]
    assert "observationId" not in by_trace["t1"]


def test_phoenix(run: sm.Run) -> None:
    with StubServer(given({"data": []})) as server:
        found = to_phoenix(run, server.root)
        (call,) = server.calls
    jsonschema.validate(call.body, PHOENIX)
    assert found.sent == len(call.body["data"])
    assert {each["annotator_kind"] for each in call.body["data"]} == {"CODE"}
    assert {each["span_id"] for each in call.body["data"]} == {"s1", "s2"}


def test_refusals(run: sm.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")
    with StubServer(given({"message": "no"}, 401)) as server, pytest.raises(UsageError, match="401"):
        to_langfuse(run, server.root)
    partly = given({"errors": [{"id": "x", "message": "bad"}]}, 207)
    with StubServer(partly) as server, pytest.raises(SummeterError, match="rejected 1"):
        to_langfuse(run, server.root)
    root = server.root
    with pytest.raises(SummeterError, match="cannot be reached"):
        to_phoenix(run, root)
    for wrong in ("http://h:x/", "http://[bad/"):
        with pytest.raises(UsageError, match="not an address"):
            to_phoenix(run, wrong)
    with pytest.raises(UsageError, match="spam"):
        to_phoenix(run, root, span="spam")


def test_redirects_are_not_followed_and_other_answers_are_errors(run: sm.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", "secret")
    with StubServer(given({})) as other:

        def redirect(call: Call) -> Reply:
            return Reply(302, b"", {"Location": f"{other.root}/elsewhere"})

        with StubServer(redirect) as server, pytest.raises(UsageError, match="302"):
            to_phoenix(run, server.root)
        assert not other.calls
        assert not other.got
    page = Reply(200, b"<html>sign in</html>")
    with StubServer(lambda call: page) as server, pytest.raises(SummeterError, match="JSON object"):
        to_phoenix(run, server.root)
