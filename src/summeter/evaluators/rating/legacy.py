"""The parsers released with Shen et al. (2023), in their effects: to reproduce published figures.

Where the released code keeps -1 as a score (rule 7), or ends with an error (MCQ, StarEval), there is no
verdict here: a failure is never a number. docs/rating.md lists how the rules misread. Nothing here is
meant for new measurements.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from summeter.evaluators.replies import show
from summeter.records import ReplyError

_WORDS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
_WORD = "|".join(_WORDS)

_LABELLED_DIGIT = re.compile(r"score:\s*([1-5](?:\.[0-9])?)")
_LABELLED_WORD = re.compile(rf"score:\s*({_WORD})")
_CUE = re.compile(r"score|scoring")
_DIGIT_AFTER = re.compile(r"[^.]+[1-5](?:\.[1-5])?")
_WORD_AFTER = re.compile(rf"[^.]+(?:{_WORD})[ .,]")
_ANY_DIGIT = re.compile(r"[1-5](?:\.[0-9] )?(?:out of [0-9])?")
_POINTS = re.compile(r"[1-5](?:\.[1-5])?")


class Ruled(NamedTuple):
    """A score, and the number of the rule that gave it."""

    score: float
    rule: int


def rts(output: str) -> Ruled:
    """The score by the first rule that matches, on the text in lower case.

    1. "score:" and a digit from 1 to 5, with one decimal where there is one; 2. "score:" and a number word;
    3. "score" or "scoring" and a digit in the same sentence: the first digit after it; 4. the same with a
    number word (also as a part of a word); 6. the last digit from 1 to 5 anywhere, hence 5 for "4 out of 5".
    (Rule 5 can never apply.) Rules 3 and 6 keep decimals from .1 to .5 only: "3.8" is 3. ReplyError where the
    released code keeps -1.

    >>> rts("It earns a score of 3.5 for fluency."), rts("Dull; 3 out of 5.")
    (Ruled(score=3.5, rule=3), Ruled(score=5.0, rule=6))
    """
    text = output.lower()
    if match := _LABELLED_DIGIT.search(text):
        return Ruled(float(match.group(1)), 1)
    if match := _LABELLED_WORD.search(text):
        return Ruled(_WORDS[match.group(1)], 2)
    if (stretch := _behind_cue(text, _DIGIT_AFTER)) and (match := re.search(r"[1-5](?:\.[1-5])?", stretch)):
        return Ruled(float(match.group()), 3)
    if (stretch := _behind_cue(text, _WORD_AFTER)) and (match := re.search(_WORD, stretch)):
        return Ruled(_WORDS[match.group()], 4)
    if (anywhere := _ANY_DIGIT.findall(text)) and (match := _POINTS.match(anywhere[-1])):
        return Ruled(float(match.group()), 6)
    raise ReplyError(f"the released parser finds no score (and keeps -1) in {show(output)}")


def _behind_cue(text: str, wanted: re.Pattern[str]) -> str | None:
    """What `wanted` matches after the leftmost cue it matches behind."""
    blocked = 0
    for cue in _CUE.finditer(text):
        if cue.start() < blocked:
            continue  # a cue further left in the same sentence saw all this one sees
        if match := wanted.match(text, cue.end()):
            return match.group()
        stop = text.find(".", cue.end())
        if stop < 0:
            return None
        blocked = stop
    return None


def mcq(output: str) -> float:
    """1 to 5 for a reply that is one letter from A to E; the released code ends with an error for any other.

    >>> mcq(" D\\n")
    4.0
    """
    letter = output.strip()
    if len(letter) != 1 or letter not in "ABCDE":
        raise ReplyError(f"the released parser ends with an error on {show(output)}")
    return float("ABCDE".index(letter) + 1)


def stareval(output: str) -> float:
    """The token before the first blank and "star", as a number; the released code checks no range.

    >>> stareval("I give it four stars.")
    4.0
    """
    match = re.search(r"(?<!\S)(\S+)\s+star", output.lower())
    token = match.group(1) if match else ""
    try:
        value = _WORDS.get(token) or float(token)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ReplyError(f"the released parser ends with an error on {show(output)}")
    return value


def h2h(output: str) -> float:
    """1 where #1 wins, 0 where #2 does, and 0.5 for all the rest, read or not: a refusal is a tie.

    >>> h2h("A: Summary #1 is more fluent."), h2h("No idea."), h2h(" A")
    (1.0, 0.5, 0.5)
    """
    text = output.lower()
    if len(text.strip()) == 1:
        letter = text  # with its blanks, which make it a tie
    elif match := re.search(r"summary ([abc])", text):
        letter = match.group(1)
    else:
        leading = re.match(r"([abc])[ .:]", text)
        letter = leading.group(1) if leading else ""
    return {"a": 1.0, "b": 0.0}.get(letter, 0.5)
