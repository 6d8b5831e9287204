"""Faults: everything wrong with one input, gathered so that a user corrects a file once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from summeter.records import Fault, InputError, Message, Parameter, UsageError
from summeter.records.text import SHARE

Report = Callable[[str, str], None]
"""Called with a field such as `human.sentence_labels[3]` and what is wrong with it."""
OnFault = Literal["error", "skip", "keep-valid"]
"""What a faulty row does: it ends the import, it is left out, or it is kept without the field at fault."""


class Dropped(NamedTuple):
    """A row or a field that was left out of a dataset, and why. `value` is the field's, where it is short."""

    file: str
    line: int | None
    field: str | None
    reason: str
    dropped: Literal["row", "field"]
    value: Any = None


@dataclass
class _Kind:
    """Faults that differ in their numbers and quotations alone: how many, in how many rows, the last row's line."""

    first: Fault
    total: int = 0
    count: int = 0
    line: int | None = None
    exact: bool = True


@dataclass
class _Noted:
    """Faults or warnings, in bounded memory."""

    count: int = 0
    kept: list[Fault] = field(default_factory=list)
    kinds: dict[tuple[str, str, str], _Kind] = field(default_factory=dict)

    def add(self, fault: Fault, most: int) -> None:
        self.count += 1
        if len(self.kept) < most or fault.line is None:  # of a whole file there are few, and they explain the others
            self.kept.append(fault)
        key = _kind_of(fault)
        if key in self.kinds or len(self.kinds) < most:
            kind = self.kinds.setdefault(key, _Kind(fault))
            kind.total += 1
            kind.exact &= fault.message == kind.first.message
            if fault.line is None or fault.line != kind.line:  # several of one row count once
                kind.count, kind.line = kind.count + 1, fault.line


@dataclass
class _Books:
    """What the faults of several files share."""

    faults: _Noted = field(default_factory=_Noted)
    warnings: _Noted = field(default_factory=_Noted)
    dropped: list[Dropped] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    columns_known: bool = True


class Faults:
    """Collects faults and warnings of an input in bounded memory: past `KEPT` of either it only counts.

    `on_fault` says what a fault of a row does: `error` counts it, else the row is `dropped`. `of` gives the faults of
    another file of the same input. A fault that comes in every row (`rows` says how many there are) is listed once.
    """

    KEPT: ClassVar[int] = 1000
    REPEATED: ClassVar[int] = 3
    """A fault of every row is listed once in a file of at least so many."""

    def __init__(self, file: str, on_fault: OnFault = "error", books: _Books | None = None) -> None:
        if on_fault not in get_args(OnFault):
            known = ", ".join(get_args(OnFault))
            raise UsageError(Parameter("on_fault", str(on_fault)), f": there is no such rule; rules are: {known}")
        self.file = file
        self.on_fault = on_fault
        self._books = books or _Books()

    def of(self, file: str) -> Faults:
        """The faults of another file, counted with these."""
        return Faults(file, self.on_fault, self._books)

    @property
    def columns_known(self) -> bool:
        """Whether columns have the names of fields while rows are read: neither renamed nor those of a preset."""
        return self._books.columns_known

    @columns_known.setter
    def columns_known(self, known: bool) -> None:
        self._books.columns_known = known

    @property
    def count(self) -> int:
        """How many faults there are; what was dropped is none."""
        return self._books.faults.count

    @property
    def noted(self) -> int:
        """How many faults there are, with what was dropped."""
        return self.count + len(self._books.dropped)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What was left out, in the order it was met."""
        return tuple(self._books.dropped)

    def read_row(self) -> None:
        """Count a row that was read."""
        self._books.rows[self.file] = self._books.rows.get(self.file, 0) + 1

    def add(self, line: int | None, field: str | None, message: str) -> None:
        """Note a fault; one of a row drops it where `on_fault` says so, except that a document whose `share` cannot be
        read may be one to withhold, which no rule forgives."""
        if line is None or self.on_fault == "error" or field == SHARE:
            self.fail(line, field, message)
        else:
            self.drop(line, field, message, "row")

    def fail(self, line: int | None, field: str | None, message: str) -> None:
        """Note a fault that no rule forgives: it is not that of one row."""
        self._books.faults.add(Fault(self.file, line, field and _printable(field), _printable(message)), self.KEPT)

    def drop(
        self, line: int | None, field: str | None, message: str, what: Literal["row", "field"], value: Any = None
    ) -> None:
        """Note that a row or a field is left out."""
        reason = str(_printable(message))
        self._books.dropped.append(Dropped(self.file, line, field and _printable(field), reason, what, value))

    def warn(self, line: int | None, field: str | None, message: str) -> None:
        """Note something that is allowed and yet worth a look."""
        self._books.warnings.add(Fault(self.file, line, field and _printable(field), _printable(message)), self.KEPT)

    def pass_on(self, faults: Faults) -> None:
        """Note all of these faults and warnings in `faults`."""
        for fault in self._books.faults.kept:
            faults.add(fault.line, fault.field, fault.message)
        self.pass_on_warnings(faults)

    def pass_on_warnings(self, faults: Faults) -> None:
        """Note all of these warnings in `faults`."""
        for fault in self._books.warnings.kept:
            faults.warn(fault.line, fault.field, fault.message)

    @property
    def listed(self) -> tuple[Fault, ...]:
        """The faults in file order."""
        return self._listed(self._books.faults, "faults")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The warnings in file order."""
        return self._listed(self._books.warnings, "warnings")

    def stop(self) -> None:
        """Raise InputError if there is any fault."""
        if self.count:
            raise InputError(self.listed)

    def _listed(self, noted: _Noted, what: str) -> tuple[Fault, ...]:
        everywhere = {
            key: kind
            for key, kind in noted.kinds.items()
            if kind.count >= max(self.REPEATED, self._books.rows.get(key[0], 0)) and key[0] in self._books.rows
        }
        listed = [kind.first._replace(message=_in_every_row(kind)) for kind in everywhere.values()]
        others = [fault for fault in noted.kept if _kind_of(fault) not in everywhere]
        listed += others
        files = list(dict.fromkeys(fault.file for fault in listed))
        listed.sort(key=lambda fault: (files.index(fault.file), fault.line is not None, fault.line or 0))
        unlisted = noted.count - len(others) - sum(kind.total for kind in everywhere.values())
        if unlisted:
            listed.append(Fault(self.file, None, None, f"and {unlisted} more {what}, not listed"))
        return tuple(listed)


def _kind_of(fault: Fault) -> tuple[str, str, str]:
    return fault.file, re.sub(r"\[\d+\]", "[]", fault.field or ""), _VARYING.sub("#", fault.message)


_VARYING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+(?:[.,]\d+)*")


def _in_every_row(kind: _Kind) -> Message:
    rest = "" if kind.exact else ", with other words or numbers"
    return Message(kind.first.message, f" (the same in all {kind.count:,} rows{rest})")


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

    A text that is no UTF-8 is left out: `storable` says so of any column.
    """
    for details in error.errors(include_url=False):
        field = path_of(details["loc"])
        if details["type"] == "problem":
            yield details["ctx"]["field"] or field, details["ctx"]["text"]
        elif details["type"] != "string_unicode":
            yield field, message(field, details)


class FieldPath(str):
    """A place within a row as messages name it, with the steps to it: a name may itself hold `.` or `[`."""

    path: tuple[int | str, ...]

    @classmethod
    def at(cls, text: str, path: Iterable[int | str]) -> FieldPath:
        """The place, under the name `text`."""
        field = cls(text)
        field.path = tuple(path)
        return field


def path_of(location: Iterable[int | str]) -> FieldPath:
    """A place within a row, as messages name it.

    >>> path_of(("human", "sentence_labels", 3, "ann"))
    'human.sentence_labels[3].ann'
    """
    path = tuple(location)
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    return FieldPath.at(text, path)


def meant(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'summary'?"`, or nothing where no known name is near."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
