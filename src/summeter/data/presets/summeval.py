"""SummEval (Fabbri et al., 2021): ratings by experts and by crowd workers, in several released forms.

The file of the authors has no articles (`--documents` adds them, by the hash in `id`), unless it was paired with them.
The form of MTEB has one row per document; that of G-Eval and UniEval has the mean of the experts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from summeter.data.human import unnamed_votes
from summeter.data.presets.base import (
    LIST,
    ROWS,
    TEXTS,
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    formed,
    renamed,
    taken,
)

_RATINGS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])
_SCORES: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_GROUPS = (("expert_annotations", "ratings"), ("turker_annotations", "crowd_ratings"))
_ASPECTS = ("coherence", "consistency", "fluency", "relevance")
_DOCUMENT_FIELDS = {"domain": "cnndm", "split": "test"}


def hash_of(cells: Cells) -> str | None:
    """Return the CNN/DailyMail hash in the id of a row without an article (`dm-test-HASH`, `cnn-test-HASH`)."""
    if "text" in cells or "id" not in cells or "model_id" not in cells:
        return None
    return str(cells["id"]).rpartition("-")[2]


def convert(joined: Joined) -> Iterable[Cells]:
    """Return the flat rows of a row in any of the forms."""
    if "machine_summaries" in joined.cells:
        return _by_document(joined)
    if "system_output" in joined.cells:
        return [_with_means(joined)]
    row = renamed(joined.cells, {"id": "doc_id", "model_id": "system", "decoded": "summary", "text": "document"})
    if joined.document is not None:
        row["document"] = joined.document
    human = {}
    for column, name in _GROUPS:
        if column not in row:
            continue
        votes = formed(taken(row, column, LIST, "a list of ratings"), column, _RATINGS, "a list of objects")
        aspects = dict.fromkeys(aspect for ratings in votes for aspect in ratings)
        if aspects:
            by_aspect = {aspect: [ratings.get(aspect) for ratings in votes] for aspect in aspects}
            # The same three experts rated every summary, in the same order; crowd workers are unidentified.
            human[name] = {
                aspect: unnamed_votes(values)
                if name == "crowd_ratings"
                else {f"expert{index}": value for index, value in enumerate(values)}
                for aspect, values in by_aspect.items()
            }
    flat = {**_DOCUMENT_FIELDS, **row}
    return [{**flat, "human": human} if human else flat]


def _by_document(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"id": "doc_id", "text": "document"})
    summaries = taken(row, "machine_summaries", TEXTS, "a list of texts")
    row["references"] = taken(row, "human_summaries", TEXTS, "a list of texts")
    means = {aspect: taken(row, aspect, LIST, "a list of numbers") for aspect in _ASPECTS if aspect in row}
    for aspect, values in means.items():
        if len(values) != len(summaries):
            raise LayoutError(aspect, f"has {len(values)} values for {len(summaries)} summaries")
    for index, summary in enumerate(summaries):
        ratings = {aspect: values[index] for aspect, values in means.items()}
        system = {"system": f"system{index}", "summary": summary}
        yield {**_DOCUMENT_FIELDS, **row, **system, "human": {"ratings": ratings}}


def _with_means(joined: Joined) -> Cells:
    row = renamed(joined.cells, {"system_id": "system", "source": "document", "system_output": "summary"})
    if row.get("reference") == row.get("document"):
        del row["reference"]  # as in the same form of QAGS, which has no references
    return {**row, "human": {"ratings": taken(row, "scores", _SCORES, "an object of means")}}


EXPERTS = FileRole(ROWS, ("id", "model_id", "decoded"), "model_annotations.aligned.jsonl (or .paired, .scored)")
CITATION = "Fabbri et al., 2021: SummEval: Re-evaluating Summarization Evaluation (TACL)"
SUMMEVAL = Preset(
    name="summeval",
    about="SummEval, paired or with --documents: expert ratings and crowd ratings",
    licence="MIT",
    citation=CITATION,
    roles=(
        EXPERTS,
        FileRole(ROWS, ("machine_summaries", "human_summaries", "text"), "mteb/summeval (expert means)"),
        FileRole(ROWS, ("system_id", "source", "system_output", "scores"), "summeval.json of G-Eval (expert means)"),
    ),
    articles=Articles("CNN/DailyMail's stories, by the hash in `id`,", hash_of),
    gives="ratings, crowd_ratings, references",
    counts=(Count("aligned and aligned.paired", 100, 1600), Count("aligned.scored", 100, 1700)),
    notes=("in 13 documents, several systems have the same summary; summaries are tokenized, some are lower-cased",),
    convert=convert,
)
