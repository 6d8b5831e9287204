"""The deck as JSON inside the page, a piece a summary and a piece a document: compact, safe in script elements.

A browser keeps a script element that holds data as the text it is: a piece is parsed when its summary is looked at.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import isnan, nan
from typing import Any

from summeter.report.blocks import Card, Deck, FactList, Verdict, Vote

# What could end the script element or a line of it, what HTML forbids, and halves of characters that UTF-8 cannot hold.
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
DIGITS = 4
# What stands in the table of words: so many texts, none of them longer. What comes later is written where it belongs.
MOST_WORDS, LONGEST_WORD = 4096, 80


def island(deck: Deck) -> Iterator[tuple[str, str]]:
    """The id and the JSON of each piece. Offsets are turned into UTF-16 units, in which browsers count.

    `card-N` is what `_Coder.card` says, `doc-N` what `_Coder.document` says, and `deck`, the last, is what all cards
    share: `columns` [[title, source, signature]], `words`, `domain` (the number of each document's, or -1), and of each
    card what it is chosen and ordered by: `document`, `system`, `flags`, and `values`, a list a column.
    """
    coder = _Coder(deck)
    for at, card in enumerate(deck.cards):
        yield f"card-{at}", _json(coder.card(card))
    for at in range(len(deck.documents)):
        yield f"doc-{at}", _json(coder.document(at))
    yield "deck", _json(coder.shared())


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


class _Coder:
    """Keeps what cards share, and what they are chosen by, while they are written."""

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.units = [Units(one.text) for one in deck.documents]
        self.systems = {name: at for at, name in enumerate(deck.systems)}
        self.words: dict[str, int] = {}
        # Lists of key facts belong to a document: each stands there once, however many summaries are held against it.
        self.lists: list[dict[FactList, int]] = [{} for _ in deck.documents]
        self.documents, self.owners = array("L"), array("L")
        self.flags: list[str] = []
        self.values = [array("d") for _ in deck.columns]

    def shared(self) -> dict[str, Any]:
        """What all cards share; asked for when they are written."""
        deck = self.deck
        domains = {name: at for at, name in enumerate(deck.domains)}
        return {
            "sources": list(deck.sources), "signatures": list(deck.signatures),
            "columns": [list(column) for column in deck.columns],
            "systems": list(deck.systems), "domains": list(deck.domains),
            "switches": [[one.aspect, list(one.sources)] for one in deck.switches],
            "words": list(self.words),
            "domain": [-1 if one.domain is None else domains[one.domain] for one in deck.documents],
            "document": list(self.documents), "system": list(self.owners), "flags": self.flags,
            "values": [[None if isnan(value) else value for value in column] for column in self.values],
        }  # fmt: skip

    def card(self, card: Card) -> dict[str, Any]:
        """t text, s sentences, v verdicts, p people, k lists of facts (numbers of the document's, claims as such a
        list), c scores [[column, value, n, missing, status, reason]]."""
        self.documents.append(card.document)
        self.owners.append(self.systems[card.system])
        raised = {"w": card.wrong, "f": card.failed, "d": card.differs, "c": card.changed > 0}
        self.flags.append(sys.intern("".join(letter for letter, on in raised.items() if on)))
        scores = [one._replace(value=None if one.value is None else round(one.value, DIGITS)) for one in card.scores]
        values = {one.column: one.value for one in scores if one.value is not None}
        for at, column in enumerate(self.values):
            column.append(values.get(at, nan))
        own = Units(card.text)
        return {
            "t": card.text,
            "s": [[own.at(start), own.at(end)] for start, end in card.sentences],
            "v": [self._verdict(one, own, self.units[card.document]) for one in card.verdicts],
            "p": [self._vote(one) for one in card.votes],
            "k": [self._list(card.document, one) for one in card.facts],
            "c": [[*one[:4], *(text and self._word(text) for text in one[4:])] for one in scores],
        }  # fmt: skip

    def document(self, at: int) -> dict[str, Any]:
        """id, text, domain, references, lists of key facts [[origin, [text]]]; asked for when its cards are written."""
        one = self.deck.documents[at]
        return {
            "id": one.id, "text": one.text, "domain": one.domain, "references": list(one.references),
            "facts": [[facts.origin, list(facts.texts)] for facts in self.lists[at]],
        }  # fmt: skip

    def _list(self, document: int, facts: FactList) -> int | list[Any]:
        if facts.origin == "summary":
            return [facts.origin, list(facts.texts)]
        lists = self.lists[document]
        return lists.setdefault(facts, len(lists))

    def _word(self, text: str) -> int | str:
        """The number of a text that may come again, as long as there is room for it; else the text itself."""
        if text not in self.words:
            if len(text) > LONGEST_WORD or len(self.words) == MOST_WORDS:
                return text
            self.words[text] = len(self.words)
        return self.words[text]

    def _verdict(self, one: Verdict, own: Units, document: Units) -> list[Any]:
        """[source, aspect, unit, index, facts, kind, said, [reason], [[side, start, end]], foreign]."""
        evidence: Sequence[list[Any]] = [
            [span.of, *(side.at(place) for side in (document if span.of == "d" else own,)
                        for place in (span.start, span.end))]
            for span in one.evidence
        ]  # fmt: skip
        return [
            one.source, self._word(one.aspect), self._word(one.unit), -1 if one.at is None else one.at,
            -1 if one.facts is None else one.facts, one.kind, self._word(one.said),
            [self._word(reason) for reason in one.reasons], evidence, int(one.foreign),
        ]  # fmt: skip

    def _vote(self, one: Vote) -> list[Any]:
        """[unit, aspect, index, facts, kind, said]: whether it differs depends on the judge the reader chooses."""
        facts = -1 if one.facts is None else one.facts
        return [self._word(one.unit), self._word(one.aspect), one.at, facts, one.kind, self._word(one.said)]
