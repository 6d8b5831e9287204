"""`--ratings` in `data import`, `score`, `meta` and `advise`: two CSV files and no script."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from summeter.cli.main import app, main

OUR_NAMES = ("--map", "document=article", "--map", "summary=output")
TEXTS = ("It rained.", "It rained all day.", "It rained all day and night.", "It rained on us, and on them, all day.")


def summeter(*words: str) -> Result:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four summaries in texts.csv, and in ratings.csv two ratings of each: their number of words, and one more."""
    monkeypatch.chdir(tmp_path)
    with Path("texts.csv").open("w", newline="") as texts, Path("ratings.csv").open("w", newline="") as ratings:
        rows, votes = csv.writer(texts), csv.writer(ratings)
        rows.writerow(["id", "article", "output"])
        votes.writerow(["item", "worker_id", "long"])
        for number, text in enumerate(TEXTS):
            rows.writerow([f"s{number}", f"{text} Really.", text])
            votes.writerows([f"s{number}", who, len(text.split()) + more] for more, who in enumerate(("ann", "ben")))
    return tmp_path


def test_a_judge_is_correlated_with_ratings_in_two_commands(here: Path) -> None:
    summeter("score", "texts.csv", *OUR_NAMES, "-e", "length", "-o", "run", "--quiet")
    ratings = ("--ratings", "ratings.csv", "--on", "id=item")
    found = summeter("meta", "correlate", "run", *ratings, "--aspect", "words:long", "--resamples", "0", "--json")
    rows = {row["statistic"]: row for row in json.loads(found.stdout)["rows"]}
    # the judge's value is the number of words, and the mean of the ratings that number plus a half
    assert rows["pearson"]["value"] == pytest.approx(1)
    assert (rows["pearson"]["n"], rows["pearson"]["missing"]) == (4, 0)
    assert "raters in 'worker_id'" in found.stderr
    assert not (here / "run/data/judgments").exists()
    agreed = summeter("meta", "agree", "run", *ratings, "--resamples", "0", "--json")
    assert {row["n"] for row in json.loads(agreed.stdout)["rows"]} == {4}
    summeter("advise", "run", *ratings, "--aspect", "words:long")


def test_ratings_are_kept_with_imported_data_and_with_a_resumed_run(here: Path) -> None:
    ratings = ("--ratings", "ratings.csv", "--on", "id=item", "--aspects", "words=long")
    summeter("data", "import", "texts.csv", *OUR_NAMES, *ratings, "-o", "data")
    score = ("score", "texts.csv", *OUR_NAMES, "-e", "length", "-o", "run", "--quiet")
    summeter(*score)
    summeter(*score, *ratings)
    kept = [Path(folder, "judgments/human.raw.jsonl").read_text() for folder in ("data", "run/data")]
    assert kept[0] == kept[1]
    assert [json.loads(line)["aspect"] for line in kept[0].splitlines()] == ["words"] * 8
    found = summeter("meta", "correlate", "run", "--aspect", "words", "--resamples", "0", "--json")
    assert json.loads(found.stdout)["rows"][0]["n"] == 4


@pytest.mark.parametrize("words", [["--ratings", "ratings.csv"], ["--ratings", "ratings.csv", "--on", "item"]])
def test_the_right_columns_are_suggested(here: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    summeter("score", "texts.csv", *OUR_NAMES, "-e", "length", "-o", "run", "--quiet")
    with pytest.raises(SystemExit) as ended:
        main(["meta", "correlate", "run", *words])
    assert ended.value.code == 2
    assert "--on id=item" in capsys.readouterr().err
