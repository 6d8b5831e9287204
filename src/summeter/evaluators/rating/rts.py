"""`rts`: reason, then a score from one to five (Shen et al., Findings of EMNLP 2023, section 3: reason-then-score)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy, reading
from summeter.evaluators.rating.judge import AspectJudge, Verdict, sentence
from summeter.evaluators.replies import clean

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": sentence(), "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}


class ReasonThenScore(AspectJudge):
    """A reason in one sentence, then a score from 1 to 5, for one aspect.

    Writes one judgment a summary: value in [1, 5] (half points are kept), reason the judge's. Where a stored
    reply is plain text, all of it is the reason.

    >>> ReasonThenScore().strict('{"reason": "It wanders.", "score": 2}')
    Verdict(value=2.0, reason='It wanders.')
    """

    name: ClassVar[str] = "rts"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge gives a reason, then a score from 1 to 5, for one aspect (RTS)."
    schema_: ClassVar[dict[str, Any]] = SCHEMA

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The score and the reason; from plain text where exactly one score is named."""
        return reading.verdict(
            text, _from_json, lambda body: Verdict(reading.score_in(body, material), clean(text)), material
        )

    def released(self, text: str) -> Verdict:
        """The score by the released rules."""
        return Verdict(legacy.rts(text).score, clean(text))


def _from_json(value: Mapping[str, Any]) -> Verdict:
    return Verdict(reading.point(reading.field(value, "score")), reading.reason(value))
