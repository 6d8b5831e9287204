"""Divide long texts into chunks for models with a limited context, and rank similar texts.

`windows` and `runs` group the consecutive pieces of a text (sentences, tokens, tiles) into chunks, given as (first,
last) with `last` exclusive: a window has a fixed number of pieces, a run has a maximum size. A sentence may be longer
than the context; `tiles` splits a text so that no piece exceeds a limit.
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
_MAX_TOKENS_PER_CHARACTER = 4


def windows(
    count: int, size: int, stride: int = 1, *, tail: Literal["full", "short"] = "full"
) -> list[tuple[int, int]]:
    """Return windows of `size` pieces that start `stride` pieces apart.

    The last window ends with the last of the `count` pieces. If too few pieces remain for the last window, it starts
    earlier (`tail="full"`) or is shorter (`tail="short"`). If there are fewer than `size` pieces, there is one window,
    or none if there are no pieces. Raises ValueError if `size` is below 1 or `stride` is outside the range from 1 to
    `size`.

    >>> windows(6, size=3, stride=2), windows(6, size=3, stride=2, tail="short")
    ([(0, 3), (2, 5), (3, 6)], [(0, 3), (2, 5), (4, 6)])
    """
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    if not 1 <= stride <= size:
        raise ValueError(f"stride must be between 1 and {size}, got {stride}")
    remaining = max(0, count - size)  # number of pieces after the first window
    firsts = [at * stride for at in range(-(-remaining // stride) + 1)] if count else []
    if tail == "full":
        firsts = [min(first, remaining) for first in firsts]
    return [(first, min(first + size, count)) for first in firsts]


def runs(sizes: Sequence[int], limit: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Return runs of consecutive pieces with a total size of at most `limit`.

    A piece larger than `limit` forms a run by itself. Each run repeats the last pieces of the previous run, up to a
    total size of `overlap`, so that text across a boundary is complete in one run. Raises ValueError if `limit` is
    below 1 or `overlap` is above half of `limit`.

    >>> runs([3, 4, 9, 1, 2], limit=8), runs([4, 4, 4, 4], limit=8, overlap=4)
    ([(0, 2), (2, 3), (3, 5)], [(0, 2), (1, 3), (2, 4)])
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    if overlap > limit // 2:
        raise ValueError(f"overlap must be at most half of the limit {limit}, got {overlap}")
    result: list[tuple[int, int]] = []
    first = last = size = 0
    while last < len(sizes):
        while last < len(sizes) and (last == first or size + sizes[last] <= limit):
            size += sizes[last]
            last += 1
        result.append((first, last))
        while first < last < len(sizes) and (not overlap or size > overlap or size + sizes[last] > limit):
            size -= sizes[first]
            first += 1
    return result


def tiles(text: str, starts: Sequence[int], limit: int, measure: Callable[[str], int]) -> list[TextSpan]:
    """Return the complete text as consecutive spans of at most `limit` tokens.

    Spans start at the beginning of a sentence if possible. `starts` are the offsets of the sentences, in ascending
    order. Text before the first sentence and between sentences belongs to an adjacent span. A sentence with more than
    `limit` tokens is split at white space, or within a word if necessary. `measure` returns the number of tokens of a
    text; this number must not decrease with the length of the text, and must be at most four for one character. Raises
    ValueError if `limit` is below 8.

    >>> [tile.offsets for tile in tiles("One. Two is longer. Three.", [0, 5, 20], limit=16, measure=len)]
    [(0, 5), (5, 20), (20, 26)]
    """
    step = limit // _MAX_TOKENS_PER_CHARACTER  # number of characters that always fit
    if step < 2:
        raise ValueError(f"limit must be at least {2 * _MAX_TOKENS_PER_CHARACTER} tokens, got {limit}")
    result = list[TextSpan]()
    for start, end in pairwise([0, *(start for start in starts if 0 < start < len(text)), len(text)]):
        first = start
        while measure(text[first:end]) > limit:
            # Find the largest multiple of the step that fits, then go back to white space.
            low, high = 1, 2
            while measure(text[first : first + high * step]) <= limit:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if measure(text[first : first + middle * step]) <= limit else (low, middle)
            reach = first + low * step
            edge = max((blank.end() for blank in _BLANKS.finditer(text, first, reach)), default=reach)
            result.append(TextSpan.of(text, first, edge))
            first = edge
        if first < end:
            result.append(TextSpan.of(text, first, end))
    return result


class WordIndex:
    """An index for computing how similar texts are to another text.

    The similarity depends on shared words, and rare words have higher weights.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._texts_with = dict[str, list[int]]()
        for at, text in enumerate(texts):
            for word in {token.text for token in words(text)}:
                self._texts_with.setdefault(word, []).append(at)

    def scores(self, text: str) -> list[float]:
        """Return the similarity of each indexed text to `text`.

        It is the sum of log(texts / texts with the word) + 0.01 over the shared words.
        """
        scores = [0.0] * self._count
        for word in sorted({token.text for token in words(text)} & self._texts_with.keys()):
            texts = self._texts_with[word]
            for at in texts:
                scores[at] += log(self._count / len(texts)) + 0.01
        return scores
