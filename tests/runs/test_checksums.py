"""Checksums of finished runs detect every changed, missing and added file."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from engine.judges import Lengths, Moody, rows
from runs.test_views import judge

from summeter.engine.api import evaluate
from summeter.engine.runs import Run, rescore
from summeter.records import InputError, UsageError
from summeter.runs.checksums import record_checksums, verify
from summeter.runs.journal import CHECKSUM_FILE, Journal


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(rows(), [Lengths(), Moody()], out=tmp_path / "run")


def faults(run: Run) -> list[str]:
    found = verify(run.folder)
    return [f"{Path(fault.file).relative_to(run.folder)} {fault.message.split('. ')[0]}" for fault in found]


def flipped(content: bytes) -> bytes:
    return content[:30] + bytes([content[30] ^ 1]) + content[31:]


@pytest.mark.parametrize(
    "name",
    ["judgments/lengths", "prepared/lengths", "progress", "failures", "scores.jsonl", "scores.csv", "summary.json"],
)
@pytest.mark.parametrize("damage", [flipped, lambda content: content[:-20], None], ids=["flipped", "cut", "missing"])
def test_a_damaged_file_is_reported(run: Run, name: str, damage: Callable[[bytes], bytes] | None) -> None:
    assert verify(run.folder) == []
    (file,) = run.folder.glob(name if "." in name else f"{name}*.jsonl")
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    what = "is missing" if damage is None else "was changed after the run had ended"
    assert faults(run) == [f"{file.relative_to(run.folder)} {what}"]
    if "." in name:  # a view, which can be rebuilt
        rescore(run.folder)
        assert verify(run.folder) == []


def test_rescoring_does_not_accept_changed_facts(run: Run) -> None:
    (file,) = (run.folder / "prepared").glob("moody*.jsonl")
    file.write_bytes(file.read_bytes() + b"\n")
    (run.folder / "scores.csv").unlink()
    rescore(run.folder)
    assert faults(run) == [f"prepared/{file.name} was changed after the run had ended"]


@pytest.mark.parametrize("name", ["notes.txt", "scores.parquet", "pairs.jsonl", "more/file.txt"])
def test_an_added_file_is_reported(run: Run, name: str) -> None:
    (run.folder / name).parent.mkdir(exist_ok=True)
    (run.folder / name).write_text("mine")
    (run.folder / "report.html").write_text("a page")
    assert faults(run) == [f"{Path(name).parts[0]} was added after the run had ended"]


def test_changed_data_and_new_files_are_reported(run: Run) -> None:
    data = run.folder / "data" / "documents.jsonl"
    data.write_bytes(flipped(data.read_bytes()))
    (run.folder / "judgments" / "mine.jsonl").write_text("{}\n")
    found = faults(run)
    assert found[0] == "judgments/mine.jsonl was added after the run had ended"
    assert "documents.jsonl" in verify(run.folder)[1].message + str(verify(run.folder)[1].field)
    (run.folder / "data" / "dataset.json").unlink()
    assert faults(run)[1] == "data has no dataset.json"
    shutil.rmtree(run.folder / "data")
    assert faults(run)[1] == "data is missing"


def test_a_changed_manifest_or_list_of_checksums_ends_the_check(run: Run) -> None:
    file = run.folder / CHECKSUM_FILE
    whole = file.read_text()
    file.write_text("{")
    with pytest.raises(InputError, match=r"checksums\.json: damaged.*Remove it"):
        verify(run.folder)
    file.write_text(whole)
    manifest = run.folder / "run.json"
    manifest.write_text(manifest.read_text().replace('"share"', '"mean"'))
    with pytest.raises(InputError, match=r"run\.json: judges: was changed"):
        verify(run.folder)
    manifest.unlink()
    with pytest.raises(UsageError, match="is not a run"):
        verify(run.folder)


def test_stored_calls_that_are_changed_or_gone_are_named(tmp_path: Path) -> None:
    data = [
        {"doc_id": "d0", "system": system, "document": "It rained on day 0.", "summary": f"Rain, says {system}."}
        for system in ("aster", "birch")
    ]
    run = evaluate(data, ["h2h"], models=judge(tmp_path, {}), out=tmp_path / "run")
    assert verify(run.folder) == []
    file = run.folder / "calls.sqlite"
    with sqlite3.connect(file) as store:
        store.execute("UPDATE calls SET completion = '{}' WHERE rowid = 1")
    assert ["has damaged entries" in fault for fault in faults(run)] == [True]
    with sqlite3.connect(file) as store:
        store.execute("DELETE FROM calls WHERE rowid = 1")
    assert faults(run) == ["calls.sqlite has 1 of 2 recorded calls"]
    file.write_bytes(b"no database")
    assert [fault.startswith("calls.sqlite cannot be read") for fault in faults(run)] == [True]
    file.unlink()
    assert faults(run)[0] == "calls.sqlite is missing"


def test_a_run_without_checksums_is_compared_with_its_progress(run: Run) -> None:
    (run.folder / CHECKSUM_FILE).unlink()
    assert faults(run) == [". checksums.json is missing"]
    (file,) = (run.folder / "judgments").glob("lengths*.jsonl")
    file.write_bytes(flipped(file.read_bytes()))
    assert any(file.name in fault for fault in faults(run))


def test_checksums_are_missing_while_a_run_is_written(run: Run) -> None:
    recorded = (run.folder / CHECKSUM_FILE).read_bytes()
    rescore(run.folder)
    assert (run.folder / CHECKSUM_FILE).read_bytes() == recorded
    with Journal(run.folder) as journal:
        journal.repair(run.manifest.judges)
        assert not (run.folder / CHECKSUM_FILE).exists()
    again = evaluate(rows(), [Lengths()], out=run.folder)
    new = json.loads((again.folder / CHECKSUM_FILE).read_text())
    assert new["files"].keys() == json.loads(recorded)["files"].keys()
    record_checksums(again.folder)
    assert verify(again.folder) == []
