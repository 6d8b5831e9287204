"""Compute token states and embeddings of texts with encoders.

Embeddings are pooled from token states as the model's files specify.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from summeter.models.local.loaded_model import LoadedModel, by_settings
from summeter.models.local.names import maybe_json
from summeter.models.local.tokens import Batch
from summeter.models.networks import CompareStates, Embed, Encode, TokenStates
from summeter.records import UsageError
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Mode = Literal["mean", "cls", "max"]
_MODES: dict[str, Mode] = {
    "pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max",
    "mean": "mean", "cls": "cls", "max": "max",
}  # fmt: skip
_STAGES = frozenset({"Transformer", "Pooling", "Normalize"})


def pooling(loaded: LoadedModel) -> tuple[Mode, str, bool]:
    """Return the pooling, prompt and case of texts from the model's files in the format of sentence-transformers.

    The default pooling is the mean of all tokens. The prompt is prepended to each text. The last value says whether
    texts are first converted to lower case.

    Raises UsageError if the pooling or a module in these files is not supported.
    """
    folder = loaded.model.folder
    stages = folder / "modules.json"
    if stages.is_file():
        types = [str(stage.get("type", "")).rpartition(".")[2] for stage in json.loads(stages.read_text("utf-8"))]
        if unknown := [name for name in types if name not in _STAGES]:
            supported = ", ".join(sorted(_STAGES))
            raise UsageError(f"{stages}: the module {unknown[0]} is not supported; supported: {supported}")
    config = maybe_json(folder / "1_Pooling" / "config.json")
    mode = config.get("pooling_mode")
    flags = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
    modes = [mode] if mode else flags
    known = [_MODES[name] for name in map(str, modes) if name in _MODES]
    if config and (len(modes) != 1 or not known):
        raise UsageError(
            f"{folder / '1_Pooling'}: the pooling {', '.join(map(str, modes)) or 'none'} is not supported; "
            f"give exactly one of {', '.join(_MODES)}"
        )
    config = maybe_json(folder / "config_sentence_transformers.json")
    prompt = (config.get("prompts") or {}).get(config.get("default_prompt_name") or "", "")
    lower = bool(maybe_json(folder / "sentence_bert_config.json").get("do_lower_case"))
    return known[0] if known else "mean", prompt, lower


def embed(loaded: LoadedModel, requests: Sequence[Embed], usage: Usage) -> list[Floats]:
    """Return the embedding of each text as a unit vector."""
    mode, prompt, lower = loaded.once(pooling)
    texts = [prompt + (request.text.lower() if lower else request.text) for request in requests]

    def compute(batch: Batch) -> list[Floats]:
        return list(pooled(loaded.backend.hidden(*batch, layers(loaded)), batch.mask, mode))

    return loaded.run(loaded.tokens.texts(texts), usage, compute)


def encode(loaded: LoadedModel, requests: Sequence[Encode], usage: Usage) -> list[TokenStates]:
    """Return the token states of the requested layer for each request.

    Raises UsageError if the model does not have the layer.
    """
    last = layers(loaded)

    def of_layer(group: Sequence[Encode], layer: int) -> list[TokenStates]:
        if not 0 <= layer <= last:
            raise UsageError(f"{loaded.id} has layers 0 to {last}, not {layer}")
        inputs = loaded.tokens.texts([request.text for request in group])
        states = loaded.run_by_token(inputs, usage, lambda batch: loaded.backend.hidden(*batch, layer))
        return [
            TokenStates(
                tokens=loaded.tokens.names(input_.ids),
                ids=tuple(input_.ids.tolist()),
                offsets=tuple((start, end) for start, end in input_.offsets.tolist()),
                special=tuple((input_.text < 0).tolist()),
                states=token_states,
                truncated=input_.truncated,
            )
            for input_, token_states in zip(inputs, states, strict=True)
        ]

    return by_settings(requests, lambda request: last if request.layer is None else request.layer, of_layer)


def compare_states(loaded: LoadedModel, requests: Sequence[CompareStates], usage: Usage) -> list[float]:
    """Return the value of each request's measure; each distinct text is encoded once per layer."""
    pairs = [(Encode(request.first, request.layer), Encode(request.second, request.layer)) for request in requests]
    texts = list(dict.fromkeys(request for pair in pairs for request in pair))
    states = dict(zip(texts, encode(loaded, texts, usage), strict=True))
    return [
        request.measure.of(states[first], states[second])
        for request, (first, second) in zip(requests, pairs, strict=True)
    ]


def layers(loaded: LoadedModel) -> int:
    """Return the number of layers, which is also the number of the last layer.

    Layer 0 is the input embeddings.
    """
    return int(loaded.model.config["num_hidden_layers"])


def pooled(states: Floats, mask: NDArray[np.int64], mode: Mode) -> Floats:
    """Return one unit vector per text, pooled from token states of shape (texts, tokens, dimensions).

    The mask is 1 for tokens and 0 for padding.
    """
    real = mask[:, :, None].astype(np.float32)
    if mode == "cls":
        vectors = states[:, 0]
    elif mode == "max":
        vectors = np.where(real > 0, states, -np.inf).max(axis=1)
    else:
        vectors = (states * real).sum(axis=1) / real.sum(axis=1)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
    return unit
