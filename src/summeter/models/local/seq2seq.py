"""An encoder-decoder: generates from a source, and scores targets."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from summeter.models.base import Generation
from summeter.models.local.batcher import Codec, LocalUsage, Texts
from summeter.models.local.opened import LocalModel, Opened
from summeter.models.local.tokens import Batch
from summeter.runs.results import ResultStore

TEXTS: Codec[str] = Codec("generated", str.encode, bytes.decode)
SCORES: Codec[float] = Codec(
    "log-likelihood", lambda value: struct.pack("<d", value), lambda data: float(struct.unpack("<d", data)[0])
)


class LocalSeq2Seq(LocalModel):
    """Generates and scores; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: ResultStore | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(id_, opened, store, usage, replay=replay)
        self._texts = self._batcher(TEXTS, self._generate)
        self._scores = self._batcher(SCORES, self._score)

    async def generate(self, sources: Sequence[str], how: Generation | None = None) -> list[str]:
        """A text from each source. One that was ended by its greatest length counts as cut in `usage`."""
        settings = _packed(how or Generation())
        return await self._texts.ask([(source, settings) for source in sources])

    async def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The mean log-probability a token of each target, given its source; 0 is certain."""
        return await self._scores.ask(list(pairs))

    def _generate(self, requests: Sequence[Texts]) -> list[str]:
        by_place: dict[int, str] = {}
        for settings in dict.fromkeys(settings for _, settings in requests):
            places = [place for place, (_, own) in enumerate(requests) if own == settings]
            texts = self._generated([requests[place][0] for place in places], _unpacked(settings))
            by_place.update(zip(places, texts, strict=True))
        return [by_place[place] for place in range(len(requests))]

    def _generated(self, sources: Sequence[str], how: Generation) -> list[str]:
        opened, inputs = self._opened, self._opened.tokens.texts(sources)

        def compute(batch: Batch) -> list[list[int]]:
            rows: list[list[int]] = opened.backend.generate(batch.ids, batch.mask, how)
            return rows

        generated = opened.run([inputs], self.usage, compute)
        ends = opened.backend.eos
        # Those whose source was cut are counted already.
        self.usage.truncated += sum(
            not input_.truncated and not ends.intersection(row) for input_, row in zip(inputs, generated, strict=True)
        )
        return [opened.tokens.decode(row) for row in generated]

    def _score(self, pairs: Sequence[Texts]) -> list[float]:
        opened, tokens = self._opened, self._opened.tokens

        def compute(sources: Batch, targets: Batch) -> list[float]:
            scores = opened.backend.log_likelihoods(sources.ids, sources.mask, targets.ids, targets.mask)
            return [float(score) for score in np.asarray(scores, dtype=np.float64)]

        columns = [tokens.texts([source for source, _ in pairs]), tokens.texts([target for _, target in pairs])]
        return opened.run(columns, self.usage, compute)


def _packed(how: Generation) -> str:
    return f"{how.max_new_tokens or ''}/{how.num_beams or ''}"


def _unpacked(settings: str) -> Generation:
    most, _, beams = settings.partition("/")
    return Generation(int(most) if most else None, int(beams) if beams else None)
