"""Language files with the texts of the annotators' pages.

Language files are shipped in `app/languages` or provided with a campaign. The reference is `en.yaml`: every language
must have the same keys and the same placeholders, so that no page mixes languages.
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
"""A plural category of Unicode CLDR; the browser chooses the category of each number."""
Text = str | dict[Plural, str]
_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Language(Record):
    """The texts of a language by key.

    A text that contains a number (`{n}`) has one form for each plural category of the language.
    """

    language: str = Field(pattern=f"^{_CODE.pattern}$")
    direction: Literal["ltr", "rtl"]
    plurals: tuple[Plural, ...] = Field(min_length=1)
    strings: dict[str, Text]

    @model_validator(mode="after")
    def _has_category_other(self) -> Self:
        if "other" not in self.plurals:
            raise ValueError("plurals must contain `other`")
        return self

    def text(self, key: str, **values: object) -> str:
        """Return the text of a key with its placeholders filled.

        Raises TypeError if the text has plural forms.
        >>> shipped("en").text("work.summary_of", id="A")
        'Summary A'
        """
        text = self.strings[key]
        if not isinstance(text, str):
            raise TypeError(f"{key} has plural forms, which only the browser can choose")
        return text.format(**values)

    def to_page(self) -> dict[str, Any]:
        """Return the JSON object for the pages."""
        return {"code": self.language, "direction": self.direction, "strings": self.strings}


def shipped_names() -> list[str]:
    """Return the names of the languages that come with summeter.

    >>> "en" in shipped_names()
    True
    """
    return sorted(file.stem for file in SHIPPED.glob("*.yaml"))


@cache
def shipped(name: str) -> Language:
    """Return a language that comes with summeter."""
    return _read(SHIPPED / f"{name}.yaml")


def language_file(interface: str, folder: Path) -> Path:
    """Return the path of a shipped or custom language file.

    The path of a custom language file is relative to `folder`. Raises UsageError if there is no such language or file.
    """
    if interface in shipped_names():
        return SHIPPED / f"{interface}.yaml"
    file = folder / interface
    if file.suffix not in {".yaml", ".yml"}:
        known = ", ".join(shipped_names())
        raise UsageError(
            f"there is no language {interface!r}; use one of {known}, or a translated copy of "
            f"{SHIPPED / f'{REFERENCE}.yaml'}"
        )
    if not file.is_file():
        raise UsageError(f"the language file {file} does not exist")
    return file


def read_language(file: Path) -> Language:
    """Read a language file. Raises InputError with all missing, unknown and invalid keys."""
    return shipped(file.stem) if file.parent == SHIPPED else _read(file)


def _read(file: Path) -> Language:
    content = read_mapping(file, "a language file needs language, direction, plurals and strings")
    faults: dict[Location, str] = {}
    try:
        language = Language.model_validate(content)
    except ValidationError as error:
        # A text that is neither a string nor a set of plural forms causes several errors; the first one is reported.
        faults = dict(reversed([_fault(detail) for detail in error.errors()]))
    else:
        if file != SHIPPED / f"{REFERENCE}.yaml":
            for key, message in _differences(language, shipped(REFERENCE)):
                place = ("strings", key)
                faults[place] = f"{faults[place]}; {message}" if place in faults else message
    if file.parent == SHIPPED and not faults:
        return language
    lines, repeated = yaml_lines(file)
    faults |= {place: "is given twice; remove one of the two" for place, _ in repeated}
    if faults:
        listed = [Fault(str(file), lines.get(place), str(place[-1]), message) for place, message in faults.items()]
        raise InputError(sorted(listed, key=lambda fault: fault.line or 0))
    return language


def _fault(error: Mapping[str, Any]) -> tuple[Location, str]:
    message = {
        "missing": "is missing",
        "extra_forbidden": "is unknown",
        "string_type": "is not a string; put it in quotes",
    }.get(error["type"], error["msg"].removeprefix("Value error, "))
    return tuple(error["loc"][:2]) or ("strings",), message


def _differences(language: Language, reference: Language) -> Iterator[tuple[str, str]]:
    """Yield the differences between a language and the reference, as pairs of key and message."""
    for key, reference_text in reference.strings.items():
        text = language.strings.get(key)
        if text is None:
            english = reference_text if isinstance(reference_text, str) else reference_text["other"]
            yield key, f"is missing; in English: {english!r}"
        elif isinstance(reference_text, str) != isinstance(text, str):
            forms = ", ".join(language.plurals)
            is_single = isinstance(reference_text, str)
            yield (
                key,
                "must be a single string without plural forms" if is_single else f"needs the plural forms {forms}",
            )
        else:
            yield from ((key, message) for message in _text_differences(text, reference_text, language.plurals))
    for key in language.strings.keys() - reference.strings.keys():
        yield key, f"is an unknown key{nearest(key, reference.strings)}"


def _text_differences(text: Text, reference: Text, plurals: tuple[Plural, ...]) -> Iterator[str]:
    """Yield messages about plural forms and placeholders that differ from the reference."""
    if isinstance(text, str) or isinstance(reference, str):
        forms: dict[str, str] = {"": str(text)}
        expected = _placeholders(str(reference))
    else:
        if set(text) != set(plurals):
            yield f"has the plural forms {', '.join(text)}; it needs {', '.join(plurals)}"
        forms = {str(name): form for name, form in text.items()}
        expected = _placeholders(reference["other"])
    for name, form in forms.items():
        # A form such as "one task" may omit the number.
        placeholders = _placeholders(form) | ({"n"} if name and name != "other" and "n" in expected else set())
        if placeholders != expected:
            names = ", ".join(sorted(f"{{{placeholder}}}" for placeholder in expected ^ placeholders))
            where = f"in the form {name}, " if name else ""
            yield f"{where}{names} must occur in this text and in the English one, or in neither"


def _placeholders(text: str) -> set[str]:
    return set(_PLACEHOLDER.findall(text))
