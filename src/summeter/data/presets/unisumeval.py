"""UniSumEval (Lee et al., 2024): one majority label per sentence and per key fact, in two files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from summeter.data.presets.base import (
    LIST,
    ROWS,
    TEXTS,
    Cells,
    Count,
    FileRole,
    Joined,
    Preset,
    inverted,
    python_list,
    renamed,
    supported,
    taken,
)

_SCORES = {"faithfulness_score": "faithfulness", "completeness": "completeness", "conciseness": "conciseness"}
_LISTS = (
    "sentences", "fact_verification_label", "fact_verification_error_type", "keyfact", "keyfact_label",
    "sentence_label",
)  # fmt: skip
_SUCCESS = "success"


def _convert(joined: Joined) -> Iterable[Cells]:
    cells = {**(joined.first("key_facts") or {}), **joined.cells}
    state = cells.get("summary_success_state", _SUCCESS)
    if state != _SUCCESS:
        joined.warn("summary_success_state", f"is {state!r}; the row is left out, because it has no summary")
        return []
    for column in _LISTS:
        if isinstance(cells.get(column), str):
            cells[column] = python_list(cells[column], column)
    names = {"model": "system", "keyfact": "key_facts", "input_context": "document", "doc_id": "source_doc_id"}
    row = renamed(cells, names)
    if not row.get("reference"):
        row.pop("reference", None)  # MultiWOZ has no references
    row["doc_id"] = "/".join(str(row[name]) for name in ("source", "uid", "redact_type") if row.get(name))
    human = _human(row)
    overall = {name: row.pop(column) for column, name in _SCORES.items() if row.get(column) is not None}
    if overall:
        human["overall"] = overall
    return [{**row, "human": human} if human else row]


def _human(row: Cells) -> dict[str, Any]:
    human: dict[str, Any] = {}
    if (column := "fact_verification_label") in row:
        labels = taken(row, column, LIST, "a list with one label per sentence")
        human["sentence_labels"] = [inverted(label, column) for label in labels]
        if "fact_verification_error_type" in row:
            human["sentence_error_types"] = taken(row, "fact_verification_error_type", TEXTS, "a list of texts")
    if (column := "keyfact_label") in row:
        labels = taken(row, column, LIST, "a list with one label per key fact")
        human["key_fact_labels"] = [supported(label, column) for label in labels]
    if (column := "sentence_label") in row:
        labels = taken(row, column, LIST, "a list with one label per sentence")
        human["conciseness_labels"] = [supported(label, column) for label in labels]
    return human


UNISUMEVAL = Preset(
    name="unisumeval",
    about="UniSumEval's two files: inverted hallucination labels, key facts and their labels",
    citation="Lee et al., 2024: UniSumEval: Towards Unified, Fine-Grained, Multi-Dimensional Summarization Evaluation",
    roles=(
        FileRole(ROWS, ("uid", "model", "summary", "fact_verification_label"), "data/unisumeval_faithfulness.jsonl"),
        FileRole(
            "key_facts", ("uid", "model", "keyfact", "keyfact_label"), "data/unisumeval_keyfact.jsonl",
            key=("uid", "model"), needed=lambda cells: "keyfact" not in cells,
        ),
    ),
    gives="sentence_labels, sentence_error_types, key_facts, key_fact_labels, conciseness_labels, overall",
    counts=(Count("both files", 225, 2025),),
    notes=("labels are majority votes of three annotators, whose individual votes were not released",),
    convert=_convert,
)  # fmt: skip
