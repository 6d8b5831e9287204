"""DiaSumFact (Zhu et al., 2023): error types of the sentences of dialogue summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from summeter.data.formats import RECORD_ID
from summeter.data.presets.base import (
    TEXTS,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Text,
    located_span,
    taken,
)
from summeter.records import names_no_error


class _Error(BaseModel):
    error_class: Text
    error_span: Text | None = None


class _Sentence(BaseModel):
    sentence: Text
    annotation: list[_Error]


class _Summary(BaseModel):
    model_config = ConfigDict(protected_namespaces=())  # pydantic before 2.10 warns of fields named `model_...`

    model_prediction: Text
    sentence_annotations: list[_Sentence]


_SUMMARIES = TypeAdapter(dict[str, _Summary])


def _convert(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    raw = row.get("annotations")
    annotations = taken(row, "annotations", _SUMMARIES, "an object of {model_prediction, sentence_annotations}")
    utterances = taken(row, "utterances", TEXTS, "a list of texts")
    shared = {
        "doc_id": str(row.pop(RECORD_ID)),
        "document": "\n".join(utterances),
        "reference": row.pop("target_summary"),
        "domain": row.pop("dataset_name"),
    }
    for system, annotated in annotations.items():
        sentences = [each.sentence.strip() for each in annotated.sentence_annotations]
        summary = annotated.model_prediction
        fields: Cells = {"sentence_annotations": raw[system]["sentence_annotations"]} if isinstance(raw, dict) else {}
        if "".join(summary.split()) != "".join("".join(sentences).split()):
            joined.warn(
                f"annotations.{system}",
                "has a model_prediction unlike its sentences, which are used instead",
            )
            fields["model_prediction"], summary = summary, " ".join(sentences)
        if any(not each.annotation for each in annotated.sentence_annotations):
            raise LayoutError(f"annotations.{system}", "has a sentence without an annotation; check the preset")
        human = {
            "sentence_labels": [
                [error.error_class for error in each.annotation] for each in annotated.sentence_annotations
            ]
        }
        spans = _spans(summary, annotated.sentence_annotations)
        if spans is None:
            joined.warn(
                f"annotations.{system}",
                "has an error_span that is not in the summary; its spans are kept in a column only",
            )
        yield {**row, **fields, **shared, "system": system, "summary": summary, "sentences": sentences} | {
            "human": human | ({"spans": spans} if spans else {})
        }


def _spans(summary: str, sentences: Sequence[_Sentence]) -> list[dict[str, Any]] | None:
    """Return the error spans, or None if one is not found: its sentence would seem to have no error."""
    spans: list[dict[str, Any]] = []
    end = 0
    for sentence in sentences:
        text = sentence.sentence.strip()
        start = summary.find(text, end)
        if start < 0:
            return None
        end = start + len(text)
        for error in sentence.annotation:
            if names_no_error(error.error_class):
                continue
            offsets = located_span(text, error.error_span or "")
            if offsets is None:
                return None
            spans.append({"start": start + offsets[0], "end": start + offsets[1], "label": error.error_class})
    return spans


DIASUMFACT = Preset(
    name="diasumfact",
    about="DiaSumFact: error types per sentence, with spans",
    citation="Zhu et al., 2023",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            ("utterances", "target_summary", "dataset_name", "annotations", RECORD_ID),
            "annotations.json",
            files=("annotations.json",),
        ),
    ),
    gives="sentence_labels, sentence_error_types, spans",
    counts=(Count("annotations.json", 119, 475),),
    convert=_convert,
)
