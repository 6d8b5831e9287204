"""DialSummEval (Gao and Wan, 2022): ratings of four aspects by three annotators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from summeter.data.presets.base import Cells, Count, FileRole, Joined, Preset, renamed, taken

_RATINGS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"id": "doc_id", "dialogue": "document", "model_id": "system"})
    votes = taken(row, "annotations", _RATINGS, "a list of ratings")
    aspects = dict.fromkeys(aspect for ratings in votes for aspect in ratings)
    ratings = {
        aspect: {f"annotator{number}": vote.get(aspect) for number, vote in enumerate(votes, 1)} for aspect in aspects
    }
    return [row | {"domain": "samsum", "human": {"ratings": ratings}}]


DIALSUMMEVAL = Preset(
    name="dialsummeval",
    about="DialSummEval: consistency, relevance, fluency and coherence from 1 to 5",
    citation="Gao and Wan, 2022",
    roles=(
        FileRole(
            "rows",
            ("id", "dialogue", "summary", "model_id", "annotations"),
            "annotation_campus/human_judgment.jsonl",
            files=("human_judgment.jsonl",),
        ),
    ),
    gives="ratings",
    counts=(Count("human_judgment.jsonl", 100, 1_400),),
    convert=_convert,
)
