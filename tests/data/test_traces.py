"""Logs of a summarizer as data: batches of OpenAI, traces of Langfuse, Phoenix and MLflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from data.files import put

from summeter.data.dataset import Dataset, load
from summeter.records import InputError

TEXT, SHORT = "It rained all day in Oln.", "It rained."
MESSAGES = [{"role": "system", "content": "Summarize."}, {"role": "user", "content": TEXT}]


def texts(data: Dataset) -> list[tuple[str, str, str]]:
    return [(data.documents[each.document_id].text, each.text, each.system) for each in data.summaries]


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_batch_of_openai(tmp_path: Path, api: str) -> None:
    given = {"messages": MESSAGES} if api == "chat" else {"input": TEXT}
    message = {"role": "assistant", "content": SHORT}
    parts = {"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": SHORT}]}
    written = {"choices": [{"message": message}]} if api == "chat" else {"output": [{"type": "reasoning"}, parts]}
    requests = [{"custom_id": name, "url": "/v1", "body": {"model": "gpt", **given}} for name in ("a", "b", "c")]
    results = [
        {"custom_id": "b", "response": {"status_code": 429, "body": {}}, "error": None},
        {"custom_id": "a", "response": {"status_code": 200, "body": written}, "error": None},
        {"custom_id": "c", "response": None, "error": {"code": "batch_expired"}},
    ]
    files = [put(tmp_path / "requests.jsonl", requests), put(tmp_path / "results.jsonl", results)]
    data = load(files, preset="openai_batch")
    assert texts(data) == [(TEXT, SHORT, "gpt")]
    assert [each.document_id for each in data.summaries] == ["a"]
    assert [each.message.split()[0] for each in data.warnings] == ["b", "c"]


LANGFUSE = {"id": "o1", "traceId": "t1", "type": "GENERATION", "model": "m", "input": MESSAGES, "output": SHORT}
PHOENIX = {
    "span_kind": "LLM", "context": {"span_id": "s1", "trace_id": "t1"},
    "attributes": {
        "input": {"value": json.dumps({"messages": MESSAGES})}, "output": {"value": SHORT}, "llm": {"model_name": "m"},
    },
}  # fmt: skip
FLAT = {
    "context.span_id": "s1", "context.trace_id": "t1", "attributes.input.value": TEXT,
    "attributes.output.value": json.dumps({"summary": SHORT}), "attributes.llm.model_name": "m",
}  # fmt: skip
DOTTED = {
    "context": '{"span_id": "s1", "trace_id": "t1"}',
    "attributes": {"openinference.span.kind": "LLM", "input.value": TEXT, "output.value": SHORT, "llm.model_name": "m"},
}
TO_JSON = {
    "info": {"trace_id": "t1", "state": "OK"},
    "data": {"spans": [{"parent_id": None, "attributes": {
        "mlflow.spanInputs": json.dumps({"document": TEXT}), "mlflow.spanOutputs": json.dumps(SHORT),
    }}]},
}  # fmt: skip
MLFLOW = {"trace_id": "t1", "request": {"document": TEXT, "words": 20}, "response": SHORT}


@pytest.mark.parametrize(
    ("row", "system", "ids"),
    [
        (LANGFUSE, "m", {"trace_id": "t1", "observation_id": "o1"}),
        (PHOENIX, "m", {"trace_id": "t1", "span_id": "s1"}),
        (FLAT, "m", {"trace_id": "t1", "span_id": "s1"}),
        (DOTTED, "m", {"trace_id": "t1", "span_id": "s1"}),
        (MLFLOW, "system", {"trace_id": "t1"}),
        (TO_JSON, "system", {"trace_id": "t1"}),
    ],
    ids=["langfuse", "phoenix", "phoenix-frame", "phoenix-dotted", "mlflow", "mlflow-json"],
)
def test_traces(tmp_path: Path, row: dict[str, Any], system: str, ids: dict[str, str]) -> None:
    data = load(put(tmp_path / "traces.jsonl", [row]), preset="traces")
    assert texts(data) == [(TEXT, SHORT, system)]
    assert ids.items() <= data.summaries[0].extra.items()


def test_generations_of_a_trace(tmp_path: Path) -> None:
    tool = {**LANGFUSE, "id": "o2", "type": "TOOL", "input": {"query": 1}}
    chain = {**LANGFUSE, "id": "o3", "type": "CHAIN"}
    failed = {**LANGFUSE, "id": "o4", "level": "ERROR", "output": None}
    second = {**LANGFUSE, "id": "o5", "input": "Ben left."}
    data = load(put(tmp_path / "a.jsonl", [LANGFUSE, tool, chain, failed, second]), preset="traces")
    assert [each.extra["observation_id"] for each in data.summaries] == ["o1", "o5"]
    assert [each.message.split()[0] for each in data.warnings] == ["o4"]
    assert len(load(put(tmp_path / "b.jsonl", [chain, tool]), preset="traces")) == 1
    spans = [PHOENIX, {**PHOENIX, "context": {"span_id": "s2", "trace_id": "t1"}}]
    assert [each.document_id for each in load(put(tmp_path / "c.jsonl", spans), preset="traces").summaries] == [
        "s1",
        "s2",
    ]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({**LANGFUSE, "input": {"query": 1}}, "input"), ({**PHOENIX, "attributes": "text"}, "attributes"),
        ({**LANGFUSE, "input": "[" * 100_000}, None), ({**TO_JSON, "data": {"spans": 3}}, "data"),
    ],
)  # fmt: skip
def test_faults(tmp_path: Path, row: dict[str, Any], field: str | None) -> None:
    file = put(tmp_path / "a.jsonl", [LANGFUSE, {**row, "id": "o3", "traceId": "t3"}])
    if field is None:  # text that only looks like JSON
        assert len(load(file, preset="traces")) == 2
        return
    with pytest.raises(InputError, match=rf"a.jsonl:2: {field}"):
        load(file, preset="traces")


def test_a_request_without_a_result_is_a_fault(tmp_path: Path) -> None:
    requests = put(tmp_path / "r.jsonl", [{"custom_id": "a", "body": {"messages": MESSAGES}}])
    with pytest.raises(InputError, match="results"):
        load(requests, preset="openai_batch")
