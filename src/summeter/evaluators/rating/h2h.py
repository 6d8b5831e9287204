"""`h2h`: head-to-head comparison of two summaries on one aspect.

See Shen et al. (Findings of EMNLP 2023).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, model_validator

from summeter.evaluators.aspects import RATED
from summeter.evaluators.base import Evaluator, Semicolons
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
"""Pattern of the text that may follow a letter on its line: "its summary is better" or "both are equal"."""


Pair = Annotated[
    tuple[str, str],
    BeforeValidator(lambda pair: tuple(map(str.strip, pair.split(":"))) if isinstance(pair, str) else pair),
]


class HeadToHead(RatingJudge):
    """Ask which of two summaries of a document is better: #1, #2, or both equally.

    The judge is asked about every pair of systems in both orders, because judges tend to prefer one position. The
    preference is the mean of the two ratings; a preference that changes with the order is a tie
    (`scoring.preferences`). With `order="ab"`, the judge is asked once, in the order of `systems` or `pairs` if set, or
    else in the order of the systems' names; the signature then contains the order.

    `systems` limits the comparison to these systems (in `-e`: `h2h[systems=A;B;C]`), and `pairs` to these pairs
    (`h2h[pairs=A:B;B:C]`). These settings do not affect judgments and are not part of the signature. A run can
    therefore be resumed with more pairs, and two selections in one run are merged (`merged`).

    Writes one judgment per pair and order. The value is 1 if the summary shown first (`Item.summary`) is better, 0 if
    the rival is better, and 0.5 if both are equal.

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
    pairs: Semicolons[Pair] | None = None

    @model_validator(mode="after")
    def _check_selection(self) -> Self:
        if self.systems is not None and (len(self.systems) < 2 or len(set(self.systems)) < len(self.systems)):
            raise ValueError("`systems` must contain two or more different systems")
        if self.pairs is None:
            return self
        if self.systems is not None:
            raise ValueError("`systems` and `pairs` cannot be combined; remove one")
        if not self.pairs or any(not all(pair) or len(set(pair)) < 2 for pair in self.pairs):
            raise ValueError("`pairs` must contain pairs of two different systems, such as A:B;C:D")
        if len({frozenset(pair) for pair in self.pairs}) < len(self.pairs):
            raise ValueError("`pairs` contains a pair twice")
        return self

    def signature_fields(self) -> Mapping[str, object]:
        """Return the signature fields of every rating judge, and the order if only one order is used."""
        return {**super().signature_fields(), "order": None if self.order == "both" else self.order}

    def items(self, document: Document, summaries: Sequence[Summary]) -> list[Item]:
        """Return the selected pairs, each in both orders or once."""
        selection, systems = self._selection, sorted(summary.system for summary in summaries)
        chosen = set(combinations(systems, 2) if selection is None else selection)
        if self.order == "both":
            chosen |= {(second, first) for first, second in chosen}
        items = super().items(document, summaries)
        return [item for item in items if item.rival and (item.summary.system, item.rival.system) in chosen]

    def incompatible(self, systems: Collection[str]) -> str | None:
        """Return why the data cannot be judged, such as a selected system without summaries, or None."""
        chosen = self.systems or tuple(dict.fromkeys(name for pair in self.pairs or () for name in pair))
        absent = [name for name in chosen if name not in systems]
        if absent:
            return f"{self.name}: the data contain no summaries by {', '.join(absent)} (systems: {', '.join(systems)})"
        return super().incompatible(systems)

    def merged(self, other: Evaluator) -> Evaluator:
        """Return one evaluator for the distinct pairs in both selections."""
        if not isinstance(other, HeadToHead) or other == self:
            return super().merged(other)
        first, second = self._selection, other._selection
        if first is None or second is None:
            return self if first is None else other
        distinct = {frozenset(pair): pair for pair in (*second, *first)}
        return self.model_copy(update={"systems": None, "pairs": tuple(distinct.values())})

    @property
    def _selection(self) -> tuple[tuple[str, str], ...] | None:
        return self.pairs if self.systems is None else tuple(combinations(self.systems, 2))

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the value of the letter.

        Raises ReplyError if other text in the answer contradicts the letter.
        """
        chosen = letter(field(answer, "answer"), LETTERS)
        for name, words in answer.items():
            if name != "answer" and isinstance(words, str):
                _check(chosen, words)
        return Rating(VALUES[chosen])

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the value of the letter in a reply in plain text. A reason may follow the letter."""
        chosen, rest = letter_in(text, LETTERS, lambda one, why: one in _REASONS and bool(_REASONS[one].fullmatch(why)))
        _check(chosen, rest)
        return Rating(VALUES[chosen], clean(rest) or None)

    def released(self, text: str) -> Rating:
        """Return the preference by the released rules, which count unreadable replies as ties."""
        return Rating(legacy.h2h(text), clean(text) or None)


def _check(letter: str, words: str) -> None:
    """Raise ReplyError if the text states that the other summary is better."""
    stated = {other for other, reason in _REASONS.items() if reason.search(words)}
    if stated and letter not in stated:
        raise ReplyError(f"the letter {letter} contradicts the rest of the reply: {show(words)}")
