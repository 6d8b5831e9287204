"""The SummaC benchmark (Laban et al., 2022) as its package writes it: six sets, one claim a row."""

from __future__ import annotations

from collections.abc import Iterable

from summeter.data.presets.base import Cells, FileRole, Joined, Preset
from summeter.data.presets.claims import CLAIMS, claim_system, faithfulness

_LAYOUT = CLAIMS["summac"]
_IDS = (*_LAYOUT.columns["id"], "ID")
"""What the six sets call their documents; Polytope's `ID` differs by system, so that it is no key."""


def _convert(joined: Joined) -> Iterable[Cells]:
    row: Cells = _LAYOUT.row(joined.cells)
    human = faithfulness(row)
    own_id = next((row[name] for name in _IDS if row.get(name) not in (None, "")), None)
    if own_id is not None and row.get("dataset"):
        row["doc_id"] = f"{row['dataset']}/{own_id}"
    if not row.get("system"):
        row["system"] = claim_system(row["summary"])
    return [row | {"domain": row.get("origin") or row.get("dataset"), "human": human}]


SUMMAC = Preset(
    name="summac",
    about="The SummaC benchmark's rows: the label as overall faithfulness",
    citation="Laban et al., 2022",
    licence="Apache-2.0 (the package)",
    roles=(FileRole("rows", ("document", "claim", "label"), "rows written out with the package's SummaCBenchmark"),),
    gives="overall.faithfulness",
    convert=_convert,
    ids_repeat=True,
)
