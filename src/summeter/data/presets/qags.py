"""QAGS (Wang et al., 2020): crowd workers answer yes or no for each sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.presets.base import ROWS, Cells, Joined, LayoutError, Part, Preset, Text, renamed, taken


class _Response(BaseModel):
    worker_id: Any = None
    response: Any = None


class _Sentence(BaseModel):
    sentence: Text
    responses: list[_Response]


_SENTENCES = TypeAdapter(list[_Sentence])


def _turn(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"article": "document"})
    column = "summary_sentences"
    answered = taken(row, column, _SENTENCES, "a list of {sentence, responses}")
    labels = []
    for sentence in answered:
        votes: dict[str, int] = {}
        for answer in sentence.responses:
            who = f"w{answer.worker_id}"
            if answer.response not in ("yes", "no") or who in votes:
                raise LayoutError(
                    column, f"has the response {answer.response!r} by {who}; give one yes or no per worker"
                )
            votes[who] = int(answer.response == "yes")
        labels.append(votes)
    sentences = [sentence.sentence for sentence in answered]
    return [{**row, "summary": " ".join(sentences), "sentences": sentences, "human": {"sentence_labels": labels}}]


QAGS = Preset(
    "qags",
    "QAGS's mturk files: yes and no per sentence and worker",
    _turn,
    (Part(ROWS, ("article", "summary_sentences"), "mturk_cnndm.jsonl or mturk_xsum.jsonl"),),
    "sentence_labels",
)
