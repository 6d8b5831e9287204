"""Rating scales, and parsers of the fields of a JSON answer that contain a rating."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from summeter.evaluators.replies import choice, show
from summeter.records import ReplyError

NUMBER: Final = r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?|one|two|three|four|five)"
"""Pattern of a number in a reply, which `number` converts."""
_WORDS: Final = ("zero", "one", "two", "three", "four", "five")


class Scale(NamedTuple):
    """A scale from `low` to `high`.

    `noun` names a rating in messages, and `whole` excludes half points.
    """

    low: float
    high: float
    noun: str = "score"
    whole: bool = False

    def checked(self, value: float) -> float:
        """Return the value unchanged. Raises ReplyError if the value is not on the scale."""
        if not self.low <= value <= self.high or (self.whole and not value.is_integer()):
            kind = "a whole number " if self.whole else ""
            raise ReplyError(f"the {self.noun} is {value:.10g}, which is not {kind}from {self.low:g} to {self.high:g}")
        return value


POINTS: Final = Scale(1, 5)
STARS: Final = Scale(1, 5, "number of stars")


def number(text: str) -> float:
    """Return the value of a text that matches `NUMBER`.

    >>> number("4.5"), number("Four")
    (4.5, 4.0)
    """
    return float(_WORDS.index(text.lower())) if text.isalpha() else float(text)


def point(value: Any, scale: Scale = POINTS) -> float:
    """Return the rating in a field of an answer, a number or a string.

    Raises ReplyError if it is invalid.

    >>> point("four"), point(3.5)
    (4.0, 3.5)
    """
    if isinstance(value, str) and re.fullmatch(NUMBER, value.strip(), re.IGNORECASE):
        return scale.checked(number(value.strip()))
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**9:
        return scale.checked(float(value))
    raise ReplyError(f"the {scale.noun} is {show(value)}, not a number from {scale.low:g} to {scale.high:g}")


def letter(value: Any, letters: str) -> str:
    """Return the letter in a field of an answer. "D", "d)" and "D." are equal.

    Raises ReplyError if the field is not one of the letters.
    """
    answer = (choice(value) or "").upper()
    if len(answer) != 1 or answer not in letters:
        raise ReplyError(f"the answer is {show(value)}, not one letter from {letters[0]} to {letters[-1]}")
    return answer
