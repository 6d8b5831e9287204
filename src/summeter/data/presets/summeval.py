"""SummEval (Fabbri et al., 2021), paired with its articles: a list of ratings by experts, another by crowd workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from summeter.data.presets.base import LIST, Cells, Preset, formed, renamed, taken

_RATINGS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])
_GROUPS = (("expert_annotations", "ratings", "expert"), ("turker_annotations", "crowd_ratings", "worker"))


def _turn(cells: Cells) -> Iterable[Cells]:
    row = renamed(cells, {"id": "doc_id", "model_id": "system", "decoded": "summary", "text": "document"})
    human = {}
    for column, name, who in _GROUPS:
        if column not in row:
            continue
        votes = formed(taken(row, column, LIST, "a list of ratings"), column, _RATINGS, "a list of objects")
        aspects = dict.fromkeys(aspect for ratings in votes for aspect in ratings)
        if aspects:
            human[name] = {
                aspect: {f"{who}{index}": ratings.get(aspect) for index, ratings in enumerate(votes)}
                for aspect in aspects
            }
    return [{**row, "human": human} if human else row]


SUMMEVAL = Preset("summeval", "SummEval paired with its articles: expert ratings, and crowd ratings apart", _turn)
