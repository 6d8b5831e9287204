"""A claim beside the sentence that speaks of it: what the reasons are read from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from summeter.evaluators.support.analysis import Word, analyse
from summeter.evaluators.support.evidence import Evidence
from summeter.evaluators.support.features import Measured

_LONGEST = 48
_CLAUSE_ENDS = frozenset(",;:.!?()—")


class Finding(NamedTuple):
    """Something a person can check: its kind, its text, and the claim's words it accounts for."""

    kind: str
    text: str
    words: tuple[Word, ...] = ()


@dataclass(frozen=True)
class Scene:
    """A claim, its words, and the evidence text with the window found for it; ``named`` is what the text is called."""

    claim: str
    measured: Measured
    evidence: Evidence
    named: str

    @cached_property
    def ours(self) -> tuple[Word, ...]:
        """The claim's words."""
        return tuple(analyse(self.claim))

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of all words of the claim."""
        return frozenset(word.key for word in self.ours)

    @cached_property
    def core(self) -> int:
        """The sentence of the best window with most of the claim's words, rare ones counting more."""
        content = {word.key: 1 + 1 / len(self.evidence.places.get(word.key, [0])) for word in self.ours if word.content}
        first, last = self.measured.best
        lines = [{word.key for word in self.evidence.words_of(i, i + 1)} for i in range(first, last)]
        counts = [sum(weight for key, weight in content.items() if key in line) for line in lines]
        return first + counts.index(max(counts))

    @cached_property
    def line(self) -> tuple[Word, ...]:
        """The words of the core sentence."""
        return self.evidence.words_of(self.core, self.core + 1)

    @cached_property
    def is_question(self) -> bool:
        """Whether the core sentence is a question."""
        start, end = self.evidence.sentences[self.core]
        return self.evidence.text[start:end].rstrip("\"'”’ \n").endswith(("?", "？", "؟"))

    @cached_property
    def window(self) -> tuple[Word, ...]:
        """The words of the best window."""
        return self.evidence.words_of(*self.measured.best)

    def in_claim(self, first: Word, last: Word | None = None) -> str:
        """A stretch of the claim as written."""
        return shown(self.claim, first.start, (last or first).end)

    def in_evidence(self, first: Word, last: Word | None = None) -> str:
        """A stretch of the evidence as written."""
        return shown(self.evidence.text, first.start, (last or first).end)

    def lower(self, word: Word, *, ours: bool) -> str:
        """The word as written, in lower case."""
        return (self.claim if ours else self.evidence.text)[word.start : word.end].lower()

    def parted(self, first: Word, second: Word, *, ours: bool) -> bool:
        """Whether a comma or a stop stands between two words."""
        between = (self.claim if ours else self.evidence.text)[first.end : second.start]
        return between != " " and any(sign in _CLAUSE_ENDS for sign in between)

    def ahead(self, words: Sequence[Word], at: int, most: int, *, ours: bool) -> Iterator[Word]:
        """At most ``most`` words behind place ``at``, up to the end of the clause."""
        for i in range(at + 1, min(len(words), at + 1 + most)):
            if self.parted(words[i - 1], words[i], ours=ours):
                return
            yield words[i]

    def behind(self, words: Sequence[Word], at: int, most: int, *, ours: bool) -> Iterator[Word]:
        """At most ``most`` words in front of place ``at``, nearest first, up to the start of the clause."""
        for i in range(at - 1, max(-1, at - 1 - most), -1):
            if self.parted(words[i], words[i + 1], ours=ours):
                return
            yield words[i]

    def instead(self, say: str, other: str) -> str:
        """'say', where the source says 'other'."""
        return f"'{say}', where the {self.named} says '{other}'"


def shown(text: str, start: int, end: int) -> str:
    """A stretch on one line; a long one loses its middle."""
    stretch = " ".join(text[start:end].split())
    half = _LONGEST // 2
    return stretch if len(stretch) <= _LONGEST else f"{stretch[: half - 1].rstrip()} … {stretch[1 - half :].lstrip()}"


def slot(scene: Scene, first: int, last: int, pool: Sequence[Word]) -> tuple[Word, Word] | None:
    """What stands in ``pool`` between the same two neighbours as the claim's words first..last; None if nothing does.

    The start and the end of a sentence count as neighbours. What is found has as many words of content as the claim
    there, none of them in the claim, and at most one word more.
    """
    left, right = _key(scene.ours, first - 1), _key(scene.ours, last + 1)
    if left is None and right is None:
        return None
    size = sum(word.content for word in scene.ours[first : last + 1])
    for start in range(len(pool)):
        if _key(pool, start - 1) != left:
            continue
        for end in range(start, min(len(pool), start + last - first + 2)):
            piece = pool[start : end + 1]
            content = [word for word in piece if word.content]
            if len(content) != size or _key(pool, end + 1) != right:
                continue
            if not any(word.key in scene.keys for word in content):
                return piece[0], piece[-1]
    return None


def _key(words: Sequence[Word], at: int) -> str | None:
    return words[at].key if 0 <= at < len(words) else None


def names_of(words: Sequence[Word]) -> list[Word]:
    """Capitalised content words; the first of a sentence counts too."""
    return [word for word in words if word.capital and word.content]
