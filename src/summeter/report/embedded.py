"""The summaries as JSON inside the page, a piece a summary and a piece a document: compact, safe in script elements.

A browser keeps a script element that holds data as the text it is: a piece is parsed when its summary is looked at.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Any

from summeter.pages.embedded import Utf16Offsets, script_json
from summeter.records.text import Side
from summeter.report.blocks import FactList, ItemList, ItemView, Verdict, Vote
from summeter.scoring import Score

DIGITS = 4
# What stands in the table of words: so many texts, none of them longer. What comes later is written where it belongs.
MOST_WORDS, LONGEST_WORD = 4096, 80


def embedded_json(items: ItemList) -> Iterator[tuple[str, str]]:
    """The id and the JSON of each piece. Offsets are turned into UTF-16 units, in which browsers count.

    `summary-N` holds `_Writer.summary`, `document-N` holds `_Writer.document`, and `shared`, the last, holds
    `_Writer.shared`. Rows of one kind are written as columns, `{"source": [0, 1], "kind": ["good", "bad"]}`: each
    name stands once. Texts that come again (aspects, units, decisions, reasons, statuses) are numbers in `words`.
    """
    writer = _Writer(items)
    for index, view in enumerate(items.views):
        yield f"summary-{index}", script_json(writer.summary(index, view))
    for index in range(len(items.documents)):
        yield f"document-{index}", script_json(writer.document(index))
    yield "shared", script_json(writer.shared())


class _Writer:
    """Keeps what summaries share, and what they are chosen and ordered by, while they are written."""

    def __init__(self, items: ItemList) -> None:
        self.items = items
        self.units = [Utf16Offsets(document.text) for document in items.documents]
        self.systems = {name: index for index, name in enumerate(items.systems)}
        self.words: dict[str, int] = {}
        # Lists of key facts belong to a document: each stands there once, however many summaries are held against it.
        self.lists: list[dict[FactList, int]] = [{} for _ in items.documents]
        self.document_of, self.system_of = array("L"), array("L")
        self.flagged: dict[str, array[int]] = {name: array("L") for name in ("wrong", "failed", "differs", "changed")}
        self.values = [array("d") for _ in items.columns]

    def shared(self) -> dict[str, Any]:
        """What all summaries share; asked for when they are written.

        `summaries` are columns: the number of each summary's document and system. `flagged` lists the numbers of the
        summaries with an error, with a failure, on which people and a judge differ, on which judges differ. `values`
        holds the scores of all summaries, a list a column.
        """
        items = self.items
        domains = {name: index for index, name in enumerate(items.domains)}
        named = [document.domain for document in items.documents]
        return {
            "sources": items.sources,
            "signatures": items.signatures,
            "columns": [
                {"title": column.about.title, "source": column.source, "signature": column.signature}
                for column in items.columns
            ],
            "systems": items.systems,
            "domains": items.domains,
            "filters": [{"aspect": aspect, "sources": sources} for aspect, sources in items.filters.items()],
            "words": list(self.words),
            "documents": {"domain": [None if name is None else domains[name] for name in named]},
            "summaries": {"document": list(self.document_of), "system": list(self.system_of)},
            "flagged": {name: list(numbers) for name, numbers in self.flagged.items()},
            "values": [[None if isnan(value) else value for value in column] for column in self.values],
        }

    def summary(self, index: int, view: ItemView) -> dict[str, Any]:
        """A summary with every verdict on it.

        `facts` are lists of key facts: numbers of the document's lists, or `{origin, texts}` for the summary's claims.
        """
        self.document_of.append(view.document)
        self.system_of.append(self.systems[view.summary.system])
        flags = {"wrong": view.wrong, "failed": view.failed, "differs": view.differs, "changed": view.changed > 0}
        for name, raised in flags.items():
            if raised:
                self.flagged[name].append(index)
        values = {column: _rounded(score.value) for column, score in view.scores.items()}
        for number, column_values in enumerate(self.values):
            value = values.get(number)
            column_values.append(nan if value is None else value)
        own = Utf16Offsets(view.summary.text)
        return {
            "text": view.summary.text,
            "sentences": [[own.at(span.start), own.at(span.end)] for span in view.summary.sentences],
            "verdicts": self._verdicts(view.verdicts, own, self.units[view.document]),
            "votes": self._votes(view.votes),
            "facts": [self._list(view.document, facts) for facts in view.facts],
            "scores": self._scores(view.scores, values),
        }

    def document(self, index: int) -> dict[str, Any]:
        """A source with its lists of key facts; asked for when its summaries are written."""
        document = self.items.documents[index]
        return {
            "id": document.id,
            "text": document.text,
            "domain": document.domain,
            "references": document.references,
            "facts": [facts._asdict() for facts in self.lists[index]],
        }

    def _list(self, document: int, facts: FactList) -> int | dict[str, Any]:
        if facts.origin == "summary":
            return facts._asdict()
        lists = self.lists[document]
        return lists.setdefault(facts, len(lists))

    def _word(self, text: str) -> int | str:
        """The number of a text that may come again, as long as there is room for it; else the text itself."""
        if text not in self.words:
            if len(text) > LONGEST_WORD or len(self.words) == MOST_WORDS:
                return text
            self.words[text] = len(self.words)
        return self.words[text]

    def _verdicts(self, verdicts: Sequence[Verdict], own: Utf16Offsets, document: Utf16Offsets) -> dict[str, list[Any]]:
        """`index` counts within the unit, `facts` within the summary's lists; evidence is [start, end] by side."""
        return {
            "source": [verdict.source for verdict in verdicts],
            "aspect": [self._word(verdict.judgment.aspect) for verdict in verdicts],
            "unit": [self._word(verdict.judgment.target.unit) for verdict in verdicts],
            "index": [verdict.judgment.target.index for verdict in verdicts],
            "facts": [verdict.facts for verdict in verdicts],
            "kind": [self._word(verdict.kind) for verdict in verdicts],
            "decision": [self._word(verdict.decision) for verdict in verdicts],
            "reasons": [[self._word(reason) for reason in verdict.reasons] for verdict in verdicts],
            "inDocument": [_offsets(verdict, "document", document) for verdict in verdicts],
            "inSummary": [_offsets(verdict, "summary", own) for verdict in verdicts],
            "foreign": [int(verdict.foreign) for verdict in verdicts],
        }

    def _votes(self, votes: Sequence[Vote]) -> dict[str, list[Any]]:
        """Whether a vote differs from a judge depends on the judge that the reader chooses."""
        return {
            "unit": [self._word(vote.unit) for vote in votes],
            "aspect": [self._word(vote.aspect) for vote in votes],
            "index": [vote.at for vote in votes],
            "facts": [vote.facts for vote in votes],
            "kind": [self._word(vote.kind) for vote in votes],
            "decision": [self._word(vote.decision) for vote in votes],
        }

    def _scores(self, scores: Mapping[int, Score], values: Mapping[int, float | None]) -> dict[str, list[Any]]:
        return {
            "column": list(scores),
            "value": [values[column] for column in scores],
            "n": [score.n for score in scores.values()],
            "missing": [score.missing for score in scores.values()],
            "status": [self._word(score.status) for score in scores.values()],
            "reason": [None if score.reason is None else self._word(score.reason) for score in scores.values()],
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _offsets(verdict: Verdict, side: Side, units: Utf16Offsets) -> list[list[int]]:
    return [[units.at(span.start), units.at(span.end)] for span in verdict.judgment.evidence if span.of == side]
