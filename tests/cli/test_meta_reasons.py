"""`summeter meta reasons`: what a run's reasons speak of, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.engine.api import evaluate

ROWS = [
    {"doc_id": f"d{place}", "system": "a", "document": "Ana sold her boat.", "summary": f"Boat {place} was sold."}
    for place in range(3)
]
RULES = [
    {"match": "Boat 2", "reply": {"reason": "It leaves out the main point.", "score": 2}},
    {"reply": {"reason": "Grammatical.", "score": 4}},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rules = tmp_path / "rules.jsonl"
    rules.write_text("\n".join(map(json.dumps, RULES)))
    evaluate(ROWS, ["rts[aspect=fluency]"], models=f"scripted/{rules}", out=tmp_path / "run")
    return tmp_path / "run"


def invoke(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["meta", "reasons", *map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return done.exit_code, done.output


def test_shares_of_a_run(run: Path) -> None:
    """One reason of three speaks of another aspect, and of that alone."""
    code, out = invoke(run, "--json")
    rows = {row["statistic"]: row for row in json.loads(out)["rows"] if not row["details"]}
    assert code == 0
    for name in ("off_aspect_rate", "off_aspect_only_rate"):
        assert rows[name]["value"] == pytest.approx(1 / 3)
        assert (rows[name]["n"], rows[name]["missing"]) == (3, 0)
    code, out = invoke(run, "--resamples", 0)
    assert code == 0
    assert "off_aspect_rate" in out


def test_words_of_ones_own(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "words.yaml"
    file.write_text("grammarians: [grammatical]\n")
    code, out = invoke(run, "--words", file, "--json")
    rows = {row["statistic"]: row["value"] for row in json.loads(out)["rows"] if not row["details"]}
    assert code == 0
    assert rows["off_aspect_rate"] == 1.0


def test_what_cannot_be_done_is_said(run: Path, tmp_path: Path) -> None:
    code, _ = invoke(run, "--judge", "mcq")
    assert code != 0
    bad = tmp_path / "words.yaml"
    bad.write_text("tone: formal\n")
    code, _ = invoke(run, "--words", bad)
    assert code != 0
