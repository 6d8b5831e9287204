"""A claim beside the sentence that speaks of it: what findings are read from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple

from summeter.evaluators.support.analysis import Word, analyse
from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.features import Measured
from summeter.evaluators.support.numbers import Number, shares

_LONGEST: Final = 48  # characters of a quotation
_SHORT: Final = 3  # letters of a word that is told by its capitals
_JOINED: Final = 40  # characters on either side of a word that may be joined to it
_CLAUSE_ENDS: Final = frozenset(",;:.!?()—")


Kind = Literal[
    "number",
    "unit",
    "negation",
    "opposite",
    "sibling",
    "roles",
    "speaker",
    "name",
    "stranger",
    "pronoun",
    "word",
    "replaced",
    "quantifier",
    "modality",
    "cause",
    "missing",
    "elsewhere",
]


class Finding(NamedTuple):
    """Something a person can check: its kind, its text, and the claim's words it accounts for."""

    kind: Kind
    text: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Side:
    """Words where they stand in a text: the claim's, or those of a part of the evidence."""

    text: str
    words: tuple[Word, ...]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all words."""
        return frozenset(word.key for word in self.words)

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each word by where it starts."""
        return {word.start: at for at, word in enumerate(self.words)}

    @cached_property
    def numbered(self) -> list[tuple[int, Word, Number]]:
        """The words that are numbers, each with its place."""
        return [(at, word, word.number) for at, word in enumerate(self.words) if word.number]

    @cached_property
    def shares(self) -> list[Number]:
        """What stands for a share of a whole."""
        return shares(self.text)

    @cached_property
    def number_keys(self) -> frozenset[str]:
        """The keys of the numbers."""
        return frozenset(word.key for _, word, _ in self.numbered)

    @cached_property
    def number_edges(self) -> frozenset[int]:
        """Where numbers start and end."""
        return frozenset(edge for _, word, _ in self.numbered for edge in (word.start, word.end))

    def quote(self, first: Word, last: Word | None = None) -> str:
        """A stretch of the text as written."""
        return shown(self.text, first.start, (last or first).end)

    def joined(self, word: Word) -> str:
        """The word with all that stands beside it without a space: the whole of e-mail, or of U.S. The word alone where
        that is long: no abbreviation is, and text without spaces would be read again for each of its words."""
        start, end = max(0, word.start - _JOINED), min(len(self.text), word.end + _JOINED)
        before = max(self.text.rfind(space, start, word.start) for space in " \n\t")
        after = [at for at in (self.text.find(space, word.end, end) for space in " \n\t") if at >= 0]
        if (before < 0 < start) or (not after and end < len(self.text)):
            return self.text[word.start : word.end]
        return self.text[max(start, before + 1) : min(after, default=end)]

    def lower(self, word: Word) -> str:
        """The word as written, in lower case."""
        return self.text[word.start : word.end].lower()

    def parted(self, first: Word, second: Word) -> bool:
        """Whether a comma or a stop stands between two words."""
        between = self.text[first.end : second.start]
        return between != " " and any(sign in _CLAUSE_ENDS for sign in between)

    def ahead(self, at: int, most: int) -> Iterator[Word]:
        """At most ``most`` words behind place ``at``, up to the end of the clause."""
        for i in range(at + 1, min(len(self.words), at + 1 + most)):
            if self.parted(self.words[i - 1], self.words[i]):
                return
            yield self.words[i]

    def behind(self, at: int, most: int) -> Iterator[Word]:
        """At most ``most`` words in front of place ``at``, nearest first, up to the start of the clause."""
        for i in range(at - 1, max(-1, at - 1 - most), -1):
            if self.parted(self.words[i], self.words[i + 1]):
                return
            yield self.words[i]

    def following(self, word: Word) -> Word | None:
        """The content word that is next, or next but one."""
        at = self.places[word.start]
        return next((other for other in self.words[at + 1 : at + 3] if other.content), None)

    def key(self, at: int) -> str | None:
        """The key of the word at a place; None where there is none."""
        return self.words[at].key if 0 <= at < len(self.words) else None

    @property
    def names(self) -> list[Word]:
        """Capitalised content words; the first of a sentence counts too."""
        return [word for word in self.words if word.capital and word.content]


@dataclass(frozen=True)
class Scene:
    """A claim and the evidence with the window found for it; ``named`` is what the evidence is called. ``accounted``:
    where the claim's words start that a finding accounts for so far."""

    claim: Side
    measured: Measured
    evidence: Evidence
    named: str
    accounted: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, claim: str, measured: Measured, evidence: Evidence, named: str) -> Scene:
        """The scene of a claim that was measured against the evidence."""
        return cls(Side(claim, tuple(analyse(claim))), measured, evidence, named)

    @cached_property
    def core(self) -> int:
        """The sentence of the best window with most of the claim's words, rare ones counting more."""
        content = {
            word.key: 1 + 1 / len(self.evidence.places.get(word.key, [0])) for word in self.claim.words if word.content
        }
        first, last = self.measured.best
        lines = [{word.key for word in self.evidence.words_of(i, i + 1)} for i in range(first, last)]
        counts = [sum(weight for key, weight in content.items() if key in line) for line in lines]
        return first + counts.index(max(counts))

    def part(self, first: int, last: int) -> Side:
        """Sentences ``first`` up to but without ``last`` of the evidence."""
        return Side(self.evidence.text, self.evidence.words_of(first, last))

    @cached_property
    def line(self) -> Side:
        """The core sentence."""
        return self.part(self.core, self.core + 1)

    @cached_property
    def window(self) -> Side:
        """The best window."""
        return self.part(*self.measured.best)

    @cached_property
    def source(self) -> Side:
        """The whole evidence."""
        return Side(self.evidence.text, self.evidence.words)

    @cached_property
    def is_question(self) -> bool:
        """Whether the core sentence is a question."""
        start, end = self.evidence.sentences[self.core]
        return self.evidence.text[start:end].rstrip("\"'”’ \n").endswith(("?", "？", "؟"))

    @cached_property
    def missing(self) -> tuple[Word, ...]:
        """Content words of the claim that stand nowhere in the evidence, however they are joined there."""
        return tuple(word for word in self.measured.missing if not self._joined_otherwise(word))

    def _joined_otherwise(self, word: Word) -> bool:
        """e-mail for email, U.S. for US: whether its letters, with those joined to it, make words of the evidence."""
        stretch = self.claim.joined(word)
        letters = "".join(filter(str.isalnum, stretch))
        if letters.casefold() not in self.evidence.folded:
            return False
        pattern = r"[\W_]?".join(map(re.escape, letters))
        same_case = len(letters) <= _SHORT  # US is not us
        return bool(re.search(rf"(?<!\w){pattern}(?!\w)", self.evidence.text, 0 if same_case else re.IGNORECASE))

    @cached_property
    def absent_starts(self) -> frozenset[int]:
        """Where the claim's words start that stand nowhere in the evidence."""
        return frozenset(word.start for word in self.missing)

    def instead(self, claimed: str, other: str) -> str:
        """'claimed', where the source says 'other'."""
        return f"'{claimed}', where the {self.named} says '{other}'"

    def absent(self, claimed: str, other: str | None) -> str:
        """'claimed' is not in the source; nearest: 'other'."""
        return f"'{claimed}' is not in the {self.named}" + (f"; nearest: '{other}'" if other else "")


def shown(text: str, start: int, end: int) -> str:
    """A stretch on one line; a long one loses its middle."""
    stretch = " ".join(text[start:end].split())
    half = _LONGEST // 2
    return stretch if len(stretch) <= _LONGEST else f"{stretch[: half - 1].rstrip()} … {stretch[1 - half :].lstrip()}"
