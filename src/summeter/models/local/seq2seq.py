"""An encoder-decoder: generates from a source, scores targets, and says how likely its first word is."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from summeter.interrupt import checkpoint
from summeter.models.base import Framing, Generation, Seq2SeqKeys, Source
from summeter.models.local.batcher import Codec, LocalUsage, Texts, plan
from summeter.models.local.opened import LocalModel, Opened
from summeter.models.local.tokens import Batch
from summeter.runs.results import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

T = TypeVar("T")

TEXTS: Codec[str] = Codec("generated", str.encode, bytes.decode)
SCORES: Codec[float] = Codec(
    "log-likelihood", lambda value: struct.pack("<d", value), lambda data: float(struct.unpack("<d", data)[0])
)
FIRST: Codec[Any] = Codec(
    "first word", lambda vector: vector.astype("<f8").tobytes(), lambda data: np.frombuffer(data, dtype="<f8")
)
_PADDED = 0.3
"""The share of the targets in a pass that may be padding: they are short, and a pass of few tokens costs more."""
_SEVERAL = 3
"""Targets a source from which on each source is a pass of its own: its keys and values are then not copied."""


class LocalSeq2Seq(LocalModel):
    """Generates, scores, says first words; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: Results | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id_, opened, store, usage, replay=replay)
        self._texts = self._batcher(TEXTS, self._generate)
        self._scores = self._batcher(SCORES, self._score)
        self._first = self._batcher(FIRST, self._begin)

    async def generate(
        self, sources: Sequence[Source], how: Generation | None = None, framing: Framing = Framing()  # noqa: B008
    ) -> list[str]:  # fmt: skip
        """A text from each source. One that was ended by its greatest length counts as cut in `usage`."""
        return await self._texts.ask([Seq2SeqKeys.generation(source, how, framing) for source in sources])

    async def score(self, pairs: Sequence[tuple[str, str]], framing: Framing = Framing()) -> list[float]:  # noqa: B008
        """The mean log-probability a token of each target, given its source; 0 is certain. A source is encoded once
        for all its targets."""
        scores = await self._scores.ask([Seq2SeqKeys.scoring(pair, framing) for pair in pairs])
        self._valid(np.array(scores))
        return scores

    async def first(
        self, sources: Sequence[Source], words: tuple[str, ...], framing: Framing = Framing()  # noqa: B008
    ) -> Floats:  # fmt: skip
        """The log-probability of each word's first piece at the decoder's first step: shape (sources, words)."""
        if not sources:
            return np.zeros((0, len(words)))
        vectors = await self._first.ask([Seq2SeqKeys.first(source, words, framing) for source in sources])
        return self._valid(np.stack(vectors))

    def _generate(self, requests: Sequence[Texts]) -> list[str]:
        parted = [
            (request[:1], (request[1], "")) if len(request) == 2 else (request[:-2], request[-2:])
            for request in requests
        ]  # fmt: skip
        return _by_settings(parted, self._generated)

    def _generated(self, rows: Sequence[Texts], settings: Texts) -> list[str]:
        how, opened = Generation.from_key(settings[0]), self._opened
        inputs = opened.tokens.inputs(rows, Framing.from_key(settings[1]))
        start = None if how.start is None else opened.tokens.mark(how.start, opened.model.name)

        def compute(batch: Batch) -> list[list[int]]:
            ids: list[list[int]] = opened.backend.generate(batch.ids, batch.mask, how, start)
            return ids

        generated = opened.run([inputs], self.usage, compute)
        ends = opened.backend.eos
        # Those whose source was cut are counted already.
        self.usage.truncated += sum(
            not input_.truncated and not ends.intersection(row) for input_, row in zip(inputs, generated, strict=True)
        )
        return [opened.tokens.decode(row) for row in generated]

    def _score(self, requests: Sequence[Texts]) -> list[float]:
        return _by_settings([(request[:2], request[2:]) for request in requests], self._scored)

    def _scored(self, pairs: Sequence[Texts], settings: Texts) -> list[float]:
        opened, tokens, framing = self._opened, self._opened.tokens, Framing.from_key("".join(settings))
        places = {source: place for place, source in enumerate(dict.fromkeys(source for source, _ in pairs))}
        sources = tokens.inputs([(source,) for source in places], framing)
        targets = tokens.inputs([(target,) for _, target in pairs], framing)
        wanted: dict[int, list[int]] = defaultdict(list)
        for at, (source, _) in enumerate(pairs):
            wanted[places[source]].append(at)
        scores: dict[int, float] = {}

        def compute(batch: Sequence[int]) -> Sequence[None]:
            padded = tokens.padded([sources[place] for place in batch])
            encoded = opened.backend.encode(padded.ids, padded.mask)
            for owners, asked in self._passes(batch, wanted, [len(target.ids) for target in targets]):
                checkpoint()
                goal = tokens.padded([targets[at] for at in asked])
                values = opened.backend.log_likelihoods(encoded, owners, goal.ids, goal.mask)
                scores.update(zip(asked, np.asarray(values, dtype=np.float64).tolist(), strict=True))
            return [None] * len(batch)

        opened.in_batches([(len(source.ids),) for source in sources], self.usage, compute)
        self.usage.tokens += sum(len(target.ids) for target in targets)
        self.usage.truncated += sum(
            sources[places[source]].truncated or target.truncated
            for (source, _), target in zip(pairs, targets, strict=True)
        )
        return [scores[at] for at in range(len(pairs))]

    def _passes(
        self, batch: Sequence[int], wanted: dict[int, list[int]], lengths: Sequence[int]
    ) -> list[tuple[NDArray[np.int64], list[int]]]:
        """Which targets go through the decoder together, with the place of each one's source in the batch."""
        owned = [(owner, at) for owner, place in enumerate(batch) for at in wanted[place]]
        apart = len(owned) >= _SEVERAL * len(batch)
        groups = [[pair for pair in owned if pair[0] == owner] for owner in range(len(batch))] if apart else [owned]
        # Targets of several sources have copies of what the decoder reads of them: no more than there are sources.
        most = 1 if self._opened.runtime.alone else None if apart or len(batch) == 1 else len(batch)
        passes = []
        for group in groups:
            sizes = [(lengths[at],) for _, at in group]
            for part in plan(sizes, self._opened.budget, waste=_PADDED, most=most):
                owners = np.array([group[place][0] for place in part], dtype=np.int64)
                passes.append((owners, [group[place][1] for place in part]))
        return passes

    def _begin(self, requests: Sequence[Texts]) -> list[Floats]:
        return _by_settings([(request[:-2], request[-2:]) for request in requests], self._begun)

    def _begun(self, rows: Sequence[Texts], settings: Texts) -> list[Floats]:
        opened = self._opened
        pieces = opened.tokens.first_pieces(json.loads(settings[0]), opened.model.name)

        def compute(batch: Batch) -> list[Floats]:
            return list(np.asarray(opened.backend.first(batch.ids, batch.mask, pieces), dtype=np.float64))

        inputs = opened.tokens.inputs(rows, Framing.from_key(settings[1]))
        return opened.run([inputs], self.usage, compute)


def _by_settings(
    requests: Sequence[tuple[Texts, Texts]], compute: Callable[[Sequence[Texts], Texts], Sequence[T]]
) -> list[T]:  # fmt: skip
    """What `compute` gives for the rows of each settings, in the order of the requests (row, settings)."""
    by_place: dict[int, T] = {}
    for settings in dict.fromkeys(settings for _, settings in requests):
        places = [place for place, (_, own) in enumerate(requests) if own == settings]
        by_place.update(zip(places, compute([requests[place][0] for place in places], settings), strict=True))
    return [by_place[place] for place in range(len(requests))]
