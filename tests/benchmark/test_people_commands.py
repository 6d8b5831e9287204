"""`bench facts` and `bench annotate` as commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from summeter.cli.main import main
from summeter.data.dataset import load, save

ROWS = [
    {
        "doc_id": topic, "document": f"The {topic} opened in May. The mayor paid for it.", "system": "A",
        "summary": f"The {topic} opened.",
    }
    for topic in ("bridge", "market", "school")
]  # fmt: skip
CONFIG = """
name: people
seed: 3
annotate:
  campaign: {answers_per_item: 1}
  campaigns: {sentences: {kind: fact_verification}}
  simulate: {annotators: 1, gold: gold}
"""


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *map(str, words)])
    return int(ended.value.code or 0)


def rules(file: Path, *lines: dict[str, Any]) -> str:
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return f"scripted/{file}"


def test_facts_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(load(ROWS), tmp_path / "data")
    judge = rules(tmp_path / "judge.jsonl", {"reply": {"key_facts": ["It opened.", "The mayor paid."]}})
    votes = {"1": {"reason": "Central.", "useful": "yes"}, "2": {"reason": "A detail.", "useful": "no"}}
    validator = rules(tmp_path / "validator.jsonl", {"reply": votes})
    assert run("facts", tmp_path / "data", "-o", tmp_path / "facts", "-m", judge, "-m", f"validator={validator}") == 0
    said = capsys.readouterr().out
    assert "left out: 3 key fact: rejected by most validators" in said
    assert {document.key_facts for document in load(tmp_path / "facts").documents.values()} == {("It opened.",)}
    assert run("facts", tmp_path / "data", "-o", tmp_path / "other", "-m", judge, "-m", f"second={validator}") == 2
    assert "with 2 of them they are judge, validator" in capsys.readouterr().err


def test_annotate_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = {"key_facts": ["It opened."]}
    save(load([{**row, **facts} for row in ROWS]), tmp_path / "data")
    words = ("annotate", tmp_path / "data", "-o", tmp_path / "annotate")
    assert run(*words) == 2
    assert "0 accounts are too few for 3 people" in capsys.readouterr().err
    people = [word for name in ("anna", "ben", "cleo") for word in ("--account", name)]
    assert run(*words, *people) == 130
    assert "key_facts has 0 of 9 answers" in capsys.readouterr().err
    assert run(*words, "--simulate", "3") == 0
    assert "human.merged" in capsys.readouterr().out
    assert "human.raw" in load(tmp_path / "annotate").judgment_sets


def test_annotate_takes_its_section_of_a_file_whose_paths_are_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    human = {"sentence_labels": [0]}
    save(load([{**row, "human": human} for row in ROWS]), tmp_path / "bench" / "gold")
    save(load(ROWS), tmp_path / "data")
    file = tmp_path / "bench" / "bench.yaml"
    file.write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    assert run("annotate", "data", "-o", "annotate", "--config", "bench/bench.yaml") == 0
    labels = [judgment.label for judgment in load("annotate").judgments("human.raw")]
    assert labels.count(0) >= 2, "what is right comes from the gold"
    file.write_text("name: x\nsummarize: {models: {a: x/y}}\n")
    assert run("annotate", "data", "-o", "annotate", "--config", "bench/bench.yaml") == 2
    assert "has no section `annotate`" in capsys.readouterr().err
