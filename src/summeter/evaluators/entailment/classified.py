"""What a sequence classifier says of stretches of a text, each beside each hypothesis: for judges that take the best
stretch (AlignScore, MiniCheck)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from summeter.evaluators.entailment.premises import Floats
from summeter.models.networks import Classes, Classify, CountTokens, Framing, Network, TokenLimit
from summeter.records import Span


class Stretch(NamedTuple):
    """A stretch of a text as the network reads it, and the code points it covers."""

    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """As evidence."""
        return Span(of="document", start=self.start, end=self.end)


async def outputs(
    network: Network,
    stretches: Sequence[Stretch],
    hypotheses: Sequence[str],
    classes: Classes,
    how: Framing,
) -> Floats:
    """Raw outputs of every (stretch, hypothesis): shape (stretches, hypotheses, classes)."""
    rows = [(stretch.text, hypothesis) for stretch in stretches for hypothesis in hypotheses]
    logits = await network.ask([Classify(row, classes, how) for row in rows])
    return np.array(logits, dtype=np.float64).reshape(len(stretches), len(hypotheses), -1)


async def unread(network: Network, texts: Sequence[str], hypotheses: Sequence[str], how: Framing) -> int | None:
    """About how many tokens of the texts the network is not shown beside the longest hypothesis; None for none."""
    lengths = await network.ask([CountTokens(text) for text in (*texts, *hypotheses)])
    (room,) = await network.ask([TokenLimit(how)])
    longest = max(lengths[len(texts) :])
    return sum(max(0, min(size, size + longest - room)) for size in lengths[: len(texts)]) or None


def counted(stretches: Sequence[Stretch]) -> str:
    """How many chunks these are, in words."""
    return "1 chunk" if len(stretches) == 1 else f"{len(stretches)} chunks"
