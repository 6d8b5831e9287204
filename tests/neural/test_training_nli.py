"""`kind: nli`: an NLI network that learns, is carried on after a kill, and judges without torch."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from summeter.models.local.bind import local_network
from summeter.models.local.opened import open_model
from summeter.models.networks import entailments
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


def written(folder: Path, listed: Sequence[Mapping[str, Any]]) -> Path:
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


@pytest.mark.parametrize("backbone", ["roberta", "mpnet"])
def test_an_encoder_without_segments(folders: Path, tmp_path: Path, backbone: str) -> None:
    """The network's own files tell the claim from the text; its weights can be read back."""
    file = written(tmp_path, pairs())
    card = train(settings(folders, file, backbone), tmp_path / "network").card
    assert figure(card, "network", "auroc") > 0.85
    opened = open_model(f"local/{tmp_path / 'network'}", "classifier")
    (entailed, other) = asyncio.run(
        entailments(local_network(opened), [("ab cd ef gh", "cd ab"), ("ab cd ef gh", "rs xy")])
    )
    assert entailed.entail > other.entail
    (pair,) = opened.tokens.inputs([("ab cd", "ef")])
    first = int(pair.segments.argmax())
    assert pair.segments[first:].all()
    assert set(pair.text[:first].tolist()) == {-1, 0}
    assert set(pair.text[first:].tolist()) == {-1, 1}
    how = settings(
        folders, file, backbone, warm_start=f"local/{tmp_path / 'network'}", schedule={**SCHEDULE, "epochs": 1}
    )
    again = train(how, tmp_path / "again").card
    assert figure(again, "network", "auroc") > 0.85


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
        (
            [{"premise": "a b", "hypothesis": "a", "label": "not", "prior": "high"}],
            {},
            r"prior.*is 'high', not a finite number",
        ),
        ([{"premise": "a b", "hypothesis": "a", "label": "not", "twin": 3}], {}, r"twin.*is not a text"),
        (pairs(8), {}, "too few premises: .* in the train part, and 10 are needed"),
        ([{**row, "label": "not"} for row in pairs()], {}, "are all entailed, or none is"),
        (pairs(), {"data": []}, "data"),
        (pairs(), {"split": {"held_out_systems": ["a"]}}, "pairs have no domains and no systems"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(
    folders: Path, tmp_path: Path, change: list[dict[str, Any]], more: dict[str, Any], message: str
) -> None:
    given = dict(more)
    how = settings(folders, written(tmp_path, change), given.pop("backbone", "encoder"), **given)
    with pytest.raises((InputError, UsageError), match=message):
        train(how, tmp_path / "network")
    assert not (tmp_path / "network").exists()


def test_weights_read_back_from_the_file_are_those_of_the_network(folders: Path, trained: Path) -> None:
    import numpy as np
    import onnxruntime
    import torch

    from summeter.training.nli import _encoder
    from summeter.training.nli_network import INPUTS, load_onnx_weights, nli_network

    network = nli_network(_encoder(folders / "encoder"))
    load_onnx_weights(network, trained / "model.onnx")
    ids = torch.tensor([[1, 5, 6, 2, 7, 8, 2]])
    arrays = (ids, torch.tensor([[0, 0, 0, 0, 1, 1, 1]]), torch.ones_like(ids))
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = onnxruntime.InferenceSession(str(trained / "model.onnx"), options, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {name: array.numpy() for name, array in zip(INPUTS, arrays, strict=True)})
    with torch.inference_mode():
        logits = network.eval()(*arrays).numpy()
    assert np.abs(logits - wanted).max() < 1e-4


def test_a_warm_start_goes_on_from_what_was_learned(folders: Path, tmp_path: Path, trained: Path) -> None:
    short = {**SCHEDULE, "epochs": 1, "learning_rate": 1e-6}
    file = written(tmp_path, pairs())
    warm = train(settings(folders, file, schedule=short, warm_start=f"local/{trained}"), tmp_path / "warm")
    cold = train(settings(folders, file, schedule=short), tmp_path / "cold")
    assert figure(warm.card, "network", "auroc") > 0.85 > figure(cold.card, "network", "auroc")
    assert warm.card["warm_start"]["name"] == trained.name
    assert f"from the weights of {trained.name}@" in (tmp_path / "warm" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("embedded/support", "warm_start: .* has the shape .* for encoder.embeddings.word_embeddings.weight"),
        ("local/{encoder}", "warm_start: .* holds no model.onnx"),
    ],
)
def test_a_warm_start_of_another_network_is_refused(folders: Path, tmp_path: Path, start: str, message: str) -> None:
    start = start.format(encoder=folders / "encoder")
    with pytest.raises(UsageError, match=message):
        train(settings(folders, written(tmp_path, pairs()), warm_start=start), tmp_path / "network")
    assert not (tmp_path / "network").exists()


def test_twins_train_together(folders: Path, tmp_path: Path) -> None:
    from summeter.training.nli import NliTraining

    rows = [{**row, "twin": str(number // 3)} for number, row in enumerate(pairs())]
    task = NliTraining.model_validate(settings(folders, written(tmp_path, rows))).task(tmp_path)
    assert sorted(at for example in task.drawn() for at in example) == task.places["train"]
    assert {len({task.rows[at].twin for at in example}) for example in task.drawn()} == {1}
    assert {len(example) for example in task.drawn()} == {3}


def test_a_prior_may_be_empty_and_stand_in_a_table(tmp_path: Path) -> None:
    from summeter.training.nli import read_pairs

    file = tmp_path / "pairs.csv"
    file.write_text("premise,hypothesis,label,prior\na b,a,entail,0.25\na b,c,not,\n", "utf-8")
    assert [row.prior for row in read_pairs(file)] == [0.25, 0.0]


def test_the_loss_of_twins_is_that_of_the_difference_of_their_log_odds() -> None:
    import torch

    from summeter.training.nli_network import twins_loss

    logits = torch.tensor([[1.0, -math.inf, 0.0], [0.5, -math.inf, 0.0], [9.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    entailed = torch.tensor([True, False, True, True])
    # The first two are twins, .5 apart; the third has none, and those of the last are both entailed.
    loss = twins_loss(logits, entailed, ["a", "a", None, "b"])
    assert float(loss) == pytest.approx(math.log(1 + math.exp(-0.5)))
    assert float(twins_loss(logits, entailed, [None, None, "b", "b"])) == 0


def test_what_a_hypothesis_tells_alone_is_not_learned(folders: Path, tmp_path: Path) -> None:
    """Nine in ten claims with some words are entailed, one in ten of the others; not learned where `prior` says so."""
    draw = random.Random(5)
    rows: list[dict[str, Any]] = []
    for _ in range(600):
        premise, word = " ".join(draw.sample(WORDS, 6)), draw.choice(WORDS)
        usual = word in WORDS[:6]
        label = "entail" if usual == (draw.random() < 0.9) else "not"
        prior = math.log(9) if usual else -math.log(9)
        rows.append({"premise": premise, "hypothesis": word, "label": label, "prior": prior})
    schedule = {**SCHEDULE, "epochs": 3}
    known = train(settings(folders, written(tmp_path, rows), schedule=schedule), tmp_path / "known")
    for row in rows:
        row["prior"] = 0.0
    unknown = train(settings(folders, written(tmp_path, rows), schedule=schedule), tmp_path / "unknown")
    assert figure(unknown.card, "network", "auroc") > 0.8
    assert figure(known.card, "network", "auroc") < 0.7


def test_the_mean_of_the_weights_lies_between_those_on_the_way(tmp_path: Path) -> None:
    import torch

    from summeter.engine.progress import Progress
    from summeter.training.loop import Schedule, fit

    class Falling(torch.nn.Module):  # type: ignore[misc] # torch has no types where the code is checked
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(()))

    ends, scored = [], []
    for average in (0.0, 0.9):
        network = Falling()
        how = Schedule(epochs=2, batch=1, learning_rate=0.1, weight_decay=0, average=average, patience=2)

        def score(network: Falling = network) -> float:
            scored.append(network.weight.item())
            return -network.weight.item()

        state = tmp_path / str(average)
        fit(network, 20, lambda _, n=network: n.weight * 1.0, score, how, seed=1, state=state, show=Progress())
        ends.append(network.weight.item())
    assert ends[0] < ends[1] < 0
    assert ends == [scored[1], scored[3]]


def documents() -> list[dict[str, str]]:
    """The same pairs, each premise among sentences about something else, more than the network reads."""
    noise = "Qq " + "uu " * 120
    return [{**row, "premise": f"Qq uu. {row['premise'].capitalize()}. {noise}. {noise}."} for row in pairs()]


def test_a_network_reads_the_sentences_of_a_document_that_support_would_pick(folders: Path, tmp_path: Path) -> None:
    file = written(tmp_path, documents())
    how = {"schedule": SCHEDULE, "arithmetic": "bf16"}
    whole = train(settings(folders, file, data=[{"file": str(file), "documents": True}], **how), tmp_path / "network")
    assert figure(whole.card, "network", "auroc") > 0.85
    assert whole.card["cut"] == 0
    assert whole.card["split"]["premises"]["train"] < whole.card["split"]["pairs"]["train"]
    short = {**how, "schedule": {**SCHEDULE, "epochs": 1}}
    assert train(settings(folders, file, **short), tmp_path / "cut").card["cut"] == len(documents())


def test_a_balanced_file_trains_both_labels_as_often(folders: Path, tmp_path: Path) -> None:
    from summeter.training.nli import NliTraining

    file = written(tmp_path, pairs())
    how = NliTraining.model_validate(settings(folders, file, data=[{"file": str(file), "balanced": True, "share": 2}]))
    task = how.task(tmp_path)
    entailed = task.entailed([at for example in task.drawn() for at in example])
    assert entailed.mean() == pytest.approx(0.5, abs=0.05)
    assert len(entailed) == pytest.approx(2 * len(task.places["train"]), rel=0.05)
