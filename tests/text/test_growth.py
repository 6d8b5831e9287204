"""The time for any text, however hostile, is not quadratic in its length."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from growth import assert_proportional
from together import together

from summeter.evaluators.overlap.novelty import novel_shares
from summeter.evaluators.support.scorer import LexicalScorer
from summeter.evaluators.support.words import analyse, index_text
from summeter.text.chunks import tiles
from summeter.text.match import find_quote
from summeter.text.rouge import rouge_l, rouge_n
from summeter.text.spans import paragraph_spans
from summeter.text.split import SentenceNotFoundError, locate, split

SIZE = 4_000
QUICK = 0.02
"""Seconds in which a quadratic algorithm cannot read SIZE characters."""
PLAIN = "The old mill was sold by Ada Ruiz for 12 pounds in May."

UNITS = {
    "one letter": "a",
    "one word": "word ",
    "names": "Word ",
    "sentences": "The cat sat. ",
    "blanks": " ",
    "no-break": "\xa0",
    "lines": "\n",
    "blank lines": " \n",
    "stops": ".",
    "spaced stops": ". ",
    "questions": "? ",
    "quotes": '"',
    "spaced quotes": ' " ',
    "curly quotes": "\u201c\u201d",
    "apostrophes": "'",
    "dashes": "-",
    "marks": "\u0301",
    "marks out of order": "\u0301\u0323",
    "letters with marks": "a\u0301\u0323",
    "joiners": "\u200d",
    "variation selectors": "\ufe0f",
    "emoji": "\U0001f469\u200d",
    "soft hyphens": "\xad",
    "Hangul": "\u1100\u1161\u11a8",
    "vowels of Hangul": "\u1160",
    "Han": "東",
    "Han sentences": "東。",
    "Thai": "ก",
    "brackets": "([{",
    "closing": '.")',
    "ellipses": "... ",
    "left out": "[...] ",
    "digits": "7",
    "numbers": "1,000 ",
    "cut numbers": "15 , 000 , ",
    "hundreds": "hundred ",
    "twenties": "twenty-",
    "abbreviations": "Dr. ",
    "initials": "J. ",
    "acronym": "U.",
    "glued": "x.",
    "speakers": "Anna:\n",
    "items": "1) a 2) b ",
    "bullets": "\u2022 ",
    "clauses": ", who was, ",
    "joined": "; and ",
    "negations": "not ",
    "links": "www.a.b/",
    "halves of pairs": "\ud800",
    "tags": "<a>",
    "stars": "***\n",
    "quoted stops": '" . ',
    "stops in quotes": "' . ' ",
    "glued names": "a.B",
    "paths": "/.A",
    "spaced items": "1) a  2) ",
}


def quoted(text: str) -> None:
    half = len(text) // 2
    find_quote(text, text[3:half])
    find_quote(text, text[:half] + " but " + text[half:])


def located(text: str) -> None:
    with suppress(SentenceNotFoundError):
        locate(text, [text[start:end] for start, end in split(text)])


def supported(text: str) -> None:
    evidence = index_text(text, split(text))
    LexicalScorer().score([PLAIN], evidence)
    LexicalScorer().score([text], index_text(PLAIN, split(PLAIN)))


READERS: dict[str, Callable[[str], object]] = {
    "split": split,
    "split, German": lambda text: split(text, "de"),
    "quotes": quoted,
    "given sentences": located,
    "tiles": lambda text: tiles(text, [start for start, _ in split(text)], 512, lambda piece: len(piece.split())),
    "rouge": lambda text: (rouge_n(text, PLAIN, 2, stem=True), rouge_l(text, PLAIN)),
    "quotes elsewhere": lambda text: (find_quote(PLAIN, text), find_quote(text, PLAIN)),
    "novelty": lambda text: novel_shares(text, PLAIN),
    "paragraphs": paragraph_spans,
    "words": analyse,
    "support": supported,
}


@pytest.mark.parametrize("reader", READERS)
@together("unit", UNITS.values())
def test_time_grows_with_the_length(reader: str, unit: str) -> None:
    text, read = unit * (SIZE // len(unit)), READERS[reader]
    assert_proportional(lambda: read(text[: len(text) // 4]), lambda: read(text), times=4, quick=QUICK)
