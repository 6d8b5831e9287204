"""Small networks with the real loading code, compared with transformers for single texts."""

from __future__ import annotations

import asyncio
import importlib
import json
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neural import checkpoints
from neural.asking import ask
from neural.asking import network as network_of

from summeter.models.local.load import identify, local_network
from summeter.models.local.loaded_model import LoadedModel, open_model
from summeter.models.local.tokens import load_tokens
from summeter.models.networks import (
    Classify,
    ClassifyTokens,
    CountLayers,
    CountTokens,
    Embed,
    Encode,
    FirstWord,
    Generate,
    Generation,
    NetworkRequest,
    ScoreTarget,
    TokenLimit,
    entailments,
)
from summeter.records import ModelError, UsageError

CLASSIFIERS = ("bert", "roberta", "deberta")


def words(rng: random.Random, most: int) -> str:
    return " ".join("".join(rng.choice("abcdefgh.") for _ in range(rng.randint(1, 5))) for _ in range(most))


def pairs(number: int = 40, longest: int = 12) -> list[tuple[str, str]]:
    rng = random.Random(7)
    return [(words(rng, rng.randint(1, longest)), words(rng, rng.randint(1, 4))) for _ in range(number)]


def opened(folder: Path, settings: str = "", head: Any = "classifier") -> LoadedModel:
    return open_model(f"local/{folder}{settings}", head)


def classify(folder: Path, settings: str = "", given: list[tuple[str, str]] | None = None) -> np.ndarray:
    model = network_of(f"{folder}{settings}")
    return np.array(asyncio.run(entailments(model, pairs() if given is None else given)))


@pytest.fixture(scope="module")
def write_onnx(root: Path) -> Callable[[Path, Path], Path]:
    """Return the function of the script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "scripts")
        made: Callable[[Path, Path], Path] = importlib.import_module("write_onnx").write_onnx
    return made


def tokenizer(folder: Path) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_classifier_gives_what_transformers_gives(folders: Path, kind: str) -> None:
    import torch
    import transformers

    network = transformers.AutoModelForSequenceClassification.from_pretrained(folders / kind).eval()
    split = tokenizer(folders / kind)
    wanted = []
    for premise, hypothesis in pairs():
        given = split(premise, hypothesis, truncation=True, max_length=64, return_tensors="pt")
        if kind != "bert":
            given.pop("token_type_ids", None)
        with torch.inference_mode():
            wanted.append(network(**given).logits.softmax(-1)[0].numpy())
    made = classify(folders / kind)
    assert np.abs(made - np.array(wanted)).max() < 1e-5
    assert np.abs(made.sum(axis=1) - 1).max() < 1e-12
    assert made.std(axis=0).max() > 1e-3, "these answers would not tell a wrong one"


@pytest.mark.parametrize("kind", [*CLASSIFIERS, "onnx"])
def test_results_do_not_depend_on_the_batch(folders: Path, kind: str) -> None:
    together = classify(folders / kind, "[batch_tokens=100000]")
    alone = classify(folders / kind, "[batch_tokens=8]")
    shuffled = classify(folders / kind, given=pairs()[::-1])[::-1]
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(shuffled - alone).max() < 1e-5


def test_onnx_runtime_gives_what_torch_gives(folders: Path) -> None:
    assert opened(folders / "onnx").runtime.backend == "onnx"
    assert np.abs(classify(folders / "onnx") - classify(folders / "bert")).max() < 1e-5


def test_a_checkpoint_written_as_model_onnx_gives_the_same(
    folders: Path, tmp_path: Path, write_onnx: Callable[[Path, Path], Path]
) -> None:
    made = write_onnx(folders / "bert", tmp_path / "fast")
    assert opened(made.parent).runtime.backend == "onnx"
    got = classify(made.parent)
    assert np.abs(got - classify(folders / "bert")).max() < 1e-5
    alone = np.vstack([classify(made.parent, "[batch_tokens=8]", [pair]) for pair in pairs()[:6]])
    assert np.abs(got[:6] - alone).max() < 1e-5, "what a pair shares a batch with must not matter"


@pytest.mark.parametrize("kind", ["bert", "onnx"])
def test_int8_is_close_and_signed_and_does_not_depend_on_the_batch(folders: Path, kind: str) -> None:
    assert opened(folders / kind, "[precision=int8]").id.endswith("+int8")
    plain, small = classify(folders / kind), classify(folders / kind, "[precision=int8]")
    assert 0 < np.abs(plain - small).max() < 0.05
    assert np.array_equal(classify(folders / kind, "[precision=int8]", given=pairs()[5:6])[0], small[5])


def test_labels_in_another_order_give_the_same_probabilities_by_name(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "bert", tmp_path / "turned")
    config = json.loads((tmp_path / "turned" / "config.json").read_text())
    config["id2label"] = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    config["label2id"] = {name: int(place) for place, name in config["id2label"].items()}
    (tmp_path / "turned" / "config.json").write_text(json.dumps(config))
    assert np.abs(classify(tmp_path / "turned") - classify(folders / "bert")[:, ::-1]).max() < 1e-15


def test_a_checkpoint_without_the_head_is_refused(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "encoder", tmp_path / "headless")
    config = json.loads((tmp_path / "headless" / "config.json").read_text())
    config["id2label"] = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    (tmp_path / "headless" / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="its outputs would be random"):
        classify(tmp_path / "headless")


def test_cuts_are_counted_and_as_the_tokenizer_makes_them(folders: Path) -> None:
    long = [("a b c d e f g h " * 20, "a b"), ("a", "b"), ("a b " * 50, "c d " * 50)]
    model = network_of(folders / "bert")
    asyncio.run(entailments(model, long))
    assert model.usage.truncated == 2
    assert ask(model, [TokenLimit()]) == [61]
    # Counts are of the whole text, however long.
    assert ask(model, [CountTokens(text) for text in ("a b", "", long[0][0])]) == [2, 0, 160]
    tokens, split = load_tokens(opened(folders / "bert").model, None), tokenizer(folders / "bert")
    lengths = [(30, 31), (31, 31), (31, 30), (60, 2), (2, 60), (100, 29), (29, 100), (90, 100), (100, 91), (0, 70)]
    long += [("a " * first, "b " * second) for first, second in lengths]
    inputs = tokens.inputs(long)
    assert [one.truncated for one in inputs] == [len((f"{one} {two}").split()) > 61 for one, two in long]
    for (premise, hypothesis), one in zip(long, inputs, strict=True):
        wanted = split(premise, hypothesis, truncation=True, max_length=64)
        assert one.ids.tolist() == wanted["input_ids"]
        assert one.segments.tolist() == wanted["token_type_ids"]


def test_relative_positions_read_further_and_absolute_ones_do_not(folders: Path) -> None:
    long = [("a b c d e f g h " * 20, "a b")]
    model = network_of(f"{folders / 'deberta'}[max_tokens=400]")
    asyncio.run(entailments(model, long))
    assert model.usage.truncated == 0
    assert "+max400" in opened(folders / "deberta", "[max_tokens=400]").id
    with pytest.raises(UsageError, match="supports at most 128 tokens"):
        classify(folders / "bert", "[max_tokens=400]")
    assert classify(folders / "roberta", "[max_tokens=128]", given=long).shape == (1, 3)
    with pytest.raises(UsageError, match="supports at most 128 tokens"):
        classify(folders / "roberta", "[max_tokens=129]")


def test_exhausted_memory_halves_the_batch(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    model = opened(folders / "bert")
    real, sizes = model.backend.logits, []

    def small(ids: Any, mask: Any, segments: Any) -> Any:
        sizes.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(ids, mask, segments)

    monkeypatch.setattr(model.backend, "logits", small)
    made = np.array(asyncio.run(entailments(local_network(model), pairs())))
    monkeypatch.undo()
    assert max(sizes) > 2
    assert np.abs(made - classify(folders / "bert")).max() < 1e-5


def test_one_set_of_weights_is_loaded_once(folders: Path) -> None:
    one, two = opened(folders / "bert"), opened(folders / "bert", "[batch_tokens=50]")
    assert one.backend is two.backend
    assert one.backend is not opened(folders / "bert", "[precision=int8]").backend


@pytest.mark.parametrize("kind", ["encoder", "onnx-encoder"])
def test_an_embedding_is_the_mean_of_its_tokens_at_length_one(folders: Path, kind: str) -> None:
    texts = [one for one, _ in pairs()]
    model, vectors = network_of(folders / kind, "encoder"), [Embed(text) for text in texts]
    made = np.array(ask(model, vectors))
    states = ask(model, [Encode(text) for text in texts])
    assert made.dtype == np.float32
    assert np.abs(np.linalg.norm(made, axis=1) - 1).max() < 1e-6
    for row, one in zip(made, states, strict=True):
        mean = one.states.mean(axis=0)
        assert np.abs(row - mean / np.linalg.norm(mean)).max() < 1e-5
    alone = network_of(f"{folders / kind}[batch_tokens=8]", "encoder")
    assert np.abs(made - ask(alone, vectors)).max() < 1e-5


def test_token_states_are_those_of_the_layer_with_their_places(folders: Path) -> None:
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(folders / "encoder").eval()
    split = tokenizer(folders / "encoder")
    model = network_of(folders / "encoder", "encoder")
    assert ask(model, [CountLayers()]) == [2]
    for layer in (0, 1, 2):
        (made, _) = ask(model, [Encode("ab, c", layer), Encode("a longer text", layer)])
        with torch.inference_mode():
            wanted = network(**split("ab, c", return_tensors="pt"), output_hidden_states=True).hidden_states[layer][0]
        assert np.abs(made.states - wanted.numpy()).max() < 1e-5
    assert made.tokens == ("[CLS]", "a", "##b", ",", "c", "[SEP]")
    assert made.offsets == ((0, 0), (0, 1), (1, 2), (2, 3), (4, 5), (0, 0))
    assert made.special == (True, False, False, False, False, True)
    with pytest.raises(UsageError, match="layers 0 to 2"):
        ask(model, [Encode("a", 3)])
    with pytest.raises(UsageError, match="only returns the last layer"):
        ask(network_of(folders / "onnx-encoder", "encoder"), [Encode("a", 1)])


def test_pooling_is_read_from_the_models_files(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "encoder", tmp_path / "cls")
    (tmp_path / "cls" / "1_Pooling").mkdir()
    told = tmp_path / "cls" / "1_Pooling" / "config.json"
    told.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    model = network_of(tmp_path / "cls", "encoder")
    (row,) = ask(model, [Embed("ab c")])
    first = ask(model, [Encode("ab c")])[0].states[0]
    assert np.abs(row - first / np.linalg.norm(first)).max() < 1e-6
    told.write_text(json.dumps({"pooling_mode_weightedmean_tokens": True}))
    with pytest.raises(UsageError, match="pooling_mode_weightedmean_tokens is not supported"):
        identify("embed", f"local/{tmp_path / 'cls'}", "encoder")


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_a_target_scores_its_mean_log_likelihood(folders: Path, kind: str) -> None:
    import torch
    import transformers

    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders / kind).eval()
    split = tokenizer(folders / kind)
    wanted = []
    for source, target in pairs():
        given = split(source, truncation=True, max_length=64, return_tensors="pt")
        labels = split(target, truncation=True, max_length=64, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            made = network(input_ids=given["input_ids"], attention_mask=given["attention_mask"], labels=labels)
        wanted.append(-made.loss.item())  # the mean of cross entropies over the labels
    for settings in ("", "[batch_tokens=8]", "[batch_tokens=100000]"):
        scores = ask(network_of(f"{folders / kind}{settings}", "seq2seq"), [ScoreTarget(*pair) for pair in pairs()])
        # The last bits of sums in single precision depend on what else is in a batch: 2e-5 of 15 is seen.
        np.testing.assert_allclose(scores, wanted, rtol=5e-6)
    assert max(scores) < 0


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_generation_is_what_transformers_generates_and_what_it_did_not_end_is_counted(folders: Path, kind: str) -> None:
    import torch
    import transformers

    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders / kind).eval()
    split = tokenizer(folders / kind)
    sources, how = [one for one, _ in pairs(12)], Generation(max_new_tokens=9, num_beams=2)
    wanted, cut = [], 0
    for source in sources:
        given = split(source, truncation=True, max_length=64, return_tensors="pt")
        with torch.inference_mode():
            (made,) = network.generate(
                input_ids=given["input_ids"], attention_mask=given["attention_mask"], do_sample=False,
                max_new_tokens=9, num_beams=2,
            )  # fmt: skip
        wanted.append(split.decode(made, skip_special_tokens=True).strip())
        cut += split.convert_tokens_to_ids("</s>") not in made[1:].tolist() or len(split(source)["input_ids"]) > 64
    model = network_of(folders / kind, "seq2seq")
    assert ask(model, [Generate((source,), how) for source in sources]) == wanted
    assert model.usage.truncated == cut


def test_incompatible_settings_are_refused(folders: Path) -> None:
    for settings, said in {
        "[backend=onnx]": "contains no model.onnx", "[precision=int8,device=cuda]": "int8 runs on the CPU",
    }.items():  # fmt: skip
        with pytest.raises(UsageError, match=said):
            opened(folders / "bert", settings)
    with pytest.raises(UsageError, match="bf16"):
        opened(folders / "onnx", "[precision=bf16]")
    with pytest.raises(UsageError, match="is not an encoder with the expected inputs"):
        ask(network_of(folders / "onnx", "encoder"), [Embed("a")])
    with pytest.raises(UsageError, match="cannot be loaded as an encoder-decoder"):
        ask(network_of(folders / "bert", "seq2seq"), [Generate(("a",))])


def test_bf16_is_close_and_signed(folders: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = classify(folders / "bert", "[precision=bf16]")
    assert np.abs(made - classify(folders / "bert")).max() < 0.05
    assert opened(folders / "bert", "[precision=bf16]").id.endswith("+bf16")


def test_a_model_of_the_hubs_cache_is_found_without_the_hub(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    commit = "1a2b3c4d5e6f7a8b" + "0" * 24
    repository = tmp_path / "models--org--nli"
    shutil.copytree(folders / "bert", repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for text in ("hf/org/nli", f"hf/org/nli@{commit}"):
        assert open_model(text, "classifier", offline=True).id == "hf/org/nli@1a2b3c4d5e6f7a8b"
    with pytest.raises(UsageError, match=r"not in the local cache, and this run is offline"):
        open_model("hf/org/other", "classifier", offline=True)


@pytest.mark.parametrize("task", ["nli", "logits", "tokens", "first", "score", "states", "embed"])
def test_nan_of_a_damaged_network_is_an_error(folders: Path, tmp_path: Path, task: str) -> None:
    """Comparisons with NaN are False, so NaN would become labels, shares and zeros."""
    from safetensors.numpy import load_file, save_file

    kind = {"first": "t5-answers", "score": "bart", "states": "encoder", "embed": "encoder"}.get(task, "bert")
    folder = tmp_path / "nan"
    if task == "tokens":
        checkpoints.token_classifier(folder, 2)
    else:
        shutil.copytree(folders / kind, folder)
    weights = load_file(folder / "model.safetensors")
    damaged = {name: np.full_like(values, np.nan) for name, values in weights.items()}
    save_file(damaged, folder / "model.safetensors", metadata={"format": "pt"})
    head = {"tokens": "tokens", "first": "seq2seq", "score": "seq2seq", "states": "encoder", "embed": "encoder"}
    requests: dict[str, NetworkRequest[Any]] = {
        "nli": Classify(("a", "b"), "nli"),
        "logits": Classify(("a", "b"), 3),
        "tokens": ClassifyTokens(("a", "b"), 2),
        "first": FirstWord(("a",), ("Yes", "No")),
        "score": ScoreTarget("a", "b"),
        "states": Encode("a"),
        "embed": Embed("a"),
    }
    with pytest.raises(ModelError, match="computed NaN for this input"):
        ask(network_of(folder, head.get(task, "classifier")), [requests[task]])
