"""Texts cut into the passages that a network compares: sentences, pairs of them, paragraphs, or the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

from summeter.evaluators.entailment.premises import premise_room
from summeter.models.networks import CountTokens, Network
from summeter.text.windows import word_windows

Grain = Literal["sentence", "2sents", "paragraph", "mixed", "document"]
Place = tuple[int, int]


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
    """The passages of a text; those of `least` characters or fewer are left out, but for the whole document.

    `2sents`: every sentence with the one behind it. `mixed`: sentences, then paragraphs.

    >>> [one.text for one in cut("A b. C d.", [(0, 4), (5, 9)], "2sents")]
    ['A b. C d.', 'C d.']
    """
    sentence_passages = [Passage(text[start:end], start, end) for start, end in sentences]
    if grain == "document":
        return [Passage(text, 0, len(text))]
    if grain == "paragraph":
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
    """What stands between empty lines, or between line ends where no line is empty, without blank ones.

    As in the released code, a line of blanks is not empty.
    """
    edge = "\n\n" if "\n\n" in text else "\n"
    passages, start = list[Passage](), 0
    for part in text.split(edge):
        if bare := part.strip():
            first = start + part.index(bare)
            passages.append(Passage(bare, first, first + len(bare)))
        start += len(part) + len(edge)
    return passages


async def fitted(text: str, passages: Sequence[Passage], sentences: Sequence[Place], network: Network) -> list[Passage]:
    """The passages of `text`, with those longer than the network reads beside a hypothesis cut into stretches of whole
    sentences. A sentence that is too long stands alone; its end is cut by the model."""
    room = await premise_room(network)
    sizes = await network.ask([CountTokens(passage.text) for passage in passages])
    fitting: list[Passage] = []
    for passage, size in zip(passages, sizes, strict=True):
        inside = [place for place in sentences if passage.start <= place[0] and place[1] <= passage.end]
        if size <= room or len(inside) < 2:
            fitting.append(passage)
            continue
        lengths = await network.ask([CountTokens(text[start:end]) for start, end in inside])
        fitting += [
            Passage(text[piece.start : piece.end], piece.start, piece.end)
            for piece in word_windows(inside, lengths, max(1, room))
        ]
    return fitting
