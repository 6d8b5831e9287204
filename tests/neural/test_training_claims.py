"""`kind: claims`: a sequence-to-sequence network that comes nearer to an LLM's claims, and what it refuses."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import summeter as sm
from summeter.records import UsageError
from summeter.runs.run import RunFolder
from summeter.training import train
from summeter.training.claims import read_claims

pytest.importorskip("peft", reason="needs peft: make neural")

WORDS = ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op")
SCHEDULE = {"epochs": 4, "batch": 8, "learning_rate": 0.003, "patience": 4}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with `factscore`, whose scripted extractor takes each summary apart at its "and"."""
    folder = tmp_path_factory.mktemp("claims")
    draw = random.Random(5)
    rows, rules = [], []
    for number in range(50):
        document = " ".join(draw.choices(WORDS, k=14)) + f" {number}."
        for system in ("a", "b"):
            halves = [" ".join(draw.choices(WORDS, k=3)) for _ in range(2)]
            summary = f"{' and '.join(halves)} {number}{system}."
            rows.append({"doc_id": f"d{number}", "system": system, "document": document, "summary": summary})
            claims = [halves[0], f"{halves[1]} {number}{system}"]
            rules.append({"match": summary, "reply": {"claims": claims}})
    script = folder / "extractor.jsonl"
    script.write_text("".join(json.dumps(rule) + "\n" for rule in rules), "utf-8")
    judge = folder / "judge.jsonl"
    judge.write_text(json.dumps({"reply": "no idea"}) + "\n", "utf-8")
    models = {"extractor": f"scripted/{script}", "judge": f"scripted/{judge}"}
    sm.evaluate(rows, ["factscore"], models=models, out=folder / "run")
    return folder / "run"


def settings(folders: Path, run: Path, **more: Any) -> dict[str, Any]:
    how = {"kind": "claims", "runs": [str(run)], "backbone": f"local/{folders / 't5'}", "max_tokens": 64}
    shares = {"dev": 0.25, "test": 0.25}
    return {**how, "max_claims_tokens": 64, "schedule": SCHEDULE, "resamples": 50, "split": shares, **more}


@pytest.fixture(scope="module")
def trained(folders: Path, run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "network"
    train(settings(folders, run), out)
    return out


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_the_claims_of_the_run_are_read(run: Path) -> None:
    rows = read_claims(RunFolder(run), None)
    assert len(rows) == 100
    assert all(len(row.claims) == 2 for row in rows)
    assert all(row.target.count(".") == 2 for row in rows)


def test_it_comes_nearer_to_the_claims_and_its_card_says_how_near(trained: Path) -> None:
    card = json.loads((trained / "card.json").read_text("utf-8"))
    likelihood = card["dev"]["log_likelihood"]
    assert likelihood[-1] > likelihood[0] + 0.3
    figures = {(each["of"], each["statistic"]): each["value"] for each in card["figures"]}
    assert {of for of, _ in figures} == {"network", "sentences"}
    generation = json.loads((trained / "generation_config.json").read_text("utf-8"))
    assert generation["max_new_tokens"] == 64
    # A sentence has all words of its claims, and more.
    assert 0.5 < figures["sentences", "f1"] < 1
    assert "easiness of network on test" in (trained / "README.md").read_text("utf-8")


def test_fenice_draws_claims_with_it(trained: Path, folders: Path, tmp_path: Path) -> None:
    models = {"nli": f"local/{folders / 'bert'}", "seq2seq": f"local/{trained}"}
    rows = [{"document": "ab cd ef gh.", "summary": "ab cd and ef gh."}]
    run = sm.evaluate(rows, ["fenice"], models=models, out=tmp_path / "run")
    assert {row.judge for row in run.judgments()} == {"fenice"}


def test_a_killed_training_goes_on_to_the_same_weights(folders: Path, run: Path, tmp_path: Path, trained: Path) -> None:
    (tmp_path / "how.yaml").write_text(json.dumps(settings(folders, run)))
    state = tmp_path / ".network.training" / "checkpoint.pt"
    command = [sys.executable, "-m", "summeter", "train", str(tmp_path / "how.yaml"), "-o", str(tmp_path / "network")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    while not state.is_file() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "network").exists()
    assert state.is_file()
    train(tmp_path / "how.yaml", tmp_path / "network")
    # Also that two trainings with one seed are equal.
    assert content(tmp_path / "network") == content(trained)


def test_what_cannot_be_used_is_one_clear_error(folders: Path, run: Path, tmp_path: Path) -> None:
    rows = [{"document": "ab cd.", "summary": "ab."}]
    sm.evaluate(rows, ["support"], out=tmp_path / "support")
    with pytest.raises(UsageError, match="were written by no LLM"):
        train(settings(folders, tmp_path / "support"), tmp_path / "network")
    nli = {"nli": f"local/{folders / 'bert'}"}
    sm.evaluate(rows, ["fenice[claims=sentence]"], models=nli, out=tmp_path / "sentences")
    with pytest.raises(UsageError, match="were written by no LLM; score with fenice"):
        train(settings(folders, tmp_path / "sentences"), tmp_path / "network")
    with pytest.raises(UsageError, match="too few documents with claims"):
        train(settings(folders, run, split={"dev": 0.01, "test": 0.01}), tmp_path / "network")
    with pytest.raises(UsageError, match="no system 'c'"):
        train(settings(folders, run, split={"held_out_systems": ["c"]}), tmp_path / "network")
    assert not (tmp_path / "network").exists()
