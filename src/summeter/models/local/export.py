"""A checkpoint as model.onnx, so that it runs on ONNX Runtime: an exact rewrite for BERT classifiers (`graph`)."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from summeter.models.local.files import CONFIG, read_json
from summeter.models.local.graph import bert
from summeter.records import InstallError, UsageError


def write_onnx(folder: Path, target: Path) -> Path:
    """Write the BERT classifier in `folder` as `target`/model.onnx (fp32), its config and tokenizer beside it.

    Logits are those of the checkpoint to about 1e-5. The target is a folder for `-m nli=local/TARGET`. Returns the
    file. UsageError where the folder holds no BERT classifier (other kinds run on torch as they are), or the target is
    the folder itself; InstallError without torch, transformers and onnx.
    """
    config = read_json(folder / CONFIG)
    kinds = config.get("architectures") or [config.get("model_type", "nothing")]
    places, act = config.get("position_embedding_type", "absolute"), config.get("hidden_act", "gelu")
    if kinds[0] != "BertForSequenceClassification" or (places, act) != ("absolute", "gelu"):
        raise UsageError(
            f"{folder} is {kinds[0]} ({places} positions, {act}); only BertForSequenceClassification with absolute "
            "positions and gelu is written as model.onnx here, other kinds run on torch as they are"
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
    weights = {name: one.detach().numpy() for name, one in network.state_dict().items()}
    made: bytes = bert(weights, network.config.to_dict()).SerializeToString()
    (target / "model.onnx").write_bytes(made)
    return target / "model.onnx"
