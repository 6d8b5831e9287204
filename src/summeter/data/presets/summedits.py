"""SummEdits (Laban et al., 2023): edited summaries, consistent or not."""

from __future__ import annotations

from collections.abc import Iterable

from summeter.data.presets.base import Cells, FileRole, Joined, Preset, renamed
from summeter.data.presets.claims import faithfulness
from summeter.records import digest


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"doc": "document", "id": "system", "split": "cut"})
    human = faithfulness(row)
    stem = joined.record.stem
    domain = row.get("domain") or (stem.removeprefix("summedits_") if stem.startswith("summedits_") else None)
    if domain and isinstance(row["document"], str):
        row |= {"domain": domain, "doc_id": f"{domain}/{digest(row['document'], 12)}"}
    return [row | {"human": human}]


SUMMEDITS = Preset(
    name="summedits",
    about="SummEdits: one edited summary a row, its label as overall faithfulness",
    citation="Laban et al., 2023",
    licence="Apache-2.0 (on the hub: CC BY 4.0)",
    roles=(
        FileRole(
            "rows",
            ("id", "doc", "summary", "original_summary", "label", "edit_types"),
            "summedits_DOMAIN.json",
            files=("summedits_*.json",),
        ),
    ),
    gives="overall.faithfulness",
    convert=_convert,
)
