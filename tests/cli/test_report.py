"""`summeter report` with the output of `summeter meta --json`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report import fake_runs as fake
from typer.testing import CliRunner, Result

from summeter.cli.main import app
from summeter.records import InputError, UsageError


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(fake.make(tmp_path / "run").folder)


@pytest.fixture
def study(run: Path, tmp_path: Path) -> Path:
    """The JSON output of a study in a file."""
    done = call("meta", "agree", run, "--aspect", "faithfulness", "--resamples", "20", "--json")
    assert done.exit_code == 0, done.output
    file = tmp_path / "agree.json"
    file.write_text(done.stdout, encoding="utf-8")
    return file


def test_a_run_with_studies(run: Path, study: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    row = {"study": "correlation", "judge": "rts", "statistic": "pearson", "value": 0.5, "n": 9}
    other.write_text(json.dumps({"schema": "summeter/1", "rows": [row]}))
    done = call("report", run, "--study", study, "--study", other)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"report: {run / 'report.html'}\n"
    text = (run / "report.html").read_text(encoding="utf-8")
    assert text.index("<h3>Agreement of people") < text.index("<h3>Correlation with people")
    assert 'id="ranking"' in text


def test_a_study_alone(study: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = call("report", "--study", study, "-o", page)
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "<title>Agreement of people" in text
    assert 'id="ranking"' not in text
    assert str(tmp_path) not in text


def test_a_page_needs_a_path_and_contents(study: Path) -> None:
    assert isinstance(call("report", "--study", study).exception, UsageError)
    assert isinstance(call("report").exception, UsageError)


def test_a_file_that_is_no_study_leaves_no_page(tmp_path: Path) -> None:
    file, page = tmp_path / "study.json", tmp_path / "page.html"
    file.write_text('{"schema": "summeter/1", "rows": [{"study": "x"}]}')
    done = call("report", "--study", file, "-o", page)
    assert isinstance(done.exception, InputError)
    assert f"{file}: rows.0.statistic: is missing" in str(done.exception)
    assert not page.exists()
