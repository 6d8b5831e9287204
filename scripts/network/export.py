"""Write the trained network as the folder that the package ships: model.onnx with int8 weights, tokenizer, config.

    python scripts/network/export.py --work FOLDER --encoder FOLDER --out FOLDER [--check PAIRS]

Every weight matrix and the word embeddings are stored as int8 with a scale for each row (output channel or word) and
multiplied out when the file is loaded: the arithmetic stays fp32, so a pair's result does not depend on the pairs it
shares a batch with, as it would with activations quantised too. `--check` prints how far it is from the fp32 network.
"""

import argparse
import json
import random
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from network_model import LABELS, SupportNetwork, batch_of, encode, tokenizer_of
from onnx import TensorProto, helper, numpy_helper
from transformers import BertConfig

SMALL = 4096  # weights of fewer numbers stay fp32


def exported(model: SupportNetwork, file: Path) -> None:
    model.eval()
    example = batch_of([([101, 7592, 102, 2088, 102], [0, 0, 0, 1, 1]), ([101, 7592, 102, 102], [0, 0, 0, 1])])
    names = ["input_ids", "token_type_ids", "attention_mask"]
    axes = {name: {0: "pairs", 1: "tokens"} for name in names} | {"logits": {0: "pairs"}}
    torch.onnx.export(
        model, tuple(example), str(file), input_names=names, output_names=["logits"], dynamic_axes=axes,
        opset_version=17, dynamo=False,
    )  # fmt: skip


def quantised(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """int8 values and a scale for each place of `axis`."""
    others = tuple(i for i in range(values.ndim) if i != axis)
    scale = np.maximum(np.abs(values).max(axis=others) / 127, 1e-12).astype(np.float32)
    shape = [1] * values.ndim
    shape[axis] = -1
    return np.clip(np.rint(values / scale.reshape(shape)), -127, 127).astype(np.int8), scale


def shrink(file: Path) -> None:
    """Large weights of the file as int8 with DequantizeLinear behind them."""
    model = onnx.load(str(file))
    graph = model.graph
    gathered = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    kept, nodes = [], []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if weight.data_type != TensorProto.FLOAT or values.ndim != 2 or values.size < SMALL:
            kept.append(weight)
            continue
        # MatMul takes (in, out), Gather (words, dimensions); a linear layer with Gemm has (out, in).
        gemm = any(node.op_type == "Gemm" and weight.name in node.input for node in graph.node)
        axis = 0 if weight.name in gathered or gemm else 1
        small, scale = quantised(values, axis)
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
    old = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *old])
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where train_network.py left network.pt or state.pt")
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--check", type=int, default=0)
    arguments = parser.parse_args()
    config = json.loads((arguments.encoder / "config.json").read_text())
    model = SupportNetwork(BertConfig(**config))
    whole = arguments.work / "network.pt"
    stored = torch.load(whole if whole.exists() else arguments.work / "state.pt", weights_only=True)
    model.load_state_dict(stored if whole.exists() else stored["model"])
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "model.onnx"
    exported(model, file)
    shrink(file)
    shutil.copy(arguments.encoder / "tokenizer.json", arguments.out / "tokenizer.json")
    about = {
        "architectures": ["SupportNetwork"], "model_type": "bert", "max_position_embeddings": 256, "quantised": "weights",
        "pad_token_id": 0, "id2label": dict(enumerate(LABELS)),
    }  # fmt: skip
    (arguments.out / "config.json").write_text(json.dumps(about, indent=1) + "\n")
    print(f"{file.stat().st_size / 1e6:.1f} MB")
    if arguments.check:
        check(model, arguments)


def check(model: SupportNetwork, arguments: argparse.Namespace) -> None:
    import onnxruntime

    rng = random.Random(0)
    words = [
        "the",
        "council",
        "cut",
        "funding",
        "buses",
        "staff",
        "rose",
        "in",
        "May",
        "Smith",
        "said",
        "nothing",
        "41",
    ]
    texts = [" ".join(rng.choices(words, k=rng.randint(5, 60))) for _ in range(arguments.check)]
    pairs = [(text, " ".join(rng.choices(words, k=8))) for text in texts]
    batch = batch_of(encode(tokenizer_of(arguments.out), pairs, 128))
    session = onnxruntime.InferenceSession(str(arguments.out / "model.onnx"))
    given = {"input_ids": batch.ids, "token_type_ids": batch.segments, "attention_mask": batch.mask}
    made = session.run(None, {name: value.numpy() for name, value in given.items()})[0]
    with torch.no_grad():
        wanted = model.eval()(*batch).numpy()
    print(f"logits differ from fp32 by at most {np.abs(made - wanted).max():.4f}")


if __name__ == "__main__":
    main()
