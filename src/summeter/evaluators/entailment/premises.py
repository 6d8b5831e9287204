"""Passages of a document as premises, and what a network of natural-language inference says of hypotheses beside them.

Every summary of a document meets the same passages, and summaries share sentences and claims: the network computes each
pair once. Equal passages are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.interrupt import checkpoint
from summeter.models.networks import CountTokens, Network, TokenLimit, entailments
from summeter.records import Document, Summary
from summeter.text.ngrams import words
from summeter.text.split import split
from summeter.text.windows import word_windows

Floats = NDArray[np.float64]

Place = tuple[int, int]
Sentences = Literal["punkt", "stored"]
"""Which sentences a text has: those of NLTK's Punkt, as in released code, or those stored with the data."""

ENTAIL, NEUTRAL, CONTRADICT = 0, 1, 2
RESERVED = 4
"""One part in so many of what the network reads is left to the hypothesis."""


class SummarySentences(NamedTuple):
    """Sentences of a summary: the first `scored` of `places` make its score, and each stored sentence, which has a
    judgment of its own, stands at its place among them (`judged`)."""

    places: list[Place]
    scored: int
    judged: list[int]

    @classmethod
    def of(cls, summary: Summary, by: Sentences) -> SummarySentences:
        """The sentences that the setting asks for, then those stored that are not among them.

        >>> summary = Summary(document_id="d", system="s", text="A b.\\nC d", splitter="rules-1")
        >>> SummarySentences.of(summary, "punkt")
        SummarySentences(places=[(0, 4), (5, 8)], scored=2, judged=[0, 1])
        """
        scored, stored = sentences_of(summary, by), sentences_of(summary)
        places = list(dict.fromkeys([*scored, *stored]))
        order = {place: at for at, place in enumerate(places)}
        return cls(places, len(scored), [order[place] for place in stored])


def sentences_of(part: Document | Summary, by: Sentences = "stored") -> list[Place]:
    """Its sentences as (start, end). `stored`: those of the data, or, where it has none, by the rules."""
    if by == "punkt":
        from summeter.text.punkt import punkt_split

        return [(start, end) for start, end in punkt_split(part.text)]
    return [(span.start, span.end) for span in part.sentences] or [(start, end) for start, end in split(part.text)]


async def premise_room(network: Network) -> int:
    """Tokens of a premise that the network reads beside a hypothesis."""
    (limit,) = await network.ask([TokenLimit()])
    return limit - limit // RESERVED


async def stretches(text: str, spans: Sequence[tuple[int, int]], network: Network) -> list[tuple[int, int]]:
    """The whole text where the network reads it beside a hypothesis; else neighbouring stretches of whole sentences.

    A sentence that is longer than the network reads is a stretch of its own, and its end is cut by the model.
    """
    room = await premise_room(network)
    lengths = await network.ask([CountTokens(text[start:end]) for start, end in spans])
    if sum(lengths) <= room and (await network.ask([CountTokens(text)]))[0] <= room:
        return [(0, len(text))]
    return [(window.start, window.end) for window in word_windows(spans, lengths, max(1, room))]


class Premises:
    """Passages, and the probabilities (entailed, neutral, contradicted) of hypotheses given each.

    `nearest`: only so many passages a hypothesis are asked about, those that share most of its words; what was not
    asked about is NaN. None asks about all.
    """

    def __init__(self, network: Network, texts: Sequence[str], nearest: int | None = None) -> None:
        self._network = network
        self.texts = tuple(dict.fromkeys(texts))
        place = {text: at for at, text in enumerate(self.texts)}
        self._places = np.array([place[text] for text in texts], dtype=np.intp)
        self._index = _Index(self.texts) if nearest is not None and nearest < len(self.texts) else None
        self._nearest = nearest or 0

    async def against(self, hypotheses: Sequence[str]) -> list[Floats]:
        """For each hypothesis an array (passages, 3), in the order of the passages given."""
        chosen = {text: self._chosen(text) for text in dict.fromkeys(hypotheses)}
        pairs = [(self.texts[at], text) for text, some in chosen.items() for at in some]
        rows = iter(await entailments(self._network, pairs))
        tables = {}
        for text, some in chosen.items():
            table = np.full((len(self.texts), 3), np.nan)
            for at in some:
                table[at] = next(rows)
            tables[text] = table[self._places]
        return [tables[text] for text in hypotheses]

    def _chosen(self, hypothesis: str) -> Sequence[int]:
        checkpoint()
        if self._index is None:
            return range(len(self.texts))
        return self._index.nearest(hypothesis, self._nearest)


class _Index:
    """Which passages share most words with a text; words that few passages have count more."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._holding: dict[str, list[int]] = {}
        for at, text in enumerate(texts):
            for word in {token.text for token in words(text)}:
                self._holding.setdefault(word, []).append(at)
        self._count = len(texts)

    def nearest(self, text: str, most: int) -> list[int]:
        """At most `most` places in order of the passages; among equals the first."""
        score = dict.fromkeys(range(self._count), 0.0)
        for word in sorted({token.text for token in words(text)}):
            holding = self._holding.get(word, [])
            for at in holding:
                score[at] += log(self._count / len(holding)) + 0.01
        order = sorted(score, key=lambda at: (-score[at], at))
        return sorted(order[:most])
