"""Parsers of plain-text answers in the published forms: a score, stars, a letter, or yes or no.

A reply is accepted if it consists of an answer ("4/5"), ends with an answer ("..., earning a score of 4 for fluency."),
or starts with an answer that is followed by an explanation ("Score: 4. The summary ..."). All other replies are
unparsed, such as two different answers, a range, a bound, a negation, a condition, or a quotation from `material`, the
texts under judgment. Half points are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from summeter.evaluators.rating.scale import NUMBER, POINTS, STARS, Scale, number
from summeter.evaluators.replies import show
from summeter.records import ReplyError

_SO = r"(?:so|thus|therefore|hence),? "
_VALUE = rf"(?P<value>{NUMBER})(?: points?|[ -]stars?)?(?:(?: ?/ ?| out of )(?P<of>{NUMBER})(?: stars?)?)?"
_RANGE = r"(?: ?\([01] ?(?:-|–|to) ?[0-9]+\))?+"
_LABELLED = rf"(?:score|rating|answer|stars){_RANGE}(?: is| of)?(?: ?[:=]| [-–])? ?(?:an? )?"
_VERBS = rf"(?:(?:it|is|the|an?|and|final|with|earning|resulting in|receiv(?:es|ing)|given) |{_SO}){{0,9}}+"
_FOR = r"(?: for (?!if\b|not\b)[a-z]+(?: [a-z]+)?)?"
_BARE = re.compile(_VALUE, re.I)
_STATED = re.compile(rf"(?:{_SO})?(?:(?:my|the|an?|final|overall|total) )*{_LABELLED}{_VALUE}{_FOR}", re.I)
_CLOSING = re.compile(
    rf"(?:[,;] |\band (?=scor|receiv|is )|\b{_SO}){_VERBS}(?:(?:score|rating)(?: of| is)?|scor(?:es|ing)) (?:an? )?"
    rf"{_VALUE}{_FOR}$",
    re.I,
)
_ADDED = re.compile(rf"(?:; |\()(?=score: |.{{1,5}}/|.{{1,5}}out of )(?:score: )?{_VALUE}\)?$", re.I)
_SPOKEN = re.compile(
    rf"\b(?:scor(?:e[sd]?|ing)|rat(?:e[sd]?|ings?)|answer){_RANGE}\W{{0,3}}(?:(?:is|of|as|at|an?|it|th[ei]s?|summary)\b\W{{0,3}}){{0,9}}+"
    rf"({NUMBER})|({NUMBER})\s{{0,9}}(?:/|out of)\s{{0,9}}{NUMBER}|({NUMBER})[ -]stars?",
    re.I,
)
_GLYPHS = re.compile(r"([★⭐]+)(☆*)")
_LABEL = rf"(?P<label>(?i:{_SO})?(?i:(?:my|the|final|correct) )*(?i:answer|option|choice)(?: is)?:? )?"
_LETTER = re.compile(rf"{_LABEL}\(?(?P<letter>[A-Za-z])[).]*")
_LETTER_FIRST = re.compile(rf"{_LABEL}\(?(?P<letter>[A-Z])(?:[).:]+ | - |[).]*\n)(?P<rest>.+)", re.S)
_YES_NO = re.compile(rf"(?:^|(?<=[.!?] )){_LABEL}(?P<word>yes|no)(?=[.,:;!]| [-–] |$)", re.I | re.M)
_YES_NO_SPOKEN = re.compile(r"\banswer(?: is)?[: (]{1,3}(yes|no)\b(?! or |/)|\b(yes|no)$", re.I)
DENIES = re.compile(r"\b(?:not|never|inconsistent|unsupported)\b|n['’]t\b", re.I)
_AFFIRMS = re.compile(r"\b(?:is|are) (?!not )(?:\w+ )?(?:consistent|supported)\b", re.I)
_CONDITION = re.compile(r"\W*(?:if|unless|were|had|without|but|except)\b", re.I)
_EXPLANATION = re.compile(
    r"(?:(?:reason(?:ing)?|explanation): |(?:additionally|however), )?(?:(?:the|this) summary|it|some) "
    rf"(?!(?:is|was|gets|earns) (?:an? )?{NUMBER}\b|.*\b(?:score|rating|star|answer|option|letter|deserve|merit)s?\b)",
    re.I,
)
_SENTENCE_ENDS = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"”])| [-–]) (?=[A-Z(])")
_MARKUP = re.compile(r"(?<![0-9*_`])[*_`]++|[*_`]++(?![0-9*_`])|^#{1,6} ", re.M)


def score_in(text: str, scale: Scale = POINTS, material: Sequence[str] = ()) -> float:
    """Return the score in a text.

    Raises ReplyError if there is no unambiguous score on the scale.

    >>> score_in("Well written, but dull. Score: 4/5."), score_in("4"), score_in("★★★★☆", STARS)
    (4.0, 4.0, 4.0)
    """
    known = _folded("\n".join(material))
    if scale.noun == STARS.noun:
        text = _GLYPHS.sub(lambda row: f"{len(row[1])} stars" if len(row[0]) == 5 or not row[2] else row[0], text)
    lines = [[_trimmed(part) for part in _SENTENCE_ENDS.split(line)] for line in _lines(text)]
    sentences, alone = [sentence for line in lines for sentence in line], {line[0] for line in lines if len(line) == 1}
    values: list[float | None] = []
    for sentence in sentences:
        match = (_BARE.fullmatch(sentence) if sentence in alone else None) or _STATED.fullmatch(sentence)
        if match is None and not _CONDITION.match(sentence):
            match = _CLOSING.search(sentence) or _ADDED.search(sentence)
        quoted = match is not None and match.re is not _BARE and _folded(match[0]) in known
        if match is None or quoted:
            values.append(None)
            continue
        if match["of"] and number(match["of"]) != scale.high:
            raise ReplyError(f"the {scale.noun} is out of {match['of']}, not out of {scale.high:g}")
        if "star" in match[0].lower() and scale.noun != STARS.noun:
            raise ReplyError(f"the {scale.noun} is a number of stars: {show(match[0])}")
        values.append(scale.checked(number(match["value"])))
    if not values or (values[-1] is None and (values[0] is None or not explains(*sentences[1:]))):
        raise ReplyError(f"the reply contains no {scale.noun}; it ends with {show(text[-50:])}", fault="no_json")
    spoken = {_folded(match[0]): next(filter(None, match.groups())) for match in _SPOKEN.finditer(text)}
    named = {value for value in values if value is not None}
    named |= {number(value) for words, value in spoken.items() if words not in known}
    if len(named) > 1:
        raise ReplyError(f"the reply contains more than one {scale.noun}", fault="ambiguous")
    return named.pop()


def letter_in(text: str, letters: str, explained: Callable[[str, str], bool]) -> tuple[str, str]:
    """Return the letter in a text, and the text without the letter.

    `explained` receives a letter and the text after it, and returns whether this text may follow the letter. Raises
    ReplyError if there is no unambiguous letter.

    >>> letter_in("D. The summary leaves out the date.", "ABCDE", lambda letter, rest: explains(rest))
    ('D', 'The summary leaves out the date.')
    """
    *before, end = _lines(text) or [""]
    last, first = _LETTER.fullmatch(_trimmed(end)), _LETTER_FIRST.fullmatch("\n".join([*before, end]))
    if last and (last["label"] or not before):
        letter, rest = last["letter"].upper(), "\n".join(before)
    elif first and explained(first["letter"], first["rest"]):
        letter, rest = first.group("letter", "rest")
    else:
        raise ReplyError(
            f"the reply is not one letter from {letters[0]} to {letters[-1]}: {show(text)}", fault="no_json"
        )
    others = [first, *(_LETTER.fullmatch(_trimmed(line)) for line in before)]
    if any(other is not None and other["letter"].upper() != letter for other in others):
        raise ReplyError("the reply contains more than one letter", fault="ambiguous")
    if letter not in letters:
        raise ReplyError(f"the answer is {letter}, not a letter from {letters[0]} to {letters[-1]}")
    return letter, rest


def yes_no_in(text: str, material: Sequence[str] = ()) -> bool:
    """Return True if a text answers yes and False if it answers no.

    Raises ReplyError if the answer is unclear.

    >>> yes_no_in("The date is wrong. The answer is no.")
    False
    """
    known, text = _folded("\n".join(material)), "\n".join(map(_trimmed, _lines(text)))
    answers = [match for match in _YES_NO.finditer(text) if not (match["label"] and _folded(match[0]) in known)]
    if not any(match.start() == 0 or match.end() == len(text) for match in answers):
        raise ReplyError(f"the reply answers neither yes nor no; it ends with {show(text[-50:])}", fault="no_json")
    statements = [match for match in _YES_NO_SPOKEN.finditer(text) if match[2] or _folded(match[0]) not in known]
    words = {match["word"].lower() for match in answers} | {(match[1] or match[2]).lower() for match in statements}
    word, after = words.pop(), text[answers[0].end() :] if answers[0].start() == 0 else ""
    if words or _CONDITION.match(after) or (DENIES.search(after) if word == "yes" else _AFFIRMS.search(after)):
        raise ReplyError("the reply answers both yes and no, or retracts its answer", fault="ambiguous")
    return word == "yes"


def explains(*texts: str) -> bool:
    """Return whether texts after an answer explain the answer.

    They explain it if none of their sentences mentions an answer.
    """
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.!?]) |\n", text)]
    return bool(sentences) and all(map(_EXPLANATION.match, sentences))


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in _MARKUP.sub("", text).splitlines() if line.strip()]


def _trimmed(text: str) -> str:
    text = text.strip().rstrip(" .!")
    while len(text) > 2 and text[0] + text[-1] in {"()", "[]", "''", '""', "“”"}:
        text = text[1:-1].strip().rstrip(" .!")
    return text


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
