"""`summeter train` on the command line: figures, files, faults. The fused judge needs no network."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from cli.commands import ends


def rated(folder: Path, documents: int = 60) -> Path:
    draw = random.Random(4)
    words = ["rain", "river", "bridge", "valley", "town", "mayor", "budget", "school", "road", "market"]
    lines = []
    for number in range(documents):
        picked = draw.sample(words, 5)
        document = f"Report {number}: " + " ".join(
            f"The {word} is {draw.randrange(1000)} years old." for word in picked
        )
        for system in "AB":
            right = draw.randrange(5)
            named = picked[:right] + [f"x{word}" for word in picked[right:]]
            lines.append({"doc_id": f"d{number}", "document": document, "system": system, "reference": document,
                          "summary": f"It names the {', the '.join(named)}.",
                          "human": {"ratings": {"coverage": {"ana": 1 + right, "ben": 1 + right}}}})  # fmt: skip
    file = folder / "rated.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


SETTINGS = "kind: fused\ndata: rated.jsonl\nmembers: [length, rouge]\nresamples: 20\n"


def test_it_trains_writes_and_says_how_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rated(tmp_path)
    (tmp_path / "judge.yaml").write_text(SETTINGS)
    assert ends("train", str(tmp_path / "judge.yaml"), "-o", str(tmp_path / "judge")) == 0
    shown = capsys.readouterr()
    assert "coverage" in shown.out
    assert f"written to {tmp_path / 'judge'}" in shown.err
    assert {"README.md", "card.json"} <= {file.name for file in (tmp_path / "judge").iterdir()}
    assert ends("train", str(tmp_path / "judge.yaml"), "-o", str(tmp_path / "judge")) == 2
    assert "choose another folder, or replace it with --force" in capsys.readouterr().err
    assert ends("train", str(tmp_path / "judge.yaml"), "-o", str(tmp_path / "judge"), "--force", "--json") == 0
    card = json.loads(capsys.readouterr().out)["card"]
    assert card["kind"] == "fused"
    assert card["test"]["looks"] == 1


def test_scoring_training_data_gives_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = rated(tmp_path)
    (tmp_path / "judge.yaml").write_text(SETTINGS)
    folder = tmp_path / "judge"
    assert ends("train", str(tmp_path / "judge.yaml"), "-o", str(folder), "--quiet") == 0
    card = json.loads((folder / "card.json").read_text())
    fitted = card["split"]["documents"]["fit"]
    assert 0 < fitted == 60 - card["split"]["documents"]["test"] < 60
    capsys.readouterr()
    assert ends("score", str(data), "-e", f"fused[model={folder}]", "-o", str(tmp_path / "run")) == 0
    said = f"warning: {folder} was trained on {fitted} of these 60 documents, so its agreement"
    assert said in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text().replace("Report ", "Story "))
    assert ends("score", str(other), "-e", f"fused[model={folder}]", "-o", str(tmp_path / "run2")) == 0
    assert "was trained on" not in capsys.readouterr().err


def test_faults_are_one_message_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "judge.yaml").write_text(SETTINGS.replace("kind: fused", "kind: fusde"))
    assert ends("train", str(tmp_path / "judge.yaml"), "-o", str(tmp_path / "judge")) == 2
    assert "judge.yaml:1: kind: 'fusde' is unknown (did you mean fused?)" in capsys.readouterr().err
    rated(tmp_path, 10)
    (tmp_path / "judge.yaml").write_text(SETTINGS)
    assert ends("train", str(tmp_path / "judge.yaml"), "-o", str(tmp_path / "judge")) == 2
    assert "documents" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["judge.yaml", "rated.jsonl"]
