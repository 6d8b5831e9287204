"""Find a quote in a text, as language models quote: nearly."""

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
"""Least share of words a near match has in common with the quote."""

_CANDIDATES: Final = 5  # windows compared word by word
_LONGEST: Final = 10_000  # words of a quote that is looked for word by word
_TRIM: Final = 8  # stray words tried off each end of a window
_WRAPPING: Final = " \t\r\n\"'`´‘’‚“”„«»‹›*_[]()…"
_ELISION: Final = re.compile(r"\[\s*(?:\.\.\.|…)\s*\]|\.{3,}|…")


def find_quote(text: str, quote: str, *, minimum: float = MINIMUM) -> Offsets | None:
    """Where `quote` stands in `text`, or None.

    Tried in this order, the first place of each: the quote as it is; with white space and Unicode forms evened
    out; also letter case, quotation marks and dashes; also white space left out; parts around "..." in their
    order; and last the stretch of words that has most in common with it, if 2 LCS / (words of both) reaches
    `minimum` (0 to 1) and the quote has 3 to 10,000 words. Offsets are code points of the original text.

    For several quotes from one text make a `QuoteFinder`, which prepares the text once.

    >>> find_quote("She said:  “Well—no.”", 'said: "well-no."')
    Offsets(start=4, end=21)
    >>> find_quote("the old cat sat on the mat", "the cat sat on a mat")
    Offsets(start=0, end=26)
    """
    return QuoteFinder(text).find(quote, minimum=minimum)


class QuoteFinder:
    """A text made ready for finding quotes in it; its readings are made when first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._readings: dict[Fold | None, Folded] = {}

    def find(self, quote: str, *, minimum: float = MINIMUM) -> Offsets | None:
        """Where `quote` stands, or None; see `find_quote`."""
        bare = quote.strip(_WRAPPING)
        if bare.endswith("..."):
            bare = bare.rstrip(". ")
        if not bare or not self.text:
            return None
        return self._verbatim(quote.strip(), bare) or self._elided(quote, bare) or self._near(bare, minimum)

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
        """A quote with "..." in it: from its first part to its last, if they follow each other closely.

        Also a quote of several words that begins or ends within a word.
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

    def _near(self, quote: str, minimum: float) -> Offsets | None:
        wanted = LcsSide.of([token.text for token in words(quote)])
        if not 3 <= len(wanted.words) <= _LONGEST:
            return None
        best, nearest = minimum, None
        for first, last in self._windows(wanted):
            window = self._words[first:last]
            common = lcs_indexes([token.text for token in window], wanted)
            # Stretches between common words, strays at the ends left off.
            for skip in range(min(_TRIM, len(common))):
                for drop in range(min(_TRIM, len(common) - skip)):
                    low, high = common[skip], common[len(common) - 1 - drop]
                    score = 2 * (len(common) - skip - drop) / (high - low + 1 + len(wanted.words))
                    if score > best or (score == best and nearest is None):
                        best, nearest = score, Offsets(window[low].start, window[high].end)
        return nearest

    @cached_property
    def _words(self) -> list[TextSpan]:
        return words(self.text)

    @cached_property
    def _places(self) -> dict[str, NDArray[np.int64]]:
        positions: dict[str, list[int]] = {}
        for at, token in enumerate(self._words):
            positions.setdefault(token.text, []).append(at)
        return {word: np.array(places) for word, places in positions.items()}

    def _windows(self, wanted: LcsSide) -> Iterator[tuple[int, int]]:
        """Stretches of words that hold most of the wanted ones, rare words counting more, at most `_CANDIDATES`."""
        weights = np.zeros(len(self._words) + 1)
        for word in wanted.places:
            places = self._places.get(word)
            if places is not None:
                weights[places + 1] = 1.0 / np.log(1.0 + len(places))
        size = min(len(wanted.words) + len(wanted.words) // 4 + 1, len(self._words))
        total = np.cumsum(weights)
        held = total[size:] - total[: len(total) - size]
        for _ in range(_CANDIDATES):
            at = int(held.argmax())
            if held[at] <= 0:
                return
            yield at, at + size
            held[max(0, at - size // 2) : at + size // 2 + 1] = 0
