"""Trained judges: what can and cannot be learned, resumption, and equal results of both runtimes."""

from __future__ import annotations

import json
import os
import random
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from summeter.engine.api import evaluate
from summeter.engine.progress import Progress
from summeter.evaluators.catalog import build
from summeter.models.local.loaded_model import open_model
from summeter.models.local.regressor import MATCHES, pooled_states
from summeter.records import UsageError
from summeter.runs.usage import Usage
from summeter.training import train
from summeter.training.regression import Regression
from summeter.training.work import Work

pytest.importorskip("peft", reason="needs peft: make neural")

Row = dict[str, Any]
WORDS = ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "rs", "tu", "vw", "xy")


def rows(
    rate: Callable[[str, int], float], documents: int = 60, systems: int = 4, *, aspects: Sequence[str] = ("coherence",)
) -> list[Row]:
    """Return summaries of six words, some of them `zz`; `rate` returns the rating of a document and their number."""
    draw = random.Random(7)
    listed = []
    for number in range(documents):
        text = " ".join(draw.choices(WORDS, k=16)) + f" {number}."
        for system in range(systems):
            good = draw.randrange(7)
            summary = " ".join(draw.sample(["zz"] * good + draw.choices(WORDS, k=6 - good), 6))
            value = rate(text, good)
            votes = {rater: value + draw.choice((-0.2, 0.0, 0.2)) for rater in ("ana", "ben")}
            human = {"ratings": dict.fromkeys(aspects, votes)}
            listed.append({"doc_id": f"d{number}", "document": text, "system": f"s{system}", "summary": summary,
                           "human": human})  # fmt: skip
    return listed


def by_words(_: str, good: int) -> float:
    return 1 + 4 * good / 6


def written(folder: Path, listed: Sequence[Row]) -> Path:
    file = folder / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in listed))
    return file


def settings(folders: Path, file: Path, backbone: str = "onnx-encoder", **more: Any) -> dict[str, Any]:
    usual = {"kind": "regression", "data": str(file), "backbone": str(folders / backbone), "pool": "pair"}
    return {**usual, "resamples": 50, "seed": 3, **more}


def pearson(card: Any, aspect: str = "coherence", of: str = "judge") -> tuple[float, float, float]:
    (figure,) = [
        row for row in card["figures"]
        if (row["of"], row["aspect"], row["statistic"]) == (of, aspect, "pearson") and "domain" not in row
    ]  # fmt: skip
    return figure["value"], figure["low"], figure["high"]


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def scored(folder: Path, listed: Sequence[Row], model: Path, backend: str = "onnx") -> list[Any]:
    run = evaluate(listed, [build("regression")], models={"regressor": f"local/{model}[backend={backend}]"}, out=folder)
    return list(run.judgments())


@pytest.fixture(scope="module")
def frozen(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge on the frozen states of a torch backbone."""
    place = tmp_path_factory.mktemp("frozen")
    train(settings(folders, written(place, rows(by_words)), "encoder"), place / "judge")
    return place


def test_the_judge_learns_from_the_text_and_its_card_reports_it(frozen: Path) -> None:
    card = json.loads((frozen / "judge" / "card.json").read_text())
    assert pearson(card)[0] > 0.9
    assert card["split"]["summaries"]["train"] + card["split"]["summaries"]["dev"] < 240
    assert card["warnings"] == []
    assert card["cut"] == {"summaries": 0, "tokens": 0}
    (coverage,) = [row["value"] for row in card["figures"] if row["statistic"] == "coverage"]
    assert coverage > 0.7
    assert "| all | judge | 0.9" in (frozen / "judge" / "README.md").read_text()


def test_both_runtimes_report_a_rating_with_its_interval_and_the_truncated_tokens(frozen: Path, tmp_path: Path) -> None:
    long = {"document": "ab cd ef " * 60, "summary": "zz zz ab."}
    listed = rows(by_words, 5)
    onnx, torch = (scored(tmp_path / name, [*listed, long], frozen / "judge", name) for name in ("onnx", "torch"))
    assert [one.value for one in onnx] == pytest.approx([one.value for one in torch], abs=1e-5)
    *judgments, cut = onnx
    people = [np.mean(list(row["human"]["ratings"]["coherence"].values())) for row in listed]
    assert np.corrcoef([judgment.value for judgment in judgments], people)[0, 1] > 0.9
    assert all("90% interval " in judgment.reason for judgment in judgments)
    assert {judgment.truncated_tokens for judgment in judgments} == {None}
    assert cut.truncated_tokens > 100


def test_a_judge_with_other_settings_files_or_aspects_than_in_its_training_is_refused(
    frozen: Path, folders: Path, tmp_path: Path
) -> None:
    def changed(name: str, content: bytes) -> Path:
        shutil.copytree(frozen / "judge", tmp_path / name)
        (tmp_path / name / name).write_bytes(content)
        return tmp_path / name

    judge = frozen / "judge"
    settings_of_the_head = json.loads((judge / "regressor.json").read_text())
    pool = changed("regressor.json", json.dumps({**settings_of_the_head, "pool": "weighted"}).encode())
    weights = changed("model.onnx", (judge / "model.onnx").read_bytes()[:-1] + b"x")
    for named, model, evaluator in (
        ("max_tokens", f"{judge}[max_tokens=32]", "regression"),
        ("int8", f"{judge}[backend=torch,precision=int8]", "regression"),
        ("fluency", str(judge), "regression[only=fluency]"),
        ("pool", str(pool), "regression"),
        ("model.onnx", str(weights), "regression"),
        ("regressor.json", str(folders / "onnx-encoder"), "regression"),
    ):
        with pytest.raises(UsageError, match=named):
            evaluate(rows(by_words, 1), [build(evaluator)], models={"regressor": f"local/{model}"})


def test_the_default_pool_of_frozen_states_matches_the_texts(folders: Path, tmp_path: Path) -> None:
    # Any word may stand in any document and summary, so neither text alone tells the rating.
    draw, listed = random.Random(5), []
    for number in range(60):
        known = draw.sample(WORDS, 6)
        for system in range(4):
            summary = draw.sample(WORDS, 6)
            rating = 1 + 4 * len(set(summary) & set(known)) / 6
            human = {"ratings": {"coherence": {"ana": rating}}}
            listed.append({"doc_id": f"d{number}", "document": " ".join(known * 3), "system": f"s{system}",
                           "summary": " ".join(summary), "human": human})  # fmt: skip
    how = settings(folders, written(tmp_path, listed), "encoder")
    joint = train(how | {"pool": "mean"}, tmp_path / "joint").card
    del how["pool"]
    assert pearson(train(how, tmp_path / "judge").card)[0] > max(0.6, pearson(joint)[0] + 0.3)
    assert json.loads((tmp_path / "judge" / "regressor.json").read_text())["pool"] == "match"
    # One document of several windows, in which the same stands again and again.
    given = [*listed[:12], {"document": "ab cd ef " * 60 + "gh ij kl", "summary": "gh ij kl zz zz ef"}]
    onnx, torch = (scored(tmp_path / name, given, tmp_path / "judge", name) for name in ("onnx", "torch"))
    assert [one.value for one in onnx] == pytest.approx([one.value for one in torch], abs=1e-5)
    assert {one.truncated_tokens for one in onnx} == {None}


def test_matching_reads_a_document_whole_and_once(folders: Path) -> None:
    opened = open_model(str(folders / "onnx-encoder"), "encoder")
    usage = Usage()
    document = "ab cd ef " * 60 + "gh ij kl"
    ids = np.concatenate([input_.ids[input_.text >= 0] for row in opened.tokens.windows([document]) for input_ in row])
    assert ids.tolist() == opened.tokens.encoded([document])[0].ids.tolist()
    assert max(len(input_.ids) for input_ in opened.tokens.windows([document])[0]) <= opened.tokens.limit
    values = pooled_states(
        opened, [(document, "gh ij kl"), (document, "zz"), (document, ""), ("", "zz")], "match", usage
    )
    assert values.shape == (4, MATCHES + 1)
    (cut,) = pooled_states(opened, [("ab cd ef " * 60, "gh ij kl")], "match", Usage())
    assert values[0, 0] > cut[0] + 0.02  # what stands at the end of the document is found there
    assert not values[2:].any()
    own = sum(
        len(input_.ids) for row in opened.tokens.windows([document, "gh ij kl", "zz", "", "", "zz"]) for input_ in row
    )
    assert usage.tokens == own
    assert usage.truncated == 0


def test_a_process_without_torch_judges(frozen: Path, tmp_path: Path) -> None:
    blocked = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'transformers', 'peft'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "from summeter.cli.main import main\n"
        "main(sys.argv[1:])\n"
    )
    command = ["score", str(frozen / "rated.jsonl"), "-e", "regression", "-m", f"regressor=local/{frozen / 'judge'}",
               "-o", str(tmp_path / "run"), "--limit", "2", "--quiet"]  # fmt: skip
    subprocess.run([sys.executable, "-c", blocked, *command], check=True, capture_output=True)
    assert (tmp_path / "run" / "run.json").is_file()


def test_document_level_ratings_are_not_learned(folders: Path, tmp_path: Path) -> None:
    # Each document has a rating of its own: a leak of documents from train to test would show at once.
    documents = sorted({row["document"] for row in rows(by_words, 100)})
    values, inside = [], []
    for seed in range(3):
        draw = random.Random(seed)
        rating = {text: float(draw.randrange(1, 6)) for text in documents}
        file = written(tmp_path, rows(lambda text, _, rating=rating: rating[text], 100))
        how = settings(folders, file, split={"test": 0.4}, head="mlp", schedule={"epochs": 40, "learning_rate": 0.01})
        values.append(pearson(train(how, tmp_path / str(seed)).card)[0])
        task = Regression(**how).task(Path())
        fitted = task.fit(Work(tmp_path / "work", task.key), Progress())
        gold, known = task.ratings.mean("coherence"), task.rows["train"]
        inside.append(np.corrcoef(fitted.ratings["coherence"][known], gold[known])[0, 1])
    assert np.mean(inside) > 0.3  # who sees a document learns its rating
    assert abs(np.mean(values)) < 0.2


def test_folds_never_see_their_documents(folders: Path, tmp_path: Path, root: Path) -> None:
    cross_fit = runpy.run_path(str(root / "benchmarks" / "trained.py"))["cross_fit"]
    how = Regression(**settings(folders, written(tmp_path, rows(by_words))))
    crossed = cross_fit(how, tmp_path / "work", folds=5)
    assert not np.isnan(crossed.ratings["coherence"]).any()
    assert np.corrcoef(crossed.ratings["coherence"], crossed.rows.mean("coherence"))[0, 1] > 0.9
    by_document = {(row.document_id, int(fold)) for row, fold in zip(crossed.rows.summaries, crossed.fold, strict=True)}
    assert len(by_document) == 60
    again = cross_fit(how, tmp_path / "other", folds=5)
    assert again.ratings["coherence"].tolist() == crossed.ratings["coherence"].tolist()


def test_missing_labels_are_masked_and_annotators_kept_apart(folders: Path, tmp_path: Path) -> None:
    listed = rows(by_words, aspects=("coherence", "fluency"))
    for number, row in enumerate(listed):
        if number % 3:
            del row["human"]["ratings"]["fluency"]
        row["human"] = json.loads(json.dumps(row["human"]))
        row["human"]["ratings"]["coherence"]["ben"] = 3.0
    card = train(settings(folders, written(tmp_path, listed), annotators="separate"), tmp_path / "judge").card
    assert pearson(card)[0] > 0.9
    assert pearson(card, "fluency")[0] > 0.8
    head = json.loads((tmp_path / "judge" / "regressor.json").read_text())
    assert head["outputs"] == ["coherence", "coherence", "fluency", "fluency"]


def test_a_yes_no_output(folders: Path, tmp_path: Path) -> None:
    listed = rows(by_words)
    for row in listed:
        row["human"]["sentence_labels"] = [int(row["summary"].count("zz") > 2)]
        row["sentences"] = [row["summary"]]
    file = written(tmp_path, listed)
    card = train(settings(folders, file, span_free=True), tmp_path / "judge").card
    auroc = {figure["of"]: figure["value"] for figure in card["figures"] if figure["aspect"] == "span_free"}
    assert auroc["judge"] > 0.9 > auroc["length"]
    assert {"lead", "rouge1"} < set(auroc)
    assert "## span_free (yes/no)" in (tmp_path / "judge" / "README.md").read_text()
    judgments = [one for one in scored(tmp_path / "run", listed, tmp_path / "judge") if one.aspect == "span_free"]
    right = [one.label == row["human"]["sentence_labels"][0] for one, row in zip(judgments, listed, strict=True)]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize(("mode", "head"), [("frozen", "mlp"), ("full", "linear"), ("lora", "mlp")])
def test_trained_networks(folders: Path, tmp_path: Path, mode: str, head: str) -> None:
    # 200 summaries: 50 documents by 4 systems.
    schedule = {"epochs": 12, "batch": 8, "learning_rate": 0.01 if mode != "full" else 0.002}
    how = settings(folders, written(tmp_path, rows(by_words, 50)), "encoder", mode=mode, head=head, schedule=schedule)
    card = train(how, tmp_path / "judge").card
    assert pearson(card)[0] > 0.6
    assert len(card["dev"]["scores"]) >= card["dev"]["best_epoch"] >= 1
    listed = rows(by_words, 3)
    onnx, torch = (scored(tmp_path / name, listed, tmp_path / "judge", name) for name in ("onnx", "torch"))
    assert [one.value for one in onnx] == pytest.approx([one.value for one in torch], abs=1e-5)


def decoder(folder: Path, *, shards: bool = False) -> None:
    """Write a small Llama; with `shards`, its weights are in several files."""
    import transformers
    from neural import checkpoints

    config = transformers.LlamaConfig(
        vocab_size=checkpoints.byte_level(folder), max_position_embeddings=128, hidden_size=32,
        intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, bos_token_id=0, eos_token_id=2,
        pad_token_id=1,
    )  # fmt: skip
    network = transformers.LlamaModel.from_pretrained(checkpoints._model(folder, transformers.LlamaModel, config, 0))
    if shards:
        (folder / "model.safetensors").unlink()
        network.save_pretrained(folder, max_shard_size="20KB")


@pytest.mark.parametrize("mode", ["frozen", "full"])
def test_a_decoder_without_an_onnx_export(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    decoder(tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").rename(tmp_path / "bare" / "weights.bin")
    with pytest.raises(UsageError, match="safetensors"):
        train(settings(tmp_path, written(tmp_path, rows(by_words)), "bare", onnx=False), tmp_path / "judge")
    decoder(tmp_path / "llama", shards=True)
    assert len(list((tmp_path / "llama").glob("*.safetensors"))) > 1
    monkeypatch.setattr(torch.onnx, "export", None)  # as for an architecture that it cannot write
    extra = {} if mode == "frozen" else {"schedule": {"epochs": 2, "batch": 8, "learning_rate": 0.002}}
    how = settings(tmp_path, written(tmp_path, rows(by_words)), "llama", pool="last", mode=mode, onnx=False, **extra)
    train(how, tmp_path / "judge")
    assert not list((tmp_path / "judge").glob("**/*.onnx"))
    judgments = scored(tmp_path / "run", rows(by_words, 2), tmp_path / "judge", "torch")
    assert {row.status for row in judgments} == {"ok"}


def test_a_decoder_by_its_last_token(tmp_path: Path) -> None:
    decoder(tmp_path / "llama")
    schedule = {"epochs": 4, "batch": 8, "learning_rate": 0.002}
    how = settings(tmp_path, written(tmp_path, rows(by_words)), "llama", pool="last", mode="full", schedule=schedule)
    assert pearson(train(how, tmp_path / "judge").card)[0] > 0.8
    onnx, torch = (scored(tmp_path / name, rows(by_words, 2), tmp_path / "judge", name) for name in ("onnx", "torch"))
    assert [one.value for one in onnx] == pytest.approx([one.value for one in torch], abs=1e-5)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"schedule": {"epochs": 3}}, "schedule"),
        ({"mode": "full", "pool": "match"}, "pool"),
        ({"mode": "full", "lora": {"rank": 4}}, "lora"),
        ({"input": "geval"}, "pool"),
        ({"input": "geval", "pool": "last", "annotators": "separate"}, "annotators"),
        ({"input": "geval", "pool": "last", "span_free": True}, "span_free"),
        ({"input": "geval", "pool": "last"}, "max_tokens"),
        ({"aspect_file": "own.yaml"}, "aspect_file"),
        ({"head": "linear"}, "head"),
        ({"scale": [0, 3]}, "scale"),
        ({"split": {"held_out_systems": ["s9"]}}, "held_out_systems"),
        ({"split": {"test": 0.97}}, "leave some to train on"),
        ({"split": {"test": 0.83}}, "too few documents"),
        ({"aspects": ["tone"]}, "aspects"),
        ({"max_tokens": 1000}, "max_tokens"),
        ({"backbone": "local/nowhere"}, "nowhere"),
    ],
)
def test_invalid_settings_are_refused_before_the_training(
    folders: Path, tmp_path: Path, given: dict[str, Any], named: str
) -> None:
    how = {**settings(folders, written(tmp_path, rows(by_words))), **given}
    with pytest.raises(UsageError, match=named):
        train(how, tmp_path / "judge")
    assert [place.name for place in tmp_path.iterdir()] == ["rated.jsonl"]


def test_a_disk_that_fills_up_leaves_nothing_half_written(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    how = settings(folders, written(tmp_path, rows(by_words)))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("summeter.training.regression.write_text", full)
        with pytest.raises(OSError, match="No space left"):
            train(how, tmp_path / "judge")
    assert sorted(place.name for place in tmp_path.iterdir()) == [".judge.training", "rated.jsonl", "test-looks.jsonl"]
    train(how, tmp_path / "judge")
    assert sorted(place.name for place in tmp_path.iterdir()) == ["judge", "rated.jsonl", "test-looks.jsonl"]


def test_held_out_domains_and_systems(folders: Path, tmp_path: Path) -> None:
    listed = rows(by_words, 80)
    for row in listed:
        row["domain"] = "news" if int(row["doc_id"][1:]) % 4 else "law"
    file = written(tmp_path, listed)
    law = train(settings(folders, file, split={"held_out_domains": ["law"]}), tmp_path / "law").card
    assert law["split"]["documents"]["test"] == 20
    assert law["split"]["summaries"]["test"] == 80
    assert pearson(law)[0] > 0.9
    held = train(settings(folders, file, split={"held_out_systems": ["s1"]}), tmp_path / "held").card
    assert held["split"]["summaries"]["test"] == held["split"]["documents"]["test"]
    assert {row.get("domain") for row in held["figures"] if row["level"] == "summary"} == {None, "law", "news"}
    task = Regression(**settings(folders, file, split={"held_out_systems": ["s1"]})).task(Path())
    systems = np.array([row.system for row in task.ratings.summaries])
    assert "s1" not in systems[task.rows["train"] | task.rows["dev"]]


def test_a_resumed_training_gives_the_same_weights(folders: Path, tmp_path: Path) -> None:
    schedule = {"epochs": 6, "batch": 8, "learning_rate": 0.002, "patience": 6}
    how = settings(folders, written(tmp_path, rows(by_words, 50)), "encoder", mode="full", schedule=schedule)
    (tmp_path / "how.yaml").write_text(json.dumps(how))
    kept = tmp_path / ".judge.training" / "network"
    command = [sys.executable, "-m", "summeter", "train", str(tmp_path / "how.yaml"), "-o", str(tmp_path / "judge")]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    while not list(kept.glob("checkpoint-*/trainer_state.json")) and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "judge").exists()
    assert list(kept.glob("checkpoint-*"))
    train(tmp_path / "how.yaml", tmp_path / "judge")
    train(tmp_path / "how.yaml", tmp_path / "whole")
    assert content(tmp_path / "judge") == content(tmp_path / "whole")
    assert not list(tmp_path.glob(".*"))
