"""What computes: arrays in, arrays out, one batch at a time. Behind it stands torch or ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from summeter.models.base import Generation

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


class Runtime(NamedTuple):
    """Settings with every `auto` decided. `file` is the ONNX model, None for torch."""

    backend: Literal["torch", "onnx"]
    device: str
    precision: Literal["fp32", "bf16", "int8"]
    file: Path | None = None

    @property
    def alone(self) -> bool:
        """Whether inputs go through one by one: int8 scales its activations over a whole batch, so that a result
        would depend on its neighbours."""
        return self.precision == "int8"

    @property
    def budget(self) -> int:
        """Tokens at a time, where the user does not say: what fills a card, or stays in a processor's cache."""
        return 32_768 if self.device == "cuda" else 1024
