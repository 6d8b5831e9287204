"""Judgments read one summary at a time equal those read at once, in any order of the lines."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from report import duel_runs as duels
from report import fake_runs as fake

from summeter.records import InputError, Judgment
from summeter.runs.readers import RunReader, human_reader
from summeter.runs.run import RunFolder


def of(judgments: list[Judgment], document_id: str, system: str) -> list[Judgment]:
    """Those on a summary, alone or in a pair."""
    return [
        one for one in judgments
        if one.target.document_id == document_id and system in (one.target.system, one.target.rival)
    ]  # fmt: skip


def check(run: RunFolder) -> int:
    """Each summary's judgments are those among all; returns how many were read."""
    whole, reader = run.judgments(), RunReader(run)
    names = {(one.target.document_id, name) for one in whole for name in (one.target.system, one.target.rival) if name}
    assert set(reader.items()) == names
    read = {name: reader.read(*name) for name in names}
    assert read == {name: of(whole, *name) for name in names}
    return sum(map(len, read.values()))


def test_a_finished_run(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    # 22 judgments, as counted in tests/report/test_blocks.py.
    assert check(run) == 22
    assert RunReader(run).read("bridge", "nobody") == []


def test_a_run_with_failures_that_has_not_finished(tmp_path: Path) -> None:
    errors = [("talk", "cedar", "timed out"), ("bridge", "aster", "timed out")]
    run = fake.make(tmp_path / "run", status="interrupted", errors=errors)
    check(run)
    (failed,) = [one for one in RunReader(run).read("talk", "cedar") if one.status == "error"]
    assert (failed.aspect, failed.reason) == ("faithfulness", "timed out")


def test_a_pair_stands_with_both_of_its_summaries(tmp_path: Path) -> None:
    run = duels.make(tmp_path / "run")
    # Eight documents, three systems, each against the two others, in both places: 4 judgments a summary.
    assert check(run) == 8 * 3 * 4


@pytest.mark.parametrize("seed", range(5))
def test_lines_in_disorder_repeated_and_torn(tmp_path: Path, seed: int) -> None:
    made = duels.make(tmp_path / "run") if seed % 2 else fake.make(tmp_path / "run")
    shutil.copytree(made.folder, tmp_path / "mixed")
    rng = random.Random(seed)
    for file in (tmp_path / "mixed" / "judgments").glob("*.jsonl"):
        lines = file.read_text(encoding="utf-8").splitlines()
        lines += rng.sample(lines, 2)
        rng.shuffle(lines)
        file.write_text("\n".join(lines) + '\n{"target":{"docum', encoding="utf-8")
    check(RunFolder(tmp_path / "mixed"))


def test_what_no_line_of_progress_confirms_is_not_read(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    progress = run.folder / "progress.jsonl"
    progress.write_text("".join(line for line in progress.read_text().splitlines(keepends=True) if "talk" not in line))
    check(run)
    assert {document for document, _ in RunReader(run).items()} == {"bridge"}


def test_a_file_that_has_changed_since_is_an_error(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    reader = RunReader(run)
    file = run.folder / "judgments" / "novelty.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(reversed(lines)))
    with pytest.raises(InputError, match="was changed while it was read"):
        _ = [reader.read(*name) for name in reader.items()]


def test_a_file_that_has_been_cut_since_is_an_error_and_not_fewer_judgments(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    reader = RunReader(run)
    file = run.folder / "judgments" / "novelty.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InputError, match=r"novelty.*was changed while it was read"):
        _ = [reader.read(*name) for name in reader.items()]


def test_what_people_said(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    said = list(run.data.judgments("human.raw"))
    reader = human_reader(run)
    assert {name: reader.read(*name) for name in reader.items()} == {
        ("bridge", system): of(said, "bridge", system) for system in ("aster", "cedar")
    }
    assert reader.read("talk", "cedar") == []
