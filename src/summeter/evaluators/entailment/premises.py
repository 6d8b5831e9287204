"""Passages of a document as premises, and what a network of natural-language inference says of hypotheses beside them.

Every summary of a document meets the same passages, and summaries share sentences and claims: the network computes each
pair once. Equal passages are one.
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
"""One part in so many of what the network reads is left to the hypothesis."""


async def fitted(
    text: str, spans: Sequence[TextSpan], sentences: Sequence[TextSpan], network: Network
) -> list[TextSpan]:
    """Spans of `text`; those longer than the network reads beside a hypothesis are cut into runs of whole sentences.

    A sentence that is too long stands alone; its end is cut by the model.
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
    """Passages, and the probabilities (entailed, neutral, contradicted) of hypotheses given each.

    `nearest`: only so many passages a hypothesis are asked about, those that share most of its words; what was not
    asked about is NaN. None asks about all.
    """

    def __init__(self, network: Network, texts: Sequence[str], nearest: int | None = None) -> None:
        self._network = network
        self.texts = tuple(dict.fromkeys(texts))
        place = {text: at for at, text in enumerate(self.texts)}
        self._places = np.array([place[text] for text in texts], dtype=np.intp)
        self._index = WordIndex(self.texts) if nearest is not None and nearest < len(self.texts) else None
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
        scores = self._index.scores(hypothesis)
        return sorted(sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[: self._nearest])
