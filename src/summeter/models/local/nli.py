"""Natural-language inference by a sequence classifier."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from summeter.models.base import Entailment
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts
from summeter.models.local.labels import LabelOrder, label_order
from summeter.models.local.opened import Opened
from summeter.models.local.tokens import padded
from summeter.records import ReplayMiss
from summeter.runs.results import ResultStore, result_key

PAIRS: Codec[Entailment] = Codec(
    "nli", lambda one: struct.pack("<3d", *one), lambda data: Entailment(*struct.unpack("<3d", data))
)
COUNTS: Codec[int] = Codec("tokens", lambda one: struct.pack("<q", one), lambda data: int(struct.unpack("<q", data)[0]))


class LocalNLI:
    """Probabilities of (premise, hypothesis) pairs; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: ResultStore | None = None, usage: LocalUsage | None = None
    ) -> None:
        self.id = id_
        self.usage = usage or LocalUsage()
        self._opened = opened
        self._store = store
        if opened is not None:
            self._order: LabelOrder = label_order(opened.model.config, opened.model.name)
        self._pairs = Batcher(id_, PAIRS, self._classify if opened else None, store=store, usage=self.usage)
        # Counts are no work of the network's: they have a usage of their own, which nobody reads.
        self._counts = Batcher(id_, COUNTS, self._count if opened else None, store=store)

    @cached_property
    def limit(self) -> int:
        """Tokens of a premise and a hypothesis together, special tokens left out."""
        key = result_key(self.id, "limit", ())
        stored = self._store.get([key]) if self._store is not None else {}
        if key in stored:
            return COUNTS.unpack(stored[key])
        if self._opened is None:
            raise ReplayMiss(f"the replayed run does not say how much {self.id} reads")
        tokens = self._opened.tokens
        limit = tokens.limit - tokens.pair.size
        if self._store is not None:
            self._store.put(self.id, {key: COUNTS.pack(limit)})
        return limit

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens left out."""
        return await self._counts.ask([(one,) for one in texts])

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        """Probabilities of each pair, in their order. A pair longer than the model reads is cut, the longer text
        first, and counted in `usage`."""
        return await self._pairs.ask(list(pairs))

    async def close(self) -> None:
        """Nothing to let go of: the weights go with their last user."""
        await asyncio.sleep(0)

    def _count(self, texts: Sequence[Texts]) -> list[int]:
        assert self._opened is not None  # noqa: S101 - it is what counts
        return [len(one.ids) for one in self._opened.tokens.parts([text for (text,) in texts])]

    def _classify(self, pairs: Sequence[Texts]) -> list[Entailment]:
        opened = self._opened
        assert opened is not None  # noqa: S101 - it is what classifies
        inputs = opened.tokens.pairs(pairs)
        self.usage.truncated += sum(one.truncated for one in inputs)

        def compute(batch: Sequence[int]) -> list[Entailment]:
            logits = opened.backend.logits(*padded([inputs[place] for place in batch], opened.tokens.pad))
            return [probabilities(row, self._order) for row in logits]

        return opened.run([(len(one.ids),) for one in inputs], self.usage, compute)


def probabilities(logits: Sequence[float], order: LabelOrder) -> Entailment:
    """The softmax of three logits, in the order of `Entailment`.

    >>> probabilities([0.0, 0.0, 0.0], LabelOrder(2, 1, 0)).entail
    0.3333333333333333
    """
    values = np.asarray(logits, dtype=np.float64)
    powers = np.exp(values - values.max())
    shares = powers / powers.sum()
    return Entailment(*(float(shares[place]) for place in order))
