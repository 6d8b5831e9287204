"""CoGenSumm (Falke et al., 2019): summaries whose sentences are correct, incorrect or unclear."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from summeter.data.formats import RECORD_ID
from summeter.data.presets.base import Articles, Cells, Joined, LayoutError, Part, Preset, Text, taken

_LABELS = {"Correct": 1, "Incorrect": 0, "Unclear": None}


class _Sentence(BaseModel):
    text: Text
    label: Text


_SENTENCES = TypeAdapter(dict[str, _Sentence])


def _label(name: Any, column: str) -> int | None:
    if name not in _LABELS:
        raise LayoutError(column, f"holds {name!r} where this layout has {', '.join(_LABELS)}; check the preset")
    return _LABELS[name]


def _turn(joined: Joined) -> Iterable[Cells]:
    row = joined.cells
    given = taken(row, "sents", _SENTENCES, "an object of {text, label}")
    sentences = [given[key] for key in sorted(given, key=lambda key: (len(key), key))]
    human = {
        "overall": {"faithfulness": _label(row.pop("label"), "label")},
        "sentence_labels": [_label(sentence.label, "sents") for sentence in sentences],
    }
    texts = [sentence.text for sentence in sentences]
    return [
        {"doc_id": str(row.pop(RECORD_ID)), "system": joined.record.stem.removeprefix("test_")}
        | {"document": joined.document, "summary": " ".join(texts), "sentences": texts, "human": human}
        | row
    ]


COGENSUMM = Preset(
    name="cogensumm",
    about="CoGenSumm's test files: Correct, Incorrect and Unclear by sentence (null)",
    citation="Falke et al., 2019",
    parts=(
        Part("rows", (RECORD_ID, "label", "sents"), "test_{chen18_org,chen18_reranked,gehrmann18_org,see17_org}.json"),
    ),
    articles=Articles("the articles of CNN/DailyMail", lambda cells: str(cells.get(RECORD_ID))),
    gives="sentence_labels, overall.faithfulness",
    turn=_turn,
)
