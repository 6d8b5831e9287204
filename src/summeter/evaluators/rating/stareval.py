"""`stareval`: one to five stars (Wang et al., 2023), as used by Shen et al. (Findings of EMNLP 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy
from summeter.evaluators.rating.judge import POINTS, Rating, RatingJudge
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.scale import STARS, point
from summeter.evaluators.replies import field


class StarEval(RatingJudge):
    """Rate one aspect by one to five stars, without a reason.

    Writes one judgment per summary, with a value in [1, 5].

    >>> StarEval().strict("4 stars").value
    4.0
    """

    name, version = "stareval", "2"
    summary = "An LLM judge gives one to five stars for one aspect (StarEval)."
    reply: ClassVar[Mapping[str, Any]] = {"stars": POINTS}

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the number of stars in the JSON object."""
        return Rating(point(field(answer, "stars"), STARS))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the number of stars in a reply in plain text."""
        return Rating(score_in(text, STARS, material))

    def released(self, text: str) -> Rating:
        """Return the number before the first "star"."""
        return Rating(legacy.stareval(text))
