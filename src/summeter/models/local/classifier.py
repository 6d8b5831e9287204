"""A sequence classifier or a regression: the raw outputs of one text, a pair, or the texts of a template.

Which output means what is the asker's to know, save for classes of natural-language inference, which are read from the
model's config, never assumed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from summeter.models.base import Classes, Framing
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts
from summeter.models.local.opened import LocalModel, Opened
from summeter.models.local.tokens import Batch
from summeter.records import ReplayMiss, UsageError
from summeter.runs.results import Results, result_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES = {
    "entail": "entail", "entails": "entail", "entailed": "entail", "entailment": "entail",
    "neutral": "neutral",
    "contradict": "contradict", "contradicts": "contradict", "contradicted": "contradict",
    "contradiction": "contradict", "contradictory": "contradict",
}  # fmt: skip

COUNTS: Codec[int] = Codec(
    "tokens", lambda count: struct.pack("<q", count), lambda data: int(struct.unpack("<q", data)[0])
)
VECTORS: Codec[Any] = Codec(
    "logits", lambda vector: vector.astype("<f4").tobytes(), lambda data: np.frombuffer(data, dtype="<f4")
)


class LabelOrder(NamedTuple):
    """The places of the three classes among a classifier's outputs."""

    entail: int
    neutral: int
    contradict: int


def label_order(config: Mapping[str, Any], where: str) -> LabelOrder:
    """The order that `id2label` of a model's config gives. UsageError, saying what was found, for any other naming.

    >>> label_order({"id2label": {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}}, "m")
    LabelOrder(entail=2, neutral=1, contradict=0)
    """
    given = config.get("id2label")
    if not isinstance(given, Mapping) or not given:
        raise UsageError(f"{where}: its config.json has no id2label, so nothing says which output is entailment")
    try:
        labels = {int(place): str(label) for place, label in given.items()}
    except (TypeError, ValueError):
        labels = {}
    meant = {place: _NAMES.get(re.sub(r"[\s_-]+", "", label).lower()) for place, label in labels.items()}
    if sorted(labels) != [0, 1, 2] or set(meant.values()) != {"entail", "neutral", "contradict"}:
        named = ", ".join(f"{place}: {label}" for place, label in given.items())
        raise UsageError(
            f"{where}: its labels are {{{named}}}; an NLI model needs three, named entailment, neutral and "
            "contradiction in any order. Put their true names into id2label of its config.json"
        )
    places = {name: place for place, name in meant.items() if name is not None}
    return LabelOrder(**places)


class LocalClassifier(LocalModel):
    """Raw outputs of rows of texts; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: Results | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id_, opened, store, usage, replay=replay)
        self._vectors = self._batcher(VECTORS, self._compute)
        # Counts are no work of the network's: they have a usage of their own, which nobody reads.
        self._counts = Batcher(id_, COUNTS, self._count if self._maybe_opened else None, store=store)

    @cached_property
    def limit(self) -> int:
        """Tokens of a pair together, special tokens left out."""
        return self.room(Framing())

    def room(self, how: Framing) -> int:
        """Tokens that the texts of an input framed so may have together."""
        key = result_key(self.id, "limit", (how.key,) if how.key else ())
        stored = self._store.get([key]) if self._store is not None else {}
        if key in stored:
            return COUNTS.unpack(stored[key])
        if self._maybe_opened is None:
            raise ReplayMiss(f"the replayed run does not say how much {self.id} reads")
        limit = self._opened.tokens.room(how)
        if self._store is not None:
            self._store.put(self.id, {key: COUNTS.pack(limit)})
        return limit

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens left out."""
        return await self._counts.ask([(text,) for text in texts])

    async def logits(
        self,
        rows: Sequence[tuple[str, ...]],
        classes: Classes,
        how: Framing = Framing(),  # noqa: B008
    ) -> NDArray[np.float64]:
        """Raw outputs, shape (rows, classes): in the model's own order, or for "nli" entailment, neutral,
        contradiction. UsageError where the model has others. What is longer than the model reads is cut as `how` says
        and counted in `usage`."""
        if not rows:
            return np.zeros((0, 3 if classes == "nli" else classes))
        settings = (str(classes), how.key)
        vectors = await self._vectors.ask([(*row, *settings) for row in rows])
        return self._valid(np.stack(vectors).astype(np.float64))

    def outputs(self, rows: Sequence[Texts], how: Framing) -> NDArray[np.float32]:
        """What the network gives for rows of texts, in its own order: shape (rows, outputs)."""
        opened = self._opened

        def compute(batch: Batch) -> list[NDArray[np.float32]]:
            return list(opened.backend.logits(*batch))

        return np.stack(opened.run([opened.tokens.inputs(rows, how)], self.usage, compute))

    def _count(self, texts: Sequence[Texts]) -> list[int]:
        return self._opened.tokens.count([text for (text,) in texts])

    def _compute(self, asked: Sequence[Texts]) -> list[NDArray[np.float32]]:
        by_place: dict[int, NDArray[np.float32]] = {}
        for classes, how in dict.fromkeys(row[-2:] for row in asked):
            places = [place for place, row in enumerate(asked) if row[-2:] == (classes, how)]
            vectors = self.outputs([asked[place][:-2] for place in places], Framing.from_key(how))
            by_place.update(zip(places, self._arranged(vectors, classes), strict=True))
        return [by_place[place] for place in range(len(asked))]

    def _arranged(self, vectors: NDArray[np.float32], classes: str) -> NDArray[np.float32]:
        if classes == "nli":
            return vectors[:, list(label_order(self._opened.model.config, self._opened.model.name))]
        if vectors.shape[1] != int(classes):
            raise UsageError(
                f"{self._opened.model.name} has {_counted(vectors.shape[1])}, and the evaluator reads "
                f"{_counted(int(classes))}: it is another kind of checkpoint"
            )
        return vectors


def _counted(number: int) -> str:
    return "1 output" if number == 1 else f"{number} outputs"
