"""Natural-language inference by a sequence classifier. Which of its outputs is which class is read from its config,
never assumed."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from summeter.models.base import Entailment
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts
from summeter.models.local.opened import LocalModel, Opened
from summeter.models.local.tokens import Batch
from summeter.records import ReplayMiss, UsageError
from summeter.runs.results import ResultStore, result_key

_NAMES = {
    "entail": "entail", "entails": "entail", "entailed": "entail", "entailment": "entail",
    "neutral": "neutral",
    "contradict": "contradict", "contradicts": "contradict", "contradicted": "contradict",
    "contradiction": "contradict", "contradictory": "contradict",
}  # fmt: skip

PAIRS: Codec[Entailment] = Codec(
    "nli", lambda entailment: struct.pack("<3d", *entailment), lambda data: Entailment(*struct.unpack("<3d", data))
)
COUNTS: Codec[int] = Codec(
    "tokens", lambda count: struct.pack("<q", count), lambda data: int(struct.unpack("<q", data)[0])
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


class LocalNLI(LocalModel):
    """Probabilities of (premise, hypothesis) pairs; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: ResultStore | None = None, usage: LocalUsage | None = None
    ) -> None:
        super().__init__(id_, opened, store, usage)
        if opened is not None:
            self._order: LabelOrder = label_order(opened.model.config, opened.model.name)
        self._pairs = self._batcher(PAIRS, self._classify)
        # Counts are no work of the network's: they have a usage of their own, which nobody reads.
        self._counts = Batcher(id_, COUNTS, self._count if opened else None, store=store)

    @cached_property
    def limit(self) -> int:
        """Tokens of a premise and a hypothesis together, special tokens left out."""
        key = result_key(self.id, "limit", ())
        stored = self._store.get([key]) if self._store is not None else {}
        if key in stored:
            return COUNTS.unpack(stored[key])
        if self._maybe_opened is None:
            raise ReplayMiss(f"the replayed run does not say how much {self.id} reads")
        limit = self._opened.tokens.pair_limit
        if self._store is not None:
            self._store.put(self.id, {key: COUNTS.pack(limit)})
        return limit

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens left out."""
        return await self._counts.ask([(text,) for text in texts])

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """Probabilities of each pair, in their order. A pair longer than the model reads is cut, the longer text
        first, and counted in `usage`."""
        return await self._pairs.ask(list(pairs))

    def _count(self, texts: Sequence[Texts]) -> list[int]:
        return self._opened.tokens.count([text for (text,) in texts])

    def _classify(self, pairs: Sequence[Texts]) -> list[Entailment]:
        opened = self._opened

        def compute(batch: Batch) -> list[Entailment]:
            return [probabilities(logits, self._order) for logits in opened.backend.logits(*batch)]

        return opened.run([opened.tokens.pairs(pairs)], self.usage, compute)


def probabilities(logits: Sequence[float], order: LabelOrder) -> Entailment:
    """The softmax of three logits, in the order of `Entailment`.

    >>> probabilities([0.0, 0.0, 0.0], LabelOrder(2, 1, 0)).entail
    0.3333333333333333
    """
    values = np.asarray(logits, dtype=np.float64)
    powers = np.exp(values - values.max())
    shares = powers / powers.sum()
    return Entailment(*(float(shares[place]) for place in order))
