"""QAGS (Wang et al., 2020): yes or no by crowd workers for each sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.presets.base import ROWS, Cells, Count, FileRole, Joined, LayoutError, Preset, Text, renamed, taken


class _Response(BaseModel):
    worker_id: Any = None
    response: Any = None


class _Sentence(BaseModel):
    sentence: Text
    responses: list[_Response]


_SENTENCES = TypeAdapter(list[_Sentence])
_SETS = {"cnndm": "bottom_up", "xsum": "bart"}
"""The system of each file, which only the file name identifies."""


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"article": "document"})
    column = "summary_sentences"
    answered = taken(row, column, _SENTENCES, "a list of {sentence, responses}")
    labels = []
    for sentence in answered:
        votes: dict[str, int] = {}
        for answer in sentence.responses:
            worker = f"w{answer.worker_id}"
            if answer.response not in ("yes", "no") or worker in votes:
                raise LayoutError(
                    column, f"has the response {answer.response!r} by {worker}; give one yes or no per worker"
                )
            votes[worker] = int(answer.response == "yes")
        labels.append(votes)
    domain = next((name for name in _SETS if name in joined.row.stem.lower()), None)
    source: Cells = {}
    if domain is not None:
        source = {"doc_id": f"{domain}-{joined.row.line - 1}", "system": _SETS[domain], "domain": domain}
    else:
        joined.warn(column, "has an unknown system, because the file name contains neither cnndm nor xsum")
    sentences = [sentence.sentence for sentence in answered]
    return [
        {**source, **row, "summary": " ".join(sentences), "sentences": sentences, "human": {"sentence_labels": labels}}
    ]


QAGS = Preset(
    name="qags",
    about="QAGS's mturk files: yes or no per sentence and worker",
    citation="Wang et al., 2020: Asking and Answering Questions to Evaluate the Factual Consistency of Summaries (ACL)",
    roles=(FileRole(ROWS, ("article", "summary_sentences"), "mturk_cnndm.jsonl or mturk_xsum.jsonl"),),
    gives="sentences, sentence_labels, domain, system",
    counts=(Count("mturk_cnndm.jsonl", 235, 235), Count("mturk_xsum.jsonl", 239, 239)),
    notes=(
        "articles of XSum begin with the reference summary, which evaluators that read the document therefore see",
        "197 of the 235 articles of CNN/DM are truncated; texts are lower-cased except at the start of sentences",
    ),
    convert=_convert,
)
