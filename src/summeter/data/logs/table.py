"""The content of a log of an evaluation tool, and the table of votes that a reader makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from summeter.data.faults import Faults
from summeter.records import describe

_ARTICLES: dict[type, str] = {dict: "an object", list: "a list", str: "text"}


class Record(NamedTuple):
    """An object of a log. `line` is its line in JSON Lines or a table, and `path` is its place in a JSON file."""

    line: int | None
    path: str
    content: Mapping[str, Any]


class Log(NamedTuple):
    """The content of a file: its records, and `whole`, the object around them in a JSON file."""

    faults: Faults
    whole: Mapping[str, Any]
    records: Sequence[Record]

    @property
    def first(self) -> Mapping[str, Any]:
        """The object by which a format is recognised."""
        return self.whole or (self.records[0].content if self.records else {})

    def get(self, record: Record, path: str, kind: type, *, needed: bool = True) -> Any:
        """Return the field at a path such as "output.model", or None.

        Adds a fault if the value is of another type, or if it is absent but needed.
        """
        value: Any = record.content
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is None and not needed:
            return None
        if not isinstance(value, kind):
            where = f"{record.path}.{path}".lstrip(".")
            found = "is absent" if value is None else f"is {describe(value)}"
            self.faults.add(record.line, where, f"{found}; it must be {_ARTICLES[kind]} in such a log")
            return None
        return value

    def objects(self, record: Record, path: str, *, needed: bool = True) -> Iterator[Record]:
        """Yield the objects of the list at a path as records."""
        for number, each in enumerate(self.get(record, path, list, needed=needed) or ()):
            where = f"{record.path}.{path}[{number}]".lstrip(".")
            if isinstance(each, Mapping):
                yield Record(record.line, where, each)
            else:
                self.faults.add(record.line, where, f"is {describe(each)}, not an object")


class VoteTable:
    """Votes with a row per item. Each scorer is a column; so is each person for each score, as "NAME (PERSON)"."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.rows: dict[Any, dict[str, Any]] = {}
        self.lines: list[int] = []
        self.judges: list[str] = []
        self.people: dict[str, str] = {}
        """The score of each column of people."""
        self.roles: set[str] = set()
        """The columns of item, document, system and output, unlike columns of metadata with such a name."""

    def row(self, record: Record, *key: Any, **cells: Any) -> dict[str, Any]:
        """Return the row of an item, which is made with these cells at its first vote."""
        if key not in self.rows:
            self.rows[key] = {name: cell for name, cell in cells.items() if cell is not None}
            self.roles |= self.rows[key].keys()
            self.lines.append(record.line or len(self.rows))
        return self.rows[key]

    def vote(self, row: dict[str, Any], record: Record, name: str, value: Any, person: str | None = None) -> None:
        """Add a vote of a scorer, or of a person for this score. None is no vote."""
        column = name if person is None else f"{name} ({person})"
        if person is not None:
            self.people[column] = name
        elif column not in self.judges:
            self.judges.append(column)
        if value is None:
            return
        if column in row:
            self.faults.add(record.line, record.path or name, f"is a second vote in {column!r} on the same item")
        row[column] = value

    def described(self, row: dict[str, Any], cells: Mapping[str, Any]) -> None:
        """Add further columns, such as metadata with people's labels, where they have other names."""
        for name, cell in cells.items():
            row.setdefault(name, cell)


class LogFormat(NamedTuple):
    """A format of logs: how it is recognised by the first object, and how its votes are read."""

    name: str
    recognised: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Log, VoteTable], None]
