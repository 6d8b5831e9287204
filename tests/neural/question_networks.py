"""Frozen networks of the judges that look at arcs; weights from numpy's RandomState, as in parity.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from neural import parity


def arcs(folder: Path, texts: list[str]) -> Path:
    """An ELECTRA classifier of tokens with four outputs, read without segments: DAE's network."""
    bias = [0.2, -0.1, 0.0, 0.0]
    told = {"model_max_length": 512, "model_input_names": ["input_ids", "attention_mask"]}
    return _electra(folder, texts, "ElectraForTokenClassification", "classifier", bias, told)


def answers(folder: Path, texts: list[str]) -> Path:
    """An ELECTRA network for extractive question answering."""
    return _electra(folder, texts, "ElectraForQuestionAnswering", "qa_outputs", [0.1, -0.1], {"model_max_length": 512})


def _electra(
    folder: Path, texts: list[str], architecture: str, head: str, bias: list[float], told: dict[str, object]
) -> Path:
    from safetensors.numpy import save_file

    parity.network(folder, texts)
    weights = {
        name.replace("bert.", "electra."): values
        for name, values in parity._weights(len((folder / "vocab.txt").read_text("utf-8").splitlines())).items()
        if not name.startswith(("bert.pooler", "classifier"))
    }
    draw = np.random.RandomState(23)
    weights[f"{head}.weight"] = (draw.randn(len(bias), parity.SIZE) * 0.2).astype(np.float32)
    weights[f"{head}.bias"] = np.array(bias, dtype=np.float32)
    config = json.loads((folder / "config.json").read_text())
    names = {place: f"LABEL_{place}" for place in range(len(bias))}
    config |= {
        "model_type": "electra", "architectures": [architecture], "embedding_size": parity.SIZE,
        "id2label": names, "label2id": {name: place for place, name in names.items()},
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**tokenizer, **told}))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
