"""`direct`: direct assessment, a score from 0 to 100.

The form follows Wang et al. (2023); the wording was written for summeter. In the tables of FENICE (Scirè et al., 2024),
this judge is called ChatGPT-DA, and `stareval` is called ChatGPT-Star.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating.judge import Rating, RatingJudge
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.scale import Scale, point
from summeter.evaluators.replies import field

HIGH = 100
SCALE = Scale(0, HIGH, whole=True)


class DirectAssessment(RatingJudge):
    """Rate one aspect by a whole number from 0 to 100, without a reason.

    Writes one judgment per summary, with a value in [0, 100].

    >>> DirectAssessment().strict("Score: 85/100").value
    85.0
    """

    name, version = "direct", "1"
    summary = "An LLM judge gives a score from 0 to 100 for one aspect (direct assessment)."
    scale = "0-100"
    # An enum, because some servers silently ignore minimum and maximum.
    reply: ClassVar[Mapping[str, Any]] = {"score": {"type": "integer", "enum": list(range(HIGH + 1))}}

    aspect: str = "faithfulness"

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the score in the JSON object, which must be a whole number."""
        score = field(answer, "score")
        return Rating(score_in(score, SCALE) if isinstance(score, str) else point(score, SCALE))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the score in a reply in plain text."""
        return Rating(score_in(text, SCALE, material))
