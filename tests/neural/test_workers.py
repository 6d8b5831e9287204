"""Local networks in worker processes, with their results stored in the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.judges import rows
from engine.test_workers import files

from summeter.engine.api import evaluate
from summeter.engine.executors.processes import ProcessExecutor
from summeter.records import ReplayMiss
from summeter.runs.results import RESULTS, ResultStore

TWO = ProcessExecutor(workers=2)
JUDGE = "summac"


def test_networks_judge_in_workers_as_in_one_process(folders: Path, tmp_path: Path) -> None:
    models = {"nli": f"local/{folders / 'bert'}"}
    alone = evaluate(rows(8), [JUDGE], models=models, out=tmp_path / "one")
    run = evaluate(rows(8), [JUDGE], models=models, out=tmp_path / "two", executor=TWO)
    # What is computed together decides on the last digits.
    for mine, other in zip(run.judgments(), alone.judgments(), strict=True):
        assert mine.model_dump(exclude={"value", "reason"}) == other.model_dump(exclude={"value", "reason"})
        assert mine.value == pytest.approx(other.value, abs=1e-4)
    (model, there), (_, wanted) = run.manifest.local.copy().popitem(), alone.manifest.local.copy().popitem()
    assert model.startswith("local/bert@")
    assert (there.asked, there.tokens > 0) == (wanted.asked, True)
    with ResultStore(run.folder / RESULTS) as own, ResultStore(alone.folder / RESULTS) as other:
        assert own.counts() == other.counts()

    # A replay asks no worker: stored results answer.
    again = evaluate(rows(8), [JUDGE], out=tmp_path / "again", replay=run.folder, executor=TWO)
    assert files(again.folder) == files(run.folder)
    with pytest.raises(ReplayMiss):
        evaluate(rows(9), [JUDGE], out=tmp_path / "miss", replay=run.folder, executor=TWO)
