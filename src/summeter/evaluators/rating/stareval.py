"""`stareval`: one to five stars (Wang et al., 2023; as run by Shen et al., Findings of EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy, reading
from summeter.evaluators.rating.judge import POINTS, Rating, RatingJudge


class StarEval(RatingJudge):
    """One to five stars for one aspect, without a reason. Writes one judgment a summary: value in [1, 5].

    >>> StarEval().strict("4 stars").value
    4.0
    """

    name: ClassVar[str] = "stareval"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge gives one to five stars for one aspect (StarEval)."
    reply: ClassVar[Mapping[str, Any]] = {"stars": POINTS}

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """The number of stars."""
        return Rating(reading.point(reading.field(answer, "stars"), reading.STARS))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """The one number of stars that is named; a number that stands alone will do."""
        return Rating(reading.number_in(text, reading.STARS, material))

    def released(self, text: str) -> Rating:
        """The number before the first "star"."""
        return Rating(legacy.stareval(text))
