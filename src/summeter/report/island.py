"""The deck as JSON inside the page: compact, each text once, safe to stand in a script element."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from summeter.report.blocks import Card, CardScore, Deck, Verdict, Vote

# What could end the script element or a line of it, what HTML forbids, and halves of characters that UTF-8 cannot hold.
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
DIGITS = 4


def island(deck: Deck) -> str:
    """The deck as JSON text. Offsets are turned into UTF-16 units, in which browsers count.

    Layout (short names, since a run may hold thousands of cards): `documents` [{id, text, domain, references}],
    `columns` [[title, source, signature]], `facts` [[origin, [text]]], `strings` (reasons and verdicts, each once),
    `cards` as `_Coder.card` says.
    """
    coder = _Coder(deck)
    cards = [coder.card(card) for card in deck.cards]
    data = {
        "documents": [
            {"id": one.id, "text": one.text, "domain": one.domain, "references": list(one.references)}
            for one in deck.documents
        ],
        "sources": list(deck.sources), "signatures": list(deck.signatures),
        "columns": [list(column) for column in deck.columns],
        "facts": [[one.origin, list(one.texts)] for one in deck.facts],
        "systems": list(deck.systems), "domains": list(deck.domains),
        "switches": [[one.aspect, list(one.sources)] for one in deck.switches],
        "strings": list(coder.strings), "cards": cards,
    }  # fmt: skip
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
    """Keeps the table of strings and the units of each text while cards are written."""

    def __init__(self, deck: Deck) -> None:
        self.documents = [Units(one.text) for one in deck.documents]
        self.systems = {name: at for at, name in enumerate(deck.systems)}
        self.strings: dict[str, int] = {}

    def string(self, text: str | None) -> int:
        """The number of a string; -1 for none."""
        return -1 if text is None else self.strings.setdefault(text, len(self.strings))

    def card(self, card: Card) -> dict[str, Any]:
        """d document, y system, t text, s sentences, v verdicts, p people, c scores, o order, f flags."""
        own = Units(card.text)
        raised = {"w": card.wrong, "f": card.failed, "d": card.differs, "c": card.changed > 0}
        flags = "".join(letter for letter, on in raised.items() if on)
        return {
            "d": card.document, "y": self.systems[card.system], "t": card.text,
            "s": [[own.at(start), own.at(end)] for start, end in card.sentences],
            "v": [self._verdict(one, own, self.documents[card.document]) for one in card.verdicts],
            "p": [self._vote(one) for one in card.votes],
            "c": [_score(one, self) for one in card.scores],
            "o": card.order, "f": flags,
        }  # fmt: skip

    def _verdict(self, one: Verdict, own: Units, document: Units) -> list[Any]:
        """[source, aspect, unit, index, facts, kind, said, [reason], [[side, start, end]], foreign]."""
        evidence: Sequence[list[Any]] = [
            [span.of, *(side.at(place) for side in (document if span.of == "d" else own,)
                        for place in (span.start, span.end))]
            for span in one.evidence
        ]  # fmt: skip
        return [
            one.source, self.string(one.aspect), self.string(one.unit), -1 if one.at is None else one.at,
            -1 if one.facts is None else one.facts, one.kind, self.string(one.said),
            [self.string(reason) for reason in one.reasons], evidence, int(one.foreign),
        ]  # fmt: skip

    def _vote(self, one: Vote) -> list[Any]:
        """[unit, aspect, index, facts, kind, said]: whether it differs depends on the judge the reader chooses."""
        facts = -1 if one.facts is None else one.facts
        return [
            self.string(one.unit), self.string(one.aspect), one.at, facts, one.kind, self.string(one.said),
        ]  # fmt: skip


def _score(one: CardScore, coder: _Coder) -> list[Any]:
    """[column, value, n, missing, status, reason]."""
    value = None if one.value is None else round(one.value, DIGITS)
    return [one.column, value, one.n, one.missing, coder.string(one.status), coder.string(one.reason)]
