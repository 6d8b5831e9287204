"""An encoder: unit vectors of texts, pooled as the model's own files say, and the states of its tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

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


class Pooling(NamedTuple):
    """How token states become one vector; `prompt` goes before each text."""

    mode: Mode = "mean"
    prompt: str = ""
    lower: bool = False


def pooling(loaded: LoadedModel) -> Pooling:
    """What the model's files say (the form of sentence-transformers); the mean of all tokens where they say nothing.

    UsageError for a pooling, or a stage after it, that is not known here.
    """
    folder = loaded.model.folder
    stages = folder / "modules.json"
    if stages.is_file():
        kinds = [str(stage.get("type", "")).rpartition(".")[2] for stage in json.loads(stages.read_text("utf-8"))]
        if strange := [kind for kind in kinds if kind not in _STAGES]:
            raise UsageError(f"{stages}: the stage {strange[0]} is not known here; known: {', '.join(sorted(_STAGES))}")
    own = maybe_json(folder / "1_Pooling" / "config.json")
    named = own.get("pooling_mode")
    modes = [named] if named else [name for name, on in own.items() if name.startswith("pooling_mode_") and on is True]
    known = [_MODES[mode] for mode in map(str, modes) if mode in _MODES]
    if own and (len(modes) != 1 or not known):
        raise UsageError(
            f"{folder / '1_Pooling'}: pooling {', '.join(map(str, modes)) or 'none'} is not known here; "
            f"known: {', '.join(_MODES)}, one of them"
        )
    config = maybe_json(folder / "config_sentence_transformers.json")
    prompt = (config.get("prompts") or {}).get(config.get("default_prompt_name") or "", "")
    lower = bool(maybe_json(folder / "sentence_bert_config.json").get("do_lower_case"))
    return Pooling(known[0] if known else "mean", prompt, lower)


def embed(loaded: LoadedModel, requests: Sequence[Embed], usage: Usage) -> list[Floats]:
    """A unit vector of each text."""
    how = loaded.once(pooling)
    texts = [how.prompt + (request.text.lower() if how.lower else request.text) for request in requests]

    def compute(batch: Batch) -> list[Floats]:
        return list(pooled(loaded.backend.hidden(*batch, layers(loaded)), batch.mask, how.mode))

    return loaded.run(loaded.tokens.texts(texts), usage, compute)


def encode(loaded: LoadedModel, requests: Sequence[Encode], usage: Usage) -> list[TokenStates]:
    """The token states of the layer that each request asks for."""
    last = layers(loaded)

    def of_layer(some: Sequence[Encode], layer: int) -> list[TokenStates]:
        if not 0 <= layer <= last:
            raise UsageError(f"{loaded.id} has layers 0 to {last}, not {layer}")
        inputs = loaded.tokens.texts([request.text for request in some])
        states = loaded.run_by_token(inputs, usage, lambda batch: loaded.backend.hidden(*batch, layer))
        return [
            TokenStates(
                tokens=loaded.tokens.names(input_.ids),
                ids=tuple(input_.ids.tolist()),
                offsets=tuple((start, end) for start, end in input_.offsets.tolist()),
                special=tuple((input_.text < 0).tolist()),
                states=own,
                truncated=input_.truncated,
            )
            for input_, own in zip(inputs, states, strict=True)
        ]

    return by_settings(requests, lambda request: last if request.layer is None else request.layer, of_layer)


def compare_states(loaded: LoadedModel, requests: Sequence[CompareStates], usage: Usage) -> list[float]:
    """What each request's measure makes of the states of its texts; each text is encoded once."""
    pairs = [(Encode(one.first, one.layer), Encode(one.second, one.layer)) for one in requests]
    wanted = list(dict.fromkeys(request for pair in pairs for request in pair))
    states = dict(zip(wanted, encode(loaded, wanted, usage), strict=True))
    return [
        request.measure.of(states[first], states[second])
        for request, (first, second) in zip(requests, pairs, strict=True)
    ]


def layers(loaded: LoadedModel) -> int:
    """How many layers there are; layer 0 are the input embeddings."""
    return int(loaded.model.config["num_hidden_layers"])


def pooled(states: Floats, mask: NDArray[np.int64], mode: Mode) -> Floats:
    """Token states, shape (texts, tokens, dimensions), as unit vectors; where the mask is 0 there is no token."""
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
