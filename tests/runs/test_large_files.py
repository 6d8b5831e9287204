"""Files of a large run, which are read part by part, give what small ones give."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.judges import Lengths, Moody, rows

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.records import InputError
from summeter.runs.run import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(rows(), [Lengths(), Moody(), "abstractiveness"], out=tmp_path / "run")


def test_parts_of_a_file_are_read_as_the_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [score.model_dump() for score in RunFolder(run.folder).scores()]
    monkeypatch.setattr("summeter.runs.progress.PART", 300)
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == whole
    assert len(list(RunFolder(run.folder).tables())) > 8


def test_large_files_of_progress_are_read_as_small_ones(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [score.model_dump() for score in RunFolder(run.folder).scores()]
    file = run.folder / "progress.jsonl"
    monkeypatch.setattr("summeter.runs.progress._AS_RECORDS", 0)
    monkeypatch.setattr("summeter.runs.progress.PART", 200)
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == whole
    sound = file.read_bytes()
    file.write_bytes(sound + b'{"signature":"torn')
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == whole
    file.write_bytes(sound + b'{"signature":1,"document_id":null}\n')
    with pytest.raises(InputError, match=rf"progress\.jsonl:{len(sound.splitlines()) + 1}: .*damaged"):
        RunFolder(run.folder).scores()
