"""Sliding windows over sentences: long texts are read in pieces, and no piece is left out."""

from collections.abc import Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """Sentences ``first`` up to but without ``last``, and the code points ``start`` to ``end`` they cover."""

    first: int
    last: int
    start: int
    end: int


def sentence_windows(spans: Sequence[tuple[int, int]], size: int, stride: int = 1) -> list[Window]:
    """Windows of ``size`` neighbouring sentences, each ``stride`` sentences behind the one before.

    ``spans`` are the sentences as (start, end) in code points, in text order. The last window always ends with
    the last sentence, so it may start less than ``stride`` after its neighbour; a text with fewer than ``size``
    sentences is one window; no sentence, no window. Raises ValueError for a size below 1 or a stride outside
    1..size (a longer stride would skip sentences).

    >>> [w[:2] for w in sentence_windows([(0, 2), (3, 5), (6, 8), (9, 11)], size=3, stride=2)]
    [(0, 3), (1, 4)]
    """
    if size < 1:
        raise ValueError(f"a window needs at least one sentence, got size {size}")
    if not 1 <= stride <= size:
        raise ValueError(f"stride {stride} would skip sentences or stand still; it must lie in 1..{size}")
    if not spans:
        return []
    tail = max(0, len(spans) - size)
    firsts = [*range(0, tail, stride), tail]
    return [
        Window(first, min(first + size, len(spans)), spans[first][0], spans[min(first + size, len(spans)) - 1][1])
        for first in firsts
    ]


def word_windows(spans: Sequence[tuple[int, int]], lengths: Sequence[int], limit: int) -> list[Window]:
    """Non-overlapping windows of whole sentences, at most ``limit`` words each, for models with a short input.

    ``lengths`` are the sentences' word (or token) counts. A sentence longer than ``limit`` stands alone rather
    than being cut; the caller sees its length and says so. Raises ValueError if the lengths do not match the
    spans or the limit is below 1.

    >>> [w[:2] for w in word_windows([(0, 9), (10, 19), (20, 29)], [5, 4, 3], limit=8)]
    [(0, 1), (1, 3)]
    """
    if len(spans) != len(lengths):
        raise ValueError(f"{len(spans)} sentences but {len(lengths)} lengths")
    if limit < 1:
        raise ValueError(f"a window needs room for at least one word, got limit {limit}")
    found: list[Window] = []
    first = held = 0
    for i, length in enumerate(lengths):
        if i > first and held + length > limit:
            found.append(Window(first, i, spans[first][0], spans[i - 1][1]))
            first, held = i, 0
        held += length
    if spans:
        found.append(Window(first, len(spans), spans[first][0], spans[-1][1]))
    return found
