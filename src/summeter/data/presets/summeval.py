"""SummEval (Fabbri et al., 2021), paired with its articles: a list of ratings by experts, another by crowd workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from summeter.data.human import unnamed_votes
from summeter.data.presets.base import LIST, ROWS, Cells, Joined, Part, Preset, formed, renamed, taken

_RATINGS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])
_GROUPS = (("expert_annotations", "ratings"), ("turker_annotations", "crowd_ratings"))


def _turn(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"id": "doc_id", "model_id": "system", "decoded": "summary", "text": "document"})
    human = {}
    for column, name in _GROUPS:
        if column not in row:
            continue
        votes = formed(taken(row, column, LIST, "a list of ratings"), column, _RATINGS, "a list of objects")
        aspects = dict.fromkeys(aspect for ratings in votes for aspect in ratings)
        if aspects:
            by_aspect = {aspect: [ratings.get(aspect) for ratings in votes] for aspect in aspects}
            # The three experts rated every summary, in one order; the crowd's places are nobody in particular.
            human[name] = {
                aspect: unnamed_votes(values)
                if name == "crowd_ratings"
                else {f"expert{index}": value for index, value in enumerate(values)}
                for aspect, values in by_aspect.items()
            }
    return [{**row, "human": human} if human else row]


SUMMEVAL = Preset(
    "summeval",
    "SummEval paired with its articles: expert ratings, and crowd ratings apart",
    _turn,
    (Part(ROWS, ("id", "model_id", "decoded"), "model_annotations.aligned.paired.jsonl"),),
    "ratings, crowd_ratings",
    licence="MIT",
)
