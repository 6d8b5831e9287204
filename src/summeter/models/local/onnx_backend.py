"""Local models on ONNX Runtime, without torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from summeter.models.local.backend import Head, Runtime
from summeter.models.local.names import Located
from summeter.records import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float32]

_SEGMENTS = "token_type_ids"
_KNOWN = frozenset({"input_ids", "attention_mask", _SEGMENTS})
_OUTPUT = {"classifier": "logits", "encoder": "last_hidden_state"}


def load(model: Located, runtime: Runtime, head: Head) -> Any:
    """The model with a head, ready to compute. UsageError where the file is of another kind."""
    session = _session(model, runtime)
    strange = sorted(port.name for port in session.get_inputs() if port.name not in _KNOWN)
    names = [port.name for port in session.get_outputs()]
    if strange or _OUTPUT[head] not in names:
        raise UsageError(
            f"{runtime.file} is no {head} of the usual form: it takes "
            f"{', '.join(port.name for port in session.get_inputs())} and gives {', '.join(names)}; "
            f"wanted: {', '.join(sorted(_KNOWN))} -> {_OUTPUT[head]}"
        )
    return OnnxClassifier(session) if head == "classifier" else OnnxEncoder(session, model)


def _session(model: Located, runtime: Runtime) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Threads that spin while they wait take the processor from those that work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if model.config.get("quantised") == "weights":
        # Weights stored small are multiplied out once, when they are loaded, not at every use.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    providers = ["CPUExecutionProvider"]
    if runtime.device == "cuda":
        providers.insert(0, "CUDAExecutionProvider")
    try:
        return onnxruntime.InferenceSession(str(runtime.file), options, providers=providers)
    except Exception as error:  # its errors share no other base
        raise UsageError(f"{model.name}: {runtime.file} cannot be loaded: {error}") from error


class _Onnx:
    """A session; it may be used by several threads."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._takes = frozenset(port.name for port in session.get_inputs())

    def _run(self, output: str, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        given = {"input_ids": ids, "attention_mask": mask, _SEGMENTS: segments}
        inputs = {name: array for name, array in given.items() if name in self._takes}
        states: Floats = self._session.run([output], inputs)[0].astype(np.float32, copy=False)
        return states


class OnnxClassifier(_Onnx):
    """A sequence classifier."""

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, classes)."""
        return self._run("logits", ids, mask, segments)


class OnnxEncoder(_Onnx):
    """An encoder; it gives its last layer only."""

    def __init__(self, session: Any, model: Located) -> None:
        super().__init__(session)
        self._name = model.name
        self.layers = int(model.config["num_hidden_layers"])

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """The states of the last layer: shape (inputs, tokens, dimensions). UsageError for another one."""
        if layer != self.layers:
            raise UsageError(
                f"{self._name}: layer {layer} of {self.layers} was asked for, and a model.onnx gives its last layer "
                "only; add backend=torch behind the model's name"
            )
        return self._run("last_hidden_state", ids, mask, segments)
