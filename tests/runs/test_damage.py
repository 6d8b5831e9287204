"""Damaged files of a run: reading raises an error with the location, evaluating again repairs them."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine.judges import Lengths, Moody, rows
from pydantic import ValidationError

from summeter.engine.api import evaluate
from summeter.engine.outputs import import_outputs
from summeter.engine.runs import Run, rescore
from summeter.records import InputError, Judgment, Target
from summeter.report import html
from summeter.runs.journal import Journal
from summeter.runs.run import RunFolder

JUDGES = (Lengths(), "abstractiveness")
VIEWS = ("scores.jsonl", "scores.csv", "summary.json")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(rows(), JUDGES, out=tmp_path / "run")


def views(run: RunFolder) -> dict[str, bytes]:
    return {name: (run.folder / name).read_bytes() for name in VIEWS}


def judgments_file(run: RunFolder) -> Path:
    (file,) = (run.folder / "judgments").glob("lengths*.jsonl")
    return file


Damage = Callable[[list[bytes]], list[bytes]]
LINES: dict[str, Damage] = {
    "another value": lambda lines: [lines[0].replace(b'"value":2.0', b'"value":3.0'), *lines[1:]],
    "another label": lambda lines: [lines[0].replace(b'"label":1', b'"label":0'), *lines[1:]],
    "no value": lambda lines: [lines[0].replace(b'"value":2.0,"label":1', b'"value":null,"label":null'), *lines[1:]],
    "not finite": lambda lines: [lines[0].replace(b'"value":2.0', b'"value":NaN'), *lines[1:]],
    "zeros": lambda lines: [bytes(len(lines[0])), *lines[1:]],
    "garbage": lambda lines: [lines[0], b"\xff\xfe{]\n", *lines[1:]],
    "half a line": lambda lines: [lines[0][:40], *lines[1:]],
    "lost": lambda lines: lines[1:],
    "another item": lambda lines: [lines[0].replace(b'"d0"', b'"d9"'), *lines[1:]],
}


@pytest.mark.parametrize("damage", LINES.values(), ids=LINES)
def test_damaged_judgments_are_reported_and_judged_again(
    run: Run, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    before, file = views(run), judgments_file(run)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(damage(lines)))
    for read in (RunFolder.judgments, RunFolder.table, rescore):
        with pytest.raises(InputError, match=rf"{file.name}") as error:
            read(RunFolder(run.folder) if read is not rescore else run.folder)  # type: ignore[arg-type]
        assert "judges damaged and missing items again" in str(error.value)
    again = evaluate(rows(), JUDGES, out=run.folder)
    assert views(again) == before
    assert file.read_bytes().splitlines(keepends=True) == lines
    if damage is not LINES["lost"] and damage is not LINES["another item"]:
        assert f"{file.name}:{2 if damage is LINES['garbage'] else 1}: " in caplog.text


@pytest.mark.parametrize("left", [0, 5])
def test_missing_lines_of_progress_are_an_error(run: Run, left: int) -> None:
    before, file = views(run), run.folder / "progress.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:left]))
    for read in (RunFolder.judgments, RunFolder.table):
        with pytest.raises(InputError, match=r"of 18 judgments are present"):
            read(RunFolder(run.folder))
    file.unlink()
    with pytest.raises(InputError, match="0 of 18 judgments"):
        rescore(run.folder)
    assert views(evaluate(rows(), JUDGES, out=run.folder)) == before


def test_a_changed_failure_is_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = evaluate(rows(), [Moody()], out=tmp_path / "run")
    before, file = views(run), run.folder / "failures.jsonl"
    file.write_text(file.read_text().replace('"system":"b"', '"system":"x"'))
    with pytest.raises(InputError, match=r"failures\.jsonl:1: damaged: .*has been changed"):
        RunFolder(run.folder).scores()
    again = views(evaluate(rows(), [Moody()], out=run.folder))
    assert sorted(again["scores.csv"].splitlines()) == sorted(before["scores.csv"].splitlines())  # errors by time
    assert "failures.jsonl:1" in caplog.text


@pytest.mark.parametrize("what", ["changed", "gone"])
def test_damaged_prepared_data_are_prepared_again(run: Run, what: str) -> None:
    before, (file,) = views(run), (run.folder / "prepared").glob("*.jsonl")
    text = file.read_text()
    file.write_text(text.replace('"words": 13', '"words": 12') if what == "changed" else "")
    assert views(evaluate(rows(), JUDGES, out=run.folder)) == before
    assert sorted(file.read_text().splitlines()) == sorted(text.splitlines())


def test_a_changed_manifest_is_an_error(run: Run) -> None:
    file = run.folder / "run.json"
    file.write_text(file.read_text().replace('"share"', '"mean"'))
    for act in (lambda: RunFolder(run.folder), lambda: evaluate(rows(), JUDGES, out=run.folder)):
        with pytest.raises(InputError, match=r"run\.json: judges: was changed after summeter wrote it.*Restore it"):
            act()
    file.write_bytes(b"\0" * 100)
    with pytest.raises(InputError, match=r"run\.json: damaged"):
        RunFolder(run.folder)


def test_changed_fields_of_a_manifest_are_listed_and_can_be_accepted(run: Run) -> None:
    file = run.folder / "run.json"
    manifest = json.loads(file.read_text())
    assert manifest.pop("stopped", None) is None
    file.write_text(json.dumps(manifest | {"status": "running", "note": "mine"}))
    with pytest.raises(InputError, match=r"run\.json: status, stopped, note: was changed"):
        RunFolder(run.folder)
    # Without the key, the change is accepted.
    del manifest["checksums"]
    file.write_text(json.dumps(manifest | {"status": "running"}))
    assert RunFolder(run.folder).manifest.status == "running"


@pytest.mark.parametrize("damage", ["changed", "no card", "gone"])
def test_a_damaged_copy_of_the_data_is_replaced(run: Run, damage: str) -> None:
    before, copy = views(run), run.folder / "data"
    if damage == "changed":
        file = copy / "documents.jsonl"
        file.write_text(file.read_text().replace("rained", "snowed"))
    elif damage == "no card":
        (copy / "dataset.json").unlink()
    else:
        shutil.rmtree(copy)
    with pytest.raises(InputError):
        RunFolder(run.folder).scores()
    again = evaluate(rows(), JUDGES, out=run.folder)
    assert views(again) == before == views(rescore(run.folder))


def test_a_renamed_item_is_judged_again(run: Run) -> None:
    """The new name may be that of an item of the data or not."""
    before, file = views(run), run.folder / "progress.jsonl"
    content = file.read_text()
    for old, new in (('"document_id":"d1"', '"document_id":"e1"'), ('"document_id":"d1"', '"document_id":"d0"')):
        file.write_text(content.replace(old, new))
        again = evaluate(rows(), JUDGES, out=run.folder)
        assert views(again) == before
        assert file.read_text() == content


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_judgment_values_are_finite(value: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Judgment(target=Target(document_id="d", system="s"), aspect="a", judge="j", signature="j", value=value)


class Endless(Lengths):
    """Judges the second system's sentences with a value that is no number."""

    name = "endless"

    async def judge(self, item: Any, prepared: Any, tools: Any) -> list[Judgment]:
        judgments = await super().judge(item, prepared, tools)
        return [
            Judgment(**{**dict(row), "value": math.nan if item.summary.system == "b" else row.value})
            for row in judgments
        ]


def test_a_value_that_is_not_finite_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    run = evaluate(rows(), [Endless()], out=tmp_path / "run")
    assert run.manifest.counts == {"ok": 6, "error": 3}
    assert {row.reason for row in run.judgments() if row.status == "error"} == {
        "computed an invalid Judgment: value is nan: Input should be a finite number"
    }


@pytest.mark.parametrize("values", [[1.7e308, 1.7e308], [1e308, 1e308, 0.5], [-1e308, -1e308], [5e-324]])
def test_extreme_values_have_a_mean(tmp_path: Path, values: list[float]) -> None:
    row = {"doc_id": "d", "system": "s", "evaluator": "mine", "aspect": "faithfulness", "unit": "claim"}
    raw = tmp_path / "raw.jsonl"
    raw.write_text("".join(json.dumps({**row, "value": value, "index": at}) + "\n" for at, value in enumerate(values)))
    run = import_outputs([{"doc_id": "d", "system": "s", "document": "a", "summary": "a"}], raw, tmp_path / "run")
    assert run.scores()[0].value == pytest.approx(math.fsum(value / len(values) for value in values))
    assert html([run], tmp_path / "page.html").is_file()


def test_temporary_files_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    code = f"""
import os, signal
from summeter.data.atomic import write_lines

def lines():
    yield "one"
    os.kill(os.getpid(), signal.SIGKILL)

write_lines({str(tmp_path / "run" / "scores.csv")!r}, lines())
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    left = [path.name for path in (tmp_path / "run").iterdir()]
    assert [name.endswith(".tmp") for name in left] == [True]
    mine = tmp_path / "run" / f".run.json.{os.getpid()}-0123abcd.tmp"
    mine.touch()
    with Journal(tmp_path / "run"):
        assert list((tmp_path / "run").glob(".*.tmp")) == [mine]
