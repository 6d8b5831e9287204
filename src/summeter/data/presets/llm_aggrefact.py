"""LLM-AggreFact (Tang et al., 2024): one claim a row, eleven sets of which few are summaries."""

from __future__ import annotations

from collections.abc import Iterable

from summeter.data.presets.base import Cells, Count, FileRole, Joined, Preset
from summeter.data.presets.claims import CLAIMS, claim_system, faithfulness
from summeter.records import digest

_LAYOUT = CLAIMS["llm-aggrefact"]


def _convert(joined: Joined) -> Iterable[Cells]:
    row: Cells = _LAYOUT.row(joined.cells)
    human = faithfulness(row)
    dataset = row.get("dataset")
    if dataset and isinstance(
        row["document"], str
    ):  # one document is in several of the sets, with a domain of its own in each
        row["doc_id"] = f"{dataset}/{digest(row['document'], 12)}"
    cut = next((name for name in ("dev", "test") if joined.record.stem.startswith(name)), None)
    if cut is not None:
        row.setdefault("cut", cut)
    return [row | {"system": claim_system(row["summary"]), "domain": dataset, "human": human}]


LLM_AGGREFACT = Preset(
    name="llm_aggrefact",
    about="LLM-AggreFact: one claim a row, its label as overall faithfulness",
    citation="Tang et al., 2024",
    licence="CC BY-ND 4.0, for evaluation only (gated)",
    roles=(FileRole("rows", ("doc", "claim", "label"), "data/dev-*.parquet, data/test-*.parquet"),),
    gives="overall.faithfulness",
    counts=(Count("dev", None, 30_420), Count("test", None, 29_320)),
    convert=_convert,
)
