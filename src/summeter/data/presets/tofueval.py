"""TofuEval (Tang et al., 2024): consistency of the sentences of summaries of a topic in a dialogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from summeter.data.formats import Row
from summeter.data.presets.base import (
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    integer_of,
    never,
    python_list,
)

_LABELS = {"yes": 1, "no": 0}
_SUMMARY = ("doc_id", "topic", "model_name")
_TOPIC = ("doc_id", "topic")
_OF_SENTENCES = {*_SUMMARY, "sent_idx", "summ_sent", "sent_label", "exp", "type"}


def _convert(joined: Joined) -> Iterable[Cells]:
    rows = sorted(joined.rows, key=lambda row: integer_of(row.cells, "sent_idx"))
    if (numbers := [integer_of(row.cells, "sent_idx") for row in rows]) != list(range(1, len(rows) + 1)):
        listed = ", ".join(map(str, numbers))
        joined.warn("sent_idx", f"has the values {listed} in one summary: sentences are missing or repeated")
    sentences = [str(each.cells.get("summ_sent")).strip() for each in rows]
    row: Cells = {name: value for name, value in joined.cells.items() if name not in _OF_SENTENCES}
    explanations = [each.cells.get("exp") or None for each in rows]
    row |= {"explanations": explanations} if any(explanations) else {}
    doc_id, topic = joined.cells["doc_id"], joined.cells["topic"]
    row |= {
        "doc_id": f"{doc_id}#{topic}",
        "topic": topic,
        "system": joined.cells["model_name"],
        "document": joined.document,
        "summary": " ".join(sentences),
        "sentences": sentences,
        "human": _human(rows),
    }
    source, _, cut = joined.row.stem.partition("_factual_eval_")
    if cut:
        row |= {"domain": source, "cut": cut}
    points = joined.first("key_points")
    facts = _points(points["key_points"]) if points is not None else []
    return [row | ({"key_facts": facts} if facts else {})]


def _human(rows: Sequence[Row]) -> dict[str, Any]:
    labels, types = [], []
    for row in rows:
        label = str(row.cells.get("sent_label")).strip().lower()
        if label not in _LABELS:
            raise LayoutError("sent_label", f"is {label!r}, but this layout has yes or no; check the preset")
        labels.append(_LABELS[label])
        names = [name.strip() for name in str(row.cells.get("type") or "").split(",") if name.strip()]
        types.append(names if names and label == "no" else None)
    return {"sentence_labels": labels} | ({"sentence_error_types": types} if any(types) else {})


def _points(text: Any) -> list[str]:
    """Return the key points without their numbers ("1. The vote was postponed.")."""
    points = (re.sub(r"^\s*\d+\s*[.)]\s*", "", str(point)).strip() for point in python_list(text, "key_points"))
    return [point for point in points if point]


TOFUEVAL = Preset(
    name="tofueval",
    about="TofuEval: yes or no per sentence (yes = consistent), error types, key points",
    citation="Tang et al., 2024",
    licence="MIT-0",
    roles=(
        FileRole(
            "rows",
            (*_SUMMARY, "sent_idx", "summ_sent", "sent_label"),
            "factual_consistency/{mediasum,meetingbank}_factual_eval_{dev,test}.csv",
            files=("*_factual_eval_*.csv",),
        ),
        FileRole(
            "key_points",
            (*_TOPIC, "key_points"),
            "completeness/*_completeness_final.csv",
            files=("*_completeness_final.csv",),
            key=_TOPIC,
            needed=never,
        ),
    ),
    articles=Articles(
        "MediaSum's news_dialogue.json, MeetingBank's transcripts", lambda cells: str(cells.get("doc_id"))
    ),
    gives="sentence_labels, sentence_error_types; with the key points also key_facts",
    counts=(Count("mediasum_factual_eval_*.csv", 150, 893), Count("meetingbank_factual_eval_*.csv", 150, 884)),
    group=_SUMMARY,
    convert=_convert,
)
