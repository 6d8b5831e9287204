"""How a long text is cut into chunks that a model reads one at a time, and which chunks are nearest to another text.

The pieces of a text (its sentences, tokens, tiles) stand in order. `windows` and `runs` say which pieces make a chunk,
as (first, last) with `last` left out: a window holds a number of pieces, a run as many as stay under a size. A sentence
may be longer than a model reads; `tiles` cut a text so that no piece is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from typing import Literal

from summeter.text.ngrams import words
from summeter.text.spans import TextSpan

_BLANKS = re.compile(r"\s+")
_MAX_TOKENS_PER_CHARACTER = 4  # tokens of one character, at most


def windows(
    count: int, size: int, stride: int = 1, *, tail: Literal["full", "short"] = "full"
) -> list[tuple[int, int]]:
    """Windows of `size` of `count` pieces, each `stride` pieces behind the one before; the last ends with the text.

    `tail`: a last window for which too few pieces remain is moved back ("full") or holds fewer ("short"). Fewer than
    `size` pieces are one window; no piece, no window. Raises ValueError for a size below 1 or a stride outside 1..size.

    >>> windows(6, size=3, stride=2), windows(6, size=3, stride=2, tail="short")
    ([(0, 3), (2, 5), (3, 6)], [(0, 3), (2, 5), (4, 6)])
    """
    if size < 1:
        raise ValueError(f"a window needs at least one piece, got size {size}")
    if not 1 <= stride <= size:
        raise ValueError(f"stride {stride} would skip pieces or stand still; it must lie in 1..{size}")
    behind = max(0, count - size)  # pieces left over by the first window
    firsts = [at * stride for at in range(-(-behind // stride) + 1)] if count else []
    if tail == "full":
        firsts = [min(first, behind) for first in firsts]
    return [(first, min(first + size, count)) for first in firsts]


def runs(sizes: Sequence[int], limit: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Runs of neighbouring pieces whose sizes add up to at most `limit`; a larger piece is a run of its own.

    A run begins with as many of the last pieces of the one before as stay within `overlap`, so that what is said across
    an edge stands whole somewhere. Raises ValueError for a limit below 1 or an overlap of more than half of it.

    >>> runs([3, 4, 9, 1, 2], limit=8), runs([4, 4, 4, 4], limit=8, overlap=4)
    ([(0, 2), (2, 3), (3, 5)], [(0, 2), (1, 3), (2, 4)])
    """
    if limit < 1:
        raise ValueError(f"a run needs a limit of at least 1, got {limit}")
    if overlap > limit // 2:
        raise ValueError(f"an overlap of {overlap} is more than half of the limit {limit}")
    found: list[tuple[int, int]] = []
    first = last = held = 0
    while last < len(sizes):
        while last < len(sizes) and (last == first or held + sizes[last] <= limit):
            held += sizes[last]
            last += 1
        found.append((first, last))
        while first < last < len(sizes) and (not overlap or held > overlap or held + sizes[last] > limit):
            held -= sizes[first]
            first += 1
    return found


def tiles(text: str, starts: Sequence[int], limit: int, measure: Callable[[str], int]) -> list[TextSpan]:
    """The whole text as neighbouring spans that begin with sentences, none that measures more than `limit`.

    `starts` are where sentences begin, in order. Nothing is left out: what stands before the first sentence and between
    sentences goes with a neighbour. A longer sentence is cut at blanks, or within a word where it has none. `measure`
    says how many tokens a text has: a longer text never fewer, and one character at most four. Raises ValueError for a
    limit below 8.

    >>> [tile.offsets for tile in tiles("One. Two is longer. Three.", [0, 5, 20], limit=16, measure=len)]
    [(0, 5), (5, 20), (20, 26)]
    """
    step = limit // _MAX_TOKENS_PER_CHARACTER  # characters that are sure to fit
    if step < 2:
        raise ValueError(f"a tile needs room for at least {2 * _MAX_TOKENS_PER_CHARACTER} tokens, got limit {limit}")
    found = list[TextSpan]()
    for start, end in pairwise([0, *(start for start in starts if 0 < start < len(text)), len(text)]):
        first = start
        while measure(text[first:end]) > limit:
            # As many characters as are sure to fit, as many more as do, then back to a blank.
            low, high = 1, 2
            while measure(text[first : first + high * step]) <= limit:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if measure(text[first : first + middle * step]) <= limit else (low, middle)
            reach = first + low * step
            edge = max((blank.end() for blank in _BLANKS.finditer(text, first, reach)), default=reach)
            found.append(TextSpan.of(text, first, edge))
            first = edge
        if first < end:
            found.append(TextSpan.of(text, first, end))
    return found


class WordIndex:
    """Which of several texts share most words with another; words that few of the texts have count more."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._holding = dict[str, list[int]]()
        for at, text in enumerate(texts):
            for word in {token.text for token in words(text)}:
                self._holding.setdefault(word, []).append(at)

    def scores(self, text: str) -> list[float]:
        """For each text, over the words it shares: the sum of log(texts / those with the word) + 0.01."""
        scores = [0.0] * self._count
        for word in sorted({token.text for token in words(text)} & self._holding.keys()):
            holding = self._holding[word]
            for at in holding:
                scores[at] += log(self._count / len(holding)) + 0.01
        return scores
