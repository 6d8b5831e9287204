"""Parsers that reproduce the effects of those released by Shen et al. (2023).

If the released code stores -1 as the score (rule 7) or fails with an error (MCQ, StarEval), these parsers raise
ReplyError. docs/rating.md describes how the rules misread replies. Do not use these parsers for new measurements.
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
    """A score, and the number of the rule by which it was read."""

    score: float
    rule: int


def rts(output: str) -> Ruled:
    """Return the score read by the first rule that matches the text in lower case.

    Rule 1 reads "score:" and a digit from 1 to 5, with at most one decimal. Rule 2 reads "score:" and a number word.
    Rule 3 reads the first digit after "score" or "scoring" in the same sentence. Rule 4 reads a number word in the same
    way (also inside a word). Rule 5 can never apply. Rule 6 reads the last digit from 1 to 5 anywhere, which is 5 for
    "4 out of 5". Rules 3 and 6 keep only decimals from .1 to .5, so "3.8" is read as 3. Raises ReplyError if the
    released code stores -1.

    >>> rts("It earns a score of 3.5 for fluency."), rts("Dull; 3 out of 5.")
    (Ruled(score=3.5, rule=3), Ruled(score=5.0, rule=6))
    """
    text = output.lower()
    if match := _LABELLED_DIGIT.search(text):
        return Ruled(float(match.group(1)), 1)
    if match := _LABELLED_WORD.search(text):
        return Ruled(_WORDS[match.group(1)], 2)
    if (stretch := _after_cue(text, _DIGIT_AFTER)) and (match := re.search(r"[1-5](?:\.[1-5])?", stretch)):
        return Ruled(float(match.group()), 3)
    if (stretch := _after_cue(text, _WORD_AFTER)) and (match := re.search(_WORD, stretch)):
        return Ruled(_WORDS[match.group()], 4)
    if (anywhere := _ANY_DIGIT.findall(text)) and (match := _POINTS.match(anywhere[-1])):
        return Ruled(float(match.group()), 6)
    raise ReplyError(f"the released parser found no score (and keeps -1) in {show(output)}")


def _after_cue(text: str, pattern: re.Pattern[str]) -> str | None:
    """Return the match of `pattern` after the leftmost possible cue, or None."""
    blocked = 0
    for cue in _CUE.finditer(text):
        if cue.start() < blocked:
            continue  # an earlier cue in the same sentence has the same continuation
        if match := pattern.match(text, cue.end()):
            return match.group()
        stop = text.find(".", cue.end())
        if stop < 0:
            return None
        blocked = stop
    return None


def mcq(output: str) -> float:
    """Return a value from 1 to 5 for a reply that consists of one letter from A to E.

    Raises ReplyError for other replies, for which the released code fails with an error.

    >>> mcq(" D\\n")
    4.0
    """
    letter = output.strip()
    if len(letter) != 1 or letter not in "ABCDE":
        raise ReplyError(f"the released parser fails with an error on {show(output)}")
    return float("ABCDE".index(letter) + 1)


def stareval(output: str) -> float:
    """Return the number before the first blank and "star".

    The released code does not check the range.

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
        raise ReplyError(f"the released parser fails with an error on {show(output)}")
    return value


def h2h(output: str) -> float:
    """Return 1 if #1 is better, 0 if #2 is better, and 0.5 for all other replies, including refusals.

    >>> h2h("A: Summary #1 is more fluent."), h2h("No idea."), h2h(" A")
    (1.0, 0.5, 0.5)
    """
    text = output.lower()
    if len(text.strip()) == 1:
        letter = text  # including blanks, which make it a tie
    elif match := re.search(r"summary ([abc])", text):
        letter = match.group(1)
    else:
        leading = re.match(r"([abc])[ .:]", text)
        letter = leading.group(1) if leading else ""
    return {"a": 1.0, "b": 0.0}.get(letter, 0.5)
