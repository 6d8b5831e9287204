"""A compact run reads as before; a kill at any point leaves each file whole, in the one form or the other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from engine.judges import Lengths, Moody, rows

from summeter.engine.api import evaluate
from summeter.engine.runs import Run, rescore
from summeter.records import InputError, UsageError
from summeter.report import html
from summeter.runs import forms
from summeter.runs.journal import Journal
from summeter.runs.places import RunReader
from summeter.runs.run import RunFolder
from summeter.runs.seals import compact, verify
from summeter.scoring import table as tables

VIEWS = ("scores.jsonl", "scores.csv", "summary.json")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(rows(), [Lengths(), Moody(), "abstractiveness"], out=tmp_path / "run")


def lines(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.jsonl")}


def parquet(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*.parquet"))


def test_everything_reads_a_compact_run_as_before(run: Run, tmp_path: Path) -> None:
    folder = run.folder
    plain, page = RunFolder(folder), html([RunFolder(folder)], tmp_path / "page.html").read_text()
    table, prepared = plain.table(), sorted(str(file.name) for file in (folder / "prepared").iterdir())
    reader, views = RunReader(plain), {name: (folder / name).read_bytes() for name in VIEWS}
    assert len(compact(folder)) == 3 + len(prepared) + 2  # three judges, progress and failures
    assert not list((folder / "judgments").glob("*.jsonl"))
    packed = RunFolder(folder)
    assert [row.line for row in packed.judgments()] == [row.line for row in plain.judgments()]
    assert [row.model_dump() for row in packed.scores()] == [row.model_dump() for row in plain.scores()]
    assert list(packed.failures()) == list(plain.failures())
    assert len(packed.table()) == len(table)
    assert packed.table().value.tolist() == pytest.approx(table.value.tolist(), nan_ok=True)
    for item in reader.items():
        assert RunReader(packed).read(*item) == reader.read(*item)
    assert html([packed], tmp_path / "again.html").read_text() == page
    rescore(folder)
    assert parquet(folder)
    assert {name: (folder / name).read_bytes() for name in VIEWS} == views
    assert compact(folder) == []
    assert verify(folder) == []


def test_a_compact_run_is_carried_on_in_lines(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    before = lines(run.folder)
    compact(run.folder)
    again = evaluate(rows(), [Lengths(), Moody(), "abstractiveness"], out=run.folder)
    assert not parquet(again.folder)
    after = lines(again.folder)
    names = [name for name in before if "failures" not in name and "scores" not in name]  # errors are tried again
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    assert "the run was compact" in caplog.text


def test_the_columns_are_for_other_tools(run: Run) -> None:
    (file,) = (run.folder / "judgments").glob("lengths*.jsonl")
    written = [json.loads(line) for line in file.read_bytes().splitlines()]
    compact(run.folder)
    sql = f"SELECT target.document_id, aspect, value, label FROM '{file.with_suffix('.parquet')}'"
    assert duckdb.sql(sql).fetchall() == [
        (row["target"]["document_id"], row["aspect"], row["value"], str(row["label"])) for row in written
    ]


def test_parts_of_parquet_are_read_as_the_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [score.model_dump() for score in RunFolder(run.folder).scores()]
    monkeypatch.setattr("summeter.runs.progress.PART", 300)
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == whole
    assert len(list(RunFolder(run.folder).tables())) > 8
    compact(run.folder)
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


KILLED = """
import os, signal, sys
from pathlib import Path
from summeter.runs import forms
from summeter.runs.seals import compact

number, place = int(sys.argv[2]), sys.argv[3]
calls = 0
original = getattr(Path, place)

def dying(self, *given, **named):
    global calls
    if str(self).endswith((".parquet", ".tmp", ".jsonl")):
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
    return original(self, *given, **named)

setattr(Path, place, dying)
compact(Path(sys.argv[1]))
"""


@pytest.mark.parametrize(("number", "place"), [(1, "replace"), (2, "replace"), (1, "unlink"), (4, "unlink")])
def test_a_kill_in_the_middle_leaves_the_run_intact(run: Run, number: int, place: str) -> None:
    before, scores = lines(run.folder), [score.model_dump() for score in RunFolder(run.folder).scores()]
    command = [sys.executable, "-c", KILLED, str(run.folder), str(number), place]
    assert subprocess.run(command, check=False).returncode == -9
    assert {fault.file for fault in verify(run.folder)} <= {str(run.folder)}  # its checksums may be gone
    assert [score.model_dump() for score in RunFolder(run.folder).scores()] == scores
    compact(run.folder)
    assert not list(run.folder.rglob(".*.tmp"))
    assert not list((run.folder / "judgments").glob("*.jsonl"))
    assert verify(run.folder) == []
    with Journal(run.folder) as journal:
        journal.repair(run.manifest.judges)
    after = lines(run.folder)
    assert {name: after[name] for name in before} == before


def test_a_line_that_would_change_stays_as_it_is(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lines(run.folder)
    check = forms._check_same

    def changed(file: Path, packed: Path) -> None:
        file.write_bytes(file.read_bytes() + b"{}\n")
        check(file, packed)

    monkeypatch.setattr(forms, "_check_same", changed)
    file = run.folder / "progress.jsonl"
    with pytest.raises(InputError, match=r"progress\.jsonl: cannot be made compact: some of its lines are lost"):
        forms.compact_file(file, "progress")
    assert file.read_bytes() == before["progress.jsonl"] + b"{}\n"
    assert parquet(run.folder) == []


def test_damaged_parquet_is_named(run: Run) -> None:
    compact(run.folder)
    (file,) = (run.folder / "judgments").glob("lengths*.parquet")
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"", whole[:40] + bytes([whole[40] ^ 255]) + whole[41:]):
        file.write_bytes(content)
        assert [fault.file for fault in verify(run.folder)] == [str(file)]
    for content in (whole[: len(whole) // 2], b""):
        file.write_bytes(content)
        with pytest.raises(InputError, match=rf"{re.escape(file.name)}: is damaged, .*; bring it back as it was, or"):
            RunFolder(run.folder).scores()
    file.unlink()
    assert "is missing" in str(verify(run.folder)[0])
    with pytest.raises(InputError, match="confirms are gone"):
        RunFolder(run.folder).judgments()


def test_a_damaged_run_is_not_made_compact(run: Run) -> None:
    (file,) = (run.folder / "judgments").glob("lengths*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"value":2.0', b'"value":3.0', 1))
    with pytest.raises(InputError, match=f"{file.name}: is not as it was when the run ended"):
        compact(run.folder)
    assert file.exists()
    with Journal(run.folder), pytest.raises(UsageError, match="another process is writing"):
        compact(run.folder)


def test_the_columns_of_both_rooms_agree() -> None:
    fields = forms.FIELDS["judgments"]
    assert set(tables._LINE) == set(fields)
    assert forms.SUFFIX == tables.PARQUET
