"""GO FIGURE (Gabriel et al., 2021): summaries that are factual, factually incorrect, or too incoherent to tell."""

from __future__ import annotations

from collections.abc import Iterable

from summeter.data.presets.base import Cells, Count, FileRole, Joined, Preset, label_of, renamed
from summeter.data.presets.claims import claim_system

_LABELS = {"factual": 1, "factually incorrect": 0, "too incoherent": None}


def _convert(joined: Joined) -> Iterable[Cells]:
    row = renamed(joined.cells, {"article": "document"})
    label = row.pop("label")
    if joined.record.stem in ("xsum", "samsum"):
        row["domain"] = joined.record.stem
    human = {"overall": {"faithfulness": label_of(label, _LABELS, "label")}}
    return [row | {"label": label, "system": claim_system(row["summary"]), "human": human}]


GOFIGURE = Preset(
    name="gofigure",
    about="GO FIGURE: factual or not as overall faithfulness; too incoherent is no vote",
    citation="Gabriel et al., 2021",
    licence="Apache-2.0",
    roles=(
        FileRole(
            "rows",
            ("article", "summary", "label", "errors"),
            "human_eval/{xsum,samsum}.jsonl",
            files=("xsum.jsonl", "samsum.jsonl"),
        ),
    ),
    gives="overall.faithfulness",
    counts=(Count("xsum.jsonl", None, 250), Count("samsum.jsonl", None, 250)),
    convert=_convert,
)
