"""RAGTruth (Niu et al., 2024): of its three tasks the summaries, with their hallucinated spans."""

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
        raise LayoutError("source_id", "is in no source_info.jsonl; name that file as well")
    task, quality = source.get("task_type"), joined.cells.get("quality")
    if task != "Summary":
        joined.warn("task_type", f"is {task}; only summaries are read, such rows are left out")
        return []
    if quality != "good":
        joined.warn("quality", f"is {quality}; such rows are left out")
        return []
    row = renamed(joined.cells, {"source_id": "doc_id", "model": "system", "response": "summary"})
    summary = row.get("summary")
    if not isinstance(summary, str):
        raise LayoutError("response", "is not a text, as this layout has it; check the preset")
    spans: list[dict[str, Any]] = []
    placed = True
    for label in formed(row["labels"], "labels", _LABELS, "a list of {start, end, text, label_type}"):
        place = located_span(summary, label.text, label.start)
        if place is not None:
            spans.append({"start": place[0], "end": place[1], "label": label.label_type})
        elif label.start < min(label.end, len(summary)):
            placed = False
            joined.warn("labels", "holds a span whose text is not in the response; its spans stand in `labels` only")
        else:
            raise LayoutError("labels", f"holds a span from {label.start} to {label.end}, outside the response")
    # Spans that lack one would say that the sentence in which it stands is free of errors, or the whole summary.
    human = {"human": {"spans": spans}} if placed else {}
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
