"""Define the item that an evaluator judges."""

from __future__ import annotations

from summeter.records.base import Record
from summeter.records.text import Document, Summary


class Item(Record):
    """A summary with its document. `rival` is the other summary in a pairwise comparison."""

    document: Document
    summary: Summary
    rival: Summary | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The texts of the sentences of the summary."""
        return self.summary.sentence_texts

    @property
    def references(self) -> tuple[str, ...]:
        """The reference summaries of the document that are not blank."""
        return tuple(text for text in self.document.references if text.strip())

    @property
    def key_facts(self) -> tuple[str, ...]:
        """The key facts of the document."""
        return self.document.key_facts
