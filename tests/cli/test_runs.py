"""Output, prompts and exit codes of `summeter runs`."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engine.judges import rows

from summeter.cli.main import main
from summeter.engine.api import evaluate
from summeter.runs.inspect import state
from summeter.runs.journal import Journal


def call(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["runs", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    evaluate(rows(), ["abstractiveness"], out=tmp_path / "runs" / "first")
    evaluate(rows(), ["rouge"], out=tmp_path / "runs" / "deep" / "second", limit=1)
    return tmp_path / "runs"


def test_runs_are_listed_at_any_depth(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["list", str(folder)]) == 0
    heads, second, first = capsys.readouterr().out.splitlines()
    assert heads.split() == ["run", "status", "documents", "summaries", "judges", "done", "size", "updated"]
    assert second.split()[:6] == [str(folder / "deep" / "second"), "complete", "3", "6", "1", "33%"]
    assert first.split()[:6] == [str(folder / "first"), "complete", "3", "6", "1", "100%"]
    manifest = folder / "first" / "run.json"
    manifest.write_text("{}")
    assert call(["list", str(folder), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "summeter/1"
    assert [row["status"] for row in listed["rows"]] == ["complete", "damaged"]
    assert "run.json" in listed["rows"][1]["reason"]
    shutil.rmtree(folder / "deep")
    shutil.rmtree(folder / "first")
    assert call(["list", str(folder)]) == 0
    assert capsys.readouterr().out == f"there is no run in {folder}\n"


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "deep" / "second"
    assert call(["info", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{run}: complete"
    assert lines[1].startswith("data: rows (3 documents, 6 summaries, hash ")
    assert lines[4].startswith("on disk: ")
    assert lines[-1].startswith("rouge|")
    assert lines[-1].endswith("2 of 6 summaries")
    with Journal(run):
        assert call(["info", str(run), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["writing"]
    assert row["judges"][0]["done"] == 2
    assert row["size"] == sum(row["bytes"].values()) == state(run).size
    assert set(row["bytes"]) == {"data", "judgments", "other", "views"}
    assert call(["info", str(folder)]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_verify_and_merge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = folder / "first", folder / "deep" / "second"
    assert call(["verify", str(first)]) == 0
    assert "all files are intact" in capsys.readouterr().out
    assert call(["merge", str(first), str(second), "-o", str(folder / "both")]) == 0
    assert "by 2 judges, complete" in capsys.readouterr().out
    (file,) = (first / "judgments").iterdir()
    file.write_bytes(b"{}\n")
    assert call(["verify", str(first)]) == 2
    assert f"{file}: was changed after the run had ended" in capsys.readouterr().err
    assert call(["verify", str(first), "--json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["intact"], [row["file"] for row in report["rows"]]) == (False, [str(file)])
    assert call(["merge", str(first), "-o", str(folder / "one")]) == 2
    assert "at least 2 runs" in capsys.readouterr().err


def test_the_commands_of_the_page_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "deep" / "second").rename(folder / "second")
    monkeypatch.chdir(folder.parent)
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ summeter runs (.*?)(?: *#.*)?$", page, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["list", "info", "verify", "merge", "export", "rm"]
    assert [call(shlex.split(command)) for command in commands] == [0] * 6
    assert sorted(path.name for path in folder.iterdir()) == ["both", "deep", "first"]


def test_a_run_whose_report_is_being_written_is_not_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report, here a pipe without a reader, is written after run.json says that the run has ended."""
    run = folder / "written"
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    evaluate(str(folder / "rows.jsonl"), ["rouge"], out=run)
    os.mkfifo(run / "report.html")
    words = ["score", str(folder / "rows.jsonl"), "-e", "abstractiveness", "-o", str(run)]
    command = [sys.executable, "-m", "summeter", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as writer:
        end = time.monotonic() + 60
        while writer.poll() is None and not _has_ended(run, judges=2) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        assert writer.poll() is None
        assert state(run).status == "complete"
        assert call(["rm", "--yes", str(run)]) == 2
        assert "another process is writing to this run" in capsys.readouterr().err
        with (run / "report.html").open("rb") as page:
            assert page.read().startswith(b"<!")
        assert writer.wait() == 0
    assert call(["rm", "--yes", str(run)]) == 0


def _has_ended(run: Path, judges: int) -> bool:
    about = state(run)
    return about.status == "complete" and len(about.judges) == judges and (run / "checksums.json").exists()


def test_rm_asks_and_refuses(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = folder / "first", folder / "deep" / "second"
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert call(["rm", str(first)]) == 130
    asked = capsys.readouterr()
    assert "Remove 1 run permanently?" in asked.out
    assert asked.err == "nothing was removed\n"
    assert first.exists()
    with Journal(second):
        assert call(["rm", "--yes", str(second)]) == 2
        assert "another process is writing to this run" in capsys.readouterr().err
    (folder / "no run").mkdir()
    assert call(["rm", "--yes", str(first), str(folder / "no run")]) == 2
    assert "is not a run" in capsys.readouterr().err
    assert first.exists()
    (folder / "link").symlink_to(first)
    assert call(["rm", "--yes", str(second), str(folder / "link")]) == 2
    assert "is a symbolic link" in capsys.readouterr().err
    assert second.exists()
    assert (folder / "link" / "run.json").exists()
    (folder / "link").unlink()
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert call(["rm", str(first), str(second)]) == 0
    assert "Remove 2 runs permanently?" in capsys.readouterr().out
    assert sorted(path.name for path in folder.rglob("*")) == ["deep", "no run"]
