"""Faults: everything wrong with one input, gathered so that a user mends a file once, and how they are worded."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from summeter.records import Fault, InputError

Report = Callable[[str, str], None]
"""Called with a field such as `human.sentence_labels[3]` and what is wrong with it."""


class Faults:
    """Collects faults and warnings of one file in bounded memory: past `KEPT` of either it only counts."""

    KEPT: ClassVar[int] = 1000

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self._kept: list[Fault] = []
        self._warned = 0
        self._warnings: list[Fault] = []

    def add(self, line: int | None, field: str | None, message: str) -> None:
        """Note a fault."""
        self.count += 1
        if len(self._kept) < self.KEPT:
            self._kept.append(Fault(self.file, line, field and _printable(field), _printable(message)))

    def warn(self, line: int | None, field: str | None, message: str) -> None:
        """Note something that is allowed and yet worth a look."""
        self._warned += 1
        if len(self._warnings) < self.KEPT:
            self._warnings.append(Fault(self.file, line, field and _printable(field), _printable(message)))

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The warnings in file order."""
        return self._listed(self._warnings, self._warned, "warnings")

    def stop(self) -> None:
        """Raise InputError if there is any fault."""
        if self.count:
            raise InputError(self._listed(self._kept, self.count, "faults"))

    def _listed(self, kept: list[Fault], count: int, what: str) -> tuple[Fault, ...]:
        ordered = sorted(kept, key=lambda fault: (fault.line is None, fault.line or 0))
        if count > len(kept):
            ordered.append(Fault(self.file, None, None, f"and {count - len(kept)} more {what}, not listed"))
        return tuple(ordered)


def _printable(text: str) -> str:
    """The text; where it holds half a surrogate pair, which no terminal takes, with that as an escape."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def problem(message: str, field: str | None = None) -> PydanticCustomError:
    """What a validator of a row raises: the whole message; `field` where it is not the field that is validated."""
    return PydanticCustomError("problem", "{text}", {"text": message, "field": field})


def explained(error: ValidationError, message: Callable[[str, ErrorDetails], str]) -> Iterator[tuple[str, str]]:
    """Each problem of a row as (field, message); `message` words those that no validator of ours raised.

    A text that is no UTF-8 is left out: `check_storable` says so of any column.
    """
    for details in error.errors(include_url=False):
        field = path_of(details["loc"])
        if details["type"] == "problem":
            yield details["ctx"]["field"] or field, details["ctx"]["text"]
        elif details["type"] != "string_unicode":
            yield field, message(field, details)


def path_of(location: Iterable[int | str]) -> str:
    """A place within a row, as messages name it.

    >>> path_of(("human", "sentence_labels", 3, "ann"))
    'human.sentence_labels[3].ann'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def meant(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'summary'?"`, or nothing where no known name is near."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def describe(value: Any) -> str:
    """What a JSON value is, in words, for messages.

    >>> describe([1]), describe(None)
    ('a list', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
