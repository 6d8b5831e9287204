"""Define the records of key facts of documents and claims of summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from summeter.records.base import Record, digest
from summeter.records.text import Span

Origin = Literal["given", "reference", "document"]


class KeyFacts(Record):
    """The facts that a good summary of a document conveys, and the origin of the list.

    Judgments refer to the list by `id`, a hash of the texts.
    """

    texts: tuple[str, ...]
    origin: Origin

    @classmethod
    def of(cls, texts: Sequence[str], origin: Origin) -> KeyFacts:
        """Create a list of key facts from texts."""
        return cls(texts=tuple(texts), origin=origin)

    @property
    def id(self) -> str:
        """Hash of the texts, in 12 hex digits."""
        return digest(list(self.texts), 12)


class FactVote(Record):
    """A model's verdict on whether a proposed key fact belongs in a summary, and the reason."""

    judge: str
    model: str
    useful: bool
    reason: str | None = None


class FactReview(Record):
    """The result of the human review of a key fact.

    `valid` of the `answers` annotators found the fact valid. `lacks` counts, for each criterion, the annotators who
    found that the fact does not meet the criterion; `why` lists their reasons. `decided_by` is the adjudicator, or None
    if the majority decided.
    """

    valid: int = Field(ge=0)
    answers: int = Field(ge=0)
    lacks: dict[str, int] = Field(default_factory=dict)
    why: tuple[str, ...] = ()
    decided_by: str | None = None


class FactOrigin(Record):
    """The provenance of a key fact.

    `proposed` is the original wording, which annotators may have changed. `origin` and `model` say from which text and
    by which model the fact was extracted. `votes` are the verdicts of other models, and `review` is the result of the
    human review, or None if there was no review.
    """

    proposed: str
    origin: Origin
    model: str | None = None
    votes: tuple[FactVote, ...] = ()
    review: FactReview | None = None


class Claim(Record):
    """An atomic statement of a summary.

    `span` is the passage from which the statement was extracted, or None if unknown.
    """

    text: str
    span: Span | None = None
