"""Texts cut into the passages that a network compares: sentences, pairs of them, paragraphs, or the whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

from summeter.evaluators.entailment.premises import RESERVED
from summeter.models.base import NLI
from summeter.text.windows import word_windows

Grain = Literal["sentence", "2sents", "paragraph", "mixed", "document"]
Place = tuple[int, int]

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\n\s*")


class Passage(NamedTuple):
    """A passage as the network sees it, and the code points it stands on."""

    text: str
    start: int
    end: int

    @property
    def place(self) -> Place:
        """(start, end)."""
        return self.start, self.end


def cut(text: str, sentences: Sequence[Place], grain: Grain, least: int = 0) -> list[Passage]:
    """The passages of a text; those of `least` characters or fewer are left out.

    Paragraphs end at blank lines, or at line ends where there is no blank line. `2sents`: every sentence with the one
    behind it. `mixed`: sentences, then paragraphs.

    >>> [one.text for one in cut("A b. C d.", [(0, 4), (5, 9)], "2sents")]
    ['A b. C d.', 'C d.']
    """
    sentence_passages = [Passage(text[start:end], start, end) for start, end in sentences]
    if grain == "document":
        passages = [_stripped(text, 0, len(text))]
    elif grain == "paragraph":
        passages = paragraphs(text)
    elif grain == "2sents":
        long = [passage for passage in sentence_passages if len(passage.text) > least]
        return [
            Passage(
                " ".join(passage.text for passage in long[at : at + 2]),
                long[at].start,
                long[min(at + 1, len(long) - 1)].end,
            )
            for at in range(len(long))
        ]
    elif grain == "sentence":
        passages = sentence_passages
    elif grain == "mixed":
        passages = [*sentence_passages, *paragraphs(text)]
    else:
        assert_never(grain)
    return [passage for passage in passages if len(passage.text) > least]


def paragraphs(text: str) -> list[Passage]:
    """Stretches between blank lines, or between line ends where there is no blank line; none of them blank."""
    edge = _BLANK_LINE if _BLANK_LINE.search(text.strip()) else _LINE
    passages, start = [], 0
    for match in [*edge.finditer(text), None]:
        end = match.start() if match else len(text)
        passages.append(_stripped(text, start, end))
        start = match.end() if match else end
    return [passage for passage in passages if passage.text]


async def fitted(passages: Sequence[Passage], sentences: Sequence[Place], nli: NLI) -> list[Passage]:
    """The passages, with those that are longer than the network reads beside a hypothesis cut into stretches of whole
    sentences. A sentence that is too long stands alone; its end is cut by the model."""
    room = nli.limit - nli.limit // RESERVED
    fitting: list[Passage] = []
    for passage, size in zip(passages, await nli.count([passage.text for passage in passages]), strict=True):
        inside = [place for place in sentences if passage.start <= place[0] and place[1] <= passage.end]
        if size <= room or len(inside) < 2:
            fitting.append(passage)
            continue
        lengths = await nli.count([passage.text[start - passage.start : end - passage.start] for start, end in inside])
        fitting += [
            Passage(passage.text[piece.start - passage.start : piece.end - passage.start], piece.start, piece.end)
            for piece in word_windows(inside, lengths, max(1, room))
        ]
    return fitting


def _stripped(text: str, start: int, end: int) -> Passage:
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    last = max(first, start + len(piece.rstrip()))
    return Passage(text[first:last], first, last)
