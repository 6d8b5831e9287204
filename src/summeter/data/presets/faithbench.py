"""FaithBench (Bao et al., 2024): spans labelled unwanted, questionable or benign."""

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

_BENIGN = "Benign"
_CONSISTENT, _WORST = "Consistent", "worst-label"
_KINDS = ("Unwanted", "Questionable", _BENIGN)


class _Annotation(BaseModel):
    annotator_id: Any = None
    annotator: Any = None
    label: list[Text]
    summary_span: Text | None = None
    summary_start: int | None = None

    @property
    def judge(self) -> str | None:
        name = self.annotator if self.annotator_id is None else self.annotator_id
        return None if name is None else f"annotator{name}" if isinstance(name, int) else str(name)

    @property
    def benign(self) -> bool:
        return all(name.partition(".")[0] == _BENIGN for name in self.label)


_ANNOTATIONS = TypeAdapter(list[_Annotation])


def _convert(joined: Joined) -> Iterable[Cells]:
    if _WORST in joined.cells:
        return [_labelled(joined.cells)]
    row = renamed(joined.cells, {"source": "document"})
    summary = text_of(row, "summary")
    annotations = formed(row["annotations"], "annotations", _ANNOTATIONS, "a list of {label, summary_span, ...}")
    spans: list[dict[str, Any]] = []
    complete = True
    for annotation in annotations:
        if not annotation.label or any(name.partition(".")[0] not in _KINDS for name in annotation.label):
            raise LayoutError(
                "annotations", f"contains the label {annotation.label}; this layout has {', '.join(_KINDS)}"
            )
        if annotation.summary_span is None:
            complete = complete and annotation.benign
            continue
        offsets = located_span(summary, annotation.summary_span, annotation.summary_start)
        if offsets is None:
            complete = False
            joined.warn(
                "annotations", "contains a span that is not in the summary; its spans are kept in `annotations` only"
            )
            continue
        label: Any = 1 if annotation.benign else annotation.label
        annotator = {} if annotation.judge is None else {"annotator": annotation.judge}
        spans.append({**annotator, "start": offsets[0], "end": offsets[1], "label": label})
    metadata = row.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("summarizer"), str):
        raise LayoutError("metadata", "has no summarizer, which this layout requires; check the preset")
    wrong = any(not annotation.benign for annotation in annotations)
    human: dict[str, Any] = {"overall": {"faithfulness": int(not wrong)}}
    if complete:  # a missing span would mean that its annotator found no error
        human["spans"] = spans
    return [row | {"system": metadata["summarizer"], "batch": joined.row.stem, "human": human}]


def _labelled(cells: Cells) -> Cells:
    """Convert a row of FaithBench.csv, which has the worst label of all annotators."""
    row = renamed(cells, {"source": "document", "LLM": "system"})
    worst = str(row[_WORST]).strip().partition(".")[0].capitalize()
    if worst not in (*_KINDS, _CONSISTENT):
        listed = ", ".join((*_KINDS, _CONSISTENT))
        raise LayoutError(_WORST, f"is {row[_WORST]!r}, but this layout has {listed}; check the preset")
    return row | {"human": {"overall": {"faithfulness": int(worst in (_BENIGN, _CONSISTENT))}}}


FAITHBENCH = Preset(
    name="faithbench",
    about="FaithBench: spans by annotator; faithful if none is unwanted or questionable",
    citation="Bao et al., 2024",
    licence="CC BY-NC-SA 4.0",
    roles=(
        FileRole(
            "rows",
            ("source", "summary", "sample_id|LLM", f"annotations|{_WORST}", "metadata|LLM"),
            "data_for_release/batch_N.json, or FaithBench.csv (no spans)",
            files=("batch_*.json",),
        ),
    ),
    gives="spans, overall.faithfulness",
    counts=(Count("batch_N.json, each of 15", None, 50), Count("FaithBench.csv", None, 800)),
    convert=_convert,
)
