"""SummEval-OP (Siledar et al., 2024): summaries of product reviews, rated in seven dimensions by three people."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.human import unnamed_votes
from summeter.data.presets.base import Cells, Count, FileRole, Joined, LayoutError, Preset, Record, Text, never, taken

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
    shared = {"doc_id": f"product-{joined.record.line}", "document": "\n\n".join(reviews.values()), "reviews": reviews}
    for place, (system, given) in enumerate(summaries.items()):
        human: dict[str, Any] = {"overall": given.dimensions}
        if detailed is not None:
            human["ratings"] = _ratings(detailed, place, given)
        yield {**row, **shared, "system": system, "summary": given.summary, "human": human}


def _ratings(detailed: Mapping[str, Any], place: int, given: _Summary) -> dict[str, Any]:
    """The three votes on each dimension of the summary at a place of the detailed file's row."""
    names = {_code(name): name for name in given.dimensions}
    texts = detailed.get("summaries")
    if not isinstance(texts, list) or not place < len(texts) or texts[place] != given.summary:
        raise LayoutError("summaries", "differ from those of summeval-op-detailed.jsonl on this line; check both files")
    ratings = {}
    for code in _CODES:
        votes = detailed.get(code)
        if not isinstance(votes, list) or not place < len(votes) or not isinstance(votes[place], list):
            raise LayoutError(code, "is not a list with three votes per summary, as this layout has it")
        ratings[names.get(code, code)] = unnamed_votes(votes[place])
    return ratings


def _code(dimension: str) -> str:
    """What the detailed file calls a dimension: its initials, or the first two letters of one word.

    >>> _code("aspect coverage"), _code("fluency")
    ('ac', 'fl')
    """
    words = re.split(r"[\s_-]+", dimension.strip().lower())
    return words[0][:1] + words[1][:1] if len(words) > 1 else words[0][:2]


def _line(record: Record) -> Hashable:
    return record.line


SUMMEVAL_OP = Preset(
    name="summeval_op",
    about="SummEval-OP: seven dimensions of 1 to 5, three votes each",
    citation="Siledar et al., 2024",
    licence="MIT",
    roles=(
        FileRole("rows", ("reviews", "summaries"), "summeval-op.jsonl", files=("summeval-op.jsonl",)),
        FileRole(
            "votes",
            ("reviews", "summaries", *_CODES),
            "summeval-op-detailed.jsonl",
            files=("summeval-op-detailed.jsonl",),
            key=_line,
            needed=never,
        ),
    ),
    gives="overall by dimension; with the detailed file also ratings",
    counts=(Count("summeval-op.jsonl", 32, 416),),
    convert=_convert,
)
