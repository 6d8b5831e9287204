"""`mcq`: a choice of five described options, from A (worst, 1) to E (best, 5).

See Shen et al. (Findings of EMNLP 2023).

`mcq2` uses the shorter prompt that was released with it, which has a brief definition and options that state their
points.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from summeter.evaluators.rating import legacy
from summeter.evaluators.rating.judge import Rating, RatingJudge, ShortForm
from summeter.evaluators.rating.reading import DENIES, explains, letter_in
from summeter.evaluators.rating.scale import letter
from summeter.evaluators.replies import choice, field

LETTERS = "ABCDE"
_POINTS = re.compile(r"\.\s+(?:Score: (?:one|two|three|four|five)|[1-5] points?)\.?\s*$", re.IGNORECASE)


class MultipleChoice(RatingJudge):
    """Choose one of five described options by a letter.

    Writes one judgment per summary, with a value from 1 (A) to 5 (E) and no reason.

    >>> MultipleChoice().strict("Answer: D").value
    4.0
    """

    name, version = "mcq", "2"
    summary = "An LLM judge chooses one of five described options, A = 1 to E = 5 (MCQ)."
    reply: ClassVar[Mapping[str, Any]] = {"answer": {"type": "string", "enum": list(LETTERS)}}

    def from_json(self, answer: Mapping[str, Any]) -> Rating:
        """Return the value of the letter in the JSON object."""
        return _rating(letter(field(answer, "answer"), LETTERS))

    def from_text(self, text: str, material: Sequence[str]) -> Rating:
        """Return the value of the letter in a reply in plain text."""
        return _rating(letter_in(text, LETTERS, self._explained)[0])

    def _explained(self, letter: str, rest: str) -> bool:
        """Return whether the text after a letter is that option or an explanation."""
        if letter in LETTERS and choice(_POINTS.sub("", rest)) == choice(self.about.levels[LETTERS.index(letter)]):
            return True
        return explains(rest) and DENIES.search(rest) is None

    def released(self, text: str) -> Rating:
        """Return the value of a reply that consists of one letter."""
        return Rating(legacy.mcq(text))


class MultipleChoiceShort(ShortForm, MultipleChoice):
    """The multiple-choice judge with a shorter prompt. Replies and values are those of `mcq`."""

    name, version = "mcq2", "2"
    summary = "As mcq, by a shorter prompt whose options name their points (MCQ2)."


def _rating(letter: str) -> Rating:
    return Rating(float(LETTERS.index(letter) + 1))
