"""What computes: arrays in, arrays out, one batch at a time. Behind it stands torch or ONNX Runtime."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, Protocol
from weakref import WeakValueDictionary

from summeter.models.base import Generation
from summeter.models.local.files import Located
from summeter.models.local.runtime import Runtime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float32]

Head = Literal["classifier", "encoder", "seq2seq"]


class Classifier(Protocol):
    """A sequence classifier."""

    def logits(self, ids: Ids, mask: Ids, segments: Ids) -> Floats:
        """Shape (inputs, classes)."""
        ...


class Encoder(Protocol):
    """An encoder; `layers` counts its hidden layers, the input embeddings left out."""

    @property
    def layers(self) -> int: ...

    def hidden(self, ids: Ids, mask: Ids, segments: Ids, layer: int) -> Floats:
        """The states of a layer, 0 to `layers`: shape (inputs, tokens, dimensions)."""
        ...


class EncoderDecoder(Protocol):
    """An encoder-decoder. `eos` are the ids that end what is generated, `special` those that are no text."""

    @property
    def eos(self) -> frozenset[int]: ...

    def log_likelihoods(self, ids: Ids, mask: Ids, targets: Ids, target_mask: Ids) -> Floats:
        """The mean log-probability of each target's tokens: shape (inputs,)."""
        ...

    def generate(self, ids: Ids, mask: Ids, how: Generation) -> list[list[int]]:
        """The ids generated for each input, the decoder's start token left out and padding with it."""
        ...


# One set of weights is loaded once a process, for as long as some run uses it.
_LOADED: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_LOADING = threading.Lock()


def backend(model: Located, runtime: Runtime, head: Head) -> Any:
    """The backend of a model's weights with a head: the loaded one where there is one, else a new one."""
    key = (model.digest, runtime, head)
    with _LOADING:
        found = _LOADED.get(key)
        if found is None:
            found = _load(model, runtime, head)
            _LOADED[key] = found
        return found


def _load(model: Located, runtime: Runtime, head: Head) -> Any:
    if runtime.backend == "onnx":
        from summeter.models.local.onnx_backend import load
    else:
        from summeter.models.local.torch_backend import load
    return load(model, runtime, head)
