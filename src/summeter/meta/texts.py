"""Texts of judged units, and of the evidence of judgments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from summeter.choices import Level
from summeter.data.dataset import Dataset
from summeter.records import Judgment, Record


class Evidence(Record):
    """An evidence span of a judgment, with its text and, if the document has sources, its place in them."""

    of: str
    start: int
    end: int
    text: str
    place: str | None = None


class Texts:
    """The texts of a dataset."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.summaries = {(summary.document_id, summary.system): summary for summary in data.summaries}

    def unit(
        self, unit: str, document: str | None, system: str | None, index: int, list_id: str | None = None
    ) -> str | None:
        """Return the text of a sentence, key fact or summary, or None if the data do not have it.

        The key facts of the data are not those of a different list, which is given by `list_id`.
        """
        texts: Sequence[str] = ()
        if unit == Level.KEY_FACT:
            facts = self.data.key_facts(document) if document is not None and document in self.data.documents else None
            if facts is not None and list_id in (None, facts.id):
                texts = facts.texts
        elif (summary := self.summaries.get((document or "", system or ""))) is not None:
            if unit == Level.SUMMARY:
                return summary.text
            texts = summary.sentence_texts if unit == Level.SENTENCE else ()
        return texts[index] if 0 <= index < len(texts) else None

    def judged(self, judgment: Judgment) -> str | None:
        """Return the text of the unit that a judgment is about, or None if it is unknown."""
        target, claim = judgment.target, judgment.claim
        if claim is not None:
            return claim.text
        index = -1 if target.index is None else target.index
        return self.unit(target.unit, target.document_id, target.system, index, target.list_id)

    def evidence(self, judgment: Judgment) -> Iterator[Evidence]:
        """Yield the evidence spans of a judgment with their texts."""
        target = judgment.target
        for span in judgment.evidence:
            document = self.data.documents[target.document_id]
            text = document.text if span.of == "document" else self.summaries[target.document_id, target.system].text
            place = document.place(span)
            yield Evidence(of=span.of, start=span.start, end=span.end, text=span.cut(text), place=place)
