"""The words and dependency arcs of a text.

They come from a file of CoreNLP replies or from the English parser.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from summeter.models.fitted import DataFile
from summeter.records import InputError
from summeter.text import english

WHAT: Final = "dependency arcs"
MOST: Final = 20
"""Maximum number of arcs per text, as in the released code."""
_IGNORED: Final = frozenset(["punct", "root", "det", "case", "aux", "auxpass", "dep", "cop", "mark"])
_PTB: Final = {
    "(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-", "“": "``", "”": "''",
    "‘": "`", "’": "'",
}  # fmt: skip
"""Brackets and quotation marks in the notation of the Penn Treebank."""


class Arc(NamedTuple):
    """A dependency relation between two words, given by their indexes."""

    child: int
    head: int
    relation: str


class Arcs(NamedTuple):
    """The lower-case words of a text, the offsets of the words (None if unknown), and the arcs."""

    words: tuple[str, ...]
    offsets: tuple[tuple[int, int] | None, ...]
    arcs: tuple[Arc, ...]

    def shifted(self, start: int) -> Arcs:
        """Return the same arcs, with all offsets increased by `start`."""
        return self._replace(offsets=tuple(at and (start + at[0], start + at[1]) for at in self.offsets))


@lru_cache(maxsize=8)
def read_arcs(file: DataFile) -> Mapping[str, Arcs]:
    """Read the words and arcs of each text from lines of `{"text": TEXT, "corenlp": REPLY}`.

    REPLY is the JSON reply of the server for the annotators tokenize, ssplit, pos and depparse; its
    `enhancedDependencies` are used. For documents, the annotator tokenize is sufficient. Results are cached per file.
    Raises InputError with the line number of an invalid reply.
    """
    replies: dict[str, Arcs] = {}
    for line, row in enumerate(file.text.split("\n"), 1):
        if row.strip():
            try:
                entry = json.loads(row)
                replies[str(entry["text"])] = _of_reply(entry["corenlp"])
            except (ValueError, KeyError, TypeError, IndexError) as error:
                why = f'is not {{"text": TEXT, "corenlp": REPLY}} with a CoreNLP reply: {error!r}'
                raise InputError.at(file.path, why, line=line) from error
    return replies


def _of_reply(reply: Mapping[str, Any]) -> Arcs:
    words: list[str] = []
    offsets: list[tuple[int, int] | None] = []
    arcs: list[Arc] = []
    for sentence in reply.get("sentences", [reply]):
        first = len(words)
        for token in sentence["tokens"]:
            words.append(str(token["word"]).lower())
            begin, end = token.get("characterOffsetBegin"), token.get("characterOffsetEnd")
            offsets.append(None if begin is None or end is None else (int(begin), int(end)))
        for arc in sentence.get("enhancedDependencies", ()):
            child, head = int(arc["dependent"]) - 1, int(arc["governor"]) - 1
            # Roots have no head.
            if head >= 0 and str(arc["dep"]).lower() not in _IGNORED:
                arcs.append(Arc(first + child, first + head, str(arc["dep"])))
    if any(max(arc.child, arc.head) >= len(words) for arc in arcs):
        raise IndexError("an arc refers to a word that does not exist")
    return Arcs(tuple(words), tuple(offsets), tuple(arcs))


def parsed(text: str) -> Arcs:
    """Return the words and arcs of a text from the English parser.

    The relations of this parser are not Stanford dependencies. The object of a preposition is attached to the head of
    the preposition, as in enhanced dependencies.
    """
    tokens = english.parse(text).words
    arcs = []
    for place, token in enumerate(tokens):
        head, relation = token.head, token.dep.lower()
        if relation == "pobj" and tokens[head].dep == "prep":
            relation = f"nmod:{tokens[head].text.lower()}"
            head = tokens[head].head
        elif relation in {"prep", "pobj"}:
            continue
        if relation not in _IGNORED and head != place and not token.mark:
            arcs.append(Arc(place, head, relation))
    return Arcs(
        tuple(_PTB.get(one.text, one.text.lower()) for one in tokens),
        tuple((one.start, one.start + len(one.text)) for one in tokens),
        tuple(arcs),
    )


def words(text: str) -> tuple[str, ...]:
    """Return the lower-case words of a text, split by the parser's tokenizer."""
    return tuple(_PTB.get(one.text, one.text.lower()) for one in english.tokens(text) if not one.text.isspace())
