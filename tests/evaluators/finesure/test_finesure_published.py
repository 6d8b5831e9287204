"""Twenty GPT-4o replies released with FineSurE: both parsers give the published figures."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from evaluators.judging import item

from summeter.evaluators.base import Parser
from summeter.evaluators.catalog import find

pytestmark = pytest.mark.shared

# From the README of the released code: means over summaries, in per cent.
FAITHFULNESS = {"bert_sum": 100.0, "pgn": 83.3, "bus": 66.7, "s2s": 16.7, "bart": 75.0}
COMPLETENESS = {"unilm_out_v2": 45.5, "t5_out_large": 59.0}
CONCISENESS = {"unilm_out_v2": 76.0, "t5_out_large": 81.7}


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("parser", ["strict", "legacy"])
def test_published_figures(shared: Path, parser: Parser) -> None:
    data = {(row["doc_id"], row["system"]): row for row in _rows(shared / "data" / "finesure_samples.jsonl.gz")}
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    outputs = _rows(shared / "data" / "finesure_samples.outputs.jsonl.gz")
    assert len(outputs) == 20
    for output in outputs:
        row = data[output["doc_id"], output["system"]]
        one = item(
            row["sentences"], document=row["document"], key_facts=row.get("key_facts") or (), system=row["system"]
        )
        judgments = find(output["evaluator"])().read(output["output"], one, parser, "sig")
        assert {judgment.status for judgment in judgments} == {"ok"}
        by_aspect: dict[str, list[float]] = defaultdict(list)
        for judgment in judgments:
            assert judgment.value is not None
            by_aspect[judgment.aspect].append(judgment.value)
        for aspect, found in by_aspect.items():
            values[aspect, row["system"]].append(fmean(found))
    means = {key: round(100 * fmean(found), 1) for key, found in values.items()}
    assert means == {
        **{("faithfulness", system): value for system, value in FAITHFULNESS.items()},
        **{("completeness", system): value for system, value in COMPLETENESS.items()},
        **{("conciseness", system): value for system, value in CONCISENESS.items()},
    }
