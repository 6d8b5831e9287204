"""FRANK (Pagnoni et al., 2021): a set of error types per sentence and annotator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from summeter.data.formats import Row
from summeter.data.presets.base import (
    TEXTS,
    Cells,
    Count,
    FileRole,
    Joined,
    Preset,
    Text,
    never,
    renamed,
    taken,
)

_TYPES: TypeAdapter[list[dict[str, list[str]]]] = TypeAdapter(list[dict[str, list[Text]]])
_LABELLED = "summary_sentences"
_KEY = ("hash", "model_name")


def _convert(joined: Joined) -> Iterator[Cells]:
    labelled = [record for record in joined.rows if _LABELLED in record.cells]
    for record in labelled or joined.rows:  # benchmark_data.json contains the same rows without annotations
        yield _row(record, joined)


def _row(record: Row, joined: Joined) -> Cells:
    row = renamed(record.cells, {"hash": "doc_id", "model_name": "system", "article": "document"})
    row["domain"] = "cnndm" if re.fullmatch("[0-9a-f]{40}", str(row["doc_id"])) else "xsum"
    human: dict[str, Any] = {}
    if _LABELLED in row:
        row["sentences"] = taken(row, _LABELLED, TEXTS, "a list of texts")
        sentences = taken(row, f"{_LABELLED}_annotations", _TYPES, "a list of {annotator: [categories]}")
        human["sentence_labels"] = [{judge: names or None for judge, names in cell.items()} for cell in sentences]
    scores = joined.first("scores")
    if scores is not None:  # 1 means no error
        human["overall"] = {"faithfulness": scores["Factuality"]}
        row["frank_scores"] = {name: value for name, value in scores.items() if name not in _KEY}
    return row | {"human": human} if human else row


FRANK = Preset(
    name="frank",
    about="FRANK: error types per sentence and annotator, and scores of summaries",
    citation="Pagnoni et al., 2021",
    licence="MIT",
    roles=(
        FileRole(
            "rows",
            (*_KEY, "article", "summary"),
            "human_annotations_sentence.json (benchmark_data.json: texts only)",
            files=("human_annotations_sentence.json",),
        ),
        FileRole(
            "scores",
            (*_KEY, "Factuality"),
            "human_annotations.json",
            files=("human_annotations.json",),
            key=_KEY,
            needed=never,
        ),
    ),
    gives="sentence_labels, sentence_error_types; with the scores also overall.faithfulness",
    counts=(Count("human_annotations_sentence.json", 499, 2_246),),
    group=_KEY,
    convert=_convert,
)
