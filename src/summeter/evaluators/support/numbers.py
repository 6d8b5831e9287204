"""Numbers in running text as values: 1,000 = 1 000 = one thousand = 1k, with their kind (percent, currency).

Values are what claims are checked by; 41 written where the source says 14 is the commonest error a reader can
verify in a second.
"""

import re
from typing import Literal, NamedTuple

Kind = Literal["plain", "percent", "currency"]


class Number(NamedTuple):
    """A number, where it stands (code points of the text), and what it counts as far as its sign tells."""

    value: float
    start: int
    end: int
    kind: Kind


_UNIT_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: value for value, word in enumerate(_UNIT_WORDS.split())}
_TENS = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(), start=2)}
_SCALES = {
    "hundred": 1e2,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "k": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "bn": 1e9,
    "tn": 1e12,
    "dozen": 12.0,
}
_SPOKEN = "|".join([*_UNITS, *_TENS])
_SCALE_WORDS = "hundred|thousand|million|billion|trillion"
_PATTERN = re.compile(
    # No letter or digit may stand before: the 20 of G20 is part of a name.
    r"(?<![A-Za-z0-9])(?P<digits>\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<ordinal>(?:st|nd|rd|th)\b)?"
    rf"(?:(?P<gap>[\s-]?)(?P<scale>{_SCALE_WORDS}|dozen|bn|mn|tn|k|m)\b)?"
    rf"|\b(?P<spoken>(?:{_SPOKEN}|{_SCALE_WORDS})\b(?:[\s-](?:and\s)?(?:{_SPOKEN}|{_SCALE_WORDS})\b)*)",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"(?:[$£€¥₹]|\b(?:usd|eur|gbp|rs)\.?)\s?$", re.IGNORECASE)
_AFTER_PERCENT = re.compile(r"\s?(?:%|％|per\s?cent\b|percent\b|pc\b)", re.IGNORECASE)
_AFTER_CURRENCY = re.compile(r"\s?(?:dollars?|euros?|pounds?|yen|usd|eur|gbp|[€£$])(?!\w)", re.IGNORECASE)


def _spoken_value(words: list[str]) -> float | None:
    """Value of number words in order ("two hundred five"); None if they are a list rather than one number."""
    total = current = 0.0
    last = ""
    for word in words:
        if word == "and":
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                current = (current or 1) * 100
            else:
                total, current = total + (current or 1) * scale, 0.0
        elif word in _TENS:
            if last in _UNITS or last in _TENS:
                return None
            current += _TENS[word]
        else:
            if last in _UNITS or (last in _TENS and not 0 < _UNITS[word] < 10):
                return None
            current += _UNITS[word]
        last = word
    return total + current


def _kind(text: str, start: int, end: int) -> Kind:
    if _AFTER_PERCENT.match(text, end):
        return "percent"
    if _CURRENCY.search(text, max(0, start - 5), start) or _AFTER_CURRENCY.match(text, end):
        return "currency"
    return "plain"


def _from_digits(match: re.Match[str], text: str) -> Number:
    start, end = match.start(), match.end("ordinal" if match["ordinal"] else "digits")
    value = float(re.sub(r"[,\u00a0\u202f]", "", match["digits"]))
    scale = (match["scale"] or "").lower()
    # "5 m" is more often five metres than five million: a letter counts as a scale only when it touches money.
    letter = len(scale) == 1
    if scale and not match["ordinal"] and (not letter or (not match["gap"] and _kind(text, start, end) == "currency")):
        value, end = value * _SCALES[scale], match.end("scale")
    elif scale == "k" and not match["gap"] and not match["ordinal"]:
        value, end = value * 1e3, match.end("scale")
    return Number(value, start, end, _kind(text, start, end))


def _from_words(match: re.Match[str], text: str) -> list[Number]:
    pieces = list(re.finditer(r"[A-Za-z]+", match["spoken"]))
    value = _spoken_value([piece.group().lower() for piece in pieces])
    base = match.start()
    if value is not None:
        return [Number(value, base, match.end(), _kind(text, base, match.end()))]
    found = []
    for piece in pieces:
        single = _spoken_value([piece.group().lower()])
        if single is not None and piece.group().lower() != "and":
            start, end = base + piece.start(), base + piece.end()
            found.append(Number(single, start, end, _kind(text, start, end)))
    return found


def numbers(text: str) -> list[Number]:
    """All numbers of a text in order. "one" alone is left out: it is a pronoun as often as a count.

    >>> [n.value for n in numbers("Two hundred and five men paid £1.5m, or 1,250 each, on the 9th.")]
    [205.0, 1500000.0, 1250.0, 9.0]
    >>> numbers("up 4 per cent")[0].kind
    'percent'
    """
    found: list[Number] = []
    for match in _PATTERN.finditer(text):
        if match["digits"] is not None:
            found.append(_from_digits(match, text))
        elif match["spoken"].lower() != "one":
            found.extend(_from_words(match, text))
    return found
