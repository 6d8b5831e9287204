"""FaithBench (Bao et al., 2024): spans that people find unwanted, questionable or benign."""

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
    def who(self) -> str | None:
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
    summary = row.get("summary")
    if not isinstance(summary, str):
        raise LayoutError("summary", "is not a text, as this layout has it; check the preset")
    annotations = formed(row["annotations"], "annotations", _ANNOTATIONS, "a list of {label, summary_span, ...}")
    spans: list[dict[str, Any]] = []
    placed = True
    for annotation in annotations:
        if not annotation.label or any(name.partition(".")[0] not in _KINDS for name in annotation.label):
            raise LayoutError("annotations", f"holds the label {annotation.label}; this layout has {', '.join(_KINDS)}")
        if annotation.summary_span is None:
            placed = placed and annotation.benign
            continue
        place = located_span(summary, annotation.summary_span, annotation.summary_start)
        if place is None:
            placed = False
            joined.warn(
                "annotations", "holds a span that is not in the summary, whose spans stand in `annotations` only"
            )
            continue
        label: Any = 1 if annotation.benign else annotation.label
        who = {} if annotation.who is None else {"annotator": annotation.who}
        spans.append({**who, "start": place[0], "end": place[1], "label": label})
    metadata = row.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("summarizer"), str):
        raise LayoutError("metadata", "names no summarizer, as this layout does; check the preset")
    wrong = any(not annotation.benign for annotation in annotations)
    human: dict[str, Any] = {"overall": {"faithfulness": int(not wrong)}}
    if placed:  # spans that lack one would say that its annotator found nothing
        human["spans"] = spans
    return [row | {"system": metadata["summarizer"], "batch": joined.record.stem, "human": human}]


def _labelled(cells: Cells) -> Cells:
    """A row of FaithBench.csv: the worst label that an annotator gave."""
    row = renamed(cells, {"source": "document", "LLM": "system"})
    worst = str(row[_WORST]).strip().partition(".")[0].capitalize()
    if worst not in (*_KINDS, _CONSISTENT):
        listed = ", ".join((*_KINDS, _CONSISTENT))
        raise LayoutError(_WORST, f"holds {row[_WORST]!r} where this layout has {listed}; check the preset")
    return row | {"human": {"overall": {"faithfulness": int(worst in (_BENIGN, _CONSISTENT))}}}


FAITHBENCH = Preset(
    name="faithbench",
    about="FaithBench: spans by person; faithful where none is unwanted or questionable",
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
