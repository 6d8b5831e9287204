"""Search approximately for quotes, because language models often quote inexactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from summeter.text.fold import Fold, Folded, Offsets
from summeter.text.lcs import LcsSide, lcs_indexes
from summeter.text.ngrams import words
from summeter.text.spans import TextSpan

MINIMUM: Final = 0.75
"""Minimum share of common words, from 0 to 1, for an approximate match."""

_CANDIDATES: Final = 5  # number of windows that are compared word by word
_LONGEST: Final = 10_000  # maximum number of words of a quote for an approximate match
_TRIM: Final = 8  # maximum number of words trimmed at each end of a window
_WRAPPING: Final = " \t\r\n\"'`´‘’‚“”„«»‹›*_[]()…"
_ELISION: Final = re.compile(r"\[\s*(?:\.\.\.|…)\s*\]|\.{3,}|…")


def find_quote(text: str, quote: str, *, minimum: float = MINIMUM) -> Offsets | None:
    """Return the offsets of `quote` in `text`, or None if it is not found.

    The first match of the following searches is returned: the exact quote; with normalised white space and Unicode
    forms; also ignoring letter case and variants of quotation marks and dashes; also ignoring white space; the parts
    around "..." in order; and the window with the most words in common, if 2 LCS / (words of both) is at least
    `minimum` (0 to 1) and the quote has 3 to 10,000 words. Offsets are code points of the original text.

    For several quotes from one text, use a `QuoteFinder`, which prepares the text once.

    >>> find_quote("She said:  “Well—no.”", 'said: "well-no."')
    Offsets(start=4, end=21)
    >>> find_quote("the old cat sat on the mat", "the cat sat on a mat")
    Offsets(start=0, end=26)
    """
    return QuoteFinder(text).find(quote, minimum=minimum)


class QuoteFinder:
    """A text prepared for finding quotes. Normalised forms are computed when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._readings: dict[Fold | None, Folded] = {}

    def find(self, quote: str, *, minimum: float = MINIMUM) -> Offsets | None:
        """Return the offsets of `quote`, or None if it is not found; see `find_quote`."""
        bare = quote.strip(_WRAPPING)
        if bare.endswith("..."):
            bare = bare.rstrip(". ")
        if not bare or not self.text:
            return None
        found = self._verbatim(quote.strip(), bare) or self._elided(quote, bare)
        return found or self._approximate(bare, minimum)

    def _reading(self, level: Fold | None) -> Folded:
        if level not in self._readings:
            self._readings[level] = Folded(self.text, level)
        return self._readings[level]

    def _verbatim(self, *spellings: str) -> Offsets | None:
        for level in (None, *Fold):
            reading = self._reading(level)
            for spelling in spellings:
                needle = Folded(spelling, level).text.strip()
                at = reading.find(needle) if needle else None
                if at is not None:
                    return reading.span(at, at + len(needle))
        return None

    def _elided(self, quote: str, bare: str) -> Offsets | None:
        """Return the span of a quote with "..." if the parts of the quote are close together.

        The span extends from the first part to the last. Quotes of several words that begin or end within a word are
        found as well. Returns None if the quote is not found.
        """
        reading = self._reading(Fold.FORM)
        parts = [Folded(part, Fold.FORM).text.strip() for part in _ELISION.split(bare)]
        first, cursor = -1, 0
        for part in filter(None, parts):
            cursor = reading.text.find(part, cursor)
            if cursor < 0 or " " not in part:
                return None
            first = cursor if first < 0 else first
            cursor += len(part)
        if first < 0 or cursor - first > 4 * len(quote) + 200:
            return None
        return reading.span(first, cursor)

    def _approximate(self, quote: str, minimum: float) -> Offsets | None:
        target = LcsSide.of([token.text for token in words(quote)])
        if not 3 <= len(target.words) <= _LONGEST:
            return None
        best, nearest = minimum, None
        for first, last in self._windows(target):
            window = self._words[first:last]
            common = lcs_indexes([token.text for token in window], target)
            # Try the spans between common words, with words at the ends trimmed.
            for skip in range(min(_TRIM, len(common))):
                for drop in range(min(_TRIM, len(common) - skip)):
                    low, high = common[skip], common[len(common) - 1 - drop]
                    score = 2 * (len(common) - skip - drop) / (high - low + 1 + len(target.words))
                    if score > best or (score == best and nearest is None):
                        best, nearest = score, Offsets(window[low].start, window[high].end)
        return nearest

    @cached_property
    def _words(self) -> list[TextSpan]:
        return words(self.text)

    @cached_property
    def _positions(self) -> dict[str, NDArray[np.int64]]:
        positions: dict[str, list[int]] = {}
        for at, token in enumerate(self._words):
            positions.setdefault(token.text, []).append(at)
        return {word: np.array(numbers) for word, numbers in positions.items()}

    def _windows(self, target: LcsSide) -> Iterator[tuple[int, int]]:
        """Yield the windows that share the most words with the target, at most `_CANDIDATES`.

        Rare words have higher weights.
        """
        weights = np.zeros(len(self._words) + 1)
        for word in target.positions:
            positions = self._positions.get(word)
            if positions is not None:
                weights[positions + 1] = 1.0 / np.log(1.0 + len(positions))
        size = min(len(target.words) + len(target.words) // 4 + 1, len(self._words))
        total = np.cumsum(weights)
        sums = total[size:] - total[: len(total) - size]
        for _ in range(_CANDIDATES):
            at = int(sums.argmax())
            if sums[at] <= 0:
                return
            yield at, at + size
            sums[max(0, at - size // 2) : at + size // 2 + 1] = 0
