"""`summeter runs export`: the judgments and scores of a run as Parquet, for other tools."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from engine.judges import Lengths, Moody, rows
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.records import Judgment
from summeter.records.judgment import Target
from summeter.runs.checksums import verify
from summeter.scoring import Score


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(rows(), [Lengths(), Moody(), "support"], out=tmp_path / "run")


def invoke(*words: object) -> int:
    return CliRunner().invoke(app, ["runs", "export", *map(str, words)]).exit_code


def read(file: Path) -> list[dict[str, object]]:
    with duckdb.connect() as connection:
        rows = connection.execute("SELECT * FROM read_parquet(?)", [str(file)])
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]


def test_the_files_hold_every_field_of_every_record(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "it's" / "new"
    assert invoke(run.folder, "-o", out) == 0
    assert [score.model_dump() for score in run.scores()] == read(out / "scores.parquet")
    exported = read(out / "judgments.parquet")
    judgments = run.judgments()
    assert len(exported) == len(judgments)
    assert any(judgment.evidence for judgment in judgments)
    assert any(judgment.status == "error" for judgment in judgments)
    assert set(exported[0]) == {*Target.model_fields, *Judgment.model_fields} - {"target"}
    for row, judgment in zip(exported, judgments, strict=True):
        fields = judgment.model_dump(mode="json")
        expected = {**fields.pop("target"), **fields}
        row["evidence"] = json.loads(str(row["evidence"]))
        row["claim"] = None if row["claim"] is None else json.loads(str(row["claim"]))
        label = expected["label"]
        assert row == {**expected, "label": None if label is None else str(label)}
    assert list(read(out / "scores.parquet")[0]) == list(Score.model_fields)


def test_a_run_is_as_it_was_and_files_are_replaced(run: Run, tmp_path: Path) -> None:
    assert invoke(run.folder, "-o", tmp_path / "out") == 0
    before = read(tmp_path / "out" / "judgments.parquet")
    assert invoke(run.folder, "-o", tmp_path / "out") == 0
    assert read(tmp_path / "out" / "judgments.parquet") == before
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["judgments.parquet", "scores.parquet"]
    assert verify(run.folder) == []


def test_the_runs_own_folder_is_refused(run: Run) -> None:
    assert invoke(run.folder, "-o", run.folder / "parquet") != 0
    assert not (run.folder / "parquet").exists()


def test_a_damaged_run_is_not_exported(run: Run, tmp_path: Path) -> None:
    file = next((run.folder / "judgments").glob("lengths*.jsonl"))
    file.write_text(file.read_text().replace('"ok"', '"oh"', 1))
    assert invoke(run.folder, "-o", tmp_path / "out") != 0
    assert not (tmp_path / "out" / "judgments.parquet").exists()
