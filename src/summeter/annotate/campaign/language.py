"""Language files with the texts of the annotators' pages.

Language files are shipped in `app/languages` or provided with a campaign. The reference is `en.yaml`: every language
must have the same keys and the same placeholders, so that no page mixes languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from summeter.data.mapping import in_order, line_of, read_model, read_yaml, yaml_lines
from summeter.records import Fault, Record, UsageError, nearest

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
    return Language.model_validate(read_yaml(SHIPPED / f"{name}.yaml"))


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
    if file.parent == SHIPPED:
        return shipped(file.stem)
    language = read_model(file, Language, "a language file needs language, direction, plurals and strings")
    lines, _ = yaml_lines(file)
    faults = [
        Fault(str(file), line_of(lines, ("strings", key)), f"strings.{key}", message)
        for key, message in _differences(language, shipped(REFERENCE))
    ]
    if faults:
        raise in_order(faults)
    return language


def _differences(language: Language, reference: Language) -> Iterator[tuple[str, str]]:
    """Yield the differences between a language and the reference, as pairs of key and message."""
    for key in language.strings.keys() - reference.strings.keys():
        yield key, f"is an unknown key{nearest(key, reference.strings)}"
    for key, wanted in reference.strings.items():
        text = language.strings.get(key)
        english = wanted if isinstance(wanted, str) else wanted["other"]
        if text is None:
            yield key, f"is missing; in English: {english!r}"
            continue
        if isinstance(wanted, str) != isinstance(text, str):
            several = f"needs the plural forms {', '.join(language.plurals)}"
            yield key, "must be a single string without plural forms" if isinstance(wanted, str) else several
            continue
        forms = {"": text} if isinstance(text, str) else {str(name): form for name, form in text.items()}
        if not isinstance(text, str) and set(text) != set(language.plurals):
            yield key, f"has the plural forms {', '.join(text)}; it needs {', '.join(language.plurals)}"
        expected = set(_PLACEHOLDER.findall(english))
        for name, form in forms.items():
            # A form such as "one task" may omit the number.
            placeholders = {*_PLACEHOLDER.findall(form), *({"n"} & expected if name not in {"", "other"} else ())}
            if placeholders != expected:
                names = ", ".join(sorted(f"{{{placeholder}}}" for placeholder in expected ^ placeholders))
                where = f"in the form {name}, " if name else ""
                yield key, f"{where}{names} must occur in this text and in the English one, or in neither"
