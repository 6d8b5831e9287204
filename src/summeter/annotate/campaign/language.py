"""The language of the annotator's pages: one file of texts per language, in `app/languages` or the campaign's own.

`en.yaml` is the reference. Every language has exactly its keys, each with the same placeholders, so that nothing on a
page falls back to another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from summeter.data.mapping import Location, read_mapping, yaml_lines
from summeter.records import Fault, InputError, Record, UsageError, nearest

SHIPPED = Path(__file__).parents[1] / "app" / "languages"
REFERENCE = "en"
Plural = Literal["zero", "one", "two", "few", "many", "other"]
"""A plural category of Unicode's CLDR; which number takes which form is the browser's to know."""
Text = str | dict[Plural, str]
_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Language(Record):
    """Texts by key. A text that counts something (`{n}`) has one form for each of the language's `plurals`."""

    language: str = Field(pattern=f"^{_CODE.pattern}$")
    direction: Literal["ltr", "rtl"]
    plurals: tuple[Plural, ...] = Field(min_length=1)
    strings: dict[str, Text]

    @model_validator(mode="after")
    def _has_other(self) -> Self:
        if "other" not in self.plurals:
            raise ValueError("plurals lack `other`, which every language has")
        return self

    def text(self, key: str, **values: object) -> str:
        """The text under a key, filled in; for texts without plural forms.

        >>> shipped("en").text("work.summary_of", id="A")
        'Summary A'
        """
        text = self.strings[key]
        if not isinstance(text, str):
            raise TypeError(f"{key} has plural forms; only the browser knows which to take")
        return text.format(**values)

    def to_page(self) -> dict[str, Any]:
        """What a page needs of it."""
        return {"code": self.language, "direction": self.direction, "strings": self.strings}


def shipped_names() -> list[str]:
    """The languages that come with summeter.

    >>> "en" in shipped_names()
    True
    """
    return sorted(file.stem for file in SHIPPED.glob("*.yaml"))


@cache
def shipped(name: str) -> Language:
    """A language that comes with summeter."""
    return _read(SHIPPED / f"{name}.yaml")


def language_file(named: str, place: Path) -> Path:
    """The file that a campaign's `interface` names: a shipped language's, else one of its own beside `place`.

    Raises UsageError where there is neither.
    """
    if named in shipped_names():
        return SHIPPED / f"{named}.yaml"
    own = place / named
    if own.suffix not in {".yaml", ".yml"}:
        known = ", ".join(shipped_names())
        raise UsageError(
            f"summeter has no language {named!r} ({known}); give a file of your own, made from "
            f"{SHIPPED / f'{REFERENCE}.yaml'}"
        )
    if not own.is_file():
        raise UsageError(f"the language file {own} is not there")
    return own


def read_language(file: Path) -> Language:
    """The language in a YAML file. Raises InputError with every key that it lacks, or has wrong."""
    return shipped(file.stem) if file.parent == SHIPPED else _read(file)


def _read(file: Path) -> Language:
    given = read_mapping(file, "a language file needs language, direction, plurals and strings")
    faults: dict[Location, str] = {}
    try:
        language = Language.model_validate(given)
    except ValidationError as error:
        faults = dict(reversed([_fault(part) for part in error.errors()]))  # the first of a place, tried as a text
    else:
        if file != SHIPPED / f"{REFERENCE}.yaml":
            for key, message in _differences(language, shipped(REFERENCE)):
                place = ("strings", key)
                faults[place] = f"{faults[place]}; {message}" if place in faults else message
    if file.parent == SHIPPED and not faults:
        return language
    lines, repeated = yaml_lines(file)
    faults |= {place: "is given twice; the file would not say which counts" for place, _ in repeated}
    if faults:
        listed = [Fault(str(file), lines.get(place), str(place[-1]), message) for place, message in faults.items()]
        raise InputError(sorted(listed, key=lambda fault: fault.line or 0))
    return language


def _fault(error: Mapping[str, Any]) -> tuple[Location, str]:
    message = {
        "missing": "is missing",
        "extra_forbidden": "is not known",
        "string_type": "is no text; put it in quotes",
    }.get(error["type"], error["msg"].removeprefix("Value error, "))
    return tuple(error["loc"][:2]) or ("strings",), message


def _differences(language: Language, reference: Language) -> Iterator[tuple[str, str]]:
    """What a language has otherwise than the reference: key and message."""
    for key, text in reference.strings.items():
        own = language.strings.get(key)
        if own is None:
            yield key, f"is missing; in English: {text if isinstance(text, str) else text['other']!r}"
        elif isinstance(text, str) != isinstance(own, str):
            forms = ", ".join(language.plurals)
            yield key, "is one text without plural forms" if isinstance(text, str) else f"needs the forms {forms}"
        else:
            yield from ((key, fault) for fault in _wrong(own, text, language.plurals))
    for key in language.strings.keys() - reference.strings.keys():
        yield key, f"is no key of the pages{nearest(key, reference.strings)}"


def _wrong(own: Text, text: Text, plurals: tuple[Plural, ...]) -> Iterator[str]:
    """Plural forms and placeholders that do not fit the reference's."""
    if isinstance(own, str) or isinstance(text, str):
        forms: dict[str, str] = {"": str(own)}
        wanted = _placeholders(str(text))
    else:
        if set(own) != set(plurals):
            yield f"has the forms {', '.join(own)}; needs {', '.join(plurals)}"
        forms = {str(name): form for name, form in own.items()}
        wanted = _placeholders(text["other"])
    for name, form in forms.items():
        # "One task" needs no number.
        placeholders = _placeholders(form) | ({"n"} if name and name != "other" and "n" in wanted else set())
        if placeholders != wanted:
            what = ", ".join(sorted(f"{{{placeholder}}}" for placeholder in wanted ^ placeholders))
            yield f"{f'in the form {name} ' if name else ''}has or lacks {what}, unlike the English text"


def _placeholders(text: str) -> set[str]:
    return set(_PLACEHOLDER.findall(text))
