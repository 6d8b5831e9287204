"""Normalise texts to ignore spelling variants, with a mapping to the original offsets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum
from itertools import repeat
from typing import Final, NamedTuple


class Offsets(NamedTuple):
    """A half-open range of code points: `text[start:end]`."""

    start: int
    end: int


class Fold(IntEnum):
    """The level of normalisation. Each level includes the previous one."""

    SPACE = 1
    """Collapse white space, apply Unicode NFKC, and remove zero-width characters."""
    FORM = 2
    """Also ignore letter case, and replace each run of quotation marks or dashes with one mark."""
    BARE = 3
    """Also remove white space and quotation marks."""


_QUOTES: Final = "\"'`´‘’‚‛“”„‟«»‹›＂＇\u2032\u2033"
_DASHES: Final = "-‐‑‒–—―−﹘﹣－"
_ZERO_WIDTH: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_CHUNK: Final = {
    Fold.SPACE: re.compile(rf"\s+|[!-~]+|[{_ZERO_WIDTH}]+|."),
    Fold.FORM: re.compile(rf"\s+|[!#-&(-,.-_a-~]+|[{_QUOTES}]+|[{re.escape(_DASHES)}]+|[{_ZERO_WIDTH}]+|."),
}
_SPACED_SCRIPTS_END: Final = 0x0E00  # from Thai on, many scripts write no space between words


_MARKS: Final = 30  # maximum number of consecutive marks in Unicode's stream-safe form
_TRIES: Final = 8


def nfkc(text: str) -> str:
    """Return the Unicode NFKC form of a text.

    Runs of more than 30 combining marks are normalised in parts of 30, because the time to sort combining marks grows
    with the square of their number.
    """
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


def _occurrences(text: str, needle: str, start: int) -> Iterator[int]:
    """Yield the offsets of the occurrences of `needle` from `start` on, in linear time.

    The first few occurrences are found with `str.find`, and the others with the Knuth-Morris-Pratt algorithm.
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
    for end in range(at, len(text)):
        while length and (length == len(needle) or needle[length] != text[end]):
            length = borders[length - 1]
        length += needle[length] == text[end]
        if length == len(needle):
            yield end - length + 1


def _joins(char: str) -> bool:
    """Return whether a character is combined with the previous one.

    Such characters are marks, and Hangul vowels and finals.
    """
    return char >= "\u0300" and (unicodedata.category(char)[0] == "M" or "\u1160" <= char <= "\u11ff")


def standalone(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` begins and ends at word boundaries.

    In scripts without spaces, every character boundary is a word boundary.
    """
    return not (_within(text, start) or _within(text, end))


def _within(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if _joins(right):
        return True
    return left.isalnum() and right.isalnum() and max(ord(left), ord(right)) < _SPACED_SCRIPTS_END


class Folded:
    """A normalised form of a text. If the level is None, the form is the text itself.

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
        """Return the original offsets of `self.text[start:end]`, which must not be empty."""
        if self._starts is None:
            return Offsets(start, end)
        return Offsets(self._starts[start], self._ends[end - 1])

    def find(self, needle: str, start: int = 0) -> int | None:
        """Return the first offset of `needle` from `start` on, or None if it is not found.

        The occurrence must begin and end at word boundaries of the original text.
        """
        for at in _occurrences(self.text, needle, start):
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
        """Return the chunks that can be normalised independently.

        A chunk is a run of ASCII characters, or one character with its marks.
        """
        clusters: list[tuple[int, int]] = []
        plain = False  # True if the last chunk is a run of ASCII
        pattern = _CHUNK[min(level, Fold.FORM)]
        for match in pattern.finditer(self.original):
            start, end = match.span()
            if not clusters or not _joins(self.original[start]):
                clusters.append((start, end))
                plain = match.group().isascii()
                continue
            before, last = clusters[-1]
            if plain and last - before > 1:  # the mark belongs to the last letter only
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
