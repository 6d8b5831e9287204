"""`h2h`: which of two summaries is better on one aspect (Shen et al., Findings of EMNLP 2023: head-to-head)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from summeter.evaluators.base import Need
from summeter.evaluators.rating import legacy, reading
from summeter.evaluators.rating.judge import AspectJudge, Verdict
from summeter.evaluators.replies import clean
from summeter.records import Document, Item, ReplyError, Summary, Unit

LETTERS = "ABC"
VALUES = {"A": 1.0, "B": 0.0, "C": 0.5}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(LETTERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}
_TURNED = re.compile(r"\b(?:not|less|worse|neither|nor)\b|n['’]t\b", re.IGNORECASE)


class HeadToHead(AspectJudge):
    """Two summaries of a document side by side: #1, #2, or both equally.

    Every pair of systems is asked in both orders, since judges favour a place: a preference is the mean of
    the two verdicts, and one that turns with the order is a tie (`scoring.preferences`). `order="ab"` asks
    once, in the order of `systems` where given, else of the names; such a run is signed so. `systems`
    compares these only (in `-e`: `h2h[systems=A;B;C]`); it changes no verdict and is not signed.

    Writes one judgment a pair: value 1 where the summary shown first (`Item.summary`) wins, 0 where the
    rival does, 0.5 for both.

    >>> HeadToHead().strict("B: Summary #2 is more fluent.").value
    0.0
    """

    name: ClassVar[str] = "h2h"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge compares two summaries on one aspect, in both orders (H2H)."
    needs: ClassVar[frozenset[Need]] = frozenset({"rival"})
    pairs: ClassVar[bool] = True
    scale: ClassVar[str | None] = None
    unit: ClassVar[Unit] = "pair"
    schema_: ClassVar[dict[str, Any]] = SCHEMA

    order: Literal["both", "ab"] = "both"
    systems: tuple[str, ...] | None = None

    @field_validator("systems", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(";")) if isinstance(value, str) else value

    @field_validator("systems")
    @classmethod
    def _distinct(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and (len(value) < 2 or len(set(value)) < len(value)):
            raise ValueError("name two or more different systems")
        return value

    def signature_fields(self) -> Mapping[str, object]:
        """As for every rating judge; and the order, where only one is asked."""
        return {**super().signature_fields(), "order": None if self.order == "both" else self.order}

    def items(self, document: Document, summaries: Sequence[Summary]) -> list[Item]:
        """The pairs of the chosen systems: each in both orders, or each once."""
        ranks = {name: rank for rank, name in enumerate(self.systems or sorted(one.system for one in summaries))}
        pairs = super().items(document, [one for one in summaries if one.system in ranks])
        if self.order == "both":
            return pairs
        return [one for one in pairs if one.rival and ranks[one.summary.system] < ranks[one.rival.system]]

    def incompatible(self, systems: Collection[str]) -> str | None:
        """Also where a chosen system has no summaries."""
        absent = [name for name in self.systems or () if name not in systems]
        if absent:
            return f"{self.name}: the data hold no summaries by {', '.join(absent)} (systems: {', '.join(systems)})"
        return super().incompatible(systems)

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The one letter answered, where what follows does not gainsay it."""
        return reading.verdict(text, _from_json, _from_text, material, wordless=True)

    def released(self, text: str) -> Verdict:
        """The verdict by the released rules: whatever cannot be read is a tie."""
        return Verdict(legacy.h2h(text), clean(text) or None)


def _from_json(value: Mapping[str, Any]) -> Verdict:
    return Verdict(VALUES[reading.letter(reading.field(value, "answer"), LETTERS)])


def _from_text(body: str) -> Verdict:
    found = reading.letter_in(body, LETTERS)
    named = re.findall(r"#\s*([12])", found.rest)
    agrees = {"A": named[:1] == ["1"], "B": named[:1] == ["2"], "C": set(named) == {"1", "2"}}[found.letter]
    if _TURNED.search(found.rest) or (named and not agrees):
        raise ReplyError(f"the letter {found.letter} and what follows it do not plainly agree: {found.rest[:80]!r}")
    return Verdict(VALUES[found.letter], clean(found.rest) or None)
