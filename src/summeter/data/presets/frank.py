"""FRANK (Pagnoni et al., 2021): a set of error types per sentence and annotator."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter

from summeter.data.presets.base import ROWS, TEXTS, Cells, Joined, Part, Preset, Text, renamed, taken

_TYPES: TypeAdapter[list[dict[str, list[str]]]] = TypeAdapter(list[dict[str, list[Text]]])


def _turn(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"hash": "doc_id", "model_name": "system", "article": "document"})
    if "summary_sentences" not in row:
        return [row]  # benchmark_data.json: the same rows without annotations
    row["sentences"] = taken(row, "summary_sentences", TEXTS, "a list of texts")
    sentences = taken(row, "summary_sentences_annotations", _TYPES, "a list of {annotator: [categories]}")
    types = [{who: names or None for who, names in sentence.items()} for sentence in sentences]
    return [{**row, "human": {"sentence_labels": types}}]


FRANK = Preset(
    "frank",
    "FRANK's benchmark_data and human_annotations_sentence: error types per sentence",
    _turn,
    (Part(ROWS, ("hash", "model_name", "article", "summary"), "human_annotations_sentence.json"),),
    "sentence_labels, sentence_error_types",
    licence="MIT",
)
