"""SummEval-OP (Siledar et al., 2024): summaries of product reviews, rated on seven dimensions by three annotators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.human import unnamed_votes
from summeter.data.presets.base import Cells, Count, FileRole, Joined, LayoutError, Preset, Text, never, taken

_CODES = ("fl", "co", "re", "fa", "ac", "sc", "sp")
"""Fluency, coherence, relevance, faithfulness, aspect coverage, sentiment consistency, specificity."""


class _Summary(BaseModel):
    summary: Text
    dimensions: dict[str, float | int | None]


_SUMMARIES = TypeAdapter(dict[str, _Summary])
_REVIEWS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, Text])


def _convert(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    summaries = taken(row, "summaries", _SUMMARIES, "an object of {summary, dimensions}")
    reviews = taken(row, "reviews", _REVIEWS, "an object of texts")
    detailed = joined.first("votes")
    shared = {"doc_id": f"product-{joined.row.line}", "document": "\n\n".join(reviews.values()), "reviews": reviews}
    for index, (system, content) in enumerate(summaries.items()):
        human: dict[str, Any] = {"overall": content.dimensions}
        if detailed is not None:
            human["ratings"] = _ratings(detailed, index, content)
        yield {**row, **shared, "system": system, "summary": content.summary, "human": human}


def _ratings(detailed: Mapping[str, Any], index: int, content: _Summary) -> dict[str, Any]:
    """Return the three votes on each dimension of a summary; `index` is its index in the row of the detailed file."""
    names = {_code(name): name for name in content.dimensions}
    texts = detailed.get("summaries")
    if not isinstance(texts, list) or not index < len(texts) or texts[index] != content.summary:
        raise LayoutError("summaries", "differ from those of summeval-op-detailed.jsonl on this line; check both files")
    ratings = {}
    for code in _CODES:
        votes = detailed.get(code)
        if not isinstance(votes, list) or not index < len(votes) or not isinstance(votes[index], list):
            raise LayoutError(code, "is not a list with three votes per summary, as this layout requires")
        ratings[names.get(code, code)] = unnamed_votes(votes[index])
    return ratings


def _code(dimension: str) -> str:
    """Return the code of a dimension in the detailed file: its initials, or the first two letters of a single word.

    >>> _code("aspect coverage"), _code("fluency")
    ('ac', 'fl')
    """
    words = re.split(r"[\s_-]+", dimension.strip().lower())
    return words[0][:1] + words[1][:1] if len(words) > 1 else words[0][:2]


SUMMEVAL_OP = Preset(
    name="summeval_op",
    about="SummEval-OP: seven dimensions from 1 to 5, three votes each",
    citation="Siledar et al., 2024",
    licence="MIT",
    roles=(
        FileRole("rows", ("reviews", "summaries"), "summeval-op.jsonl", files=("summeval-op.jsonl",)),
        FileRole(
            "votes",
            ("reviews", "summaries", *_CODES),
            "summeval-op-detailed.jsonl",
            files=("summeval-op-detailed.jsonl",),
            key=lambda row: row.line,
            needed=never,
        ),
    ),
    gives="overall by dimension; with the detailed file also ratings",
    counts=(Count("summeval-op.jsonl", 32, 416),),
    convert=_convert,
)
