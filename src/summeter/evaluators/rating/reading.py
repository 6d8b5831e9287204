"""Scores, stars and letters in plain text, as the published forms ask for them; and the fields of a JSON answer.

A text counts when it names one score, one letter or one number of stars, and nothing else that could be
meant. Half points are kept: a judge that answers 3.5 has answered, and rounding would be a guess.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from summeter.evaluators.replies import choice, clean, show
from summeter.records import ReplyError

LOW, HIGH = 1.0, 5.0
WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10,
}  # fmt: skip

_NUMBER = rf"(?:\d+(?:\.\d+)?|{'|'.join(WORDS)})(?!\w)(?!\.\d)"
_MARKS = r"[\s*_\"'`“”]*"
_OF = rf"\s*(?:/|\(?out\s+of)\s*(?:a\s+possible\s+)?({_NUMBER})"
# As in: score: 4; a score of 4 out of 5; scoring a one; Score (1-5): 4; I rate it a 3.
_SCORE = re.compile(
    rf"""\b(?:scor(?:e[sd]?|ing)|rat(?:e[sd]?|ings?))\b
    (?:\s*\(\s*1\s*(?:-|–|to)\s*5\s*\))?
    (?:\s+(?:it|this|the\s+summary|this\s+summary)\b)?
    {_MARKS} (?: (?:is|of|as|at|a|an|be|would\ be|will\ be|was|=|:|[-–—](?=\s)) (?![\w]) {_MARKS} ){{0,4}}
    ({_NUMBER}) (?:{_OF})?""",
    re.IGNORECASE | re.VERBOSE,
)
# As in: 4 out of 5; (4/5). Alone it must end a phrase, since "2 out of 5 goals" is no score.
_OUT = re.compile(
    rf"(?<![\w./,-])({_NUMBER}){_OF}(?=\s*(?:[.,;:!)*\]]|$|\n|for\b|in\b|on\b|points?\b|overall\b|because\b|as\b|with\b))",
    re.IGNORECASE,
)
_STARS = re.compile(
    rf"(?<![\w./,-])({_NUMBER})(?:{_OF})?[\s-]*stars?\b|\bstars?\b{_MARKS}[:=]{_MARKS}({_NUMBER})(?:{_OF})?",
    re.IGNORECASE,
)
_BARE = re.compile(rf"{_MARKS}({_NUMBER})(?:{_OF})?[.!]?{_MARKS}", re.IGNORECASE)
# What makes a number one end of a range, or less than the whole number.
_MORE = re.compile(
    rf"(?:\s*[-–—]\s*\d|[-–—]\w|,\d|\s+(?:to|or)\s+{_NUMBER}|[\s-]+and[\s-]+(?:a[\s-]+)?half|\s*\d*⁄\d|\s+\d/\d)", re.I
)
# "not a score of 5", "less than a score of 4": at most three words before the number's own phrase.
_HEDGE = re.compile(
    r"(?:\bnot|n['’]t|\bnever|\bcannot|\bwithout|\brather\s+than|\binstead\s+of|\b(?:less|more|lower|higher)\s+than"
    r"|\bat\s+(?:least|most)|\babove|\bbelow|\bunder|\bover|\bbetween|\bnearly|\balmost)(?:\s+\w+){0,3}\s*$",
    re.IGNORECASE,
)
# Possessive, since the classes overlap: a long row of asterisks is tried once.
_LETTER = re.compile(
    r"""[\s*_"'`“(\[#>]*+
    (?:(?:(?:my|the|your)\s+)?(?:(?:final|correct|best)\s+)?(?:answer|option|choice)\b\s*+(?:is\b)?[\s:=*_"'`“]*+)?
    (?:(?:option|choice)\b\s*+)? [*_"'`“(\[]*+ (?P<letter>[A-Za-z])(?![\w'’])
    (?P<mark>[\s*_"'`”]*(?:[)\].:,]|\s[–—-]\s)[\s*_"'`”)\]]*+|[*_"'`”]*+\s*\n|[\s*_"'`”]*$) """,
    re.IGNORECASE | re.VERBOSE,
)
_QUOTATION = re.compile(r"""["][^"]*["]|“[^”]*”|„[^“”]*[“”]|«[^»]*»""")
_OTHER = re.compile(r"(?<![\w'’#.-])(?:[B-E](?![\w'’.])|[A-E][).:](?!\w))")


class Letter(NamedTuple):
    """The letter chosen, and what the reply says after it."""

    letter: str
    rest: str


def field(value: Mapping[str, Any], name: str) -> Any:
    """The value under a key that must be there."""
    if name not in value:
        raise ReplyError(f"the answer has no {name}")
    return value[name]


def text(value: Mapping[str, Any], name: str = "reason") -> str:
    """The text under a key that must be there; it must not be blank."""
    words = field(value, name)
    if not isinstance(words, str) or not clean(words):
        raise ReplyError(f"the {name} is {show(words)}, not a text")
    return clean(words)


def point(value: Any, noun: str = "score") -> float:
    """A number from 1 to 5, given as a number, in digits or as a word.

    >>> point("four"), point(3.5)
    (4.0, 3.5)
    """
    if isinstance(value, str) and (number := re.fullmatch(_NUMBER, value.strip(), re.IGNORECASE)):
        return _on_scale(_number(number.group()), noun)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _on_scale(float(value), noun)
    raise ReplyError(f"the {noun} is {show(value)}, not a number from 1 to 5")


def score_in(text: str, material: Sequence[str] = ()) -> float:
    """The one score that a text names, in [1, 5]. Words that stand in `material` as well may be quoted, and
    name none.

    >>> score_in("Well written, but dull. Score: 4/5.")
    4.0
    """
    return _only(text, own([*_SCORE.finditer(text), *_OUT.finditer(text)], material), "score")


def stars_in(text: str, material: Sequence[str] = ()) -> float:
    """The one number of stars that a text names, in [1, 5]; a number that stands alone will do. `material` is as
    for `score_in`.

    >>> stars_in("I would give it 3 stars out of five."), stars_in("4")
    (3.0, 4.0)
    """
    if bare := _BARE.fullmatch(text):
        return _only(text, [bare], "number of stars")
    return _only(text, own(_STARS.finditer(text), material), "number of stars")


def alone(text: str, noun: str = "score") -> float:
    """The number, in [1, 5], that is all of a text.

    >>> alone("**4**")
    4.0
    """
    if bare := _BARE.fullmatch(text):
        return _value(bare, noun)
    raise ReplyError(f"the reply is not a {noun} alone; it ends {show(text[-50:])}", fault="no_json")


def own(matches: Iterable[re.Match[str]], material: Sequence[str]) -> list[re.Match[str]]:
    """The matches whose words do not stand in the material as well."""
    known = _folded(material)
    return [match for match in matches if not any(" ".join(match.group().casefold().split()) in text for text in known)]


def unquoted(text: str, material: Sequence[str]) -> str:
    """A text without what it quotes, in quotation marks and in more than one word, from the material.

    >>> unquoted('It says "The answer is yes." No.', ["A fact. The answer is yes."])
    'It says  No.'
    """
    known = _folded(material)

    def keep(quote: re.Match[str]) -> str:
        inside = " ".join(quote.group()[1:-1].casefold().split())
        return "" if " " in inside and any(inside in text for text in known) else quote.group()

    return _QUOTATION.sub(keep, text)


def _folded(material: Sequence[str]) -> list[str]:
    return [" ".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in material]


def _only(text: str, matches: list[re.Match[str]], noun: str) -> float:
    if not matches:
        raise ReplyError(f"the reply names no {noun}; it ends {show(text[-50:])}", fault="no_json")
    values = {_value(match, noun) for match in matches}
    if len(values) > 1:
        named = ", ".join(f"{value:g}" for value in sorted(values))
        raise ReplyError(f"the reply names more than one {noun} ({named})", fault="ambiguous")
    return values.pop()


def _value(match: re.Match[str], noun: str) -> float:
    groups = [group for group in match.groups() if group]
    text = match.string
    if len(groups) > 1 and _number(groups[1]) != HIGH:
        raise ReplyError(f"the {noun} is out of {groups[1]}, not out of 5")
    if more := _MORE.match(text, match.end()):
        raise ReplyError(f"the {noun} is not one number: {show(match.group() + more.group())}")
    # The clause the number stands in, as far as it goes before it.
    before = re.split(r"[.,;:\n]", text[max(0, match.start() - 80) : match.start()])[-1]
    if _HEDGE.search(before):
        raise ReplyError(f"the {noun} is only spoken of: {show(before.strip()[-40:] + ' ' + match.group())}")
    return _on_scale(_number(groups[0]), noun)


def _number(text: str) -> float:
    word = WORDS.get(text.lower())
    return float(text) if word is None else float(word)


def _on_scale(value: float, noun: str) -> float:
    if not LOW <= value <= HIGH:
        raise ReplyError(f"the {noun} is {value:g}, which is not from 1 to 5")
    return value


def letter(value: Any, letters: str) -> str:
    """One of the letters, from the field of an answer; "D", "d)" and "D." are one."""
    answer = (choice(value) or "").upper()
    if len(answer) != 1 or answer not in letters:
        raise ReplyError(f"the answer is {show(value)}, not one letter from {letters[0]} to {letters[-1]}")
    return answer


def letter_in(text: str, letters: str) -> Letter:
    """The one letter a text answers with, at its beginning.

    >>> letter_in("Answer: D. Most of it is there.", "ABCDE")
    Letter(letter='D', rest='Most of it is there.')
    """
    match = _LETTER.match(text)
    rest = text[match.end() :].strip() if match else ""
    # In running text a small letter is a word ("a - in short - poor summary"), so it must stand alone.
    if match is None or (rest and match["letter"].islower()):
        what = f"the reply does not begin with a letter from {letters[0]} to {letters[-1]}: {show(text)}"
        raise ReplyError(what, fault="no_json")
    chosen = match["letter"].upper()
    if chosen not in letters:
        raise ReplyError(f"the answer is {chosen}, not a letter from {letters[0]} to {letters[-1]}")
    others = sorted({match.group()[0] for match in _OTHER.finditer(rest)} - {chosen})
    if others:
        raise ReplyError(f"the reply names more than one letter ({', '.join([chosen, *others])})", fault="ambiguous")
    return Letter(chosen, rest)
