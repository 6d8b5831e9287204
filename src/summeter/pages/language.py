"""Languages of pages: texts by key, plural forms and text direction.

A language file has the texts of the annotators' pages by name, or those of all other pages by their English text. The
latter are in `languages`, and English needs no file. A text that contains a number (`{n}`) has one form for each plural
category of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from summeter.data.mapping import read_yaml
from summeter.pages.embedded import RIGHT_TO_LEFT
from summeter.records import Phrase, Record, UsageError, nearest

FOLDER = Path(__file__).parent / "languages"
Plural = Literal["zero", "one", "two", "few", "many", "other"]
"""A plural category of Unicode CLDR."""
Text = str | dict[Plural, str]
_CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# Letters of left-to-right scripts, and numbers
_LEFT_TO_RIGHT = re.compile(r"[A-Za-z\u00c0-\u052f0-9]")


class Language(Record):
    """The texts of a language by key."""

    language: str = Field(pattern=f"^{_CODE.pattern}$")
    direction: Literal["ltr", "rtl"]
    plurals: tuple[Plural, ...] = Field(min_length=1)
    strings: dict[str, Text]

    @model_validator(mode="after")
    def _has_category_other(self) -> Self:
        if "other" not in self.plurals:
            raise ValueError("plurals must contain `other`")
        return self

    def form(self, key: str, n: object = None) -> str:
        """Return the text of a key, in the form for the number `n`; a key without a text is its own text."""
        text = self.strings.get(key, key)
        return text if isinstance(text, str) else text.get(self.plural(n), text["other"])

    def text(self, key: str, **values: object) -> str:
        """Return the text of a key with its placeholders filled.

        >>> ENGLISH.text("Summary {id}", id="A")
        'Summary A'
        """
        return self.form(key, values.get("n")).format(**values)

    def plural(self, n: object) -> Plural:
        """Return the plural category of a whole number.

        >>> [page_language("ar").plural(n) for n in (0, 1, 2, 3, 11, 100)]
        ['zero', 'one', 'two', 'few', 'many', 'other']
        """
        if not isinstance(n, int) or self.language in ("ja", "zh"):
            return "other"
        if self.language == "ar":
            rest = n % 100
            few_or_many: Plural = "few" if 3 <= rest <= 10 else "many" if rest > 10 else "other"
            return "zero" if n == 0 else "one" if n == 1 else "two" if n == 2 else few_or_many
        return "one" if n == 1 or (n == 0 and self.language == "fr") else "other"

    def phrase(self, text: str) -> str | None:
        """Return a text that was made by code in this language, or None if it has no translation."""
        if self.language == ENGLISH.language:
            return str(text)
        if not isinstance(text, Phrase):
            return self.form(text) if text in self.strings or not any(map(str.isalpha, text)) else None
        if any(map(str.isalpha, _PLACEHOLDER.sub("", text.pattern))):
            if text.pattern not in self.strings:
                return None
            values: dict[str, object] = {name: self.shown(value) for name, value in text.values.items()}
        else:  # a pattern that joins texts, all of which need a translation if they contain words
            values = {
                name: self.phrase(part) if isinstance(part, str) else self.shown(part)
                for name, part in text.values.items()
            }
            if None in values.values():
                return None
        return self.form(text.pattern, text.values.get("n")).format(**values)

    def word(self, text: str) -> str:
        """Return a text that was made by code in this language, or in English if it has no translation."""
        said = self.phrase(text)
        return str(text) if said is None else said

    def shown(self, value: object) -> object:
        """Return a value as it is shown in a text.

        A phrase is translated if possible, numbers get commas, and names in the other direction are isolated.
        """
        if isinstance(value, Phrase):
            return self.word(value)
        if isinstance(value, int):
            return f"{value:,}"
        other = _LEFT_TO_RIGHT if self.direction == "rtl" else RIGHT_TO_LEFT
        plain = type(value) is str  # markup isolates its names itself
        return f"\u2068{value}\u2069" if plain and other.search(str(value)) else value

    def to_page(self) -> dict[str, Any]:
        """Return the JSON object for the pages."""
        return {"code": self.language, "direction": self.direction, "strings": self.strings}

    def differences(self, reference: Language) -> Iterator[tuple[str, str]]:
        """Yield the differences between this language and the reference, as pairs of key and message."""
        for key in self.strings.keys() - reference.strings.keys():
            yield key, f"is an unknown key{nearest(key, reference.strings)}"
        for key, wanted in reference.strings.items():
            text = self.strings.get(key)
            english = wanted if isinstance(wanted, str) else wanted["other"]
            if text is None:
                yield key, f"is missing; in English: {english!r}"
                continue
            if isinstance(wanted, str) != isinstance(text, str):
                several = f"needs the plural forms {', '.join(self.plurals)}"
                yield key, "must be a single string without plural forms" if isinstance(wanted, str) else several
                continue
            forms = {"": text} if isinstance(text, str) else {str(name): form for name, form in text.items()}
            if not isinstance(text, str) and set(text) != set(self.plurals):
                yield key, f"has the plural forms {', '.join(text)}; it needs {', '.join(self.plurals)}"
            expected = set(_PLACEHOLDER.findall(english))
            for name, form in forms.items():
                # A form such as "one task" may omit the number.
                placeholders = {*_PLACEHOLDER.findall(form), *({"n"} & expected if name not in {"", "other"} else ())}
                if placeholders != expected:
                    names = ", ".join(sorted(f"{{{placeholder}}}" for placeholder in expected ^ placeholders))
                    where = f"in the form {name}, " if name else ""
                    yield key, f"{where}{names} must occur in this text and in the English one, or in neither"


ENGLISH = Language(language="en", direction="ltr", plurals=("one", "other"), strings={})


def page_languages() -> list[str]:
    """Return the codes of the languages of pages.

    >>> page_languages()
    ['ar', 'de', 'en', 'es', 'fr', 'ja', 'zh']
    """
    return sorted([ENGLISH.language, *(file.stem for file in FOLDER.glob("*.yaml"))])


@cache
def page_language(name: str) -> Language:
    """Return a language of pages. Raises UsageError if there is no such language."""
    if name not in page_languages():
        raise UsageError(f"there are no pages in the language {name!r}; use one of {', '.join(page_languages())}")
    return ENGLISH if name == ENGLISH.language else Language.model_validate(read_yaml(FOLDER / f"{name}.yaml"))
