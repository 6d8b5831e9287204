"""`direct`: direct assessment, one score from 0 to 100.

After Wang et al. (2023), whose ChatGPT-DA stands in FENICE's tables (Scire et al., 2024) beside their
ChatGPT-Star, which is `stareval`. The form is theirs, the wording ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import reading
from summeter.evaluators.rating.judge import Rating, RatingJudge
from summeter.evaluators.replies import show
from summeter.records import ReplyError

HIGH = 100
_OF = r"(?:\s*(?:/|\(?out\s+of)\s*(\d{1,9})(?!\d)\)?)?"
_BARE = re.compile(rf"[\s*_\"'`]*(\d{{1,9}}){_OF}[\s*_\"'`.!]*", re.IGNORECASE)
_NAMED = re.compile(
    rf"\bscore\b\s*(?:\(\s*0\s*(?:-|–|to)\s*100\s*\))?[\s*_\"'`]*(?:\bof\b|\bis\b|:|=)[\s*_\"'`]*"
    rf"(-?\d{{1,9}}(?:[.,]\d{{1,9}})?)(?!\s*[-–]\s*\d|\s+(?:to|or)\s+\d|%|\d){_OF}",
    re.IGNORECASE,
)


class DirectAssessment(RatingJudge):
    """A whole score from 0 to 100 for one aspect, without a reason.

    Writes one judgment a summary: value in [0, 100].

    >>> DirectAssessment().strict("Score: 85/100").value
    85.0
    """

    name: ClassVar[str] = "direct"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "An LLM judge gives a score from 0 to 100 for one aspect (direct assessment)."
    scale: ClassVar[str | None] = "0-100"
    # Not minimum and maximum, which some servers leave out in silence.
    reply: ClassVar[Mapping[str, Any]] = {"score": {"type": "integer", "enum": list(range(HIGH + 1))}}

    aspect: str = "faithfulness"

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """The score, a whole number."""
        score = reading.field(answer, "score")
        if isinstance(score, str) and (bare := _BARE.fullmatch(score)):
            return Rating(_whole(bare))
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise ReplyError(f"the score is {show(score)}, not a whole number from 0 to {HIGH}")
        return Rating(_on_scale(float(score), show(score)))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """The one score named; a whole number that stands alone will do."""
        if bare := _BARE.fullmatch(text):
            return Rating(_whole(bare))
        values = {_whole(match) for match in reading.own(_NAMED.finditer(text), material)}
        if len(values) > 1:
            raise ReplyError("the reply names more than one score", fault="ambiguous")
        if not values:
            raise ReplyError(f"the reply names no score; it ends {show(text[-50:])}", fault="no_json")
        return Rating(values.pop())


def _whole(score: re.Match[str]) -> float:
    number, out_of = score.groups()
    if out_of is not None and int(out_of) != HIGH:
        raise ReplyError(f"the score is out of {out_of}, not out of {HIGH}")
    return _on_scale(float(number.replace(",", ".")), number)


def _on_scale(value: float, shown: str) -> float:
    if not (0 <= value <= HIGH and value.is_integer()):
        raise ReplyError(f"the score is {shown}, not a whole number from 0 to {HIGH}")
    return value
