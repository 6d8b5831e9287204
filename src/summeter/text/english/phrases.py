"""Find the entities, noun chunks, sentences and words of English texts.

The parser is the one of `dependency`, including the entity recogniser. It requires the extra `parse`; nothing is
downloaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from summeter.text.english import dependency
from summeter.text.english.dependency import Word
from summeter.text.spans import TextSpan

_EXCLUDED: Final = ["lemmatizer"]


class Parsed(NamedTuple):
    """Entities, noun chunks, sentences and words of a text."""

    entities: tuple[TextSpan, ...]
    chunks: tuple[TextSpan, ...]
    sentences: tuple[TextSpan, ...]
    words: tuple[Word, ...]


def phrases(text: str) -> Parsed:
    """Return the entities, noun chunks, sentences and words of an English text.

    Raises InstallError if the parser is not installed.
    """
    parsed = _pipeline()(text)
    entities, chunks, sentences = (
        tuple(TextSpan(span.text, span.start_char, span.end_char) for span in spans)
        for spans in (parsed.ents, parsed.noun_chunks, parsed.sents)
    )
    return Parsed(entities, chunks, sentences, tuple(map(Word.of, parsed)))


def tokens(text: str) -> tuple[TextSpan, ...]:
    """Return the tokens of an English text, including white space.

    Raises InstallError if the parser is not installed.
    """
    return tuple(TextSpan(token.text, token.idx, token.idx + len(token.text)) for token in _pipeline().make_doc(text))


def words(text: str) -> tuple[str, ...]:
    """Return the words and punctuation marks of an English text.

    Raises InstallError if the parser is not installed.
    """
    return tuple(token.text for token in _pipeline().make_doc(text) if not token.is_space)


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    return dependency.load_parser(_EXCLUDED)
