"""Item: what an evaluator judges."""

from __future__ import annotations

from summeter.records.base import Record
from summeter.records.text import Document, Summary


class Item(Record):
    """A summary beside its document; `rival` is the other summary where two are compared."""

    document: Document
    summary: Summary
    rival: Summary | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The summary's sentences."""
        return self.summary.sentence_texts

    @property
    def references(self) -> tuple[str, ...]:
        """Human-written summaries of the document."""
        return self.document.references

    @property
    def key_facts(self) -> tuple[str, ...]:
        """Key facts given with the document."""
        return self.document.key_facts
