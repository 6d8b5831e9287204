"""`stareval`: one to five stars (Wang et al., 2023; as run by Shen et al., Findings of EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy, reading
from summeter.evaluators.rating.judge import AspectJudge, Verdict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"stars": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["stars"],
    "additionalProperties": False,
}


class StarEval(AspectJudge):
    """One to five stars for one aspect, without a reason.

    Writes one judgment a summary: value in [1, 5].

    >>> StarEval().strict("4 stars").value
    4.0
    """

    name: ClassVar[str] = "stareval"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge gives one to five stars for one aspect (StarEval)."
    schema_: ClassVar[dict[str, Any]] = SCHEMA

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The one number of stars named; a number that stands alone will do."""
        return reading.verdict(
            text, _from_json, lambda body: Verdict(reading.stars_in(body, material)), material, wordless=True
        )

    def released(self, text: str) -> Verdict:
        """The number before the first "star"."""
        return Verdict(legacy.stareval(text))


def _from_json(value: Mapping[str, Any]) -> Verdict:
    return Verdict(reading.point(reading.field(value, "stars"), "number of stars"))
