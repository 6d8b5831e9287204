"""An encoder: unit vectors of texts, pooled as the model's own files say, and the states of its tokens."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from summeter.models.base import StatesMeasure, TokenStates
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts
from summeter.models.local.names import maybe_json
from summeter.models.local.opened import LocalModel, Opened
from summeter.models.local.tokens import Batch, Input, Tokens
from summeter.records import ReplayMiss, UsageError
from summeter.runs.results import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Mode = Literal["mean", "cls", "max"]
_MODES: dict[str, Mode] = {
    "pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max",
    "mean": "mean", "cls": "cls", "max": "max",
}  # fmt: skip
_STAGES = frozenset({"Transformer", "Pooling", "Normalize"})
STATES_AT_ONCE = 128
"""Texts whose token states are held at a time: a thousand tokens of a large model are four megabytes."""

_STORED: Codec[Any] = Codec(
    "embedding", lambda vector: vector.astype("<f4").tobytes(), lambda data: np.frombuffer(data, dtype="<f4")
)
_NUMBER: Codec[float] = Codec(
    "measure", lambda number: struct.pack("<d", number), lambda data: float(struct.unpack("<d", data)[0])
)
_NEVER: Codec[TokenStates] = Codec("states", lambda _: b"", lambda _: _unstored())


def _unstored() -> TokenStates:
    raise ReplayMiss("token states are not stored")


class Pooling(NamedTuple):
    """How token states become one vector; `prompt` goes before each text."""

    mode: Mode = "mean"
    prompt: str = ""
    lower: bool = False


def pooling(folder: Path) -> Pooling:
    """What the model's files say (the form of sentence-transformers); the mean of all tokens where they say nothing.

    UsageError for a pooling, or a stage after it, that is not known here.
    """
    stages = folder / "modules.json"
    if stages.is_file():
        import json

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


class LocalEncoder(LocalModel):
    """Unit vectors, token states and measures of pairs of them; in a `replay`, or with `opened` None, vectors and
    measures come from the store alone.

    Token states are too large to keep: a replay computes them anew, and needs the model.
    """

    def __init__(
        self, id_: str, opened: Opened | None, store: Results | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id_, opened, store, usage)
        alone = replay or opened is None
        self._vectors = Batcher(id_, _STORED, None if alone else self._embed, store=store, usage=self.usage)
        self._measures: dict[str, StatesMeasure] = {}
        self._numbers = Batcher(
            id_, _NUMBER, None if alone else self._measure, store=store, usage=self.usage, most=STATES_AT_ONCE // 2
        )  # fmt: skip
        self._states = Batcher(
            id_, _NEVER, self._encode if opened else None, usage=self.usage, most=STATES_AT_ONCE
        )  # fmt: skip
        if opened is not None:
            self._pooling = pooling(opened.model.folder)

    @cached_property
    def layers(self) -> int:
        """How many layers there are; layer 0 are the input embeddings."""
        return int(self._network.model.config["num_hidden_layers"])

    async def embed(self, texts: Sequence[str]) -> Floats:
        """A unit vector each: shape (texts, dimensions)."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        return self._valid(np.stack(await self._vectors.ask([(text,) for text in texts])))

    async def states(self, texts: Sequence[str], layer: int | None = None) -> list[TokenStates]:
        """The token states of a layer (None: the last)."""
        wanted = self._known(self.layers if layer is None else layer)
        rows = await self._states.ask([(text, str(wanted)) for text in texts])
        for row in rows:
            self._valid(row.states)
        return rows

    async def measured(self, pairs: Sequence[tuple[str, str]], layer: int, measure: StatesMeasure) -> list[float]:
        """What `measure` makes of the token states of each pair of texts: stored under its name."""
        self._measures[measure.name] = measure
        values = await self._numbers.ask([(*pair, str(layer), measure.name) for pair in pairs])
        self._valid(np.array(values))
        return values

    def _known(self, layer: int) -> int:
        if not 0 <= layer <= self.layers:
            raise UsageError(f"{self.id} has layers 0 to {self.layers}, not {layer}")
        return layer

    def _measure(self, asked: Sequence[Texts]) -> list[float]:
        wanted = list(dict.fromkeys((text, layer) for *pair, layer, _ in asked for text in pair))
        for _, layer in wanted:
            self._known(int(layer))
        states = dict(zip(wanted, self._encode(wanted), strict=True))
        return [self._measures[name].of(states[one, layer], states[other, layer]) for one, other, layer, name in asked]

    @property
    def _network(self) -> Opened:
        if self._maybe_opened is None:
            raise ReplayMiss(f"token states are not stored in a run, and the folder of {self.id} is not here")
        return self._maybe_opened

    def _embed(self, texts: Sequence[Texts]) -> list[Floats]:
        opened, how = self._network, self._pooling
        inputs = opened.tokens.texts([how.prompt + (text.lower() if how.lower else text) for (text,) in texts])

        def compute(batch: Batch) -> list[Floats]:
            return list(pooled(opened.backend.hidden(*batch, self.layers), batch.mask, how.mode))

        return opened.run([inputs], self.usage, compute)

    def _encode(self, wanted: Sequence[Texts]) -> list[TokenStates]:
        by_place: dict[int, TokenStates] = {}
        for layer in sorted({int(layer) for _, layer in wanted}):
            places = [place for place, (_, own) in enumerate(wanted) if int(own) == layer]
            states = self._of_layer([wanted[place][0] for place in places], layer)
            by_place.update(zip(places, states, strict=True))
        return [by_place[place] for place in range(len(wanted))]

    def _of_layer(self, texts: Sequence[str], layer: int) -> list[TokenStates]:
        opened, inputs = self._network, self._network.tokens.texts(texts)

        def compute(batch: Batch) -> list[Floats]:
            states = opened.backend.hidden(*batch, layer)
            return [row[: int(mask.sum())].copy() for row, mask in zip(states, batch.mask, strict=True)]

        states = opened.run([inputs], self.usage, compute)
        return [_states(input_, opened.tokens, own) for input_, own in zip(inputs, states, strict=True)]


def _states(input_: Input, tokens: Tokens, states: Floats) -> TokenStates:
    special = tuple((input_.text < 0).tolist())
    return TokenStates(
        tokens=tokens.names(input_.ids),
        ids=tuple(input_.ids.tolist()),
        offsets=tuple((start, end) for start, end in input_.offsets.tolist()),
        special=special,
        states=states,
        truncated=input_.truncated,
    )


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
