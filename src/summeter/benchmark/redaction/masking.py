"""Placeholders in the place of personal data, and what pointed into the text moved with it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from summeter.benchmark.redaction.patterns import AMOUNT, Category, Found, apart


class Entity(NamedTuple):
    """One thing that is to be masked, by its category and its name in every writing (`key`)."""

    category: Category
    key: str


class Placed(NamedTuple):
    """Where an entity stands in a text."""

    entity: Entity
    start: int
    end: int


class Masked(NamedTuple):
    """A text with placeholders. `cuts` are (start, end) of each in the old text, `places` in the new one."""

    text: str
    cuts: tuple[tuple[int, int], ...]
    places: tuple[tuple[int, int], ...]

    def moved(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the old text is in the new one. One that begins or ends within something masked holds the
        whole placeholder.

        >>> ghent = Entity("PLACE", "ghent")
        >>> masked = mask("Come to Ghent now.", [Placed(ghent, 8, 13)], {ghent: 1})
        >>> masked.text, masked.text[slice(*masked.moved(5, 13))], masked.text[slice(*masked.moved(10, 17))]
        ('Come to <PLACE_1> now.', 'to <PLACE_1>', '<PLACE_1> now')
        """
        first = bisect_right(self.cuts, start, key=lambda cut: cut[1])  # the first cut that ends behind `start`
        inside = first < len(self.cuts) and self.cuts[first][0] <= start
        moved = self.places[first][0] if inside else self._shifted(start)
        if end <= start:
            return moved, moved
        last = bisect_left(self.cuts, end, key=lambda cut: cut[0]) - 1  # the last cut that begins before `end`
        inside = last >= 0 and self.cuts[last][1] >= end
        return moved, self.places[last][1] if inside else self._shifted(end)

    def _shifted(self, offset: int) -> int:
        """The place of an offset that is within nothing masked."""
        before = bisect_right(self.cuts, offset, key=lambda cut: cut[1])
        return offset + (self.places[before - 1][1] - self.cuts[before - 1][1] if before else 0)


def placeholder(entity: Entity, number: int) -> str:
    """`<PLACE_1>`: as UniSumEval prints it."""
    return f"<{entity.category}_{number}>"


PLACEHOLDER = re.compile(r"<(?:PLACE|TIME|DAY|PHONENUMBER|CODE|ADDRESS)_\d+>")


def mask(text: str, placed: Sequence[Placed], numbers: Mapping[Entity, int]) -> Masked:
    """The text with a placeholder in each place; places do not overlap."""
    parts, cuts, places = [], [], []
    at = length = 0
    for entity, start, end in sorted(placed, key=lambda one: one.start):
        mark = placeholder(entity, numbers[entity])
        between = text[at:start]
        parts += [between, mark]
        length += len(between)
        cuts.append((start, end))
        places.append((length, length + len(mark)))
        length += len(mark)
        at = end
    return Masked("".join([*parts, text[at:]]), tuple(cuts), tuple(places))


# ---- which writings are one entity ----

_HOURS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}


def key_of(category: Category, text: str) -> str:
    """What all writings of an entity share: the same time, number or name is one entity.

    >>> key_of("TIME", "5 pm") == key_of("TIME", "17:00"), key_of("PHONENUMBER", "01223 351241")
    (True, '01223351241')
    """
    plain = " ".join(text.casefold().split())
    match category:
        case "TIME":
            return _clock(plain)
        case "PHONENUMBER":
            return re.sub(r"[^\d+]", "", plain)
        case "CODE":
            return re.sub(r"[^a-z0-9]", "", plain)
        case "DAY":
            day = re.sub(r"[\s,.]+", " ", re.sub(r"(\d)(?:st|nd|rd|th)\b|^the | of\b", r"\1", plain)).strip()
            return re.sub(r"\b([a-z]{3,9}) (\d{1,2})\b(?!:)", r"\2 \1", day) if _MONTH.search(day) else day
        case "ADDRESS" | "PLACE":
            return re.sub(r"[\s,.]+", " ", plain.removeprefix("the ").replace("’", "'")).strip()


_MINUTES = {"quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25, "twenty five": 25}
_PAST = re.compile(
    r"(?:(?P<half>half)|(?:a )?(?P<minutes>quarter|five|ten|twenty(?:[- ]five)?)(?: minutes)?) (?P<side>past|to) "
    r"(?P<hour>[a-z]+|\d{1,2})(?P<more> (?:[ap]\.? ?m\.?))?"
)


def _past(spoken: re.Match[str]) -> str:
    """The key of "half past six", which is that of 6:30."""
    hour = _HOURS.get(spoken["hour"]) or (int(spoken["hour"]) if spoken["hour"].isdigit() else 0)
    if not 1 <= hour <= 12:
        return spoken[0]
    minutes = 30 if spoken["half"] else _MINUTES[spoken["minutes"]]
    if spoken["side"] == "to":
        hour, minutes = (hour + 10) % 12 + 1, 60 - minutes
    return _clock(f"{hour}:{minutes:02}{spoken['more'] or ''}")


_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b")


_FIGURES = re.compile(r"(\d{1,2})(?:[:.h](\d\d))?(?:\s?o['’]\s?clock)?\s?(a|p)?\.?\s?m?\.?\s?(?:hours|hrs)?")
_FOUR_FIGURES = re.compile(r"^(\d\d)(\d\d)(?=\s?(?:hours|hrs)$)")
_HOUR_WORD = re.compile(rf"^(?:{'|'.join(_HOURS)})(?=(?:\s?o['’]\s?clock)?(?:\s?[ap]\.?\s?m\.?)?$)")


def _clock(text: str) -> str:
    """A time as hours and minutes, with the half of the day where it is known."""
    if text in ("noon", "midday"):
        return "12:00"
    if text == "midnight":
        return "0:00"
    if past := _PAST.fullmatch(text):
        return _past(past)
    figures = _HOUR_WORD.sub(lambda word: str(_HOURS[word[0]]), _FOUR_FIGURES.sub(r"\1:\2", text))
    written = _FIGURES.fullmatch(figures)
    if written is None:
        return text
    hour, minute, half = int(written[1]), written[2] or "00", written[3]
    if half is not None:
        return f"{hour % 12 + (12 if half == 'p' else 0)}:{minute}"
    return f"{hour}:{minute}" if hour > 12 or figures[0] == "0" or hour == 0 else f"{hour}:{minute}?"


# ---- the same entities in every text of a document ----


def entities(text: str, found: Iterable[Found]) -> dict[Entity, set[str]]:
    """The entities of a text, in the order of their first places, with their writings."""
    writings: dict[Entity, set[str]] = {}
    for each in sorted(found, key=lambda one: one.start):
        written = each.cut(text)
        writings.setdefault(Entity(each.category, key_of(each.category, written)), set()).add(written)
    return writings


def joined(writings: Mapping[Entity, set[str]]) -> dict[Entity, set[str]]:
    """The entities with each part of an address (its street, its postcode) under the whole one; a part of two
    addresses remains one of its own.

    >>> whole, street = Entity("ADDRESS", "14 mill lane ls1 4dy"), Entity("ADDRESS", "14 mill lane")
    >>> list(joined({street: {"14 Mill Lane"}, whole: {"14 Mill Lane, LS1 4DY"}})) == [whole]
    True
    """
    addresses = [entity for entity in writings if entity.category == "ADDRESS"]
    whole = [each for each in addresses if not any(each != other and _within(each, other) for other in addresses)]
    together: dict[Entity, set[str]] = {}
    for entity, texts in writings.items():
        holders = [each for each in whole if entity.category == "ADDRESS" and _within(entity, each)]
        together.setdefault(holders[0] if len(holders) == 1 else entity, set()).update(texts)
    return together


def _within(part: Entity, whole: Entity) -> bool:
    return f" {part.key} " in f" {whole.key} "


def highest_numbers(texts: Iterable[str]) -> dict[str, int]:
    """The highest number of the placeholders that texts hold already, by category.

    >>> highest_numbers(["The meeting at <TIME_2> was moved", "to <TIME_1>."])
    {'TIME': 2}
    """
    highest: dict[str, int] = {}
    for text in texts:
        for match in PLACEHOLDER.finditer(text):
            category, number = match[0].strip("<>").split("_")
            if len(number) <= _MOST_FIGURES:
                highest[category] = max(highest.get(category, 0), int(number))
    return highest


_MOST_FIGURES = 9
"""Of the number in a placeholder; nothing is counted that far."""


def numbered(known: Iterable[Entity], taken: Mapping[str, int] = MappingProxyType({})) -> dict[Entity, int]:
    """A number for each entity, from 1 within its category, in the order given; above those that are `taken`."""
    numbers: dict[Entity, int] = {}
    counts = dict(taken)
    for entity in known:
        if entity not in numbers:
            counts[entity.category] = numbers[entity] = counts.get(entity.category, 0) + 1
    return numbers


def occurrences(text: str, writings: Mapping[Entity, set[str]]) -> list[Placed]:
    """Every place of a text where one of the writings stands as a word of its own.

    Of writings that overlap the longest counts. Case does not count in writings of several words or with digits; a
    single word counts as it is written, or in capitals ("Reading" is a town, "reading" is not). A dotted time does not
    count where it is an amount ("leaves at 5.15", "costs 5.15 pounds").
    """
    places = [
        Placed(entity, *match.span())
        for entity, texts in writings.items()
        for written in sorted(texts)
        for match in _standing(written, entity.category).finditer(text)
    ]
    return apart(sorted(places, key=lambda one: (one.start - one.end, one.start)))


_LEAST_DIGITS = 5


def number_of(number: int | float, writings: Mapping[Entity, set[str]]) -> Entity | None:
    """The phone number or code that a number (of a column) is, whole, or None.

    A number shorter than five digits may be a year or a count: it is one only if an entity is written just so. Times,
    days and addresses are no numbers: 5.15 in a column is a score.

    >>> call = Entity("PHONENUMBER", "01223351241")
    >>> number_of(1223351241, {call: {"01223 351241"}}) == call, number_of(351241, {call: {"01223 351241"}})
    (True, None)
    """
    if number < 0 or number != number // 1:
        return None
    digits = str(int(number))
    for entity, texts in writings.items():
        if entity.category in ("PHONENUMBER", "CODE"):
            same = len(digits) >= _LEAST_DIGITS and entity.key.lstrip("+0") == digits
            if same or digits in texts:
                return entity
    return None


def names_entity(name: str, entity: Entity) -> bool:
    """Whether a name (an id, an aspect, an annotator) holds a phone number or a code, however it is divided.

    >>> names_entity("call-01223-351241.txt", Entity("PHONENUMBER", "01223351241"))
    True
    """
    key = entity.key.lstrip("+")
    long = entity.category in ("PHONENUMBER", "CODE") and len(key) >= _LEAST_DIGITS
    return long and key in re.sub(r"[^a-z0-9]", "", name.casefold())


_DOTTED = re.compile(r"\d{1,2}\.\d\d")


@lru_cache(maxsize=4096)
def _standing(written: str, category: Category) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, written.split()))
    before = r"(?<!\w)" if written[0].isalnum() else ""
    after = r"(?!\w)" if written[-1].isalnum() else ""
    if category == "TIME" and _DOTTED.fullmatch(written):
        before, after = before + AMOUNT[0], after + AMOUNT[1]
    if any(char.isdigit() or char.isspace() for char in written):
        return re.compile(before + words + after, re.IGNORECASE)
    return re.compile(f"{before}(?:{words}|{re.escape(written.upper())}){after}")
