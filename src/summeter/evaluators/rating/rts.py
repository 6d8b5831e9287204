"""`rts`: reason-then-score, a reason followed by a score from 1 to 5.

See Shen et al. (Findings of EMNLP 2023, section 3).

`rts2` uses the shorter prompt that was released with it, which has a brief definition and describes only the top of the
scale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy
from summeter.evaluators.rating.judge import POINTS, SENTENCE, Rating, RatingJudge, ShortForm
from summeter.evaluators.rating.reading import score_in
from summeter.evaluators.rating.scale import NUMBER, point
from summeter.evaluators.replies import clean, field, required_text, show
from summeter.records import ReplyError


class ReasonThenScore(RatingJudge):
    """Give a reason in one sentence, followed by a score from 1 to 5, for one aspect.

    Writes one judgment per summary, with a value in [1, 5] (half points are kept) and the judge's reason. If a stored
    reply is plain text, the whole text is the reason.

    >>> ReasonThenScore().strict('{"reason": "It wanders.", "score": 2}')
    Rating(value=2.0, reason='It wanders.')
    """

    name, version = "rts", "2"
    summary = "An LLM judge gives a reason, then a score from 1 to 5, for one aspect (RTS)."
    reply: ClassVar[Mapping[str, Any]] = {"reason": SENTENCE, "score": POINTS}

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the score and the reason in the JSON object."""
        return Rating(point(field(answer, "score")), required_text(answer, "reason"))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the score in a reply in plain text.

        Raises ReplyError for a number without a reason.
        """
        if re.fullmatch(rf"\W*{NUMBER}\W*", text, re.IGNORECASE):
            raise ReplyError(f"the reply contains a score without a reason: {show(text)}", fault="no_json")
        return Rating(score_in(text, material=material))

    def released(self, text: str) -> Rating:
        """Return the score read by the released rules."""
        return Rating(legacy.rts(text).score, clean(text))


class ReasonThenScoreShort(ShortForm, ReasonThenScore):
    """Reason-then-score with a shorter prompt. Replies and values are those of `rts`."""

    name, version = "rts2", "2"
    summary = "As rts, by a shorter prompt that describes only the top of the scale (RTS2)."
