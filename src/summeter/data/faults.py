"""Collect all faults and warnings of an input."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from summeter.records import Fault, InputError, Message, Parameter, UsageError
from summeter.records.text import SHARE

T = TypeVar("T")
Report = Callable[[str, str], None]
"""Is called with a field, such as `human.sentence_labels[3]`, and a message."""
OnFault = Literal["error", "skip", "keep-valid"]
"""Handling of faulty rows: stop the import, drop the row, or drop only the faulty field."""


class Dropped(NamedTuple):
    """A dropped row or field, and the reason. `value` is the value of a field, if short."""

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
    """Number of rows with such a fault."""
    line: int | None = None
    """The line of the last one."""
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


@dataclass
class _Shared:
    """The state that the faults of several files share."""

    faults: _Log = field(default_factory=_Log)
    warnings: _Log = field(default_factory=_Log)
    dropped: list[Dropped] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


class Faults:
    """Collects faults and warnings; after `KEPT` of either, they are only counted.

    `on_fault` is the handling of faulty rows: `error` counts a fault, the others drop the row or a field.
    `columns_known` says whether the columns that are read have the names of fields. A fault that occurs in every row is
    listed once.
    """

    KEPT: ClassVar[int] = 1000
    REPEATED: ClassVar[int] = 3
    """Minimum number of rows of a file in which a fault of every row is listed once."""

    def __init__(
        self, file: str, on_fault: OnFault = "error", *, columns_known: bool = True, shared: _Shared | None = None
    ) -> None:
        if on_fault not in get_args(OnFault):
            known = ", ".join(get_args(OnFault))
            raise UsageError(Parameter("on_fault", str(on_fault)), f": unknown rule; rules are: {known}")
        self.file = file
        self.on_fault = on_fault
        self.columns_known = columns_known
        self._shared = shared or _Shared()

    def of(self, file: str) -> Faults:
        """Return the faults of another file of the same input, counted together with these."""
        return Faults(file, self.on_fault, columns_known=self.columns_known, shared=self._shared)

    @property
    def count(self) -> int:
        """Number of faults, excluding dropped rows and fields."""
        return self._shared.faults.count

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """The dropped rows and fields, in the order of reading."""
        return tuple(self._shared.dropped)

    def counted(self, rows: Iterable[T]) -> Iterator[T]:
        """Yield the rows of the file and count them, so that a fault of every row is listed once."""
        for row in rows:
            self._shared.rows[self.file] = self._shared.rows.get(self.file, 0) + 1
            yield row

    def add(self, line: int | None, field: str | None, message: str) -> None:
        """Add a fault, or drop the row with the fault if `on_fault` allows it.

        A fault of `share` is never dropped, because the document may be one that must not be published.
        """
        if line is None or self.on_fault == "error" or field == SHARE:
            self.fail(line, field, message)
        else:
            self.drop(line, field, message, "row")

    def fail(self, line: int | None, field: str | None, message: str) -> None:
        """Add a fault that stops the import, whatever the value of `on_fault`."""
        self._shared.faults.add(Fault(self.file, line, field and _printable(field), _printable(message)), self.KEPT)

    def drop(
        self, line: int | None, field: str | None, message: str, what: Literal["row", "field"], value: Any = None
    ) -> None:
        """Record that a row or a field is dropped."""
        reason = str(_printable(message))
        self._shared.dropped.append(Dropped(self.file, line, field and _printable(field), reason, what, value))

    def warn(self, line: int | None, field: str | None, message: str) -> None:
        """Add a warning."""
        self._shared.warnings.add(Fault(self.file, line, field and _printable(field), _printable(message)), self.KEPT)

    def copy_to(self, faults: Faults) -> None:
        """Add these faults and warnings to `faults`."""
        for fault in self._shared.faults.stored:
            faults.add(fault.line, fault.field, fault.message)
        self.copy_warnings_to(faults)

    def copy_warnings_to(self, faults: Faults) -> None:
        """Add these warnings to `faults`."""
        for fault in self._shared.warnings.stored:
            faults.warn(fault.line, fault.field, fault.message)

    @property
    def listed(self) -> tuple[Fault, ...]:
        """The faults, in file order."""
        return self._listed(self._shared.faults, "faults")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The warnings, in file order."""
        return self._listed(self._shared.warnings, "warnings")

    def stop(self) -> None:
        """Raise InputError if there is any fault."""
        if self.count:
            raise InputError(self.listed)

    def _listed(self, log: _Log, what: str) -> tuple[Fault, ...]:
        everywhere = {
            key: group
            for key, group in log.groups.items()
            if group.rows >= max(self.REPEATED, self._shared.rows.get(key[0], 0)) and key[0] in self._shared.rows
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
    """Return the text, with lone surrogates escaped, which terminals cannot print."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def problem(message: str, field: str | None = None) -> PydanticCustomError:
    """Return the error for a validator to raise, about the validated field or `field`."""
    return PydanticCustomError("problem", "{text}", {"text": message, "field": field})


def explained(error: ValidationError, message: Callable[[str, ErrorDetails], str]) -> Iterator[tuple[str, str]]:
    """Yield each validation error as (field, message); `message` words those of pydantic.

    Invalid UTF-8 is omitted, because `storable` reports it for any column.
    """
    for details in error.errors(include_url=False):
        field = path_of(details["loc"])
        if details["type"] == "problem":
            yield details["ctx"]["field"] or field, details["ctx"]["text"]
        elif details["type"] != "string_unicode":
            yield field, message(field, details)


class FieldPath(str):
    """The name of a field in messages, and its path, since a key may contain `.` or `[`."""

    path: tuple[int | str, ...]

    @classmethod
    def at(cls, text: str, path: Iterable[int | str]) -> FieldPath:
        """Return the field at `path` with the name `text`."""
        field = cls(text)
        field.path = tuple(path)
        return field


def path_of(location: Iterable[int | str]) -> FieldPath:
    """Return the name of a field within a row in messages.

    >>> path_of(("human", "sentence_labels", 3, "ann"))
    'human.sentence_labels[3].ann'
    """
    path = tuple(location)
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return FieldPath.at(text, path)


def meant(name: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'NAME'?"` with the most similar known name, or ""."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
