"""The summaries as JSON inside the page, a piece a summary and a piece a document: compact, safe in script elements.

A browser keeps a script element that holds data as the text it is: a piece is parsed when its summary is looked at.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import isnan, nan
from typing import Any

from summeter.records.text import Side
from summeter.report.blocks import FactList, ItemList, ItemScore, ItemView, Verdict, Vote

# What could end the script element or a line of it, what HTML forbids, and halves of characters that UTF-8 cannot hold.
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
DIGITS = 4
# What stands in the table of words: so many texts, none of them longer. What comes later is written where it belongs.
MOST_WORDS, LONGEST_WORD = 4096, 80


def embedded_json(items: ItemList) -> Iterator[tuple[str, str]]:
    """The id and the JSON of each piece. Offsets are turned into UTF-16 units, in which browsers count.

    `summary-N` is what `_Writer.summary` says, `document-N` what `_Writer.document` says, and `shared`, the last, what
    `_Writer.shared` says. Rows of one kind are written as columns, `{"source": [0, 1], "kind": ["good", "bad"]}`: each
    name stands once. Texts that come again (aspects, units, decisions, reasons, statuses) are numbers in `words`.
    """
    writer = _Writer(items)
    for index, view in enumerate(items.views):
        yield f"summary-{index}", _json(writer.summary(index, view))
    for index in range(len(items.documents)):
        yield f"document-{index}", _json(writer.document(index))
    yield "shared", _json(writer.shared())


def _json(data: object) -> str:
    return escape(json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def escape(text: str) -> str:
    r"""JSON that holds no character with a meaning in HTML.

    >>> escape('"</script>"')
    '"\\u003c/script\\u003e"'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Units:
    """Turns code-point offsets of one text into UTF-16 offsets.

    >>> Units("a😀b").at(2)
    3
    """

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [place for place, char in enumerate(text) if char > "\uffff"]

    def at(self, place: int) -> int:
        """The offset in UTF-16 units: one more for each wide character before it."""
        return place + bisect_left(self._wide, place)


class _Writer:
    """Keeps what summaries share, and what they are chosen and ordered by, while they are written."""

    def __init__(self, items: ItemList) -> None:
        self.items = items
        self.units = [Units(document.text) for document in items.documents]
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
        return {
            "sources": items.sources,
            "signatures": items.signatures,
            "columns": [column._asdict() for column in items.columns],
            "systems": items.systems,
            "domains": items.domains,
            "filters": [choice._asdict() for choice in items.filters],
            "words": list(self.words),
            "documents": {"domain": [None if one.domain is None else domains[one.domain] for one in items.documents]},
            "summaries": {"document": list(self.document_of), "system": list(self.system_of)},
            "flagged": {name: list(numbers) for name, numbers in self.flagged.items()},
            "values": [[None if isnan(value) else value for value in column] for column in self.values],
        }

    def summary(self, index: int, view: ItemView) -> dict[str, Any]:
        """A summary with everything that was said of it.

        `facts` are lists of key facts: numbers of the document's lists, or `{origin, texts}` for the summary's claims.
        """
        self.document_of.append(view.document)
        self.system_of.append(self.systems[view.system])
        flags = {"wrong": view.wrong, "failed": view.failed, "differs": view.differs, "changed": view.changed > 0}
        for name, raised in flags.items():
            if raised:
                self.flagged[name].append(index)
        scores = [one._replace(value=None if one.value is None else round(one.value, DIGITS)) for one in view.scores]
        values = {one.column: one.value for one in scores if one.value is not None}
        for number, column in enumerate(self.values):
            column.append(values.get(number, nan))
        own = Units(view.text)
        return {
            "text": view.text,
            "sentences": [[own.at(start), own.at(end)] for start, end in view.sentences],
            "verdicts": self._verdicts(view.verdicts, own, self.units[view.document]),
            "votes": self._votes(view.votes),
            "facts": [self._list(view.document, facts) for facts in view.facts],
            "scores": self._scores(scores),
        }

    def document(self, index: int) -> dict[str, Any]:
        """A source with its lists of key facts; asked for when its summaries are written."""
        document = self.items.documents[index]
        return document._asdict() | {"facts": [facts._asdict() for facts in self.lists[index]]}

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

    def _verdicts(self, verdicts: Sequence[Verdict], own: Units, document: Units) -> dict[str, list[Any]]:
        """`index` counts within the unit, `facts` within the summary's lists; evidence is [start, end] by side."""
        return {
            "source": [one.source for one in verdicts],
            "aspect": [self._word(one.aspect) for one in verdicts],
            "unit": [self._word(one.unit) for one in verdicts],
            "index": [one.at for one in verdicts],
            "facts": [one.facts for one in verdicts],
            "kind": [self._word(one.kind) for one in verdicts],
            "said": [self._word(one.said) for one in verdicts],
            "reasons": [[self._word(reason) for reason in one.reasons] for one in verdicts],
            "inDocument": [_places(one, "document", document) for one in verdicts],
            "inSummary": [_places(one, "summary", own) for one in verdicts],
            "foreign": [int(one.foreign) for one in verdicts],
        }

    def _votes(self, votes: Sequence[Vote]) -> dict[str, list[Any]]:
        """Whether a vote differs from a judge depends on the judge that the reader chooses."""
        return {
            "unit": [self._word(one.unit) for one in votes],
            "aspect": [self._word(one.aspect) for one in votes],
            "index": [one.at for one in votes],
            "facts": [one.facts for one in votes],
            "kind": [self._word(one.kind) for one in votes],
            "said": [self._word(one.said) for one in votes],
        }

    def _scores(self, scores: Sequence[ItemScore]) -> dict[str, list[Any]]:
        return {
            "column": [one.column for one in scores],
            "value": [one.value for one in scores],
            "n": [one.n for one in scores],
            "missing": [one.missing for one in scores],
            "status": [self._word(one.status) for one in scores],
            "reason": [None if one.reason is None else self._word(one.reason) for one in scores],
        }


def _places(verdict: Verdict, side: Side, units: Units) -> list[list[int]]:
    return [[units.at(span.start), units.at(span.end)] for span in verdict.evidence if span.of == side]
