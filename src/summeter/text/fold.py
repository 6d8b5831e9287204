"""Readings of a text that forgive differences of spelling, with the way back to the original offsets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum
from itertools import repeat
from typing import Final, NamedTuple


class Offsets(NamedTuple):
    """Half-open range of code points: `text[start:end]`."""

    start: int
    end: int


class Fold(IntEnum):
    """How much a reading forgives; each level forgives all that the one before does."""

    SPACE = 1
    """White space collapsed, Unicode NFKC, zero-width characters left out."""
    FORM = 2
    """Also letter case; quotation marks and dashes each one kind, a run of them one mark."""
    BARE = 3
    """Also no white space and no quotation marks at all."""


_QUOTES: Final = "\"'`´‘’‚‛“”„‟«»‹›＂＇\u2032\u2033"
_DASHES: Final = "-‐‑‒–—―−﹘﹣－"
_ZERO_WIDTH: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_CHUNK: Final = {
    Fold.SPACE: re.compile(rf"\s+|[!-~]+|[{_ZERO_WIDTH}]+|."),
    Fold.FORM: re.compile(rf"\s+|[!#-&(-,.-_a-~]+|[{_QUOTES}]+|[{re.escape(_DASHES)}]+|[{_ZERO_WIDTH}]+|."),
}
_SPACED_SCRIPTS_END: Final = 0x0E00  # from Thai on, many scripts write no space between words


_MARKS: Final = 30  # in a row, at most, in Unicode's stream-safe form
_TRIES: Final = 8


def nfkc(text: str) -> str:
    """Unicode NFKC; of more than 30 combining marks in a row each 30 by themselves, because putting marks in their
    order takes a time that grows with the square of their number."""
    if len(text) <= _MARKS or text.isascii():
        return unicodedata.normalize("NFKC", text)
    pieces: list[str] = []
    start = run = 0
    for at, char in enumerate(text):
        run = run + 1 if unicodedata.combining(char) else 0
        if run > _MARKS:
            pieces.append(text[start:at])
            start, run = at, 1
    return "".join(unicodedata.normalize("NFKC", piece) for piece in (*pieces, text[start:]))


def _places(text: str, needle: str, start: int) -> Iterator[int]:
    """Every place of a needle from `start` on, in a time that grows with the two lengths, not with their product.

    The first few are `str.find`'s; behind them the needle's borders tell how far to go on (Knuth, Morris and Pratt).
    """
    at = text.find(needle, start)
    for _ in range(_TRIES):
        if at < 0:
            return
        yield at
        at = text.find(needle, at + 1)
    if at < 0:
        return
    borders, length = [0], 0
    for char in needle[1:]:
        while length and needle[length] != char:
            length = borders[length - 1]
        length += needle[length] == char
        borders.append(length)
    length = 0
    for place in range(at, len(text)):
        while length and (length == len(needle) or needle[length] != text[place]):
            length = borders[length - 1]
        length += needle[length] == text[place]
        if length == len(needle):
            yield place - length + 1


def _joins(char: str) -> bool:
    """Whether a character belongs to the one before it (a mark, or a Hangul vowel or final)."""
    return char >= "\u0300" and (unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff")


def standalone(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` does not begin or end within a word (scripts without spaces always do not)."""
    return not (_within(text, start) or _within(text, end))


def _within(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if _joins(right):
        return True
    return left.isalnum() and right.isalnum() and max(ord(left), ord(right)) < _SPACED_SCRIPTS_END


class Folded:
    """One reading of a text; `level` None is the text as it stands.

    >>> folded = Folded("“Well—no”,  she\\nsaid", Fold.FORM)
    >>> folded.text
    "'well-no', she said"
    >>> folded.span(11, 14)
    Offsets(start=12, end=15)
    """

    def __init__(self, text: str, level: Fold | None) -> None:
        self.original = text
        self._starts: list[int] | None = None
        self._ends: list[int] = []
        self.text = text if level is None else self._fold(level)

    def span(self, start: int, end: int) -> Offsets:
        """The original offsets of `self.text[start:end]` (not empty)."""
        if self._starts is None:
            return Offsets(start, end)
        return Offsets(self._starts[start], self._ends[end - 1])

    def find(self, needle: str, start: int = 0) -> int | None:
        """The first place of `needle` (not empty) from `start` on, standing free in the original, or None."""
        for at in _places(self.text, needle, start):
            if standalone(self.original, *self.span(at, at + len(needle))):
                return at
        return None

    def _fold(self, level: Fold) -> str:
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for start, end in self._clusters(level):
            chunk = self.original[start:end]
            folded = _fold_chunk(chunk, level)
            if chunk.isascii() and len(folded) == end - start:
                starts.extend(range(start, end))
                ends.extend(range(start + 1, end + 1))
            else:
                starts.extend(repeat(start, len(folded)))
                ends.extend(repeat(end, len(folded)))
            parts.append(folded)
        self._starts, self._ends = starts, ends
        return "".join(parts)

    def _clusters(self, level: Fold) -> list[tuple[int, int]]:
        """Chunks that can be folded each by itself: ASCII runs, or one character with its marks."""
        clusters: list[tuple[int, int]] = []
        plain = False  # whether the last one is a run of ASCII
        pattern = _CHUNK[min(level, Fold.FORM)]
        for match in pattern.finditer(self.original):
            start, end = match.span()
            if not clusters or not _joins(self.original[start]):
                clusters.append((start, end))
                plain = match.group().isascii()
                continue
            before, last = clusters[-1]
            if plain and last - before > 1:  # the mark sits on the last letter only
                clusters[-1] = (before, last - 1)
                clusters.append((last - 1, end))
            else:
                clusters[-1] = (before, end)
            plain = False
        return clusters


def _fold_chunk(chunk: str, level: Fold) -> str:
    if chunk.isspace():
        return "" if level is Fold.BARE else " "
    if chunk[-1] in _ZERO_WIDTH:
        return ""
    if level is not Fold.SPACE and chunk[-1] in _DASHES:
        return "-"
    if level is not Fold.SPACE and chunk[-1] in _QUOTES:
        return "" if level is Fold.BARE else "'"
    folded = chunk if chunk.isascii() else nfkc(chunk)
    if level is Fold.SPACE:
        return folded
    folded = folded.casefold()
    if not chunk.isascii():
        folded = nfkc(folded)
    return folded
