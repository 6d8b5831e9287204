"""`direct`: direct assessment, one score from 0 to 100.

After Wang et al. (2023), whose ChatGPT-DA stands in FENICE's tables (Scire et al., 2024) beside their
ChatGPT-Star, which is `stareval`. The form is theirs, the wording ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import reading
from summeter.evaluators.rating.judge import AspectJudge, Verdict
from summeter.evaluators.replies import show
from summeter.records import ReplyError

HIGH = 100
SCHEMA: dict[str, Any] = {
    "type": "object",
    # Not minimum and maximum, which some servers leave out in silence.
    "properties": {"score": {"type": "integer", "enum": list(range(HIGH + 1))}},
    "required": ["score"],
    "additionalProperties": False,
}
_OF = r"(?:\s*(?:/|\(?out\s+of)\s*(\d{1,9})(?!\d)\)?)?"
_BARE = re.compile(rf"[\s*_\"'`]*(\d{{1,9}}){_OF}[\s*_\"'`.!]*", re.IGNORECASE)
_NAMED = re.compile(
    rf"\bscore\b\s*(?:\(\s*0\s*(?:-|–|to)\s*100\s*\))?[\s*_\"'`]*(?:\bof\b|\bis\b|:|=)[\s*_\"'`]*"
    rf"(-?\d{{1,9}}(?:[.,]\d{{1,9}})?)(?!\s*[-–]\s*\d|\s+(?:to|or)\s+\d|%|\d){_OF}",
    re.IGNORECASE,
)


class DirectAssessment(AspectJudge):
    """A whole score from 0 to 100 for one aspect, without a reason.

    Writes one judgment a summary: value in [0, 100].

    >>> DirectAssessment().strict("Score: 85/100").value
    85.0
    """

    name: ClassVar[str] = "direct"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge gives a score from 0 to 100 for one aspect (direct assessment)."
    scale: ClassVar[str | None] = "0-100"
    schema_: ClassVar[dict[str, Any]] = SCHEMA

    aspect: str = "faithfulness"

    def strict(self, text: str, material: Sequence[str] = ()) -> Verdict:
        """The one score named; a whole number that stands alone will do."""
        return reading.verdict(
            text, _from_json, lambda body: Verdict(_named(body, material)), material, wordless=True
        )  # fmt: skip


def _from_json(value: Mapping[str, Any]) -> Verdict:
    score = reading.field(value, "score")
    if isinstance(score, str) and (found := _BARE.fullmatch(score)):
        return Verdict(_whole(found))
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ReplyError(f"the score is {show(score)}, not a whole number from 0 to {HIGH}")
    return Verdict(_on_scale(float(score), show(score)))


def _named(body: str, material: Sequence[str]) -> float:
    if bare := _BARE.fullmatch(body):
        return _whole(bare)
    values = {_whole(one) for one in reading.own(_NAMED.finditer(body), material)}
    if len(values) != 1:
        if values:
            raise ReplyError("the reply names more than one score", fault="ambiguous")
        raise ReplyError(f"the reply names no score; it ends {show(body[-50:])}", fault="no_json")
    return values.pop()


def _whole(found: re.Match[str]) -> float:
    number, out_of = found.groups()
    if out_of is not None and int(out_of) != HIGH:
        raise ReplyError(f"the score is out of {out_of}, not out of {HIGH}")
    return _on_scale(float(number.replace(",", ".")), number)


def _on_scale(value: float, shown: str) -> float:
    if not (0 <= value <= HIGH and value.is_integer()):
        raise ReplyError(f"the score is {shown}, not a whole number from 0 to {HIGH}")
    return value
