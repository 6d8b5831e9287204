"""`summeter bench leaderboard`: numbers worked by hand, missing values with reasons, resumed runs, errors, the page."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmark.chains import command, write_lines
from data.test_docs import same
from pages import carry_out

import summeter as sm

TEXT = "Ana Ruiz sold the mill in May. The council had asked her to keep it open."


def given(tmp_path: Path, **more: Any) -> Path:
    """Write five summaries with the votes of two people, scores of a judge on a scale, and the settings of a board."""
    rows = [
        {"doc_id": f"d{number}", "system": "s", "document": TEXT, "summary": "Ana Ruiz sold the mill.",
         "human": {"ratings": {"coherence": {"a": vote, "b": vote}}}}
        for number, vote in enumerate((1, 2, 3, 4, 5))
    ]  # fmt: skip
    scores = [
        {"doc_id": f"d{number}", "system": "s", "evaluator": "mine", "aspect": "flow", "value": value}
        for number, value in enumerate((10, 20, 40, 30))
    ]
    write_lines(tmp_path / "data.jsonl", *rows)
    write_lines(tmp_path / "scores.jsonl", *scores)
    sm.import_outputs(sm.load(tmp_path / "data.jsonl"), tmp_path / "scores.jsonl", tmp_path / "mine")
    board: dict[str, Any] = {
        "title": "Flow <i>", "resamples": 50,
        "sets": {"news": {"data": "data.jsonl", "aspect": "coherence", "statistic": "kendall_b"}},
        "judges": {
            "mine": {"runs": {"news": "mine"}, "aspects": {"coherence": "flow"}, "needs": "LLM"},
            "words": {"evaluator": "length", "aspects": {"coherence": "words"}, "needs": "no download"},
            "rouge": {"evaluator": "rouge", "needs": "no download"},
        },
    }  # fmt: skip
    file = tmp_path / "board.yaml"
    file.write_text(yaml.safe_dump({**board, **more}, sort_keys=False), encoding="utf-8")
    return file


def leaderboard(file: Path, site: Path, *options: object) -> int:
    """The exit code of the command."""
    return command("bench", "leaderboard", file, "-o", site, *options)


def test_values_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert leaderboard(given(tmp_path), tmp_path / "site", "--quiet") == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "site" / "index.html")
    with (tmp_path / "site" / "leaderboard.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["judge"]: row for row in csv.DictReader(file)}
    # Four pairs of values, of which one of six is in the other order: (5 - 1) / 6.
    assert float(rows["mine"]["value"]) == pytest.approx(2 / 3)
    assert (rows["mine"]["n"], rows["mine"]["missing"]) == ("4", "1")
    assert (rows["words"]["value"], rows["words"]["reason"]) == ("", "constant input")
    assert rows["rouge"]["value"] == ""
    assert "coherence" in rows["rouge"]["reason"]
    assert (rows["words"]["cost"], rows["rouge"]["cost"]) == ("0.0", "")
    assert rows["mine"]["seconds"] == ""
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "Flow &lt;i&gt;" in page
    assert TEXT not in page


def test_a_second_time_judges_nothing(tmp_path: Path) -> None:
    board = given(tmp_path)
    assert leaderboard(board, tmp_path / "site") == 0
    files = {file: file.read_bytes() for file in (tmp_path / "site").iterdir()}
    judged = (tmp_path / "runs" / "news" / "words" / "judgments").stat().st_mtime_ns
    assert leaderboard(board, tmp_path / "site") == 0
    assert {file: file.read_bytes() for file in (tmp_path / "site").iterdir()} == files
    assert (tmp_path / "runs" / "news" / "words" / "judgments").stat().st_mtime_ns == judged


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"judges": {"mine": {"needs": "LLM", "runs": {"news": "none"}}}}, "none"),
        ({"judges": {"mine": {"needs": "LLM", "runs": {"news": "mine"}, "judge": "min"}}}, "'min'"),
        ({"sets": {"news": {"data": "data.jsonl", "aspect": "fluency", "statistic": "spearman"}}}, "sets.news.aspect"),
    ],
)
def test_unsuitable_runs_and_data_are_refused(
    tmp_path: Path, more: dict[str, Any], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert leaderboard(given(tmp_path, **more), tmp_path / "site") == 2
    assert named in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(root / "examples")
    carry_out(root / "docs" / "leaderboard.md", same)


def test_a_run_over_other_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = given(tmp_path)
    assert leaderboard(board, tmp_path / "site") == 0
    rows = (tmp_path / "data.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "data.jsonl").write_text("\n".join(rows[:3]) + "\n", encoding="utf-8")
    judges = {"words": {"evaluator": "length", "aspects": {"coherence": "words"}, "needs": "no download"}}
    board.write_text(yaml.safe_dump({**yaml.safe_load(board.read_text("utf-8")), "judges": judges}), encoding="utf-8")
    assert leaderboard(board, tmp_path / "site") == 2
    assert "Set another folder `runs`" in capsys.readouterr().err
