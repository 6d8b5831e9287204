"""What an English text names: entities and noun chunks, with the sentences and words they stand in.

The same small parser as `dependency`, with its entities; it comes with the extra `parse` and downloads nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from summeter.text.english import dependency

_EXCLUDED: Final = ["lemmatizer"]


class Phrase(NamedTuple):
    """A stretch of a text, in code points. `label` is the entity's type (`PERSON`), or empty."""

    text: str
    start: int
    end: int
    label: str = ""


class Token(NamedTuple):
    """A word or a mark, where it begins in the text, the place of its head (its own: a root), and its relation."""

    text: str
    start: int
    mark: bool
    head: int
    dep: str


class Parsed(NamedTuple):
    """A text's entities, noun chunks, sentences and words."""

    entities: tuple[Phrase, ...]
    chunks: tuple[Phrase, ...]
    sentences: tuple[Phrase, ...]
    words: tuple[Token, ...]


def phrases(text: str) -> Parsed:
    """Entities and noun chunks of an English text. InstallError where the parser is missing."""
    parsed = _pipeline()(text)
    return Parsed(
        tuple(Phrase(span.text, span.start_char, span.end_char, span.label_) for span in parsed.ents),
        tuple(Phrase(span.text, span.start_char, span.end_char) for span in parsed.noun_chunks),
        tuple(Phrase(span.text, span.start_char, span.end_char) for span in parsed.sents),
        tuple(Token(token.text, token.idx, token.is_punct, token.head.i, token.dep_) for token in parsed),
    )


class Word(NamedTuple):
    """A word, a mark or a break as the tokenizer has it, and where it begins."""

    text: str
    start: int


def tokens(text: str) -> tuple[Word, ...]:
    """The words, marks and breaks of an English text, which is not parsed. InstallError where the parser is missing."""
    return tuple(Word(token.text, token.idx) for token in _pipeline().make_doc(text))


def words(text: str) -> tuple[str, ...]:
    """The words and marks of an English text, which is not parsed. InstallError where the parser is missing."""
    return tuple(token.text for token in _pipeline().make_doc(text) if not token.is_space)


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    return dependency.load_parser(_EXCLUDED)
