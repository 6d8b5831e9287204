"""The NLI network: a small encoder over premise and hypothesis together, and a head that aligns them.

A plain classifier on the first token hardly learns from few rows. The head therefore compares each token of the
hypothesis with what it attends to in the premise (as decomposable attention and ESIM do) and pools over the hypothesis.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from summeter.models.local.tokens import reads_segments
from summeter.records import InstallError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from numpy.typing import NDArray

LABELS: Final = ("entail", "neutral", "contradict")
INPUTS: Final = ("input_ids", "token_type_ids", "attention_mask")
HEAD_RATE: Final = 8.0
"""The head is new and the encoder is not: it learns at so many times the rate."""
_INNER = 192
_SMALL = 4096  # weights of fewer numbers stay fp32
_OPSET = 17


def nli_network(encoder: Any) -> Any:
    """A fresh head on an encoder of transformers; `forward(ids, segments, mask)` gives logits in the order of LABELS.

    Word embeddings keep the meaning they came with, and the encoder drops nothing out: few rows are seen twice.
    """
    import torch
    from torch import nn

    for name, parameter in encoder.named_parameters():
        parameter.requires_grad_("embeddings" not in name)
    for part in encoder.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    size = int(encoder.config.hidden_size)
    segmented = reads_segments(encoder.config)

    class NliNetwork(nn.Module):  # type: ignore[misc] # torch has no types where the code is checked
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.compare = nn.Sequential(nn.Linear(4 * size, _INNER), nn.GELU())
            self.decide = nn.Sequential(
                nn.Linear(4 * size + 2 * _INNER + 2, _INNER), nn.GELU(), nn.Dropout(0.1), nn.Linear(_INNER, 3)
            )
            self.scale = nn.Parameter(torch.tensor(8.0))

        def forward(self, ids: torch.Tensor, segments: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            given = {"token_type_ids": segments} if segmented else {}
            states = self.encoder(input_ids=ids, attention_mask=mask, **given).last_hidden_state
            # The claim's tokens stand together behind the text's: only they are compared.
            lengths = segments.sum(1, keepdim=True)
            places = torch.arange(lengths.max())
            claim = (places < lengths).to(states.dtype).unsqueeze(-1)
            places = (segments.argmax(1, keepdim=True) + places).clamp(max=ids.shape[1] - 1)
            own = states.gather(1, places.unsqueeze(-1).expand(-1, -1, size))
            text = ((1 - segments) * mask).to(states.dtype).unsqueeze(-1)
            text_mean = (states * text).sum(1) / text.sum(1)
            claim_mean = (own * claim).sum(1) / claim.sum(1)
            closeness = _unit(own) @ _unit(states).transpose(1, 2)
            closeness = closeness.masked_fill(text.transpose(1, 2) == 0, -1e4)
            # In fp32: the gradient of a softmax in bfloat16 takes ten times as long.
            attended = torch.softmax((self.scale * closeness).float(), dim=-1).to(states.dtype) @ states
            compared = self.compare(torch.cat([own, attended, (own - attended).abs(), own * attended], dim=-1))
            best = closeness.amax(-1, keepdim=True)
            joined = [
                text_mean,
                claim_mean,
                (text_mean - claim_mean).abs(),
                text_mean * claim_mean,
                (compared * claim).sum(1) / claim.sum(1),
                compared.masked_fill(claim == 0, -1e4).amax(1),
                (best * claim).sum(1) / claim.sum(1),
                best.masked_fill(claim == 0, 1e4).amin(1),
            ]
            logits: torch.Tensor = self.decide(torch.cat(joined, dim=-1))
            return logits

    return NliNetwork()


def _unit(states: torch.Tensor) -> torch.Tensor:
    return states / states.norm(dim=-1, keepdim=True).clamp_min(1e-6)


def rate_of(name: str) -> float:
    """How many times the learning rate a parameter of this name learns at."""
    return 1.0 if name.startswith("encoder") else HEAD_RATE


def loss_of(logits: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The mean of -log of the summed probabilities of the labels that `wanted` (rows x 3, 1 or 0) allows: a row that
    only says "not entailed" allows two."""
    import torch

    chances = torch.log_softmax(logits, dim=-1)
    return -torch.logsumexp(chances.masked_fill(wanted == 0, -1e9), dim=-1).mean()


def twins_loss(logits: torch.Tensor, entailed: torch.Tensor, twins: Sequence[str | None]) -> torch.Tensor:
    """The mean of log(1 + e^-d) over pairs of rows that share a twin, one entailed (`entailed`: True) and one not; d is
    by how much the log-odds of entailment are higher for the entailed one. 0 without such pairs."""
    import torch

    places: dict[str, list[int]] = {}
    for at, twin in enumerate(twins):
        if twin is not None:
            places.setdefault(twin, []).append(at)
    odds = logits[:, 0] - torch.logsumexp(logits[:, 1:], dim=-1)
    right, wrong = entailed.tolist(), [not each for each in entailed.tolist()]
    pairs = [(a, b) for own in places.values() for a in own for b in own if right[a] and wrong[b]]
    if not pairs:
        return odds.new_zeros(())
    true, false = (torch.tensor(list(side)) for side in zip(*pairs, strict=True))
    return torch.nn.functional.softplus(odds[false] - odds[true]).mean()


def write_nli_onnx(network: Any, file: Path, *, int8: bool) -> Path:
    """Write the network as an ONNX file; with `int8` its matrices and word embeddings as int8 with a scale for each
    row, multiplied out when loaded (the arithmetic stays fp32, so a pair's result does not depend on its batch).
    InstallError without onnx."""
    import torch

    try:
        import onnx  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise InstallError.missing("onnx (writing model.onnx)", "train") from error
    ids = torch.tensor([[1, 2, 2, 3, 2], [1, 2, 3, 2, 0]])
    segments, mask = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 1, 1, 0]]), torch.tensor([[1] * 5, [1, 1, 1, 1, 0]])
    axes = {name: {0: "pairs", 1: "tokens"} for name in INPUTS} | {"logits": {0: "pairs"}}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # a tracer warns of every shape it sees
        torch.onnx.export(
            network.eval(), (ids, segments, mask), str(file), dynamo=False, opset_version=_OPSET,
            input_names=list(INPUTS), output_names=["logits"], dynamic_axes=axes,
        )  # fmt: skip
    if int8:
        _quantise(file)
    return file


def load_onnx_weights(network: Any, file: Path) -> None:
    """The weights of a file that `write_nli_onnx` wrote, in a network of the same shape: a warm start.

    int8 weights are multiplied out. UsageError where the file lacks a weight, or has it in another shape.
    """
    import torch

    stored = onnx_weights(file)
    with torch.no_grad():
        for name, weights in network.state_dict().items():
            # Buffers (places of tokens) are no weights; the file has none of the pooler, which the head does not ask.
            if "position_ids" in name or "token_type_ids" in name or ".pooler." in name:
                continue
            if name not in stored or stored[name].shape != tuple(weights.shape):
                shown = "nothing" if name not in stored else f"the shape {stored[name].shape}"
                raise UsageError(
                    f"warm_start: {file} has {shown} for {name}, and this network {tuple(weights.shape)}; it must be a "
                    "model.onnx that `summeter train` wrote for an encoder of the same shape"
                )
            weights.copy_(torch.tensor(stored[name]))


def onnx_weights(file: Path) -> dict[str, NDArray[np.float32]]:
    """The weights of a file that `write_nli_onnx` wrote, by their names in torch. InstallError without onnx."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise InstallError.missing("onnx (reading model.onnx)", "train") from error
    graph = onnx.load(str(file)).graph
    stored = {weight.name: numpy_helper.to_array(weight) for weight in graph.initializer}
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in stored:
            axis = next(field.i for field in node.attribute if field.name == "axis")
            scale = np.expand_dims(stored[node.input[1]], 1 - axis)
            stored[node.output[0]] = stored[node.input[0]].astype(np.float32) * scale
    # A linear layer in three dimensions became MatMul and Add, and lost the name of its weight, not of its bias.
    factors = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        if node.op_type == "Add":
            biases = [name for name in node.input if name.endswith(".bias") and name in stored]
            products = [name for name in node.input if factors.get(name) in stored]
            if biases and products:
                matrix = stored[factors[products[0]]]
                stored[biases[0].removesuffix("bias") + "weight"] = np.ascontiguousarray(matrix.T)
    return stored


def _quantise(file: Path) -> None:
    """Large weights of the file as int8 with DequantizeLinear behind them."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(str(file))
    graph = model.graph
    gathered = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    kept, nodes = [], []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if weight.data_type != TensorProto.FLOAT or values.ndim != 2 or values.size < _SMALL:
            kept.append(weight)
            continue
        # MatMul takes (in, out), Gather (words, dimensions); a linear layer with Gemm has (out, in).
        gemm = any(node.op_type == "Gemm" and weight.name in node.input for node in graph.node)
        axis = 0 if weight.name in gathered or gemm else 1
        scale = np.maximum(np.abs(values).max(axis=1 - axis) / 127, 1e-12).astype(np.float32)
        small = np.clip(np.rint(values / np.expand_dims(scale, 1 - axis)), -127, 127).astype(np.int8)
        stem = weight.name
        kept += [
            numpy_helper.from_array(small, f"{stem}.int8"),
            numpy_helper.from_array(scale, f"{stem}.scale"),
            numpy_helper.from_array(np.zeros_like(scale, dtype=np.int8), f"{stem}.zero"),
        ]
        inputs = [f"{stem}.int8", f"{stem}.scale", f"{stem}.zero"]
        nodes.append(helper.make_node("DequantizeLinear", inputs, [stem], name=f"{stem}.dequantise", axis=axis))
    del graph.initializer[:]
    graph.initializer.extend(kept)
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    onnx.checker.check_model(model)
    onnx.save(model, str(file))
