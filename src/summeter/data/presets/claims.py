"""Benchmarks of (document, claim, label) rows. Their `cut` goes by claim, not by document: it is kept as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from summeter.data.presets.base import ROWS, Cells, Joined, Part, Preset, Turn, renamed, supported, taken
from summeter.records import digest

_LABEL: TypeAdapter[Any] = TypeAdapter(Any)


def _turn(document: str, claim: str) -> Turn:
    def turn(joined: Joined) -> Iterable[Cells]:
        row = renamed(joined.cells, {document: "document", claim: "summary", "model_name": "system"})
        label = supported(taken(row, "label", _LABEL, "0 or 1"), "label")
        own_id = next((row[name] for name in ("id", "cnndm_id", "bbcid") if row.get(name)), None)
        if own_id is not None and "doc_id" not in row:  # one article is in several of the datasets, edited
            row["doc_id"] = f"{row.get('dataset')}/{own_id}"
        if "origin" in row or "dataset" in row:
            row.setdefault("domain", row.get("origin") or row.get("dataset"))
        if not row.get("system") and isinstance(row.get("summary"), str):
            row["system"] = f"claim-{digest(row['summary'], 8)}"  # no system is named, and a document has many claims
        return [{**row, "human": {"overall": {"faithfulness": label}}}]

    return turn


GIVES = "overall.faithfulness"
CLAIMS = (
    Preset(
        "aggrefact",
        "AggreFact's CSV files: the label as overall faithfulness",
        _turn("doc", "summary"),
        (Part(ROWS, ("doc", "summary", "label"), "aggre_fact_final.csv or aggre_fact_sota.csv"),),
        GIVES,
    ),
    Preset(
        "summac",
        "Rows of the SummaC benchmark: the label as overall faithfulness",
        _turn("document", "claim"),
        (Part(ROWS, ("document", "claim", "label"), "the benchmark's rows"),),
        GIVES,
        licence="Apache-2.0",
    ),
    Preset(
        "minicheck",
        "LLM-AggreFact: one claim a row, its label as overall faithfulness",
        _turn("doc", "claim"),
        (Part(ROWS, ("doc", "claim", "label"), "data/dev-*.parquet or data/test-*.parquet"),),
        GIVES,
        licence="CC-BY-ND-4.0",
    ),
)
