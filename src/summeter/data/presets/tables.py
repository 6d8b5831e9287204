"""Preset for the exports of summeter: summaries, with tables of documents and judgments."""

from __future__ import annotations

from collections.abc import Iterable

from summeter.data.presets.base import ROWS, Cells, FileRole, Joined, Preset, never

_TARGET = ("rival", "unit", "index", "list_id")


def _convert(joined: Joined) -> Iterable[Cells]:
    row = {**(joined.first("documents") or {}), **joined.cells}
    row.pop("splitter", None)
    judgments: list[Cells] = []
    for each in joined.rows_of("judgments"):
        filled = {name: cell for name, cell in each.cells.items() if cell not in (None, "")}
        fields = {name: cell for name, cell in filled.items() if name not in ("doc_id", "system")}
        target = {name: fields.pop(name) for name in _TARGET if name in fields}
        judgments.append({"set": fields.pop("judgment_set"), "target": target, **fields})
    if judgments:
        row["human"] = {"judgments": judgments}
    return [row]


TABLES = Preset(
    name="tables",
    about="The output of `summeter data export`: texts, and one row per judgment",
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
            needed=lambda cells: cells.get("document") is None,
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
