"""What an English text names: entities and noun chunks, with the sentences and words they stand in.

The same small parser as `dependency`, with its entities; it comes with the extra `parse` and downloads nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from summeter.text.english import dependency
from summeter.text.english.dependency import Word
from summeter.text.spans import TextSpan

_EXCLUDED: Final = ["lemmatizer"]


class Parsed(NamedTuple):
    """A text's entities, noun chunks, sentences and words."""

    entities: tuple[TextSpan, ...]
    chunks: tuple[TextSpan, ...]
    sentences: tuple[TextSpan, ...]
    words: tuple[Word, ...]


def phrases(text: str) -> Parsed:
    """Entities and noun chunks of an English text. InstallError where the parser is missing."""
    parsed = _pipeline()(text)
    named, chunks, sentences = (
        tuple(TextSpan(span.text, span.start_char, span.end_char) for span in spans)
        for spans in (parsed.ents, parsed.noun_chunks, parsed.sents)
    )
    return Parsed(
        named,
        chunks,
        sentences,
        tuple(map(Word.of, parsed)),
    )


def tokens(text: str) -> tuple[TextSpan, ...]:
    """The words, marks and breaks of an English text, which is not parsed. InstallError where the parser is missing."""
    return tuple(TextSpan(token.text, token.idx, token.idx + len(token.text)) for token in _pipeline().make_doc(text))


def words(text: str) -> tuple[str, ...]:
    """The words and marks of an English text, which is not parsed. InstallError where the parser is missing."""
    return tuple(token.text for token in _pipeline().make_doc(text) if not token.is_space)


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    return dependency.load_parser(_EXCLUDED)
