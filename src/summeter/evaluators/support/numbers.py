"""Values and kinds (percent, currency) of the numbers in a text.

Different forms of a number have equal values, such as 1,000, "one thousand" and 1k.

Tokenised texts ("15 , 000", "$ 4 m") give the same values as the original texts.
"""

import re
from itertools import pairwise
from math import isfinite
from typing import Literal, NamedTuple

NumberKind = Literal["plain", "percent", "currency", "decade"]


class Number(NamedTuple):
    """A number in a text, with its value, its span in code points and its kind."""

    value: float
    start: int
    end: int
    kind: NumberKind


_UNIT_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_ORDINAL_WORDS = """
    third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
    seventeenth eighteenth nineteenth
"""
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: value for value, word in enumerate(_UNIT_WORDS.split())}
_TENS = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(), start=2)}
_ORDINALS = {
    "first": 1,  # only after tens; alone, "first" is a word with opposites (last), as "second" always is
    **{word: value for value, word in enumerate(_ORDINAL_WORDS.split(), start=3)},
    **{word[:-1] + "ieth": value for word, value in _TENS.items()},
}
_WHOLE_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0}
_SCALES = {**_WHOLE_SCALES, "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "tn": 1e12}
_SPOKEN = "|".join([*_UNITS, *_TENS])
_ORDINAL = "|".join(word for word in _ORDINALS if word != "first")
_SCALE_WORDS = "|".join(_WHOLE_SCALES)
_DECADES = {word[:-1] + "ies": 1900 + value for word, value in _TENS.items()}
_SPACED = (  # tokenised 15,000; but 100 , 200 may be two items of a list
    r"\d{1,3}(?: , \d{3})*(?: , 0\d\d|,? 000| ,000)(?!\d)(?: \. \d+(?= (?:%|million|billion)))?"
    r"|(?<!\d , )\d{1,2} , \d{3}(?!\d| , \d)"
    r"|\d{1,3} \. \d{1,2}(?= ?(?:%|per ?cent\b|million\b|billion\b|trillion\b|bn\b))"
    r"|(?:(?<=[$£€])|(?<=[$£€] ))\d{1,3} \. \d{1,2}(?!\d)"
)
_PATTERN = re.compile(
    # No letter or digit before the number: the 20 of G20 belongs to a name.
    r"(?=[\d'’‘])(?<![A-Za-z0-9])(?:(?P<decade>['’‘][3-9]0|[12]\d\d0)s\b"
    r"|(?P<hour>[01]?\d)[:.](?P<minute>[0-5]\d)(?=\s?[ap]\.?m\b)"
    r"|(?P<numerator>[1-9])/(?P<denominator>[3-9])(?=\sof\b)"
    rf"|(?P<digits>\d{{1,3}}(?:[,\u00a0\u202f]\d{{3}})+(?!\d)(?:\.\d+)?|{_SPACED}|\d+(?:\.\d+)?)"
    r"(?P<ordinal>(?:st|nd|rd|th)\b)?"
    rf"(?:(?P<gap>[\s-]?)(?P<scale>{_SCALE_WORDS}|bn|mn|tn|k|m|b)\b|(?P<times>(?<=[23])\stimes)\b)?)"
    # Fast rejection: every alternative below begins with one of these letters.
    r"|\b(?=zer|one|t[wer]|th[ior]|the\s[emltfsn3-9]|fo[ru]|fi[fv]|six|sev|ei|ele|nin|hun|hal|mil|bil|doz|a\s[tefsn])(?:"
    rf"the\s(?:early[\s-]|mid[\s-]|late[\s-])?(?:(?P<short>[3-9]0)s|(?P<named>{'|'.join(_DECADES)}))\b"
    rf"|(?P<parts>one|two|three|four|five|six|seven)[\s-](?P<of_parts>{_ORDINAL})(?P<plural>s?)\b"
    rf"|(?P<part>a\s(?:{_ORDINAL})\b(?=\s(?:of|over|in|since|from|to|during|more|less|fewer|last|this|after|within)\b|\s?(?:[.,;:!?]|\Z)))"
    rf"|half[\s-]a[\s-](?P<halved>{_SCALE_WORDS})\b"
    r"|(?P<twice>twice|thrice|(?:two|three)\stimes)\b"
    rf"|(?P<spoken>(?:{_SPOKEN}|{_SCALE_WORDS}|{_ORDINAL})\b"
    rf"(?:[\s-](?:and\s)?(?:{_SPOKEN}|{_SCALE_WORDS}|{_ORDINAL})\b|(?<=ty)[\s-]first\b)*)"
    rf"(?P<and_half>[\s-]and[\s-]a[\s-]half\b(?:[\s-](?P<half_scale>{_SCALE_WORDS})\b)?)?)",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"(?:[$£€¥₹]|\b(?:usd|eur|gbp|rs)\.?)\s?$", re.IGNORECASE)
PERCENT = re.compile(r"[\s-]?(?P<sign>%|％|per[\s-]?cent\b|pct?\b)", re.IGNORECASE)
MONEY = {"$": "dollar", "£": "pound", "€": "euro", "¥": "yen", "₹": "rupee"}
_ABBREVIATED_MONEY = {"usd": "dollar", "eur": "euro", "gbp": "pound", "rs": "rupee"}
_AFTER_CURRENCY = re.compile(r"[\s-]?(?:dollars?|euros?|pounds?|yen|usd|eur|gbp|[€£$])(?!\w)", re.IGNORECASE)
_ABBREVIATED = re.compile(r"(?:k|m|mn|bn|tn)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\s(?:people|users|voters|viewers|residents|customers|patients|jobs|homes|children|workers|copies|followers"
    r"|subscribers|years|barrels|tonnes)\b",
    re.IGNORECASE,
)
_PARTS = {"half": 0.5, "quarter": 0.25}
_PART = re.compile(r"\b(?:(?P<before>\w+)[\s-])?(?P<part>half|quarters?)\b", re.IGNORECASE)
_QUARTERS = {"a": 1, "one": 1, "three": 3}  # other words precede a quarter of a year or of a town
_PERIODS = frozenset(["first", "1st", "second", "2nd", "last", "this", "next", "other", "latter", "each", "either"])
_ONE_OF = re.compile(r"\bone(?=\s(?:in|out\sof)\b)", re.IGNORECASE)
_OF = re.compile(r"\s(?:in|out\sof|of)(?:\s(?:every|the|all|its|their))?\s", re.IGNORECASE)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_MONTH_BEFORE = re.compile(rf"\b{_MONTH}\.?\s(?:the\s)?$", re.IGNORECASE)
_MONTH_AFTER = re.compile(rf"\s(?:of\s)?{_MONTH}\b", re.IGNORECASE)


def _spoken_value(words: list[str]) -> float | None:
    """Return the value of consecutive number words, or None if they do not form one number.

    An example is "two hundred five".
    """
    total = current = 0.0
    last = ""
    for word in words:
        if last in _ORDINALS:
            return None
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                current = (current or 1.0) * 100
            else:
                total, current = total + (current or 1.0) * scale, 0.0
        elif word in _TENS or _ORDINALS.get(word, 0) >= 20:
            if last in _UNITS or last in _TENS:
                return None
            current += _TENS[word] if word in _TENS else _ORDINALS[word]
        else:
            value = _UNITS[word] if word in _UNITS else _ORDINALS[word]
            if last in _UNITS or (last in _TENS and not 0 < value < 10):
                return None
            current += value
        last = word
    return total + current if isfinite(total + current) else None


def _kind(text: str, start: int, end: int) -> NumberKind:
    if PERCENT.match(text, end):
        return "percent"
    if _CURRENCY.search(text, max(0, start - 5), start) or _AFTER_CURRENCY.match(text, end):
        return "currency"
    return "plain"


def _is_scaled(match: re.Match[str], text: str) -> bool:
    """Return True if the scale after the digits multiplies them.

    For example, "5 m" usually means five metres, not five million.
    """
    scale = (match["scale"] or "").lower()
    if not scale or match["ordinal"]:
        return False
    if len(scale) > 1 or (scale == "k" and not match["gap"]):
        return True
    if match["gap"] == "-":
        return False
    end = match.end("scale")
    return _kind(text, match.start(), end) == "currency" or (scale == "m" and bool(_COUNTED.match(text, end)))


def _from_digits(match: re.Match[str], text: str) -> list[Number]:
    start, end = match.start(), match.end("ordinal" if match["ordinal"] else "digits")
    written = match["digits"]
    follows_month = _MONTH_BEFORE.search(text, max(0, start - 15), start)
    if " , " in written and follows_month:  # May 5 , 200 men
        matches = re.finditer(r"\d+", written)
        return [Number(float(match.group()), start + match.start(), start + match.end(), "plain") for match in matches]
    value = float(re.sub(r"[,\s]", "", written))
    if match["ordinal"] and value in (1, 2) and not (follows_month or _MONTH_AFTER.match(text, end)):
        return []  # "first" and "second" are words
    if _is_scaled(match, text):
        value, end = value * _SCALES[match["scale"].lower()], match.end("scale")
    elif match["times"] and written in ("2", "3"):
        end = match.end("times")
    return [Number(value, start, end, _kind(text, start, end))]


def _from_words(match: re.Match[str], text: str) -> list[Number]:
    pieces = [piece for piece in re.finditer(r"[A-Za-z]+", match["spoken"]) if piece.group().lower() != "and"]
    value = _spoken_value([piece.group().lower() for piece in pieces])
    start, end = match.span()
    if value is not None:
        if match["and_half"]:
            value = (value + 0.5) * _SCALES.get((match["half_scale"] or "").lower(), 1.0)
        return [Number(value, start, end, _kind(text, start, end))]
    spans = [(start + piece.start(), start + piece.end()) for piece in pieces]
    return [
        Number(_spoken_value([piece.group().lower()]) or 0.0, *span, _kind(text, *span))
        for piece, span in zip(pieces, spans, strict=True)
    ]


def _numbers_of(match: re.Match[str], text: str) -> list[Number]:
    start, end = match.span()
    if match["digits"]:
        return _from_digits(match, text)
    if match["spoken"]:
        alone = match["spoken"].lower() == "one" and not match["and_half"]
        return [] if alone else _from_words(match, text)
    if match["hour"]:
        hour, minute = (Number(float(match[group]), *match.span(group), "plain") for group in ("hour", "minute"))
        return [hour, minute] if minute.value else [hour._replace(end=end)]  # 8.00pm equals 8pm
    if match["parts"]:  # two thirds, but two third places has two numbers
        over, under = _UNITS[match["parts"].lower()], _ORDINALS[match["of_parts"].lower()]
        if (over > 1) == bool(match["plural"]):
            return [Number(over / under, start, end, "plain")]
        spans = ((over, match.span("parts")), (under, match.span("of_parts")))
        return [Number(float(value), *span, _kind(text, *span)) for value, span in spans if value > 1 or over > 1]
    if match["decade"]:
        written = match["decade"]
        return [Number(float(written) if written.isdigit() else 1900.0 + float(written[1:]), start, end, "decade")]
    if match["short"]:
        return [Number(1900.0 + float(match["short"]), match.start("short"), end, "decade")]
    if match["named"]:
        return [Number(float(_DECADES[match["named"].lower()]), match.start("named"), end, "decade")]
    if match["numerator"]:
        return [Number(float(match["numerator"]) / float(match["denominator"]), start, end, "plain")]
    if match["part"]:
        return [Number(1 / _ORDINALS[match["part"].split()[1].lower()], start, end, "plain")]
    if match["twice"]:
        value = 3.0 if match["twice"].lower().startswith("th") else 2.0
    else:
        value = _SCALES[match["halved"].lower()] / 2
    return [Number(value, start, end, _kind(text, start, end))]


def span_with_sign(text: str, number: Number) -> tuple[int, int]:
    """Return the span of a number, including its currency or percent sign."""
    before, after = _signs(text, number)
    return before.start() if before else number.start, after.end() if after else number.end


def currency(text: str, number: Number) -> str | None:
    """Return the normalised name of a number's currency, or None if there is no currency sign."""
    sign = next((sign for sign in _signs(text, number) if sign), None)
    if sign is None:
        return None
    written = sign.group().strip(" \t\n-.").lower()
    return {**MONEY, **_ABBREVIATED_MONEY}.get(written, written.rstrip("s"))


def _signs(text: str, number: Number) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """Return the matches of signs directly before and after a number."""
    before = _CURRENCY.search(text, max(0, number.start - 5), number.start)
    return before, PERCENT.match(text, number.end) or _AFTER_CURRENCY.match(text, number.end)


def letter_multiplier(text: str, number: Number) -> float:
    """Return the factor of a letter after the number, such as the "m" of "340m euros", or 1."""
    match = _ABBREVIATED.match(text, number.end)
    return _SCALES[match.group().lower()] if match else 1.0


def shares(text: str) -> list[Number]:
    """Return all shares of a whole in a text, in any form, with values from 0 to 1.

    >>> [share.value for share in shares("Two in five, a quarter, 40 per cent")]
    [0.25, 0.4, 0.4]
    >>> shares("the third quarter, the second half")
    []
    """
    halves = []
    for match in _PART.finditer(text):  # but a period or a place is no share ("the third quarter")
        part, before = match["part"].lower().rstrip("s"), (match["before"] or "").lower()
        if times := _QUARTERS.get(before, 0) if part == "quarter" else int(before not in _PERIODS):
            start = match.start() if before == "three" else match.start("part")
            halves.append(Number(_PARTS[part] * times, start, match.end(), "plain"))
    all_numbers = numbers(text)
    stated = [number._replace(value=number.value / 100) for number in all_numbers if number.kind == "percent"]
    stated += [number for number in all_numbers if number.kind == "plain" and 0 < number.value < 1]
    ones = [Number(1.0, *match.span(), "plain") for match in _ONE_OF.finditer(text)]
    counts = sorted([*all_numbers, *ones], key=lambda number: number.start)
    ratios = [
        Number(part.value / whole.value, part.start, whole.end, "plain")
        for part, whole in pairwise(counts)
        if part.kind == whole.kind == "plain"
        and 0 < part.value <= whole.value
        and _OF.fullmatch(text, part.end, whole.start)
    ]
    return [*halves, *stated, *ratios]


def numbers(text: str) -> list[Number]:
    """Return all numbers in a text, in order.

    The result excludes "one" alone, which is often a pronoun, "first" and "second", which are words with opposites, and
    1st and 2nd without a month.

    >>> [n.value for n in numbers("Two hundred and five men paid £1.5m, or 1,250 each, on the 9th.")]
    [205.0, 1500000.0, 1250.0, 9.0]
    >>> [n.value for n in numbers("the eighth of 15 , 000 , half a million , twice")]
    [8.0, 15000.0, 500000.0, 2.0]
    >>> numbers("up 4 per cent")[0].kind
    'percent'
    """
    # Digits that are too large for a float are compared as words.
    return [
        number for match in _PATTERN.finditer(text) for number in _numbers_of(match, text) if isfinite(number.value)
    ]
