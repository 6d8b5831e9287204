"""Export an encoder as model.onnx for ONNX Runtime."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from summeter.models.local.tokens import reads_segments
from summeter.records import InstallError

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OPSET = 17


def write_encoder_onnx(network: Any, folder: Path) -> Path:
    """Write a transformers encoder (fp32, eager attention) as `folder`/model.onnx, and return the file.

    The output is the last hidden state, which differs from that of torch by at most about 1e-5. Raises InstallError if
    onnx is not installed.
    """
    if find_spec("onnx") is None:
        raise InstallError.missing("onnx (writing model.onnx)", "train")
    import warnings

    import torch

    segmented = reads_segments(network.config)
    names = list(INPUTS if segmented else INPUTS[:2])

    class States(torch.nn.Module):  # type: ignore[misc] # torch is untyped when it is not installed
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            states: torch.Tensor = self.network(**dict(zip(names, inputs, strict=True))).last_hidden_state
            return states

    ids = torch.ones((2, 8), dtype=torch.int64)
    mask = ids.clone()
    mask[1, 5:] = 0
    file = folder / "model.onnx"
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # the tracer warns about every shape
        torch.onnx.export(
            States().eval(), (ids, mask, torch.zeros_like(ids))[: len(names)], str(file), dynamo=False,
            opset_version=OPSET, input_names=names, output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]},
        )  # fmt: skip
    return file
