"""Files of a large run, which are read in parts, give the same results as small files."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.judges import Lengths, Moody, rows

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.runs.run import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(rows(), [Lengths(), Moody(), "abstractiveness"], out=tmp_path / "run")


def test_parts_of_a_file_are_read_as_the_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [score.model_dump() for score in RunFolder(run.folder).scores()]
    monkeypatch.setattr("summeter.runs.progress.CHUNK", 300)
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == whole
    assert len(list(RunFolder(run.folder).tables())) > 8
