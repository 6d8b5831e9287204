"""A rule-based parser with spaCy's interface, for tests of rules on trees and phrases."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Word:
    """A word. Its head is the next word of its sentence; the last word and punctuation marks are roots."""

    text: str
    idx: int
    i: int
    dep_: str = "nsubj"
    tag_: str = "NN"
    head: Any = None

    @property
    def is_punct(self) -> bool:
        return not self.text[0].isalnum()

    @property
    def is_space(self) -> bool:
        return False


@dataclass(frozen=True)
class Stretch:
    """A span of a text."""

    text: str
    start_char: int
    end_char: int
    label_: str = "PERSON"


@dataclass
class Parsed:
    """Words, entities (names), noun chunks (names, and words after an article) and sentences."""

    text: str
    words: list[Word] = field(default_factory=list)

    def __post_init__(self) -> None:
        found = re.finditer(r"\w+|[^\w\s]", self.text)
        self.words = [Word(match[0], match.start(), place) for place, match in enumerate(found)]
        following: Word | None = None  # the next word of the sentence
        for word in reversed(self.words):
            if word.text in ".!?":
                following = None
            word.head = word if word.is_punct else following or word
            word.dep_ = "ROOT" if word.head is word else "nsubj"
            if not word.is_punct:
                following = word

    def __iter__(self) -> Any:
        return iter(self.words)

    @property
    def ents(self) -> list[Stretch]:
        return self._stretches(r"(?<![.!?] )(?<!^)\b[A-Z]\w+(?: [A-Z]\w+)*")

    @property
    def noun_chunks(self) -> list[Stretch]:
        return self._stretches(r"\b(?:[Tt]he|[Aa]n?) \w+|\b[A-Z]\w+(?: [A-Z]\w+)*")

    @property
    def sents(self) -> list[Stretch]:
        return self._stretches(r"\S[^.!?]*[.!?]*")

    def _stretches(self, pattern: str) -> list[Stretch]:
        return [Stretch(match[0], match.start(), match.end()) for match in re.finditer(pattern, self.text)]


class SmallParser:
    """A callable that parses a text, like spaCy's pipelines."""

    def __call__(self, text: str) -> Parsed:
        return Parsed(text)

    def make_doc(self, text: str) -> Parsed:
        return Parsed(text)
