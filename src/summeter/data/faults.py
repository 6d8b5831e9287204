"""Collect all faults and warnings of an input."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from summeter.records import Fault, InputError, Message, Parameter, UsageError
from summeter.records.text import SHARE

T = TypeVar("T")
OnFault = Literal["error", "skip", "keep-valid"]
"""Handling of faulty rows: stop the import, drop the row, or drop only the faulty field."""


class Dropped(NamedTuple):
    """A dropped row or field, and the reason.

    `line` is counted from 1. `value` is the value of a dropped field, or None if it is long.
    """

    file: str
    line: int | None
    field: str | None
    reason: str
    dropped: Literal["row", "field"]
    value: Any = None


@dataclass
class _Group:
    """Faults that differ only in numbers and quotations."""

    first: Fault
    total: int = 0
    rows: int = 0
    """Number of rows with a fault of the group."""
    line: int | None = None
    """The line of the last fault of the group."""
    identical: bool = True


@dataclass
class _Log:
    """Faults or warnings, in bounded memory."""

    count: int = 0
    stored: list[Fault] = field(default_factory=list)
    groups: dict[tuple[str, str, str], _Group] = field(default_factory=dict)

    def add(self, fault: Fault, most: int) -> None:
        self.count += 1
        if len(self.stored) < most or fault.line is None:  # faults of a whole file are few and explain the others
            self.stored.append(fault)
        key = _group_key(fault)
        if key in self.groups or len(self.groups) < most:
            group = self.groups.setdefault(key, _Group(fault))
            group.total += 1
            group.identical &= fault.message == group.first.message
            if fault.line is None or fault.line != group.line:  # count several faults of one row once
                group.rows, group.line = group.rows + 1, fault.line


class Faults:
    """Collect faults and warnings; beyond `KEPT` faults or warnings, the rest are only counted.

    `on_fault` says what happens to a faulty row: `error` records a fault, the other values drop the row or a field.
    `columns_known` says whether the columns of the input are named like the fields. A fault that occurs in every row is
    listed once.
    """

    KEPT: ClassVar[int] = 1000
    REPEATED: ClassVar[int] = 3
    """Minimum number of rows in a file for a fault that occurs in every row to be listed only once."""

    def __init__(self, file: str, on_fault: OnFault = "error", *, columns_known: bool = True) -> None:
        if on_fault not in get_args(OnFault):
            known = ", ".join(get_args(OnFault))
            raise UsageError(Parameter("on_fault", str(on_fault)), f": unknown rule; rules are: {known}")
        self.file = file
        self.on_fault = on_fault
        self.columns_known = columns_known
        self._faults, self._warnings = _Log(), _Log()
        self._dropped: list[Dropped] = []
        self._rows = Counter[str]()

    def of(self, file: str) -> Faults:
        """Return a collector for another file of the same input, with shared faults, warnings and counts."""
        other = copy(self)
        other.file = file
        return other

    @property
    def count(self) -> int:
        """Number of faults, excluding dropped rows and fields."""
        return self._faults.count

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """The dropped rows and fields, in the order of reading."""
        return tuple(self._dropped)

    def counted(self, rows: Iterable[T]) -> Iterator[T]:
        """Yield the rows of the file and count them, to recognise faults that occur in every row."""
        for row in rows:
            self._rows[self.file] += 1
            yield row

    def add(self, line: int | None, field: str | None, message: str) -> None:
        """Add a fault, or drop the faulty row if `on_fault` allows it.

        A row with a fault in `share` is never dropped, because its document may be one that must not be published.
        """
        if line is None or self.on_fault == "error" or field == SHARE:
            self.fail(line, field, message)
        else:
            self.drop(line, field, message, "row")

    def fail(self, line: int | None, field: str | None, message: str) -> None:
        """Add a fault that stops the import, whatever the value of `on_fault`."""
        self._faults.add(Fault(self.file, line, field and _printable(field), _printable(message)), self.KEPT)

    def drop(
        self, line: int | None, field: str | None, message: str, what: Literal["row", "field"], value: Any = None
    ) -> None:
        """Record that a row or a field is dropped."""
        reason = str(_printable(message))
        self._dropped.append(Dropped(self.file, line, field and _printable(field), reason, what, value))

    def warn(self, line: int | None, field: str | None, message: str) -> None:
        """Add a warning."""
        self._warnings.add(Fault(self.file, line, field and _printable(field), _printable(message)), self.KEPT)

    def copy_to(self, faults: Faults) -> None:
        """Add these faults and warnings to `faults`."""
        for fault in self._faults.stored:
            faults.add(fault.line, fault.field, fault.message)
        self.copy_warnings_to(faults)

    def copy_warnings_to(self, faults: Faults) -> None:
        """Add these warnings to `faults`."""
        for fault in self._warnings.stored:
            faults.warn(fault.line, fault.field, fault.message)

    @property
    def listed(self) -> tuple[Fault, ...]:
        """The faults, in file order."""
        return self._listed(self._faults, "faults")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The warnings, in file order."""
        return self._listed(self._warnings, "warnings")

    def stop(self) -> None:
        """Raise InputError with all faults if there are any."""
        if self.count:
            raise InputError(self.listed)

    def _listed(self, log: _Log, what: str) -> tuple[Fault, ...]:
        everywhere = {
            key: group
            for key, group in log.groups.items()
            if group.rows >= max(self.REPEATED, self._rows[key[0]]) and key[0] in self._rows
        }
        listed = []
        for group in everywhere.values():
            differing = "" if group.identical else ", with other words or numbers"
            message = Message(group.first.message, f" (the same in all {group.rows:,} rows{differing})")
            listed.append(group.first._replace(message=message))
        others = [fault for fault in log.stored if _group_key(fault) not in everywhere]
        listed += others
        files = list(dict.fromkeys(fault.file for fault in listed))
        listed.sort(key=lambda fault: (files.index(fault.file), fault.line is not None, fault.line or 0))
        unlisted = log.count - len(others) - sum(group.total for group in everywhere.values())
        if unlisted:
            listed.append(Fault(self.file, None, None, f"and {unlisted} more {what}, not listed"))
        return tuple(listed)


def _group_key(fault: Fault) -> tuple[str, str, str]:
    return fault.file, re.sub(r"\[\d+\]", "[]", fault.field or ""), _VARYING.sub("#", fault.message)


_VARYING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+(?:[.,]\d+)*")


def _printable(text: str) -> str:
    """Return the text with lone surrogates escaped, because terminals cannot print them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def problem(message: str, field: str | None = None) -> PydanticCustomError:
    """Return an error that a validator can raise, about `field` or else the validated field."""
    return PydanticCustomError("problem", "{text}", {"text": message, "field": field})


def explained(error: ValidationError, message: Callable[[str, ErrorDetails], str]) -> Iterator[tuple[str, str]]:
    """Yield each validation error as (field, message); `message` rewords the errors of pydantic.

    Errors about invalid UTF-8 are omitted, because `storable` reports them for all columns.
    """
    for details in error.errors(include_url=False):
        field = path_of(details["loc"])
        if details["type"] == "problem":
            yield details["ctx"]["field"] or field, details["ctx"]["text"]
        elif details["type"] != "string_unicode":
            yield field, message(field, details)


class FieldPath(str):
    """The name of a field for messages, with the path to the field.

    The name does not determine the path, because a key may contain `.` or `[`.
    """

    path: tuple[int | str, ...]

    @classmethod
    def at(cls, text: str, path: Iterable[int | str]) -> FieldPath:
        """Return the field at `path` with the name `text`."""
        field = cls(text)
        field.path = tuple(path)
        return field


def path_of(location: Iterable[int | str]) -> FieldPath:
    """Return the name, for messages, of a field within a row.

    >>> path_of(("human", "sentence_labels", 3, "ann"))
    'human.sentence_labels[3].ann'
    """
    path = tuple(location)
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return FieldPath.at(text, path)
