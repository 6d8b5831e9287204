"""`kind: nli`: an NLI network that learns, is carried on after a kill, and judges without torch."""

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

from summeter.records import InputError, UsageError
from summeter.training import train

pytest.importorskip("peft", reason="needs peft: make neural")

WORDS = ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "rs", "tu", "vw", "xy")
SCHEDULE = {"epochs": 12, "batch": 16, "learning_rate": 0.002, "patience": 12, "warmup": 0.05}


def pairs(premises: int = 90) -> list[dict[str, str]]:
    """Three words of the premise are entailed, three others are not."""
    draw = random.Random(3)
    listed = []
    for _ in range(premises):
        there = draw.sample(WORDS, 6)
        away = [word for word in WORDS if word not in there]
        premise = " ".join(there)
        listed.append({"premise": premise, "hypothesis": " ".join(draw.sample(there, 3)), "label": "entail"})
        listed += [
            {"premise": premise, "hypothesis": " ".join(draw.sample(away, 3)), "label": label}
            for label in ("not", "contradict")
        ]
    return listed


def written(folder: Path, listed: list[dict[str, str]]) -> Path:
    file = folder / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in listed), "utf-8")
    return file


def settings(folders: Path, file: Path, backbone: str = "encoder", **more: Any) -> dict[str, Any]:
    how = {"kind": "nli", "data": str(file), "backbone": f"local/{folders / backbone}", "max_tokens": 64}
    return {**how, "schedule": SCHEDULE, "resamples": 50, **more}


@pytest.fixture(scope="module")
def trained(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nli")
    train(settings(folders, written(folder, pairs())), folder / "network")
    return folder / "network"


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def figure(card: dict[str, Any], of: str, statistic: str) -> float:
    return next(float(f["value"]) for f in card["figures"] if (f["of"], f["statistic"]) == (of, statistic))


def test_it_learns_and_its_card_says_how_well(trained: Path) -> None:
    card = json.loads((trained / "card.json").read_text("utf-8"))
    assert figure(card, "network", "auroc") > 0.85
    assert figure(card, "network", "accuracy") > 0.8
    assert figure(card, "words of the hypothesis in the premise", "auroc") == 1.0
    assert card["data"]["labels"].keys() == {"entail", "not", "contradict"}
    assert 0 < card["file"]["logits_differ_by"] < 0.5
    assert "no better than shared words" in (trained / "README.md").read_text("utf-8")


def test_judges_ask_it_without_torch(trained: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; sys.modules['transformers'] = None\n"
        "import summeter as sm\n"
        "rows = [{'document': 'Ab cd ef gh ij kl.', 'system': name, 'summary': text}"
        " for name, text in (('true', 'Ef ab kl.'), ('false', 'Op rs tu.'))]\n"
        f"run = sm.evaluate(rows, ['summac'], models={{'nli': 'local/{trained}'}})\n"
        "print({score.system: score.value for score in run.scores()})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    values = eval(done.stdout)
    assert values["true"] > values["false"]


def test_weights_as_they_are_equal_torch(folders: Path, tmp_path: Path) -> None:
    how = {**SCHEDULE, "epochs": 1}
    outcome = train(settings(folders, written(tmp_path, pairs()), weights="fp32", schedule=how), tmp_path / "network")
    assert outcome.card["file"]["logits_differ_by"] < 1e-5


def test_a_killed_training_goes_on_to_the_same_weights(folders: Path, tmp_path: Path, trained: Path) -> None:
    how = settings(folders, written(tmp_path, pairs()))
    (tmp_path / "how.yaml").write_text(json.dumps(how))
    state = tmp_path / ".judge.training" / "checkpoint.pt"
    command = [sys.executable, "-m", "summeter", "train", str(tmp_path / "how.yaml"), "-o", str(tmp_path / "judge")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    while not state.is_file() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "judge").exists()
    assert state.is_file()
    train(tmp_path / "how.yaml", tmp_path / "judge")
    # Also that two trainings with one seed are equal.
    assert content(tmp_path / "judge") == content(trained)


def test_a_share_of_a_file_trains(folders: Path, tmp_path: Path) -> None:
    file = written(tmp_path, pairs())
    how = {**SCHEDULE, "epochs": 1}
    data = [{"file": str(file), "share": 1.0}, {"file": str(file), "share": 0.5}]
    outcome = train(settings(folders, file, data=data, schedule=how), tmp_path / "network")
    assert outcome.card["data"]["pairs"] == 2 * len(pairs())
    once = outcome.card["split"]["pairs"]["train"] / 2
    assert outcome.card["data"]["pairs_an_epoch"] == pytest.approx(1.5 * once, rel=0.1)


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (
            [{"premise": "a b", "hypothesis": "a", "label": "maybe"}],
            {},
            r"pairs.jsonl.*1.*label.*is 'maybe'; labels",
        ),
        ([{"premise": "a b", "hypothesis": " ", "label": "not"}], {}, r"hypothesis.*is not a text"),
        (pairs(8), {}, "too few premises: .* in the train part, and 10 are needed"),
        ([{**row, "label": "not"} for row in pairs()], {}, "are all entailed, or none is"),
        (pairs(), {"backbone": "roberta"}, "does not tell two segments apart"),
        (pairs(), {"data": []}, "data"),
        (pairs(), {"split": {"held_out_systems": ["a"]}}, "pairs have no domains and no systems"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(
    folders: Path, tmp_path: Path, change: list[dict[str, str]], more: dict[str, Any], message: str
) -> None:
    given = dict(more)
    how = settings(folders, written(tmp_path, change), given.pop("backbone", "encoder"), **given)
    with pytest.raises((InputError, UsageError), match=message):
        train(how, tmp_path / "network")
    assert not (tmp_path / "network").exists()
