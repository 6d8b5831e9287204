"""Conversion of small checkpoints in released formats: the outputs equal those of the released classes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neural import checkpoints
from neural.asking import ask
from neural.asking import network as network_of

from summeter.models.local.convert import convert
from summeter.models.networks import Classify, ClassifyTokens, Framing, ScoreTarget
from summeter.records import UsageError

ROWS = [("ab cd. ef", "gh"), ("a", "b c d")]


def tokenized(folder: Path, row: tuple[str, ...]) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(folder)(*row, return_tensors="pt")


@pytest.fixture
def roberta(folders: Path) -> Path:
    return folders / "roberta"


def alignscore(base: Path, file: Path) -> tuple[Any, dict[str, Any]]:
    """Write the encoder and the heads of BERTAlignModel in a Lightning checkpoint."""
    import torch
    import transformers

    torch.manual_seed(3)
    config = transformers.AutoConfig.from_pretrained(base)
    encoder = transformers.RobertaModel(config).eval()
    heads = {f"{name}_layer": torch.nn.Linear(32, size) for name, size in (("tri", 3), ("bin", 2), ("reg", 1))}
    for module in (encoder, *heads.values()):
        for weights in module.parameters():
            weights.data.mul_(4.0)
    state = {f"base_model.{name}": value for name, value in encoder.state_dict().items()}
    state |= {f"{name}.{part}": value for name, head in heads.items() for part, value in head.state_dict().items()}
    state |= {"mlm_head.bias": torch.zeros(5), "mlm_head.dense.weight": torch.zeros(5, 5)}
    torch.save({"state_dict": state, "epoch": 3, "optimizer_states": [{"state": {}}]}, file)
    return encoder, heads


def test_alignscore_becomes_a_folder_for_each_head(roberta: Path, tmp_path: Path) -> None:
    import torch

    encoder, heads = alignscore(roberta, tmp_path / "AlignScore-base.ckpt")
    made = convert("alignscore", tmp_path / "AlignScore-base.ckpt", tmp_path / "out", roberta)
    assert made == [tmp_path / "out" / name for name in ("nli", "bin", "reg")]
    for folder, layer, classes in zip(made, ("tri", "bin", "reg"), ("nli", 2, 1), strict=True):
        given = np.array(ask(network_of(folder), [Classify(row, classes) for row in ROWS]))  # type: ignore[arg-type]
        for row, ours in zip(ROWS, given, strict=True):
            inputs = tokenized(roberta, row)
            inputs.pop("token_type_ids", None)
            with torch.inference_mode():
                pooled = encoder(**inputs).pooler_output
                wanted = heads[f"{layer}_layer"](pooled)[0].numpy()
            assert np.abs(ours - wanted).max() < 1e-5
    assert given.std() > 1e-3
    card = (made[0] / "README.md").read_text()
    assert "AlignScore-base.ckpt" in card
    assert "licence of the weights: MIT" in card
    assert "sha256 of the source: " in card
    assert (made[0] / "model.safetensors").is_file()


def test_a3cu_reads_the_first_token_without_the_pooler(folders: Path, tmp_path: Path) -> None:
    import torch
    import transformers

    base = folders / "encoder"
    network = transformers.BertModel.from_pretrained(base).eval()
    linear = torch.nn.Linear(32, 1)
    state = {f"bert.{name}": value for name, value in network.state_dict().items()}
    state |= {f"linear.{name}": value for name, value in linear.state_dict().items()}
    assert any(name.startswith("bert.pooler") for name in state)
    torch.save(state, tmp_path / "pytorch_model.bin")
    (folder,) = convert("a3cu", tmp_path / "pytorch_model.bin", tmp_path / "out", base)
    given = ask(network_of(folder, "tokens"), [ClassifyTokens(row, 1, Framing((254, 254))) for row in ROWS])
    for row, ours in zip(ROWS, given, strict=True):
        with torch.inference_mode():
            wanted = linear(network(**tokenized(base, row))[0][:, 0])[0].numpy()
        assert np.abs(ours.logits[0] - wanted).max() < 1e-5


def test_dae_is_split_into_child_and_head(folders: Path, tmp_path: Path) -> None:
    import torch
    import transformers

    base = tmp_path / "base"
    size = checkpoints.wordpiece(base)
    config = transformers.ElectraConfig(vocab_size=size, embedding_size=32, **checkpoints.SIZES)
    config.save_pretrained(base)
    network, layer = transformers.ElectraModel(config).eval(), torch.nn.Linear(64, 2)
    state = {f"electra.{name}": value for name, value in network.state_dict().items()}
    state |= {f"dep_label_classifier.{name}": value for name, value in layer.state_dict().items()}
    torch.save(state, tmp_path / "pytorch_model.bin")
    (folder,) = convert("dae", tmp_path / "pytorch_model.bin", tmp_path / "out", base)
    (ours,) = ask(network_of(folder, "tokens"), [ClassifyTokens(ROWS[0], 4)])
    with torch.inference_mode():
        states = network(**tokenized(base, ROWS[0]))[0][0]
        for child, head in ((2, 5), (5, 2), (1, 1)):
            wanted = layer(torch.cat([states[child], states[head]])).numpy()
            assert np.abs(ours.logits[child][:2] + ours.logits[head][2:] - wanted).max() < 1e-5


def test_bartscore_is_a_state_of_bart(folders: Path, tmp_path: Path) -> None:
    import torch
    import transformers

    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(folders / "bart")
    for weights in network.parameters():
        weights.data.mul_(1.5)
    torch.save(network.state_dict(), tmp_path / "bart.pth")
    (folder,) = convert("bartscore", tmp_path / "bart.pth", tmp_path / "out", folders / "bart")
    network.save_pretrained(tmp_path / "direct")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "direct" / name).write_bytes((folders / "bart" / name).read_bytes())
    ours, wanted, before = (
        ask(network_of(place, "seq2seq"), [ScoreTarget(*row) for row in ROWS])
        for place in (folder, tmp_path / "direct", folders / "bart")
    )
    assert ours == wanted != before


def test_another_checkpoint_is_refused_and_nothing_is_written(roberta: Path, folders: Path, tmp_path: Path) -> None:
    import torch

    encoder, _ = alignscore(roberta, tmp_path / "a.ckpt")
    with pytest.raises(UsageError, match="needs a roberta model"):
        convert("alignscore", tmp_path / "a.ckpt", tmp_path / "out", folders / "bert")
    with pytest.raises(UsageError, match=r"not a checkpoint of a3cu .*bert"):
        convert("a3cu", tmp_path / "a.ckpt", tmp_path / "out", folders / "encoder")
    state = torch.load(tmp_path / "a.ckpt", weights_only=True)
    del state["state_dict"]["base_model.embeddings.LayerNorm.weight"]
    torch.save(state, tmp_path / "b.ckpt")
    with pytest.raises(UsageError, match=r"roberta\.embeddings\.LayerNorm\.weight is missing"):
        convert("alignscore", tmp_path / "b.ckpt", tmp_path / "out", roberta)
    with pytest.raises(UsageError, match=r"config\.json is missing.*roberta-base"):
        convert("alignscore", tmp_path / "a.ckpt", tmp_path / "out")
    with pytest.raises(UsageError, match="did you mean alignscore"):
        convert("alignscor", tmp_path / "a.ckpt", tmp_path / "out", roberta)
    (tmp_path / "full").mkdir()
    with pytest.raises(UsageError, match="already exists"):
        convert("alignscore", tmp_path / "a.ckpt", tmp_path / "full", roberta)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ckpt", "b.ckpt", "full"]
    del encoder


class Trap:
    """A pickle that executes code."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('it ran')",))


def test_a_pickle_that_runs_code_is_not_run(roberta: Path, tmp_path: Path) -> None:
    import torch

    torch.save({"state_dict": {"base_model.x": Trap()}}, tmp_path / "evil.ckpt")
    with pytest.raises(UsageError, match=r"cannot be read with weights_only.*it contains code or objects.*exec"):
        convert("alignscore", tmp_path / "evil.ckpt", tmp_path / "out", roberta)
    (tmp_path / "evil.bin").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(UsageError, match="cannot be read with weights_only") as refused:
        convert("alignscore", tmp_path / "evil.bin", tmp_path / "out", roberta)
    assert "likely succeed" not in str(refused.value), "nobody is told to load it unsafely"


def test_the_command(roberta: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from summeter.cli.main import app

    alignscore(roberta, tmp_path / "a.ckpt")
    arguments = [
        "models",
        "convert",
        "alignscore",
        str(tmp_path / "a.ckpt"),
        "-o",
        str(tmp_path / "out"),
        "--base",
        str(roberta),
    ]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.output)["rows"]
    assert rows == [{"folder": str(tmp_path / "out" / name)} for name in ("nli", "bin", "reg")]
