"""Sliding windows over sentences: long texts are read in pieces, and no piece is left out."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

_BLANKS = re.compile(r"\s+")
_MAX_TOKENS_PER_CHARACTER = 4  # tokens of one character, at most


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
    windows: list[Window] = []
    first = held = 0
    for i, length in enumerate(lengths):
        if i > first and held + length > limit:
            windows.append(Window(first, i, spans[first][0], spans[i - 1][1]))
            first, held = i, 0
        held += length
    if spans:
        windows.append(Window(first, len(spans), spans[first][0], spans[-1][1]))
    return windows


def tiles(text: str, starts: Sequence[int], limit: int, measure: Callable[[str], int]) -> list[tuple[int, int]]:
    """The whole text as neighbouring stretches that begin with sentences, none that measures more than ``limit``.

    ``starts`` are where sentences begin, in order. Nothing is left out: what stands before the first sentence and
    between sentences goes with a neighbour. A longer sentence is cut at blanks, or within a word where it has none.
    ``measure`` says how many tokens a text has: a longer text never fewer, and one character at most four. Raises
    ValueError for a limit below 8.

    >>> tiles("One. Two is longer. Three.", [0, 5, 20], limit=16, measure=len)
    [(0, 5), (5, 20), (20, 26)]
    """
    if limit < 2 * _MAX_TOKENS_PER_CHARACTER:
        raise ValueError(f"a tile needs room for at least {2 * _MAX_TOKENS_PER_CHARACTER} tokens, got limit {limit}")
    edges = [0, *(start for start in starts if 0 < start < len(text)), len(text)]
    pieces: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        pieces += _cut(text, (start, end), limit, measure)
    return [tile for tile in pieces if tile[0] < tile[1]]


def _cut(text: str, stretch: tuple[int, int], limit: int, measure: Callable[[str], int]) -> list[tuple[int, int]]:
    (start, end), step = stretch, limit // _MAX_TOKENS_PER_CHARACTER
    pieces = []
    while measure(text[start:end]) > limit:
        # As many characters as are sure to fit, as many more as do, then back to a blank.
        low, high = 1, 2
        while measure(text[start : start + high * step]) <= limit:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if measure(text[start : start + middle * step]) <= limit else (low, middle)
        reach = start + low * step
        blanks = [blank.end() for blank in _BLANKS.finditer(text, start, reach)]
        edge = blanks[-1] if blanks else reach
        pieces.append((start, edge))
        start = edge
    return [*pieces, (start, end)]


def token_windows(costs: Sequence[int], limit: int, overlap: int = 0) -> list[tuple[int, int]]:
    """Windows (first, last) of neighbouring tiles, at most ``limit`` tokens each, that cover all of them.

    ``costs`` are the tiles' tokens. A window begins with as many of the last tiles of the one before as ``overlap``
    tokens hold, so that what is said across an edge stands whole somewhere. Raises ValueError for a tile that is
    longer than the limit, or for an overlap of more than half of it.

    >>> token_windows([4, 4, 4, 4], limit=8, overlap=4)
    [(0, 2), (1, 3), (2, 4)]
    """
    if any(cost > limit for cost in costs):
        raise ValueError(f"a tile of {max(costs)} tokens is longer than a window of {limit}")
    if overlap > limit // 2:
        raise ValueError(f"an overlap of {overlap} tokens is more than half a window of {limit}")
    windows: list[tuple[int, int]] = []
    first = last = held = 0
    while last < len(costs):
        while last < len(costs) and held + costs[last] <= limit:
            held += costs[last]
            last += 1
        windows.append((first, last))
        if last == len(costs):
            break
        while held > overlap or held + costs[last] > limit:
            held -= costs[first]
            first += 1
    return windows
