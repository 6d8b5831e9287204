"""Facts a text is judged by: key facts (what a summary should hold) and claims (what it does hold)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from summeter.records.base import Record, digest
from summeter.records.text import Span

Origin = Literal["given", "reference", "document"]


class KeyFact(Record):
    """One fact a good summary of the document holds."""

    text: str


class KeyFacts(Record):
    """The list of key facts one judge used for one document, and where it came from.

    `id` is a hash of the texts: judgments name it, since the same index in two lists is two facts.
    """

    facts: tuple[KeyFact, ...]
    origin: Origin

    @classmethod
    def of(cls, texts: Sequence[str], origin: Origin) -> KeyFacts:
        """From plain strings."""
        return cls(facts=tuple(KeyFact(text=text) for text in texts), origin=origin)

    @property
    def texts(self) -> tuple[str, ...]:
        """The facts as strings."""
        return tuple(fact.text for fact in self.facts)

    @property
    def id(self) -> str:
        """Twelve hex digits that change with any text of the list."""
        return digest(list(self.texts), 12)


class Claim(Record):
    """An elementary statement of a summary; `span` is the stretch it was drawn from, where known."""

    text: str
    span: Span | None = None
