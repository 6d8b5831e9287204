"""Key facts of documents and claims of summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from summeter.records.base import Record, digest
from summeter.records.text import Span

Origin = Literal["given", "reference", "document"]


class KeyFact(Record):
    """A fact that a good summary of the document conveys."""

    text: str


class KeyFacts(Record):
    """The list of key facts of a document, and its origin.

    Judgments refer to the list by its `id`, a hash of the texts.
    """

    facts: tuple[KeyFact, ...]
    origin: Origin

    @classmethod
    def of(cls, texts: Sequence[str], origin: Origin) -> KeyFacts:
        """Return a list of key facts made from texts."""
        return cls(facts=tuple(KeyFact(text=text) for text in texts), origin=origin)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the facts."""
        return tuple(fact.text for fact in self.facts)

    @property
    def id(self) -> str:
        """Hash of the texts, 12 hex digits."""
        return digest(list(self.texts), 12)


class FactVote(Record):
    """A model's verdict on whether a proposed key fact belongs in a summary, with a reason."""

    judge: str
    model: str
    useful: bool
    reason: str | None = None


class FactReview(Record):
    """Result of the human review of a key fact.

    `valid` of `answers` annotators found the fact valid. `lacks` counts, by criterion, the annotators who found that
    the fact does not meet it; `why` lists their reasons. `decided_by` is the adjudicator, or None for a majority vote.
    """

    valid: int = Field(ge=0)
    answers: int = Field(ge=0)
    lacks: dict[str, int] = Field(default_factory=dict)
    why: tuple[str, ...] = ()
    decided_by: str | None = None


class FactOrigin(Record):
    """Provenance of a key fact.

    `proposed` is the original wording, which annotators may have changed since. `origin` and `model` say from what and
    by which model the fact was extracted, `votes` how other models judged it, and `review` how annotators did (None if
    the fact was not reviewed).
    """

    proposed: str
    origin: Origin
    model: str | None = None
    votes: tuple[FactVote, ...] = ()
    review: FactReview | None = None


class Claim(Record):
    """Atomic statement of a summary, extracted from `span`, if known."""

    text: str
    span: Span | None = None
