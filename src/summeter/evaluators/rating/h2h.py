"""`h2h`: which of two summaries is better on one aspect (Shen et al., Findings of EMNLP 2023: head-to-head)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from summeter.evaluators.aspects import RATED
from summeter.evaluators.base import Evaluator, Semicolons, semicolons
from summeter.evaluators.rating import legacy
from summeter.evaluators.rating.judge import Rating, RatingJudge
from summeter.evaluators.rating.reading import letter_in
from summeter.evaluators.rating.scale import letter
from summeter.evaluators.replies import clean, field, show
from summeter.records import Document, Item, ReplyError, Summary

LETTERS = "ABC"
VALUES = {"A": 1.0, "B": 0.0, "C": 0.5}
_STEMS = "|".join(re.sub(r"(?:ness|ce|cy|age)$", "", name) for name in RATED if name != "overall")
_BETTER = (
    r"(?:reads\s+)?(?:(?:much|far|slightly|clearly|somewhat|significantly|considerably)\s+)?"
    rf"(?:better|more\s+(?:{_STEMS})[a-z]*)"
)
_ONE = r"(?:the\s+)?(?:summary\s*#?\s*(?:{0})|#{0}|{1}(?:\s+summary)?)"
_FIRST, _SECOND = _ONE.format("1", "(?:first|former)"), _ONE.format("2", "(?:second|latter)")
_ALIKE = rf"(?:good|bad|(?:{_STEMS})[a-z]*)"
_IN = r"(?:\s+in\s+(?:terms\s+of\s+)?(?!no)[a-z]+)?[\s.!*_)]*"
_REASONS = {
    letter: re.compile(reason, re.IGNORECASE)
    for letter, reason in {
        "A": rf"{_FIRST}\s+(?:is\s+)?{_BETTER}(?:\s+than\s+{_SECOND})?{_IN}",
        "B": rf"{_SECOND}\s+(?:is\s+)?{_BETTER}(?:\s+than\s+{_FIRST})?{_IN}",
        "C": rf"both\s+(?:{_FIRST}\s+and\s+{_SECOND}\s+|summaries\s+)?are\s+equally\s+{_ALIKE}{_IN}",
    }.items()
}
"""What may follow a letter on its line: that the summary it stands for is better, that both are alike."""


class HeadToHead(RatingJudge):
    """Two summaries of a document side by side: #1, #2, or both equally.

    Every pair of systems is asked in both orders, since judges favour a place: a preference is the mean of
    the two ratings, and one that turns with the order is a tie (`scoring.preferences`). `order="ab"` asks
    once, in the order of `systems` or `pairs` where given, else of the names; such a run is signed so.

    `systems` compares these only (in `-e`: `h2h[systems=A;B;C]`), `pairs` these pairs only (`h2h[pairs=A:B;B:C]`).
    Both change no judgment and are not signed: a run can be carried on with more of them, and two selections in one
    run become one (`merged`).

    Writes one judgment a pair: value 1 where the summary shown first (`Item.summary`) wins, 0 where the
    rival does, 0.5 for both.

    >>> HeadToHead().strict("B: Summary #2 is more fluent.").value
    0.0
    """

    name, version = "h2h", "2"
    summary = "An LLM judge compares two summaries on one aspect, in both orders (H2H)."
    needs = frozenset({"rival"})
    pairwise = True
    scale = None
    reply: ClassVar[Mapping[str, Any]] = {"answer": {"type": "string", "enum": list(LETTERS)}}

    order: Literal["both", "ab"] = "both"
    systems: Semicolons[str] | None = None
    pairs: tuple[tuple[str, str], ...] | None = None

    @field_validator("pairs", mode="before")
    @classmethod
    def _split_pairs(cls, value: Any) -> Any:
        value = semicolons(value)
        if not isinstance(value, list | tuple):
            return value
        return tuple(tuple(map(str.strip, pair.split(":"))) if isinstance(pair, str) else pair for pair in value)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if self.systems is not None and (len(self.systems) < 2 or len(set(self.systems)) < len(self.systems)):
            raise ValueError("`systems` names two or more different systems")
        if self.pairs is None:
            return self
        if self.systems is not None:
            raise ValueError("give `systems` or `pairs`, not both")
        if not self.pairs or any(not all(pair) or len(set(pair)) < 2 for pair in self.pairs):
            raise ValueError("`pairs` names pairs of two different systems: A:B;C:D")
        if len({frozenset(pair) for pair in self.pairs}) < len(self.pairs):
            raise ValueError("`pairs` names a pair twice")
        return self

    def signature_fields(self) -> Mapping[str, object]:
        """As for every rating judge; and the order, where only one is asked."""
        return {**super().signature_fields(), "order": None if self.order == "both" else self.order}

    def items(self, document: Document, summaries: Sequence[Summary]) -> list[Item]:
        """The pairs chosen: each in both orders, or each once."""
        selection, systems = self._selection, sorted(summary.system for summary in summaries)
        chosen = set(combinations(systems, 2) if selection is None else selection)
        if self.order == "both":
            chosen |= {(second, first) for first, second in chosen}
        items = super().items(document, summaries)
        return [item for item in items if item.rival and (item.summary.system, item.rival.system) in chosen]

    def incompatible(self, systems: Collection[str]) -> str | None:
        """Also where a chosen system has no summaries."""
        chosen = self.systems or tuple(dict.fromkeys(name for pair in self.pairs or () for name in pair))
        absent = [name for name in chosen if name not in systems]
        if absent:
            return f"{self.name}: the data hold no summaries by {', '.join(absent)} (systems: {', '.join(systems)})"
        return super().incompatible(systems)

    def merged(self, other: Evaluator) -> Evaluator:
        """The pairs of both selections, each once."""
        if not isinstance(other, HeadToHead) or other == self:
            return super().merged(other)
        first, second = self._selection, other._selection
        if first is None or second is None:
            return self if first is None else other
        of = {frozenset(pair): pair for pair in (*second, *first)}
        settings = {"systems": None, "pairs": tuple(of.values())}
        return self.model_copy(update=settings)

    @property
    def _selection(self) -> tuple[tuple[str, str], ...] | None:
        return self.pairs if self.systems is None else tuple(combinations(self.systems, 2))

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """The value of the letter, where no other text of the answer plainly says another."""
        chosen = letter(field(answer, "answer"), LETTERS)
        for name, words in answer.items():
            if name != "answer" and isinstance(words, str):
                _check(chosen, words)
        return Rating(VALUES[chosen])

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """The value of the letter that the text answers with; its reason may follow it."""
        chosen, rest = letter_in(text, LETTERS, lambda one, why: one in _REASONS and bool(_REASONS[one].fullmatch(why)))
        _check(chosen, rest)
        return Rating(VALUES[chosen], clean(rest) or None)

    def released(self, text: str) -> Rating:
        """The preference by the released rules: whatever cannot be read is a tie."""
        return Rating(legacy.h2h(text), clean(text) or None)


def _check(letter: str, words: str) -> None:
    """Raise ReplyError where the words say of another summary that it is better."""
    stated = {other for other, reason in _REASONS.items() if reason.search(words)}
    if stated and letter not in stated:
        raise ReplyError(f"the letter {letter} and what else is said do not agree: {show(words)}")
