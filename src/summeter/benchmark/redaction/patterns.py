"""Personal data that have a form: clock times, days, phone numbers, codes, addresses, places with a telling word.

UniSumEval's six categories (Lee et al., EMNLP 2024, section 3.2 and appendix): what MultiWOZ's dialogues hold. Names of
places without a telling word are left to a named-entity model (`finding`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, Protocol, TypeVar, get_args

Category = Literal["PLACE", "TIME", "DAY", "PHONENUMBER", "CODE", "ADDRESS"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

PRIORITY: dict[Category, int] = {"ADDRESS": 6, "PHONENUMBER": 5, "CODE": 4, "TIME": 3, "DAY": 2, "PLACE": 1}
"""Which of two overlapping finds counts; of one category, the longer one."""


class Found(NamedTuple):
    """Personal data in a text: `text[start:end]`. `by` is who found it."""

    category: Category
    start: int
    end: int
    by: str = "pattern"

    def cut(self, text: str) -> str:
        """The text found."""
        return text[self.start : self.end]


def find_patterns(text: str) -> list[Found]:
    """What has the form of personal data, in order, without overlaps.

    >>> text = "Ring 01223 351241 at 5 pm."
    >>> [(found.category, found.cut(text)) for found in find_patterns(text)]
    [('PHONENUMBER', '01223 351241'), ('TIME', '5 pm')]
    """
    return resolved([*_addresses(text), *_phones(text), *_codes(text), *_times(text), *_days(text), *_places(text)])


def resolved(found: list[Found]) -> list[Found]:
    """The finds without overlaps: the higher priority counts, then the longer one, then the first."""
    return apart(sorted(found, key=lambda one: (-PRIORITY[one.category], one.start - one.end, one.start)))


class Stretch(Protocol):
    """Whatever has a start and an end."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


Stretches = TypeVar("Stretches", bound=Stretch)


def apart(ranked: Iterable[Stretches]) -> list[Stretches]:
    """Those that overlap none before them, in the order of the text."""
    starts: list[int] = []
    kept: list[Stretches] = []
    for each in ranked:
        place = bisect_left(starts, each.start)
        before = place == 0 or kept[place - 1].end <= each.start
        if before and (place == len(kept) or each.end <= starts[place]):
            starts.insert(place, each.start)
            kept.insert(place, each)
    return kept


def _matches(pattern: re.Pattern[str], text: str, category: Category) -> Iterator[Found]:
    """The group `it` of each match, or all of it."""
    for match in pattern.finditer(text):
        group = "it" if "it" in pattern.groupindex else 0
        yield Found(category, match.start(group), match.end(group))


# ---- times ----

_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HALF = r"(?:[ap]\.\s?m\.|[ap]\.?m\b)"
_CLOCK = re.compile(
    rf"""
    (?<![\d:.,/-])(?:
        (?:[01]?\d|2[0-4]):[0-5]\d(?:\s?{_HALF}|\s?(?:hours|hrs)\b)?            # 17:45, 5:15 pm
      | (?:[01]?\d|2[0-3])\.[0-5]\d\s?{_HALF}                                   # 5.15 pm
      | (?:[01]?\d|2[0-3])h[0-5]\d\b                                            # 13h30
      | (?:[01]\d|2[0-3])[0-5]\d\s?(?:hours|hrs)\b                              # 0815 hours
      | (?:1[0-2]|0?[1-9])\s?(?:{_HALF}|o['’]\s?clock\b(?:\s?{_HALF})?)         # 7 pm, 10 o'clock
    )(?![\d:])
    | \b(?:{_HOURS})\s(?:o['’]\s?clock\b(?:\s?{_HALF})?|{_HALF})                 # seven o'clock, five pm
    | \b(?:half\spast|(?:a\s)?quarter\s(?:past|to)|(?:five|ten|twenty|twenty[-\s]five)\s(?:minutes\s)?(?:past|to))\s
      (?:{_HOURS}|1[0-2]|[1-9])\b(?:\s{_HALF})?                                 # half past six
    | \b(?:noon|midnight|midday)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_UNIT = (
    r"(?!\s?(?:%|(?:per\s?cent|percent|percentage|pounds?|pence|euros?|dollars?|cents?|points?|seconds?|metres?|meters?|miles?|km|kg|m"
    r"|g|gb|mb|million|billion|trillion)\b))"
)
AMOUNT = r"(?<![$£€¥\d.,])", rf"(?!\d|[.,]\d){_UNIT}"
"""What does not stand before and behind a dotted time: "£5.15", "5.15 pounds" and "5.15%" are amounts."""
_DOTTED = re.compile(
    rf"\b(?:at|by|till?|until|after|before|around|about)\s(?P<it>(?:[01]?\d|2[0-3])\.[0-5]\d)(?!\d|[.,]\d){_UNIT}",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"\s?(?:to|until|till?|and|-|–)\s?(?P<it>(?:[01]?\d|2[0-3])(?:[.:][0-5]\d)?)(?!\d|[.:]\d){_UNIT}", re.IGNORECASE
)
"""The end of a span of time whose beginning is a time."""


def _times(text: str) -> Iterator[Found]:
    for found in [*_matches(_CLOCK, text, "TIME"), *_matches(_DOTTED, text, "TIME")]:
        yield found
        if (until := _RANGE.match(text, found.end)) and "." in until["it"]:
            yield Found("TIME", until.start("it"), until.end("it"))


# ---- days ----

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SHORT = "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_WEEKDAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?"
_SHORT_WEEKDAY = "(?:Mon|Tues?|Wed|Thurs?|Fri|Sat)"
_MODAL = r"MAY(?=\s(?:ALSO|BE|HAVE|NEVER|NOT|ONLY|STILL|WELL)\b)"
_WHO = r"(?<!\bI\s)(?<!\b(?:HE|IT|WE)\s)(?<!\b(?:SHE|WHO|YOU)\s)(?<!\b(?:THAT|THEY|THIS)\s)"


def _dates(months: str, short: str, weekday: str, short_weekday: str, *, words: str, verb: str, who: str) -> str:
    """The pattern of weekdays and dates in one case; `words` are the, of, and the endings of numbers; `verb` is a
    month that is a verb, as is one behind `who`."""
    the, of, endings = words.split()
    number = f"(?:3[01]|[12]\\d|0?[1-9])(?:{endings})?"
    year = r"(?:,?\s(?:1[89]|20)\d\d\b)?"
    date = rf"(?:{the}\s)?{number}(?:\s{of})?\s(?!{verb})(?:(?:{months})\b|(?:{short})\b(?:\.(?=,?\s\d))?){year}"
    date_us = rf"{who}(?:(?:{months})|(?:{short})\b\.?)\s{number}\b{year}(?![\d:.]\d)"
    return rf"""
    \b(?:{weekday}|{short_weekday}\.?(?=,?\s(?:{the}\s)?(?:{date}|{date_us})))(?:,?\s(?:{date}|{date_us}))?
    | (?<![\d.,])(?:{date}) | \b(?:{date_us})
    """


_TITLE = _dates(_MONTHS, _SHORT, _WEEKDAY, _SHORT_WEEKDAY, words="the of st|nd|rd|th", verb="(?!)", who="")
_CAPITALS = _dates(
    *(each.upper() for each in (_MONTHS, _SHORT, _WEEKDAY, _SHORT_WEEKDAY)),
    words="THE OF ST|ND|RD|TH|st|nd|rd|th",
    verb=_MODAL,
    who=_WHO,
)
"""In capitals a month may be a verb: "5 MAY BE ENOUGH", "WE MARCH 10 MILES"."""
_DAY = re.compile(
    rf"""
    {_TITLE} | {_CAPITALS}
    | (?<![\d/.-])(?:(?:1[89]|20)\d\d[-/.](?:1[0-2]|0?[1-9])[-/.](?:3[01]|[12]\d|0?[1-9])
                   | (?:3[01]|[12]\d|0?[1-9])[/.-](?:3[01]|[12]\d|0?[1-9])[/.-](?:(?:1[89]|20)\d\d|\d\d))(?![\d/-]|\.\d)
    """,
    re.VERBOSE,
)
_LOWER_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b")


def _days(text: str) -> Iterator[Found]:
    yield from _matches(_DAY, text, "DAY")
    yield from _matches(_LOWER_WEEKDAY, text, "DAY")


# ---- phone numbers ----

_PHONE = re.compile(
    r"""
    (?<![\w.,/#+-])(?:
        (?:\+|00)\d{1,3}(?:[\s.-]?\(?\d{1,4}\)?){2,6}                       # +44 7700 900123
      | \(0?\d{2,5}\)\s?\d{3,4}[\s.-]?\d{3,4}                        # (020) 7946 0958
      | 0\d{2,4}[\s-]\d{3,4}[\s-]?\d{3,4} | 0\d{4}[\s-]?\d{5,6} | 0\d{9,10}
      | (?:1[\s.-])?\(?[2-9]\d{2}\)?[\s.-]\d{3}[\s.-]\d{4} | 1-8\d\d-\d{3}-\d{4}
    )(?![\w/]|[.,-]\d)
    """,
    re.VERBOSE,
)
_RING = (
    r"(?:phone|telephone|tel|mobile|cell|call|calling|called|ring|rang|dial|reach(?:ed)?|text|contact|hotline|fax"
    r"|whatsapp)"
)
_RUNG = re.compile(
    rf"\b{_RING}\b[^.?!\d\n]{{0,40}}?(?P<it>(?<![\w.,/#+-])\(?\d[\d()\s.-]{{4,16}}\d)(?![\w/]|[.,-]\d)", re.IGNORECASE
)
_LEAST_DIGITS, _MOST_DIGITS = 7, 15


def _phones(text: str) -> Iterator[Found]:
    for found in [*_matches(_PHONE, text, "PHONENUMBER"), *_matches(_RUNG, text, "PHONENUMBER")]:
        if is_number(found.cut(text)):
            yield found


def is_number(text: str) -> bool:
    """Whether digits may be a phone number: neither too few nor too many, and not a row of scores (6-3 4-6).

    >>> is_number("01223 351241"), is_number("(7-4) 6-3 4-6 5-7")
    (True, False)
    """
    digits = sum(char.isdigit() for char in text)
    return _LEAST_DIGITS <= digits <= _MOST_DIGITS and re.search(r"\d{3}", text) is not None


# ---- codes ----

_CODE = re.compile(r"(?<![\w.,/@-])(?=[A-Z0-9]{0,14}\d)(?=[A-Z0-9]{0,14}[A-Z])[A-Z0-9]{6,15}(?![\w@/]|-\w)")
_NAMED = (
    r"(?:reference|ref|booking|reservation|confirmation|code|pin|case|order|ticket|customer|account|passport|tracking|invoice"
    r"|policy|file|serial|licence|license|registration|plate|membership|member|patient|flight|train|id|number|no)"
)
_NAMED_CODE = re.compile(
    rf"""
    (?<!phone\s)(?<!telephone\s)(?<!mobile\s)(?<!contact\s)
    \b{_NAMED}\b\.?(?:\s(?:number|code|no\.?|id|ref(?:erence)?|is|was|\#|:))*\s?[:#]?\s?
    (?P<it>\#?(?=[A-Za-z0-9-]{{0,30}}\d)[A-Za-z0-9]{{1,30}}(?:-[A-Za-z0-9]{{1,30}}){{0,5}})(?![\w@]|[.,:]\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HASHED = re.compile(r"(?<!\w)#\d{4,}\b")


def _codes(text: str) -> Iterator[Found]:
    yield from _matches(_CODE, text, "CODE")
    yield from _matches(_HASHED, text, "CODE")
    for found in _matches(_NAMED_CODE, text, "CODE"):
        code = found.cut(text)
        letters = sum(char.isalpha() for char in code)
        if re.fullmatch(r"(?:1\d|20)\d\d-(?:1\d|20)?\d\d", code):  # from a year to another
            continue
        mixed = letters > 0 and not re.fullmatch(r"\d+(?:st|nd|rd|th|s|am|pm|[a-z]{1,2})", code)
        if len(code.strip("#")) >= (4 if mixed else 5):
            yield found


# ---- addresses ----

_POSTCODE = r"(?:[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2})"
_WAYS = "Road|Rd|Street|St|Avenue|Ave|Lane|Ln|Drive|Dr|Way|Close|Crescent|Boulevard|Blvd|Terrace|Quay|Embankment|Parade"
_STREETS = f"(?:{_WAYS})"
_NUMBERED = f"(?:{_WAYS}|Court|Square|Place|Row|Gardens|Hill|Grove|Mews|Walk|Yard|Park)"
_CAPITAL = r"(?:(?:St\.?|[A-Z][\w'’-]{0,30}|[NSEW]\.?)\s)"
_OPENING = (
    r"(?!(?:The|This|That|On|In|At|From|To|Near|By|My|Our|Your|His|Her|Their|Its|And|Is|It|We|You|I|A|An|One|Every|Each"
    r"|No|Which|Any|Some|There|What|Where|Is|Are|Was|Please|Thanks|Yes|Sure|Ok|Okay)\s)"
)
_TOWN = r"(?:(?:,\s?[A-Z][\w'’-]{1,30}|\s[A-Z][a-z][\w'’-]{0,30}){0,3},?\s"
_MORE = rf"(?:\s(?:NW|NE|SW|SE)\b)?(?:\sCity\sCent(?:re|er))?{_TOWN}{_POSTCODE}\b)?"
_ADDRESS = re.compile(
    rf"""
    (?:\b(?:Unit|Flat|Apartment|Apt\.?|Suite|Room)\s\w{{1,4}},\s)?
    (?:
        \b\d{{1,5}}(?:\s?-\s?\d{{1,5}})?[A-Za-z]?,?\s{_CAPITAL}{{1,4}}{_NUMBERED}\b(?!\s?['’]s)
      | \b{_OPENING}{_CAPITAL}{{1,3}}{_STREETS}\b(?!\s?['’]s)(?!\s(?:Station|Market|School|Hospital|Church|Bridge))
    ){_MORE}
    | \b{_POSTCODE}\b
    | \bP\.?\s?O\.?\sBox\s\d+
    | \b[A-Z]{{2}}\s\d{{5}}(?:-\d{{4}})?\b
    """,
    re.VERBOSE,
)
_LOWER_POSTCODE = re.compile(r"\b[a-z]{1,2}\d{1,2}\s?\d[a-z]{2}\b")
_NO_STREET = frozenset({"Long Way", "High Way", "Milky Way", "Wall Street Journal", "Sesame Street"})

_BY_TRAIN = re.compile(r"\b(?:trains?|railway|tube|metro)\b[^.?!]*\b(?:to|from|at|via)\s$", re.IGNORECASE)
"""Behind this a street without a number is a station: London Liverpool Street."""


def _addresses(text: str) -> Iterator[Found]:
    places = [found for found in _matches(_ADDRESS, text, "ADDRESS") if found.cut(text) not in _NO_STREET]
    for found in places:
        station = not found.cut(text)[0].isdigit() and _BY_TRAIN.search(text[: found.start])
        yield found._replace(category="PLACE") if station else found
    if places or re.search(r"\bpost\s?code\b|\baddress\b", text, re.IGNORECASE):
        yield from _matches(_LOWER_POSTCODE, text, "ADDRESS")


# ---- places ----

_BUILT = (
    r"(?:Hotel|Guest\s?[Hh]ouse|B&B|Bed\s(?:and|&)\s[Bb]reakfast|Inn|Lodge|Hostel|Museum|Gallery|Hospital|Clinic|Surgery|Airport|Station|College|University"
    r"|School|Academy|Church|Cathedral|Chapel|Abbey|Mosque|Castle|Palace|Cinema|Theatre|Theater|Stadium|Arena|Park|Gardens"
    r"|Restaurant|Bistro|Brasserie|Tandoori|Pizzeria|Caf[eé]|Bar|Pub|Library|Market|Mall|Bridge|Club|Pool|Baths|Centre|Center)"
)
_NAME = rf"{_OPENING}(?:[A-Z][\w'’&-]{{0,30}}|[A-Z]\.)"
_PLACE = re.compile(
    rf"""
    \b{_NAME}(?:\s(?:[A-Z][\w'’&-]{{0,30}}|and|of|the|on|&)){{0,4}}?\s{_BUILT}\b(?:\sCity\sCent(?:re|er))?
    | \b(?:University|College|Bank|Church|Museum|Isle|Port|Bay|Lake|Mount)\sof\s(?:the\s)?
      [A-Z]\w{{1,30}}(?:\s[A-Z]\w{{1,30}})*
    | \b(?:Lake|Mount|Mt\.?|Port|River)\s[A-Z]\w{{1,30}}
    """,
    re.VERBOSE,
)


def _places(text: str) -> Iterator[Found]:
    yield from _matches(_PLACE, text, "PLACE")
