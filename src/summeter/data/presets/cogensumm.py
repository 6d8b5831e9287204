"""CoGenSumm (Falke et al., 2019): sentences labelled correct, incorrect or unclear."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, TypeAdapter

from summeter.data.formats import RECORD_ID
from summeter.data.presets.base import Articles, Cells, FileRole, Joined, LayoutError, Preset, Text, label_of, taken

_LABELS = {"Correct": 1, "Incorrect": 0, "Unclear": None}


class _Sentence(BaseModel):
    text: Text
    label: Text


_SENTENCES = TypeAdapter(dict[str, _Sentence])


def _convert(joined: Joined) -> Iterator[Cells]:
    row = joined.cells
    if "correct_sent" in row:
        shared = {"doc_id": row.pop("article_id"), "document": joined.document}
        for system, label in (("correct", 1), ("incorrect", 0)):
            human = {"overall": {"faithfulness": label}}
            yield {**row, **shared, "system": system, "summary": row[f"{system}_sent"], "human": human}
        return
    doc_id = str(row.pop(RECORD_ID))
    if "sents" in row:
        yield _summary(row, joined, doc_id, joined.row.stem.removeprefix("test_"))
        return
    for beam, content in row.items():
        if not isinstance(content, dict):
            raise LayoutError(beam, "is not an object of {label, sents}, as this layout requires; check the preset")
        yield _summary(dict(content), joined, doc_id, f"beam-{beam}")


def _summary(row: Cells, joined: Joined, doc_id: str, system: str) -> Cells:
    by_number = taken(row, "sents", _SENTENCES, "an object of {text, label}")
    sentences = [by_number[key] for key in sorted(by_number, key=lambda key: (len(key), key))]
    human = {
        "overall": {"faithfulness": label_of(row.pop("label", None), _LABELS, "label")},
        "sentence_labels": [label_of(sentence.label, _LABELS, "sents") for sentence in sentences],
    }
    texts = [sentence.text for sentence in sentences]
    fields = {"doc_id": doc_id, "system": system, "document": joined.document}
    return row | fields | {"summary": " ".join(texts), "sentences": texts, "human": human}


COGENSUMM = Preset(
    name="cogensumm",
    about="CoGenSumm: Correct, Incorrect and Unclear (no vote), per sentence and summary",
    citation="Falke et al., 2019",
    roles=(
        FileRole(
            "rows",
            ("sents", "label", RECORD_ID),
            "test_{chen18_org,chen18_reranked,gehrmann18_org,see17_org}.json",
            files=("test_*.json",),
        ),
        FileRole("rows", ("0", "1", RECORD_ID), "val_reranking.json", files=("val_reranking.json",)),
        FileRole(
            "rows",
            ("article_id", "correct_sent", "incorrect_sent"),
            "val_sentence_pairs.json",
            files=("val_sentence_pairs.json",),
        ),
    ),
    articles=Articles(
        "the articles of CNN/DailyMail", lambda cells: str(cells.get(RECORD_ID) or cells.get("article_id"))
    ),
    gives="sentence_labels, overall.faithfulness",
    convert=_convert,
)
