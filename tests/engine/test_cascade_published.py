"""A cascade over released replies (Shen et al., 2023): one judge's ratings decide for another's, within the bound."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from statistics import fmean

import pytest

from summeter.data.dataset import load
from summeter.engine.outputs import import_outputs
from summeter.engine.runs import Run
from summeter.evaluators.cascade import Cascade
from summeter.evaluators.derived import MemberJudgments
from summeter.scoring import dedupe

pytestmark = pytest.mark.shared

BOUND = 0.1


@pytest.fixture(scope="module")
def run(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    with gzip.open(shared / "data" / "shen2023.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    data = load([{key: row[key] for key in ("doc_id", "system", "document", "summary")} for row in rows])
    out = tmp_path_factory.mktemp("shen") / "run"
    import_outputs(data, shared / "data" / "shen2023.outputs.jsonl.gz", out, "legacy")
    return Run(out)


@pytest.mark.parametrize("aspect", ["coherence", "relevance"])
@pytest.mark.parametrize(("sample", "least"), [(100, 0.0), (300, 0.2), (1000, 0.3)])
def test_the_mean_absolute_difference_stays_under_its_bound(run: Run, aspect: str, sample: int, least: float) -> None:
    by_judge = {
        judge: {row.target.item: row for row in dedupe(run.judgments()) if row.judge == judge and row.aspect == aspect}
        for judge in ("mcq", "rts")
    }
    items = [item for item in by_judge["rts"] if item in by_judge["mcq"]]
    judged = [MemberJudgments(item, tuple((by_judge[judge][item],) for judge in ("mcq", "rts"))) for item in items]
    assert len(judged) == 1200
    kept, saved = [], []
    for seed in range(40):
        plan = Cascade(first="mcq", then="rts", aspect=aspect, error=BOUND, sample=sample, seed=seed).plan(judged)
        differences = [
            abs(cheap.value - dear.value) / 4 if item not in plan.passed_on else 0.0
            for item, ((cheap,), (dear,)) in judged
            if cheap.value is not None and dear.value is not None
        ]
        kept.append(fmean(differences) <= BOUND)
        saved.append(1 - len(plan.passed_on) / len(judged))
    assert fmean(kept) >= 0.95
    assert fmean(saved) > least
