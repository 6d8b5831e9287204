"""Output of `summeter compare`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.commands import ends
from meta.test_versions import run

from summeter import evaluate


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of one system: of 8 summaries, 6 have another text and are worse."""
    folder = tmp_path_factory.mktemp("compare")
    old = run(folder / "old", {"aster": ["++"] * 8})
    return old.folder, run(folder / "new", {"aster": ["--"] * 6 + ["++"] * 2}).folder


def test_every_format(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert ends("compare", *runs, "--by", "domain") == 0
    text = capsys.readouterr().out
    assert text.startswith("By mock.fact_check, new is worse than old on faithfulness: -0.75")
    assert "8 summaries compared, 6 with another text" in text
    assert max(map(len, text.splitlines())) <= 80
    assert ends("compare", *runs, "--format", "markdown") == 0
    assert "| judge | aspect | system |" in capsys.readouterr().out
    assert ends("compare", *runs, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "summeter/1"
    assert (found["rows"][0]["value"], found["rows"][0]["details"]["better"]) == (-0.75, "a")
    assert [(item["text"], item["doc_id"]) for item in found["items"]] == [("changed", f"d{at}") for at in range(6)]
    assert {change["kind"] for change in found["items"][0]["changes"]} == {"new_error", "score"}
    assert ends("compare", *runs, "-o", tmp_path / "junit.xml") == 0
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")


def test_wrong_arguments(runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends("compare", runs[0], tmp_path) == 2
    assert "is not a run" in capsys.readouterr().err
    assert ends("compare", *runs, "--pair-systems", "asters=aster") == 2
    assert "--pair-systems: the first run has no system 'asters' (did you mean aster?)" in capsys.readouterr().err
    assert ends("compare", *runs, "--by", "colour") == 2
    assert "no column 'colour'" in capsys.readouterr().err
    assert ends("compare", *runs, "-o", tmp_path / "page.docx") == 2


def test_the_page_on_reports_shows_the_real_output(
    root: Path, example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [json.loads(line) for line in example.read_text("utf-8").splitlines()]
    monday = [{**row, "human": {}} for row in rows if row["system"] == "cedar"]
    cut = [{**row, "summary": row["sentences"][0], "sentences": row["sentences"][:1]} for row in monday]
    tuesday = [cut[at] if at % 3 == 0 else row for at, row in enumerate(monday)]
    for name, data in (("monday", monday), ("tuesday", tuesday)):
        evaluate(data, ["support"], out=tmp_path / name)
    assert ends("compare", tmp_path / "monday", tmp_path / "tuesday") == 0
    page = (root / "docs" / "report.md").read_text("utf-8")
    (shown,) = re.findall(r"summeter compare runs/monday runs/tuesday\n(.*?)```", page, re.DOTALL)
    assert capsys.readouterr().out.startswith(shown)
