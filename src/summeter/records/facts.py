"""Facts a text is judged by: key facts (what a summary should hold) and claims (what it does hold)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

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


class FactVote(Record):
    """What a model says of a key fact that another model proposed: whether a summary should hold it, and why."""

    judge: str
    model: str
    useful: bool
    reason: str | None = None


class FactReview(Record):
    """What people say of a key fact: how many of how many annotators found it valid, how many found that it `lacks`
    which criterion, and the reasons they gave. `decided_by` is who adjudicated; None for the majority."""

    valid: int = Field(ge=0)
    answers: int = Field(ge=0)
    lacks: dict[str, int] = Field(default_factory=dict)
    why: tuple[str, ...] = ()
    decided_by: str | None = None


class FactOrigin(Record):
    """Where a key fact comes from: how it was first worded (`proposed`), from what (`origin`) and by which model, how
    other models voted on it, and what people made of it (`review`; None where nobody was asked).

    A key fact that people reworded stands in its list with the new wording, and here with the first one.
    """

    proposed: str
    origin: Origin
    model: str | None = None
    votes: tuple[FactVote, ...] = ()
    review: FactReview | None = None


class Claim(Record):
    """An elementary statement of a summary; `span` is the stretch it was drawn from, where known."""

    text: str
    span: Span | None = None
