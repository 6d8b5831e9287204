"""`mcq`: one of five described options, A (worst, 1) to E (best, 5) (Shen et al., Findings of EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy, reading
from summeter.evaluators.rating.judge import AspectJudge, Verdict

LETTERS = "ABCDE"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(LETTERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}


class MultipleChoice(AspectJudge):
    """Five options in words, one letter as the answer.

    Writes one judgment a summary: value 1 (A) to 5 (E), no reason.

    >>> MultipleChoice().strict("Answer: D").value
    4.0
    """

    name: ClassVar[str] = "mcq"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge chooses one of five described options, A = 1 to E = 5 (MCQ)."
    schema_: ClassVar[dict[str, Any]] = SCHEMA

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The value of the one letter answered."""
        return reading.verdict(
            text, _from_json, lambda body: _valued(reading.letter_in(body, LETTERS).letter), material, wordless=True
        )

    def released(self, text: str) -> Verdict:
        """The value of a reply that is one letter."""
        return Verdict(legacy.mcq(text))


def _from_json(value: Mapping[str, Any]) -> Verdict:
    return _valued(reading.letter(reading.field(value, "answer"), LETTERS))


def _valued(letter: str) -> Verdict:
    return Verdict(float(LETTERS.index(letter) + 1))
