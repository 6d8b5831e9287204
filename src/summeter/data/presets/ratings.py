"""Presets for datasets with ratings: DialSummEval, PolyTope and SummEval-OP."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.formats import Row
from summeter.data.human import unnamed_votes
from summeter.data.presets.base import (
    OBJECTS,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Text,
    never,
    renamed,
    taken,
)

# ---- DialSummEval (Gao and Wan, 2022): ratings of four aspects by three annotators ----


def _convert_dialsummeval(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"id": "doc_id", "dialogue": "document", "model_id": "system"})
    votes = taken(row, "annotations", OBJECTS, "a list of ratings")
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
    convert=_convert_dialsummeval,
)


# ---- PolyTope (Huang et al., 2020): scores from 0 to 100, and the issues that reduce them ----

_FILE = "Human_Annotation_Summarization_"


def _segment(row: Row) -> Hashable:
    """Return the file and the number of a row, which the sheets write as 7 or 7.0."""
    number = row.cells.get("ID")
    return row.file, int(number) if isinstance(number, float) and number.is_integer() else number


def _convert_polytope(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"Source": "document", "Target": "summary"})
    if row["ID"] == "":
        return []  # a total or note below the table
    score = row.pop("Score", "")
    if not isinstance(score, int | float) and score != "":
        raise LayoutError("Score", "is not a number, as this layout requires; check the preset")
    issues = [
        {name: value for name, value in issue.cells.items() if name != "ID" and value != ""}
        for issue in joined.rows_of("issues")
        if issue.cells.get("Subtypes") not in (None, "")
    ]
    system = joined.row.stem.removeprefix(_FILE)
    return [
        row | {"system": system, "issues": issues, "human": {"overall": {"polytope": None if score == "" else score}}}
    ]


POLYTOPE = Preset(
    name="polytope",
    about="PolyTope's workbooks: the score from 0 to 100 as overall, and the issues",
    citation="Huang et al., 2020",
    roles=(
        FileRole(
            "rows",
            ("ID", "Source", "Target", "Score"),
            f"{_FILE}SYSTEM.xlsm (Scores per segment)",
            files=("Human_Annotation_Summarization_*.xlsm",),
        ),
        FileRole("issues", ("ID", "Issue Types", "Subtypes"), "the sheet Error Log", key=_segment, needed=never),
    ),
    gives="overall.polytope",
    counts=(Count("eight of nine workbooks, each", 150, 150), Count("BART's", 68, 68)),
    convert=_convert_polytope,
)


# ---- SummEval-OP (Siledar et al., 2024): summaries of product reviews, rated on seven dimensions ----

_CODES = ("fl", "co", "re", "fa", "ac", "sc", "sp")
"""Codes of fluency, coherence, relevance, faithfulness, aspect coverage, sentiment consistency and specificity."""


class _Summary(BaseModel):
    summary: Text
    dimensions: dict[str, float | int | None]


_SUMMARIES = TypeAdapter(dict[str, _Summary])
_REVIEWS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, Text])


def _convert_summeval_op(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    summaries = taken(row, "summaries", _SUMMARIES, "an object of {summary, dimensions} objects")
    reviews = taken(row, "reviews", _REVIEWS, "an object of texts")
    detailed = joined.first("votes")
    shared = {"doc_id": f"product-{joined.row.line}", "document": "\n\n".join(reviews.values()), "reviews": reviews}
    for index, (system, content) in enumerate(summaries.items()):
        human: dict[str, Any] = {"overall": content.dimensions}
        if detailed is not None:
            human["ratings"] = _ratings(detailed, index, content)
        yield {**row, **shared, "system": system, "summary": content.summary, "human": human}


def _ratings(detailed: Mapping[str, Any], index: int, content: _Summary) -> dict[str, Any]:
    """Return the three votes on each dimension of the summary at `index` in the detailed file."""
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
    """Return the code of a dimension: its initials, or the first two letters of a single word.

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
    convert=_convert_summeval_op,
)
