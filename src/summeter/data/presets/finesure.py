"""FineSurE's data files (Song et al., 2024): votes of each annotator under `raw_annotations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from summeter.data.presets.base import LIST, TEXTS, Cells, LayoutError, Preset, formed, inverted, renamed, taken

_VOTES: TypeAdapter[dict[str, dict[str, Any]]] = TypeAdapter(dict[str, dict[str, Any]])


def _turn(cells: Cells) -> Iterable[Cells]:
    row = renamed(cells, {"model": "system", "transcript": "document", "source": "domain"})
    sentences = taken(row, "sentences", TEXTS, "a list of texts")
    row |= {"summary": row.get("summary", " ".join(sentences)), "sentences": sentences}
    if not row.get("raw_annotations"):
        return [row]
    votes = formed(row["raw_annotations"], "raw_annotations", _VOTES, "an object of annotators")
    if all("factuality_labels" in own for own in votes.values()):
        column = "raw_annotations.factuality_labels"
        labels = _by_unit(votes, "factuality_labels")
        human = {
            "sentence_labels": [{who: inverted(label, column) for who, label in cell.items()} for cell in labels],
            "sentence_error_types": _by_unit(votes, "factuality_types") or None,
        }
        del row["raw_annotations"]
        return [{**row, "human": human}]
    if row.get("key_facts") and all("key_fact_labels" in own for own in votes.values()):
        # what its sentence_labels say (the sentence carries a key fact) has no field: the column is kept
        return [{**row, "human": {"key_fact_labels": _by_unit(votes, "key_fact_labels")}}]
    return [row]


def _by_unit(votes: Mapping[str, Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    """`{annotator: {key: [value per unit]}}` as one `{annotator: value}` per unit."""
    column = f"raw_annotations.{key}"
    lists = {who: formed(own[key], column, LIST, "a list") for who, own in votes.items() if key in own}
    if len({len(values) for values in lists.values()}) > 1:
        raise LayoutError(column, "has annotators with different numbers of labels")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


FINESURE = Preset("finesure", "FineSurE's data files: factuality labels turned round, error types kept", _turn)
