"""Write a checkpoint of a BERT classifier as model.onnx, so that it runs on ONNX Runtime.

    python scripts/write_onnx.py models/my-nli models/my-nli-onnx
    summeter score DATA -e fenice -m nli=local/models/my-nli-onnx -o RUN

The graph is an exact rewrite, node by node, so that what ONNX Runtime does slowly is not in it. A classifier looks at
the first token of the last layer only. Of that layer keys and values are needed of all tokens, everything else
(queries, products, the two large matrices) of the first token alone: for six layers that is an eighth of all
arithmetic. Matrices are multiplied over all tokens of a batch as one, with their bias added on the way. Where nothing
in a batch is padding, attention goes without a mask, which ONNX Runtime then does in blocks: a document of 4,096 tokens
takes a third less time, and no memory that grows with the square of its length.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from summeter.models.local.names import CONFIG, read_json
from summeter.records import InstallError, UsageError

Floats = NDArray[np.float32]

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OPSET = 17
_CONTRIB = "com.microsoft"
_FORMAT = 9  # of the file: what the oldest ONNX Runtime allowed reads


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
    weights = {name: tensor.detach().numpy() for name, tensor in network.state_dict().items()}
    model: bytes = _bert(weights, network.config.to_dict()).SerializeToString()
    (target / "model.onnx").write_bytes(model)
    return target / "model.onnx"


class _Graph:
    """Nodes in their order, and constants."""

    def __init__(self) -> None:
        self.helper: Any = import_module("onnx.helper")
        self.array: Any = import_module("onnx.numpy_helper").from_array
        self.types: Any = import_module("onnx").TensorProto
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output; gives its name."""
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def whole(self, *values: int) -> str:
        """A list of whole numbers as a constant."""
        return self.constant("x".join(map(str, values)), np.array(values, np.int64))

    def constant(self, name: str, array: Any) -> str:
        """A constant of this name, once."""
        if name not in self.constants:
            self.constants[name] = self.array(np.array(array, order="C"), name)
        return name

    def branch(self, op: str, *inputs: str, **attributes: Any) -> Any:
        """A node as a branch of an If."""
        name = f"{op}_{len(self.nodes)}_{len(inputs)}"
        node = self.helper.make_node(op, inputs, [name], name=name, domain=_CONTRIB, **attributes)
        shown = self.helper.make_tensor_value_info(name, self.types.FLOAT, [None, None, None])
        return self.helper.make_graph([node], name, [], [shown])


class _Bert(_Graph):
    """The graph of one network's weights, its config read as transformers reads it."""

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any]) -> None:
        super().__init__()
        self._weights = weights
        self._eps = float(config["layer_norm_eps"])
        self._heads = int(config["num_attention_heads"])
        size = int(config["hidden_size"])
        shape = self.add("Shape", INPUTS[0])
        self._flat = self.whole(-1, size)
        self._shaped = self.add("Concat", shape, self.whole(size), axis=0)
        self._length = self.add("Gather", shape, self.constant("one", np.int64(1)))
        self._mask = self.add("Cast", INPUTS[1], to=self.types.INT32)
        full = self.add("ReduceMin", self._mask, keepdims=0)
        self._full = self.add("Cast", full, to=self.types.BOOL)

    def weight(self, name: str) -> str:
        return self.constant(name, self._weights[name])

    def embedded(self) -> str:
        """The input's embeddings, tokens of all inputs in one row of rows."""
        start, step = self.constant("zero", np.int64(0)), self.constant("one", np.int64(1))
        places = self.add("Range", start, self._length, step)
        wanted = {"word": INPUTS[0], "token_type": INPUTS[2], "position": places}
        word, kind, place = (
            self.add("Gather", self.weight(f"bert.embeddings.{name}_embeddings.weight"), at)
            for name, at in wanted.items()
        )
        total = self.add("Add", self.add("Add", word, kind), place)
        return self.add("Reshape", self.normed(total, "bert.embeddings"), self._flat)

    def normed(self, states: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.LayerNorm.weight"), self.weight(f"{name}.LayerNorm.bias")
        return self.add("LayerNormalization", states, scale, bias, epsilon=self._eps)

    def linear(self, states: str, name: str) -> str:
        matrix = self.constant(f"{name}.matrix", self._weights[f"{name}.weight"].T)
        return self.add("Gemm", states, matrix, self.weight(f"{name}.bias"))

    def first(self, states: str) -> str:
        """The first token of each input."""
        rows = self.add("Reshape", states, self._shaped)
        return self.add("Gather", rows, self.constant("zero", np.int64(0)), axis=1)

    def layer(self, states: str, name: str, *, first: bool = False) -> str:
        """The next layer's states; of the `first` token alone where no more is needed."""
        own = f"{name}.attention.self"
        asking = self.first(states) if first else states
        query = self.linear(asking, f"{own}.query")
        query = self.add("Unsqueeze", query, self.whole(1)) if first else self.add("Reshape", query, self._shaped)
        key, value = (
            self.add("Reshape", self.linear(states, f"{own}.{part}"), self._shaped) for part in ("key", "value")
        )
        mixed = self.add("Reshape", self._attended(query, key, value), self._flat)
        seen = self._added(mixed, asking, f"{name}.attention.output")
        expanded = self.add("Gelu", self.linear(seen, f"{name}.intermediate.dense"), domain=_CONTRIB)
        return self._added(expanded, seen, f"{name}.output")

    def _attended(self, *parts: str) -> str:
        plain = self.branch("MultiHeadAttention", *parts, num_heads=self._heads)
        masked = self.branch("MultiHeadAttention", *parts, "", self._mask, num_heads=self._heads)
        return self.add("If", self._full, then_branch=plain, else_branch=masked)

    def _added(self, states: str, before: str, name: str) -> str:
        return self.normed(self.add("Add", self.linear(states, f"{name}.dense"), before), name)

    def model(self, states: str, classes: int) -> Any:
        """The whole, with the head on the first token's states."""
        pooled = self.add("Tanh", self.linear(states, "bert.pooler.dense"))
        self.nodes.append(self.helper.make_node("Identity", [self.linear(pooled, "classifier")], ["logits"]))
        takes = [self.helper.make_tensor_value_info(name, self.types.INT64, ["batch", "tokens"]) for name in INPUTS]
        gives = self.helper.make_tensor_value_info("logits", self.types.FLOAT, ["batch", classes])
        graph = self.helper.make_graph(self.nodes, "bert", takes, [gives], list(self.constants.values()))
        used = [self.helper.make_opsetid("", OPSET), self.helper.make_opsetid(_CONTRIB, 1)]
        return self.helper.make_model(graph, opset_imports=used, ir_version=_FORMAT, producer_name="summeter")


def _bert(weights: Mapping[str, Floats], config: Mapping[str, Any]) -> Any:
    """The ONNX model of a BERT classifier: its weights by the names transformers gives them, and its config."""
    graph = _Bert(weights, config)
    states = graph.embedded()
    names = [f"bert.encoder.layer.{at}" for at in range(int(config["num_hidden_layers"]))]
    for name in names:
        states = graph.layer(states, name, first=name == names[-1])
    return graph.model(states, len(weights["classifier.bias"]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the checkpoint")
    parser.add_argument("target", type=Path, help="a new folder")
    given = parser.parse_args(arguments)
    print(write_onnx(given.folder, given.target))


if __name__ == "__main__":
    main()
