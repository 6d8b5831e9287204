"""An encoder-decoder: generates from a source, and scores targets."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence

import numpy as np

from summeter.models.base import Generation
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts
from summeter.models.local.opened import Opened
from summeter.models.local.tokens import padded
from summeter.runs.results import ResultStore

TEXTS: Codec[str] = Codec("generated", str.encode, bytes.decode)
SCORES: Codec[float] = Codec(
    "log-likelihood", lambda one: struct.pack("<d", one), lambda data: float(struct.unpack("<d", data)[0])
)


class LocalSeq2Seq:
    """Generates and scores; with `opened` None from the store alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: ResultStore | None = None, usage: LocalUsage | None = None
    ) -> None:
        self.id = id_
        self.usage = usage or LocalUsage()
        self._opened = opened
        self._texts = Batcher(id_, TEXTS, self._generate if opened else None, store=store, usage=self.usage)
        self._scores = Batcher(id_, SCORES, self._score if opened else None, store=store, usage=self.usage)

    async def generate(self, sources: Sequence[str], how: Generation | None = None) -> list[str]:
        """A text from each source. One that was ended by its greatest length counts as cut in `usage`."""
        told = _told(how or Generation())
        return await self._texts.ask([(one, told) for one in sources])

    async def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The mean log-probability a token of each target, given its source; 0 is certain."""
        return await self._scores.ask(list(pairs))

    async def close(self) -> None:
        """Nothing to let go of: the weights go with their last user."""
        await asyncio.sleep(0)

    def _generate(self, asked: Sequence[Texts]) -> list[str]:
        found: dict[int, str] = {}
        for told in dict.fromkeys(told for _, told in asked):
            places = [place for place, (_, own) in enumerate(asked) if own == told]
            made = self._generated([asked[place][0] for place in places], _meant(told))
            found.update(zip(places, made, strict=True))
        return [found[place] for place in range(len(asked))]

    def _generated(self, sources: Sequence[str], how: Generation) -> list[str]:
        opened = self._opened
        assert opened is not None  # noqa: S101 - it is what generates
        tokens, inputs = opened.tokens, opened.tokens.texts(sources)

        def compute(batch: Sequence[int]) -> list[list[int]]:
            ids, mask, _ = padded([inputs[place] for place in batch], tokens.pad)
            made: list[list[int]] = opened.backend.generate(ids, mask, how)
            return made

        made = opened.run([(len(one.ids),) for one in inputs], self.usage, compute)
        ends = opened.backend.eos
        self.usage.truncated += sum(
            one.truncated or not ends.intersection(row) for one, row in zip(inputs, made, strict=True)
        )
        return [tokens.decode(row) for row in made]

    def _score(self, pairs: Sequence[Texts]) -> list[float]:
        opened = self._opened
        assert opened is not None  # noqa: S101 - it is what scores
        tokens = opened.tokens
        sources = tokens.texts([source for source, _ in pairs])
        targets = tokens.texts([target for _, target in pairs])
        self.usage.truncated += sum(
            source.truncated or target.truncated for source, target in zip(sources, targets, strict=True)
        )

        def compute(batch: Sequence[int]) -> list[float]:
            ids, mask, _ = padded([sources[place] for place in batch], tokens.pad)
            goal, real, _ = padded([targets[place] for place in batch], tokens.pad)
            made = opened.backend.log_likelihoods(ids, mask, goal, real)
            return [float(one) for one in np.asarray(made, dtype=np.float64)]

        lengths = [(len(source.ids), len(target.ids)) for source, target in zip(sources, targets, strict=True)]
        return opened.run(lengths, self.usage, compute)


def _told(how: Generation) -> str:
    return f"{how.max_new_tokens or ''}/{how.num_beams or ''}"


def _meant(told: str) -> Generation:
    most, _, beams = told.partition("/")
    return Generation(int(most) if most else None, int(beams) if beams else None)
