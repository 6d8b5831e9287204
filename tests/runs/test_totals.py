"""Reading a run item by item gives the same totals as reading it whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from summeter.engine.api import evaluate
from summeter.engine.runs import rescore
from summeter.records import InputError
from summeter.runs.run import RunFolder

ROWS = [
    {"doc_id": f"d{n}", "system": system, "document": f"It rained on day {n}. We stayed.", "summary": f"Rain, {n}. No."}
    for n in range(3)
    for system in ("aster", "birch")
]
VIEWS = ("scores.jsonl", "scores.csv", "summary.json")


def test_lines_of_an_item_that_stand_apart_change_nothing(tmp_path: Path) -> None:
    run = evaluate(ROWS, ["support", "abstractiveness"], out=tmp_path / "run")
    before = {name: (run.folder / name).read_bytes() for name in VIEWS}
    (file,) = (run.folder / "judgments").glob("support*.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[::2] + lines[1::2]))
    again = rescore(run.folder)
    assert again.totals.statuses == run.manifest.counts
    assert sorted(map(str, again.summary().rows)) == sorted(map(str, run.summary().rows))
    file.write_text("".join(lines))
    assert {name: (rescore(run.folder).folder / name).read_bytes() for name in VIEWS} == before


def test_a_copy_in_the_place_of_a_neighbours_line_is_read_once(tmp_path: Path) -> None:
    run = evaluate(ROWS[:1], ["support"], out=tmp_path / "run")
    (file,) = (run.folder / "judgments").glob("*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([lines[0], lines[0], *lines[2:]]))
    for read in (RunFolder.judgments, RunFolder.table):
        with pytest.raises(InputError, match=r"support.*jsonl:1: judgments of .* have been changed"):
            read(RunFolder(run.folder))


def test_parts_of_a_large_file_are_read_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = evaluate(ROWS, ["support", "abstractiveness"], out=tmp_path / "run")
    whole = [score.model_dump() for score in RunFolder(run.folder).scores()]
    monkeypatch.setattr("summeter.runs.progress.CHUNK", 300)
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == whole
    assert len(list(RunFolder(run.folder).tables())) > 8
