"""summeter's own exports: flat rows or a table of summaries, with tables of documents and of judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from summeter.data.presets.base import ROWS, Cells, FileRole, Joined, Preset, never

_TARGET = ("rival", "unit", "index", "list_id")


def _convert(joined: Joined) -> Iterable[Cells]:
    row = {**(joined.first("documents") or {}), **joined.cells}
    row.pop("splitter", None)
    if judgments := [_judgment(record.cells) for record in joined.rows_of("judgments")]:
        row["human"] = {"judgments": judgments}
    return [row]


def _judgment(cells: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table of judgments as `human.judgments` holds it."""
    given = {name: cell for name, cell in cells.items() if cell not in (None, "") and name not in ("doc_id", "system")}
    target = {name: given.pop(name) for name in _TARGET if name in given}
    return {"set": given.pop("judgment_set"), "target": target, **given}


def _lacks_document(cells: Mapping[str, Any]) -> bool:
    return cells.get("document") is None


TABLES = Preset(
    name="tables",
    about="What `summeter data export` writes: texts and judgments, each judgment a row",
    roles=(
        FileRole(
            ROWS,
            ("doc_id", "system", "summary"),
            "rows.jsonl (.parquet) or summaries/SPLIT.parquet",
            files=("summaries/*.parquet", "part-*.jsonl"),
        ),
        FileRole(
            "documents",
            ("doc_id", "document"),
            "documents/SPLIT.parquet",
            key=("doc_id",),
            needed=_lacks_document,
            files=("documents/*.parquet",),
        ),
        FileRole(
            "judgments",
            ("judgment_set", "doc_id", "system", "aspect", "judge", "signature"),
            "rows.judgments.jsonl (.parquet) or judgments/SPLIT.parquet",
            key=("doc_id", "system"),
            needed=never,
            files=("judgments/*.parquet", "judgments/*.jsonl"),
        ),
    ),
    gives="every field, and all judgment sets",
    convert=_convert,
)
