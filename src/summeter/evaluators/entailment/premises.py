"""Passages of a document as premises, and the NLI probabilities of hypotheses given each passage.

All summaries of a document are compared with the same passages, and summaries can share sentences and claims, so each
pair is computed only once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from summeter.interrupt import checkpoint
from summeter.models.networks import CountTokens, Network, TokenLimit, entailments
from summeter.text.chunks import WordIndex, runs
from summeter.text.spans import TextSpan

Floats = NDArray[np.float64]

ENTAIL, NEUTRAL, CONTRADICT = 0, 1, 2
RESERVED = 4
"""Share of the network's input that is reserved for the hypothesis: one quarter."""


async def fitted(
    text: str, spans: Sequence[TextSpan], sentences: Sequence[TextSpan], network: Network
) -> list[TextSpan]:
    """Return the spans, splitting those that do not fit together with a hypothesis between sentences.

    A sentence that is too long forms a span by itself, which the network truncates.
    """
    (limit,) = await network.ask([TokenLimit()])
    room = limit - limit // RESERVED
    sizes = await network.ask([CountTokens(span.text) for span in spans])
    fitting: list[TextSpan] = []
    for span, size in zip(spans, sizes, strict=True):
        inside = [sentence for sentence in sentences if span.start <= sentence.start and sentence.end <= span.end]
        if size <= room or len(inside) < 2:
            fitting.append(span)
            continue
        lengths = await network.ask([CountTokens(sentence.text) for sentence in inside])
        pieces = runs(lengths, max(1, room))
        fitting += [TextSpan.of(text, inside[first].start, inside[last - 1].end) for first, last in pieces]
    return fitting


class Premises:
    """Passages that give the probabilities (entailed, neutral, contradicted) of hypotheses.

    `nearest` is the number of passages with which each hypothesis is compared, or None for all. These are the passages
    that share the most words with the hypothesis; the probabilities for the other passages are NaN.
    """

    def __init__(self, network: Network, texts: Sequence[str], nearest: int | None = None) -> None:
        self._network = network
        self.texts = tuple(dict.fromkeys(texts))
        place = {text: at for at, text in enumerate(self.texts)}
        self._places = np.array([place[text] for text in texts], dtype=np.intp)
        self._index = WordIndex(self.texts) if nearest is not None and nearest < len(self.texts) else None
        self._nearest = nearest or 0

    async def against(self, hypotheses: Sequence[str]) -> list[Floats]:
        """Return an array of shape (passages, 3) for each hypothesis, in the order of the passages."""
        selected: dict[str, Sequence[int]] = {}
        for text in dict.fromkeys(hypotheses):
            checkpoint()
            selected[text] = range(len(self.texts))
            if self._index is not None:
                scores = self._index.scores(text)
                ranked = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
                selected[text] = sorted(ranked[: self._nearest])
        pairs = [(self.texts[at], text) for text, passages in selected.items() for at in passages]
        rows = iter(await entailments(self._network, pairs))
        tables = {}
        for text, passages in selected.items():
            table = np.full((len(self.texts), 3), np.nan)
            for at in passages:
                table[at] = next(rows)
            tables[text] = table[self._places]
        return [tables[text] for text in hypotheses]
