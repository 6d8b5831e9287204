"""UniSumEval (Lee et al., 2024): one aggregated label per sentence and per key fact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from summeter.data.presets.base import (
    LIST,
    ROWS,
    TEXTS,
    Cells,
    Joined,
    Part,
    Preset,
    inverted,
    renamed,
    supported,
    taken,
)

_SCORES = {"faithfulness_score": "faithfulness", "completeness": "completeness", "conciseness": "conciseness"}


def _turn(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"model": "system", "keyfact": "key_facts"})
    human: dict[str, Any] = {}
    if (column := "fact_verification_label") in row:
        labels = taken(row, column, LIST, "a list with one label per sentence")
        human["sentence_labels"] = [inverted(label, column) for label in labels]
        if "fact_verification_error_type" in row:
            human["sentence_error_types"] = taken(row, "fact_verification_error_type", TEXTS, "a list of texts")
    if (column := "keyfact_label") in row:
        labels = taken(row, column, LIST, "a list with one label per key fact")
        human["key_fact_labels"] = [supported(label, column) for label in labels]
    overall = {name: row.pop(column) for column, name in _SCORES.items() if row.get(column) is not None}
    if overall:
        human["overall"] = overall
    return [{**row, "human": human} if human else row]


UNISUMEVAL = Preset(
    "unisumeval",
    "UniSumEval, with --map document=COLUMN: hallucination labels turned round",
    _turn,
    (Part(ROWS, ("uid", "model", "summary"), "data/unisumeval_faithfulness.jsonl"),),
    "sentence_labels, sentence_error_types, key_fact_labels, overall",
)
