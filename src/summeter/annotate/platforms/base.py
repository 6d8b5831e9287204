"""What a platform is: who a link names, where a finished person goes, which CSV it reads and writes."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from summeter.annotate.people import Names, Visitor
from summeter.records import InputError

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign, Prerequisites
    from summeter.annotate.desk import Desk

Form = dict[str, Any]
LONGEST_ID = 128


class Said(NamedTuple):
    """What a platform's CSV says of one person: the platform's id, and what goes into the event."""

    id: str
    data: dict[str, str]


class Platform(ABC):
    """One platform."""

    name: ClassVar[str]
    link: ClassVar[str] = ""
    """The query that the platform fills in."""
    forms: ClassVar[str] = ""
    """Where a page may send a form, for the content security policy."""
    frames: ClassVar[str] = ""
    """Who may frame a page, for the same."""

    @abstractmethod
    def identify(self, query: Mapping[str, str], names: Names, campaign: Campaign) -> Visitor | None:
        """The visitor a link names; None where it names nobody."""

    def completion(self, visitor: Visitor, outcome: str, code: str) -> tuple[str | None, Form | None]:
        """Where a finished person goes: an address, or a form to send; neither where the code is all."""
        del visitor, outcome, code
        return None, None

    def prerequisites(self, wanted: Prerequisites) -> Form:
        """What the platform is told to ask of people, in its own terms."""
        del wanted
        return {}

    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The header of the CSV that is written."""

    @abstractmethod
    def rows(self, desk: Desk) -> Iterator[Sequence[object]]:
        """Its rows, one a person."""

    def read(self, file: Path) -> list[Said]:
        """What the platform's own CSV says. Raises InputError by line and field."""
        raise InputError.at(file, None, None, f"the platform {self.name} has no CSV to read")


def plain_id(value: str | None) -> str | None:
    """An id as platforms make them, or None: short, printable ASCII without blanks."""
    if value is None or not 0 < len(value) <= LONGEST_ID:
        return None
    return value if value.isascii() and value.isprintable() and " " not in value else None


def cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula.

    >>> cell("=1+1"), cell("fine"), cell(-1)
    ("'=1+1", 'fine', -1)
    """
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value


def write_csv(columns: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    """A CSV as text (RFC 4180)."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([cell(one) for one in row] for row in rows)
    return out.getvalue()


def read_csv(file: Path, needed: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows by line. Raises InputError where the file or a needed column is not there."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError.at(file, None, None, f"is not UTF-8 text: {error.reason}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for name in needed:
        if name not in (reader.fieldnames or ()):
            raise InputError.at(file, 1, name, f"no such column; there are: {', '.join(reader.fieldnames or ())}")
    for row in reader:
        yield reader.line_num, {key: value or "" for key, value in row.items() if isinstance(key, str)}
