"""RAGTruth (Niu et al., 2024): the summaries, one of its three tasks, with hallucinated spans."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.presets.base import (
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Text,
    formed,
    located_span,
    renamed,
    text_of,
)


class _Label(BaseModel):
    start: int
    end: int
    text: Text
    label_type: Text


_LABELS = TypeAdapter(list[_Label])


def _convert(joined: Joined) -> Iterable[Cells]:
    source = joined.first("sources")
    if source is None:
        raise LayoutError("source_id", "is in no source_info.jsonl; give that file as well")
    task, quality = source.get("task_type"), joined.cells.get("quality")
    if task != "Summary":
        joined.warn("task_type", f"is {task}; such rows are left out, because only summaries are read")
        return []
    if quality != "good":
        joined.warn("quality", f"is {quality}; such rows are left out")
        return []
    row = renamed(joined.cells, {"source_id": "doc_id", "model": "system", "response": "summary"})
    summary = text_of(row, "summary", "response")
    spans: list[dict[str, Any]] = []
    complete = True
    for label in formed(row["labels"], "labels", _LABELS, "a list of {start, end, text, label_type}"):
        offsets = located_span(summary, label.text, label.start)
        if offsets is not None:
            spans.append({"start": offsets[0], "end": offsets[1], "label": label.label_type})
        elif label.start < min(label.end, len(summary)):
            complete = False
            joined.warn("labels", "contains a span that is not in the response; its spans are kept in `labels` only")
        else:
            raise LayoutError("labels", f"contains a span from {label.start} to {label.end}, outside the response")
    # A missing span would mean that its sentence, or the whole summary, has no error.
    human = {"human": {"spans": spans}} if complete else {}
    return [row | {"document": source.get("source_info"), "domain": source.get("source")} | human]


RAGTRUTH = Preset(
    name="ragtruth",
    about="RAGTruth's summaries of good quality: hallucinated spans and their types",
    citation="Niu et al., 2024",
    licence="MIT",
    roles=(
        FileRole(
            "rows", ("source_id", "model", "labels", "quality", "response"), "response.jsonl", files=("response.jsonl",)
        ),
        FileRole(
            "sources",
            ("source_id", "task_type", "source_info"),
            "source_info.jsonl",
            files=("source_info.jsonl",),
            key=("source_id",),
        ),
    ),
    gives="spans",
    counts=(Count("response.jsonl, summaries of any quality", 943, 5_658),),
    convert=_convert,
)
