"""Test doubles of the local models: tiny, deterministic, of no opinion worth having. Not shipped.

They obey the protocols of `summeter.models.base`, so that what is built on a model can be tested
without one. Words are lower-cased runs of letters and digits.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

from summeter.models.base import Entailment


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class StubNLI:
    """Entailment is the share of the hypothesis' words that the premise has; a "not" on one side only turns it
    into contradiction. The rest is neutral. An empty hypothesis is neutral."""

    id = "stub/nli"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        self.pairs.extend(pairs)
        return [self._one(premise, hypothesis) for premise, hypothesis in pairs]

    def _one(self, premise: str, hypothesis: str) -> Entailment:
        have, want = set(words(premise)), words(hypothesis)
        share = sum(word in have for word in want) / len(want) if want else 0.0
        if ("not" in have) != ("not" in want):
            return Entailment(0.0, 1.0 - share, share)
        return Entailment(share, 1.0 - share, 0.0)


class StubEmbedder:
    """A hashed bag of words in 32 dimensions, made a unit vector; no words give the first axis."""

    id = "stub/embed"
    size = 32

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> list[float]:
        vector = [0.0] * self.size
        for word in words(text):
            vector[hashlib.sha256(word.encode()).digest()[0] % self.size] += 1.0
        norm = math.sqrt(sum(value * value for value in vector))
        return [value / norm for value in vector] if norm else [1.0] + [0.0] * (self.size - 1)


class StubSeq2Seq:
    """Generates the first five words; scores a target by the log of the share of its words in the source."""

    id = "stub/seq2seq"

    async def generate(self, sources: Sequence[str]) -> list[str]:
        return [" ".join(source.split()[:5]) for source in sources]

    async def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self._one(source, target) for source, target in pairs]

    def _one(self, source: str, target: str) -> float:
        have, want = set(words(source)), words(target)
        known = sum(word in have for word in want)
        return math.log((known + 0.5) / (len(want) + 1.0))
