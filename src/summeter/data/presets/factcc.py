"""FactCC's annotated claims (Kryscinski et al., 2020), paired with their articles or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from summeter.data.presets.base import Articles, Cells, Count, FileRole, Joined, Preset, label_of, renamed
from summeter.data.presets.claims import claim_system

_LABELS = {"CORRECT": 1, "INCORRECT": 0}


def _story(cells: Mapping[str, Any]) -> str:
    """The hash in `cnndm/cnn/stories/HASH.story`."""
    return PurePath(str(cells.get("filepath"))).stem


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"text": "document", "claim": "summary"})
    label = row.pop("label")
    human = {"overall": {"faithfulness": label_of(label, _LABELS, "label")}}
    folder = PurePath(joined.record.file).parent.name
    if folder in ("val", "test"):
        row["cut"] = folder
    return [
        {"document": joined.document, **row, "doc_id": _story(row), "system": claim_system(row["summary"])}
        | {"human": human}
    ]


FACTCC = Preset(
    name="factcc",
    about="FactCC's annotated claims: CORRECT and INCORRECT as overall faithfulness",
    citation="Kryscinski et al., 2020",
    licence="BSD-3-Clause",
    roles=(
        FileRole("rows", ("id", "filepath", "claim", "label"), "(un)paired_annotated_data/{val,test}/data-dev.jsonl"),
    ),
    articles=Articles("CNN/DailyMail stories", lambda cells: None if cells.get("text") else _story(cells)),
    gives="overall.faithfulness",
    counts=(Count("val/data-dev.jsonl", None, 931), Count("test/data-dev.jsonl", None, 503)),
    convert=_convert,
    ids_repeat=True,
)
