"""What a processor could do at best: the arithmetic a BERT classifier needs, and how fast matrices are multiplied."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

LEAST = 1.0
"""Seconds of the processor that matrices are multiplied for."""


def needed(lengths: Iterable[int], config: Mapping[str, Any]) -> float:
    """Operations (a product and a sum are two) for inputs of so many tokens, none of them padding.

    Matrices and attention alone; of the last layer only what the first token's states need.

    >>> needed([3], {"hidden_size": 2, "intermediate_size": 4, "num_hidden_layers": 1})
    120.0
    """
    size, inner, layers = (int(config[one]) for one in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    found = 0
    for tokens in lengths:
        # Query, key, value, output; the two large matrices; scores and their products with values.
        whole = tokens * (4 * size * size + 2 * size * inner) + 2 * tokens * tokens * size
        last = tokens * 2 * size * size + 2 * size * size + 2 * size * inner + 2 * tokens * size
        found += (layers - 1) * whole + last
    return 2.0 * found


def reached(threads: int) -> float:
    """Operations a second of the processor, in products of 1,024 x 384 and 384 x 1,536 (MiniLM's) by ONNX Runtime."""
    import numpy as np
    import onnxruntime
    from onnx import helper, numpy_helper

    draw = np.random.RandomState(0)
    rows, matrix = (draw.randn(*one).astype(np.float32) for one in ((1024, 384), (384, 1536)))
    node = helper.make_node("MatMul", ["rows", "matrix"], ["made"])
    takes, gives = (helper.make_tensor_value_info(name, 1, [None, None]) for name in ("rows", "made"))
    graph = helper.make_graph([node], "product", [takes], [gives], [numpy_helper.from_array(matrix, "matrix")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    session.run(None, {"rows": rows})
    passes, start = 0, time.process_time()
    while (spent := time.process_time() - start) < LEAST:
        session.run(None, {"rows": rows})
        passes += 1
    return 2.0 * passes * 1024 * 384 * 1536 / spent
