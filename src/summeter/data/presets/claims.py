"""Benchmarks whose rows are a document, a summary or claim, and a label: which column holds what.

`bench protocol` reads them by the presets, too (`data.factuality`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from summeter.data.presets.base import Cells, Columns, renamed, supported, taken
from summeter.records import digest

_LABEL: TypeAdapter[Any] = TypeAdapter(Any)
_FIELDS = {"document": "document", "summary": "summary", "model": "system", "cut": "cut"}
"""What the fields of a layout are called in a flat row."""


@dataclass(frozen=True)
class Claims:
    """One benchmark's files: the columns by field (any of several names), and which fields a row must have.

    `texts`: the documents stand in files of their own, found by the columns of that tuple.
    """

    name: str
    about: str
    columns: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...] = ("document", "summary", "label", "dataset")
    grouped: bool = False
    texts: tuple[str, ...] = ()

    @property
    def released(self) -> tuple[str, ...]:
        """The columns that tell a file of the layout; of a field that goes by several names, any."""
        return tuple("|".join(self.columns[field]) for field in self.required)

    def column(self, field: str, cells: Mapping[str, Any]) -> str:
        """The column that holds a field in this row: in JSON the rows of one file may differ in their keys.

        Of several names the first that is filled, else the first that is there, else the first.
        """
        columns = self.columns.get(field, (field,))
        there = [column for column in columns if column in cells]
        filled = [column for column in there if not is_empty(cells[column])]
        return next(iter((*filled, *there, *columns)))

    def row(self, cells: Mapping[str, Any]) -> Columns:
        """The row with its columns named as in flat rows."""
        columns = {self.column(field, cells): name for field, name in _FIELDS.items() if field in self.columns}
        return renamed(cells, {column: name for column, name in columns.items() if column in cells})


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing."""
    return value is None or value == ""


CLAIMS = {
    layout.name: layout
    for layout in (
        Claims(
            "aggrefact",
            "aggre_fact_final.csv or aggre_fact_sota.csv (Tang et al., 2023)",
            {
                "document": ("doc",),
                "summary": ("summary",),
                "label": ("label",),
                "dataset": ("dataset",),
                "origin": ("origin",),
                "model": ("model_name",),
                "cut": ("cut",),
                "id": ("id",),
            },
            ("document", "summary", "label", "dataset", "origin", "model", "cut"),
            grouped=True,
        ),
        Claims(
            "llm-aggrefact",
            "LLM-AggreFact's dev and test files (Tang et al., 2024)",
            {
                "document": ("doc",),
                "summary": ("claim",),
                "label": ("label",),
                "dataset": ("dataset",),
                "cut": ("cut",),
            },
        ),
        Claims(
            "summac",
            "the SummaC benchmark's rows, one JSON object a line (Laban et al., 2022)",
            {
                "document": ("document",),
                "summary": ("claim",),
                "label": ("label",),
                "dataset": ("dataset",),
                "origin": ("origin",),
                "model": ("model_name",),
                "cut": ("cut",),
                "id": ("id", "cnndm_id", "bbcid", "hash"),
            },
        ),
        Claims(
            "story-summeval",
            "the long-form set of FENICE (Scire et al., 2024), with the stories in files of their own",
            {
                "document": ("text", "document", "story"),
                "summary": ("summary",),
                "label": ("factual", "label"),
                "source": ("source",),
                "id": ("text_id",),
                "model": ("system_id",),
                "cut": ("cut", "split"),
            },
            ("summary", "label"),
            texts=("source", "text_id"),
        ),
    )
}
"""The layouts that `bench protocol` measures."""
CLAIM_SYSTEM = "claim-"
"""How the system of a claim begins where none is named."""


def faithfulness(cells: Cells, column: str = "label") -> dict[str, Any]:
    """The human block of a row's label, 1 = consistent, None where there is none; the column is removed."""
    label = taken(cells, column, _LABEL, "0 or 1")
    return {"overall": {"faithfulness": None if is_empty(label) else supported(label, column)}}


def claim_system(text: Any) -> str | None:
    """The name of a claim's system where none is named: a document has many claims."""
    return f"{CLAIM_SYSTEM}{digest(text, 8)}" if isinstance(text, str) else None
