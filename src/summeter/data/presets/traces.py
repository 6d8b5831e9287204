"""Presets for logs of a summarizer: batches of OpenAI, and traces of Langfuse, Phoenix and MLflow.

The document is the last message of the user, or the text in a field with a usual name. Ids of traces are kept as
columns, so that scores can be sent back (`summeter.adapters.traces`).

Sources: OpenAI's documentation of batches; Langfuse's Python SDK 5.0.4 (observations); OpenInference's attributes in
spans of Phoenix, as JSON or as columns of its data frame; MLflow 3.17 (`search_traces`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from summeter.data.presets.base import ROWS, Cells, FileRole, Joined, LayoutError, Preset, never

_INSIDE = ("messages", "choices", "message", "input", "output", "content", "value", "text")
_DOCUMENT = ("document", "article", "transcript", "source", "context")
_SUMMARY = ("summary", "response", "answer")


def text_of(value: Any, role: str, names: Sequence[str]) -> str | None:
    """Return the text in an input or output, or None if there is none.

    It is a string, the content of the last message of a role, the first choice, the parts of a content, or the field of
    an object with the first of `names`. A string that contains JSON is read.

    >>> messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "It rained."}]
    >>> text_of({"messages": messages}, "user", ["document"])
    'It rained.'
    >>> text_of('{"document": "It rained.", "length": 2}', "user", ["document"])
    'It rained.'
    """
    match value:
        case str():
            try:
                content = json.loads(value) if value.lstrip()[:1] in ("{", "[") else None
            except ValueError:
                content = None
            return (None if content is None else text_of(content, role, names)) or value
        case Mapping():
            found = (text_of(value[name], role, names) for name in (*names, *_INSIDE) if value.get(name))
            return next((text for text in found if text), None)
        case list():
            parts = [each for each in value if isinstance(each, Mapping)]
            if any("role" in each for each in parts):
                parts = [each for each in parts if each.get("role") == role][-1:]
            elif any("message" in each for each in parts):
                parts = parts[:1]
            return "\n".join(text for each in parts if (text := text_of(each, role, names))) or None
        case _:
            return None


def _row(joined: Joined, given: Any, written: Any, field: str, **more: Any) -> Cells:
    document, summary = text_of(given, "user", _DOCUMENT), text_of(written, "assistant", _SUMMARY)
    if document is None:
        raise LayoutError(field, "contains no text of a user; give rows with `document` and `summary` instead")
    if summary is None:
        joined.warn(field, "has no text in its output, which is read as an empty summary")
    return {"document": document, "summary": summary or "", **{key: value for key, value in more.items() if value}}


def _batch(joined: Joined) -> Iterable[Cells]:
    request, result = joined.cells, joined.first("results") or {}
    answer, body = result.get("response") or {}, request["body"]
    if answer.get("status_code") != 200:
        joined.warn(
            "custom_id", f"{request['custom_id']} has no answer and is left out: {result.get('error') or answer}"
        )
        return
    yield _row(
        joined, body, answer.get("body"), "body",
        doc_id=request["custom_id"], system=body.get("model") if isinstance(body, Mapping) else None,
    )  # fmt: skip


def _trace(joined: Joined) -> Iterable[Cells]:
    cells = joined.cells
    attributes, context = cells.get("attributes") or {}, cells.get("context") or {}
    kind = cells.get("type") or cells.get("span_kind")
    if kind not in (None, "GENERATION", "LLM", "CHAIN", "AGENT"):
        return
    if attributes or "attributes.input.value" in cells:  # Phoenix
        sides = [cells.get(f"attributes.{side}.value") or attributes.get(side) for side in ("input", "output")]
        model = cells.get("attributes.llm.model_name") or (attributes.get("llm") or {}).get("model_name")
        span = cells.get("context.span_id") or context.get("span_id")
        ids: dict[str, Any] = {"span_id": span, "trace_id": cells.get("context.trace_id") or context.get("trace_id")}
    elif "request" in cells:  # MLflow
        sides, model, ids = [cells["request"], cells.get("response")], None, {"trace_id": cells.get("trace_id")}
    else:  # Langfuse
        sides, model = [cells["input"], cells.get("output")], cells.get("providedModelName") or cells.get("model")
        ids = {"trace_id": cells.get("traceId") or cells.get("id")}
        ids |= {"observation_id": cells["id"]} if cells.get("traceId") else {}
    names = [each for each in reversed(ids.values()) if each]
    yield _row(joined, sides[0], sides[1], "input", doc_id=names[0] if names else None, system=model, **ids)


OPENAI_BATCH = Preset(
    name="openai_batch",
    about="A batch of OpenAI: requests to a summarizer, and its results",
    licence="your own data",
    roles=(
        FileRole(ROWS, ("custom_id", "body"), "the file of requests"),
        FileRole("results", ("custom_id", "response"), "the file of results", key=("custom_id",), needed=never),
    ),
    gives="-",
    convert=_batch,
)
TRACES = Preset(
    name="traces",
    about="Traces of a summarizer: observations of Langfuse, spans of Phoenix, or traces of MLflow",
    licence="your own data",
    roles=(
        FileRole(ROWS, ("input", "output"), "observations of Langfuse"),
        FileRole(ROWS, ("attributes|attributes.input.value",), "spans of Phoenix"),
        FileRole(ROWS, ("request", "response"), "traces of MLflow"),
    ),
    gives="-",
    convert=_trace,
)
