"""Presets for logs of a summarizer: batches of OpenAI, and traces of Langfuse, Phoenix and MLflow.

The document is the last message of the user, or the text in a field with a usual name. Ids of traces are kept as
columns, so that scores can be sent back (`summeter.adapters.traces`).

Sources: OpenAI's documentation of batches; Langfuse's Python SDK 5.0.4 (observations); OpenInference's attributes in
spans of Phoenix, as JSON or as columns of its data frame; MLflow 3.17 (`search_traces`).
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from summeter.data.formats import Row
from summeter.data.presets.base import LIST, OBJECT, ROWS, Cells, FileRole, Joined, LayoutError, Preset, formed

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
            content = _parsed(value)
            found = content if content is value or isinstance(content, str) else text_of(content, role, names)
            return found or value
        case Mapping():
            texts = (text_of(value[name], role, names) for name in (*names, *_INSIDE) if value.get(name))
            return next((text for text in texts if text), None)
        case list():
            parts = [each for each in value if isinstance(each, Mapping)]
            if any("role" in each for each in parts):
                parts = [each for each in parts if each.get("role") == role][-1:]
            elif any("message" in each for each in parts):
                parts = parts[:1]
            return "\n".join(text for each in parts if (text := text_of(each, role, names))) or None
        case _:
            return None


def _parsed(value: Any) -> Any:
    """Return the content of a string that is JSON, and any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _object(cells: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    """Return the object in a column, or an empty one if the column is absent. Raises LayoutError for another value."""
    return formed(_parsed(cells.get(column)) or {}, column, OBJECT, "an object")


def _texts(joined: Joined, given: Any, written: Any, field: str, name: str) -> Cells | None:
    """Return the document and the summary, or None, with a warning, if there is no output."""
    try:
        document, summary = text_of(given, "user", _DOCUMENT), text_of(written, "assistant", _SUMMARY)
    except RecursionError:
        document = None
    if document is None:
        raise LayoutError(field, "contains no text of a user; give rows with `document` and `summary` instead")
    if summary is None:
        joined.warn(field, f"{name} has no text in its output and is left out")
        return None
    return {"document": document, "summary": summary}


def _batch(joined: Joined) -> Iterable[Cells]:
    name, body = joined.cells["custom_id"], _object(joined.cells, "body")
    result = joined.first("results") or {}
    answer = _object(result, "response")
    if answer.get("status_code") != 200:
        joined.warn("custom_id", f"{name} has no answer and is left out: {result.get('error') or answer}")
    elif (texts := _texts(joined, body, answer.get("body"), "body", str(name))) is not None:
        yield {**texts, "doc_id": name, **({"system": body["model"]} if body.get("model") else {})}


class _Span(NamedTuple):
    """A span: its kind, texts and model, its ids from the trace to the span, and whether it failed."""

    kind: str | None
    given: Any
    written: Any
    model: Any
    ids: dict[str, Any]
    failed: bool = False


def _span(cells: Mapping[str, Any]) -> _Span:
    kind = cells.get("type") or cells.get("span_kind")
    if "info" in cells:  # MLflow's Trace.to_json
        spans = formed(_object(cells, "data").get("spans"), "data", LIST, "an object with spans")
        root = next((each for each in spans if isinstance(each, Mapping) and not each.get("parent_id")), {})
        inside = _object(root, "attributes")
        info = _object(cells, "info")
        ids = {"trace_id": info.get("trace_id") or info.get("request_id")}
        failed = info.get("state", info.get("status")) == "ERROR"
        return _Span(kind, inside.get("mlflow.spanInputs"), inside.get("mlflow.spanOutputs"), None, ids, failed)
    if "request" in cells:  # MLflow's data frame
        ids, failed = {"trace_id": cells.get("trace_id")}, cells.get("state") == "ERROR"
        return _Span(kind, cells["request"], cells.get("response"), None, ids, failed)
    if "attributes" in cells or "attributes.input.value" in cells:  # Phoenix
        inside, context = _object(cells, "attributes"), _object(cells, "context")
        given, written = (
            cells.get(f"attributes.{side}.value") or inside.get(f"{side}.value") or inside.get(side)
            for side in ("input", "output")
        )
        model = cells.get("attributes.llm.model_name") or inside.get("llm.model_name")
        model = model or _object(inside, "llm").get("model_name")
        ids = {name: cells.get(f"context.{name}") or context.get(name) for name in ("trace_id", "span_id")}
        kind = kind or inside.get("openinference.span.kind")
        return _Span(kind, given, written, model, ids, cells.get("status_code") == "ERROR")
    ids = {"trace_id": cells.get("traceId") or cells.get("id")}  # Langfuse
    ids |= {"observation_id": cells["id"]} if cells.get("traceId") else {}
    model = cells.get("providedModelName") or cells.get("model")
    return _Span(kind, cells.get("input"), cells.get("output"), model, ids, cells.get("level") == "ERROR")


def _trace(joined: Joined) -> Iterable[Cells]:
    """Yield the generations of a trace, or its other spans that can hold a summary if there are none."""
    spans = [_span(row.cells) for row in joined.rows]
    chosen = [span for span in spans if span.kind in (None, "GENERATION", "LLM")]
    chosen = chosen or [span for span in spans if span.kind in ("CHAIN", "AGENT", "SPAN")][:1]
    if not chosen:
        joined.warn("type", f"a trace has no generation, only {', '.join(sorted({str(span.kind) for span in spans}))}")
    for span in chosen:
        ids = {name: value for name, value in span.ids.items() if value}
        name = str(next(reversed(ids.values()), "a trace"))
        if span.failed:
            joined.warn("output", f"{name} ended with an error and is left out")
        elif (texts := _texts(joined, span.given, span.written, "input", name)) is not None:
            more = {"doc_id": name} if ids else {}
            yield {**texts, **more, **ids, **({"system": span.model} if span.model else {})}


def _trace_id(row: Row) -> Hashable:
    try:
        trace = _span(row.cells).ids.get("trace_id")
    except LayoutError:
        trace = None
    return str(trace) if trace else (row.file, row.line)


OPENAI_BATCH = Preset(
    name="openai_batch",
    about="A batch of OpenAI: requests to a summarizer, and its results",
    licence="your own data",
    roles=(
        FileRole(ROWS, ("custom_id", "body"), "the file of requests"),
        FileRole("results", ("custom_id", "response"), "the files of results and errors", key=("custom_id",)),
    ),
    gives="-",
    convert=_batch,
)
TRACES = Preset(
    name="traces",
    about="Traces of a summarizer: observations of Langfuse, spans of Phoenix, or traces of MLflow",
    licence="your own data",
    roles=(
        FileRole(
            ROWS,
            ("input|attributes|attributes.input.value|request|info",),
            "observations of Langfuse, spans of Phoenix or traces of MLflow",
        ),
    ),
    gives="-",
    convert=_trace,
    group=_trace_id,
)
