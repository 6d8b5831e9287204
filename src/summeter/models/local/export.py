"""A checkpoint as model.onnx, so that it runs on ONNX Runtime: an exact rewrite for BERT classifiers, with less to do.

A classifier of BERT's kind looks at the first token of its last layer only. Of that layer keys and values are needed
of all tokens, everything else (queries, products, the two large matrices) of the first token alone: for six layers
that is an eighth of all arithmetic, and the logits are the same but for rounding.
"""

from __future__ import annotations

import math
import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from summeter.models.local.files import CONFIG, read_json
from summeter.records import InstallError, UsageError

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_OPSET = 17
_MASKED = -10_000.0
"""Added to the score of a padding token: its share is then exactly 0 in fp32."""


def write_onnx(folder: Path, target: Path) -> Path:
    """Write the BERT classifier in `folder` as `target`/model.onnx (fp32), its config and tokenizer beside it.

    Logits are those of the checkpoint to about 1e-5. The target is a folder for `-m nli=local/TARGET`. Returns the
    file. UsageError where the folder holds no BERT classifier (other kinds run on torch as they are), or the target is
    the folder itself; InstallError without torch, transformers and onnx.
    """
    config = read_json(folder / CONFIG)
    kinds = config.get("architectures") or [config.get("model_type", "nothing")]
    if kinds[0] != "BertForSequenceClassification" or config.get("position_embedding_type", "absolute") != "absolute":
        raise UsageError(
            f"{folder} is {kinds[0]}; only BertForSequenceClassification with absolute positions is written as "
            "model.onnx here, other kinds run on torch as they are"
        )
    if target.resolve() == folder.resolve():
        raise UsageError(f"{target} is the checkpoint itself; name another folder for model.onnx")
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} (writing model.onnx)", "torch") from error
    if find_spec("onnx") is None:
        raise InstallError("model.onnx is written with the package onnx, which is not installed: pip install onnx")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False
    ).eval()
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(folder.iterdir()):
        if file.suffix in {".json", ".txt"} and not file.name.endswith(".index.json"):
            shutil.copy(file, target / file.name)
    ones = torch.ones((2, 9), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in _INPUTS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            _first_token(network), (ones, ones, torch.zeros_like(ones)), str(target / "model.onnx"),
            input_names=list(_INPUTS), output_names=["logits"], dynamic_axes={**axes, "logits": {0: "batch"}},
            dynamo=False, opset_version=_OPSET,
        )  # fmt: skip
    return target / "model.onnx"


def _first_token(network: Any) -> Any:
    """The network, which from now on computes no more than its logits need."""
    import torch

    bert, heads = network.bert, network.config.num_attention_heads

    def attended(attention: Any, asking: Any, states: Any, bias: Any) -> Any:
        def parted(made: Any) -> Any:
            return made.view(made.size(0), made.size(1), heads, -1).transpose(1, 2)

        own = attention.self
        query, key, value = parted(own.query(asking)), parted(own.key(states)), parted(own.value(states))
        scores = query @ key.transpose(-1, -2) / math.sqrt(network.config.hidden_size // heads)
        mixed = (torch.softmax(scores + bias, dim=-1) @ value).transpose(1, 2).flatten(2)
        return attention.output(mixed, asking)

    def forward(ids: Any, mask: Any, segments: Any) -> Any:
        states = bert.embeddings(input_ids=ids, token_type_ids=segments)
        bias = (1.0 - mask[:, None, None, :].to(states.dtype)) * _MASKED
        *layers, last = bert.encoder.layer
        for layer in layers:
            seen = attended(layer.attention, states, states, bias)
            states = layer.output(layer.intermediate(seen), seen)
        seen = attended(last.attention, states[:, :1], states, bias)
        return network.classifier(bert.pooler(last.output(last.intermediate(seen), seen)))

    network.forward = forward
    return network
