"""FineSurE's data files (Song et al., 2024): votes of each annotator under `raw_annotations`.

Two files give key facts: `realsumm-data.json` has the labels, `human-keyfact-list.json` the facts they are about. The
list of `machine-keyfact-list-from-gpt4.json` is GPT-4's: the labels are not about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from summeter.data.presets.base import (
    LIST,
    ROWS,
    TEXTS,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    formed,
    inverted,
    renamed,
    supported,
    taken,
)

_VOTES: TypeAdapter[dict[str, dict[str, Any]]] = TypeAdapter(dict[str, dict[str, Any]])
_NO_VOTE = "None"
"""A label of the full file."""


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"model": "system", "transcript": "document", "source": "domain"})
    sentences = taken(row, "sentences", TEXTS, "a list of texts")
    row |= {"summary": row.get("summary", " ".join(sentences)), "sentences": sentences}
    machine = _add_key_facts(joined, row)
    if not row.get("raw_annotations"):
        return [row]
    votes = formed(row["raw_annotations"], "raw_annotations", _VOTES, "an object of annotators")
    if all("factuality_labels" in own for own in votes.values()):
        del row["raw_annotations"]
        return [_with_factuality(joined, row, votes)]
    if all("key_fact_labels" in own for own in votes.values()):
        return [_with_key_fact_labels(joined, row, votes, machine=machine)]
    return [row]


def _add_key_facts(joined: Joined, row: Cells) -> bool:
    """Take the key facts from their file; whether the row's are a model's."""
    facts = joined.rows_of("key_facts")
    if facts:
        row["key_facts"] = formed(facts[0].cells.get("key_facts"), "key_facts", TEXTS, "a list of texts")
    machine = bool(row.get("key_facts")) and "machine" in (facts[0].stem if facts else joined.record.stem)
    if machine:
        row["key_facts_by"] = "gpt-4"
    return machine


def _with_factuality(joined: Joined, row: Cells, votes: Mapping[str, Mapping[str, Any]]) -> Cells:
    """Labels always; types where there are as many: a sentence with two types adds two entries to that list."""
    column = "raw_annotations.factuality_labels"
    labels = _by_unit(votes, "factuality_labels")
    count = len(labels)
    listed = [who for who, own in votes.items() if isinstance(own.get("factuality_types"), list)]
    typed = {who: votes[who] for who in listed if len(votes[who]["factuality_types"]) == count}
    flattened = {
        who: own["factuality_types"] for who, own in votes.items() if who not in typed and "factuality_types" in own
    }
    if flattened:
        row["factuality_types"] = flattened
        names = ", ".join(flattened)
        joined.warn("raw_annotations.factuality_types", f"has not one type a sentence ({names}); kept as they are")
    types = _by_unit(typed, "factuality_types") if typed else []
    for cell, votes_of in zip(types, labels, strict=True) if types else ():
        cell.update({who: None for who in cell if votes_of.get(who) == _NO_VOTE})
    human = {
        "sentence_labels": [{who: inverted(_vote(label), column) for who, label in cell.items()} for cell in labels],
        "sentence_error_types": types or None,
    }
    return {**row, "human": human}


def _with_key_fact_labels(
    joined: Joined, row: Cells, votes: Mapping[str, Mapping[str, Any]], *, machine: bool
) -> Cells:
    human: Cells = {}
    if all("sentence_labels" in own for own in votes.values()):
        human["conciseness_labels"] = _labels(votes, "sentence_labels")
    if machine:
        joined.warn("raw_annotations.key_fact_labels", "are about other key facts than GPT-4's; kept as they are")
        row["key_fact_labels"] = {who: own["key_fact_labels"] for who, own in votes.items()}
    elif row.get("key_facts"):
        human["key_fact_labels"] = _labels(votes, "key_fact_labels")
    else:
        return row  # the file of key facts is missing, and that is said
    del row["raw_annotations"]
    return {**row, "human": human}


def _labels(votes: Mapping[str, Mapping[str, Any]], key: str) -> list[dict[str, int | None]]:
    column = f"raw_annotations.{key}"
    return [
        {who: None if _vote(label) is None else supported(label, column) for who, label in cell.items()}
        for cell in _by_unit(votes, key)
    ]


def _vote(label: Any) -> Any:
    return None if label == _NO_VOTE else label


def _by_unit(votes: Mapping[str, Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    """`{annotator: {key: [value per unit]}}` as one `{annotator: value}` per unit."""
    column = f"raw_annotations.{key}"
    lists = {who: formed(own[key], column, LIST, "a list") for who, own in votes.items() if key in own}
    if len({len(values) for values in lists.values()}) > 1:
        raise LayoutError(column, "has annotators with different numbers of labels")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _has_labels_alone(cells: Mapping[str, Any]) -> bool:
    """Whether a row has labels of key facts without the facts."""
    votes = cells.get("raw_annotations")
    own = list(votes.values()) if isinstance(votes, dict) else []
    return not cells.get("key_facts") and any(isinstance(each, dict) and "key_fact_labels" in each for each in own)


FINESURE = Preset(
    name="finesure",
    about="FineSurE's data files: factuality labels turned round, error types kept",
    licence="Apache-2.0",
    citation="Song et al., 2024: FineSurE: Fine-grained Summarization Evaluation using LLMs (ACL)",
    roles=(
        FileRole(ROWS, ("model", "transcript", "sentences"), "frank-data.json or realsumm-data.json"),
        FileRole(
            "key_facts",
            ("doc_id", "key_facts"),
            "human-keyfact-list.json",
            key=("doc_id",),
            needed=_has_labels_alone,
        ),
    ),
    gives="sentence_labels, sentence_error_types; key_facts, key_fact_labels, conciseness_labels",
    counts=(
        Count("frank-data-sample-10.json", 10, 10),
        Count("realsumm-data.json", 100, 100),
    ),
    convert=_convert,
)
