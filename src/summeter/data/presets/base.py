"""Presets describe the files of a public layout and convert their rows to flat rows.

A preset is an instance of `Preset` in a module of this package, and is listed in `__init__.py`:

    LAYOUT = Preset(
        name="mine",
        about="Mine (Author et al., 2024): one label per sentence, inverted",
        licence="MIT",
        roles=(
            FileRole("rows", ("doc_id", "model", "sentences", "labels"), "labels.jsonl"),
            FileRole("key_facts", ("doc_id", "key_facts"), "key-facts.json", key=("doc_id",)),
        ),
        articles=Articles("the articles of CNN/DailyMail", lambda cells: cells.get("doc_id")),
        gives="sentence_labels, key_facts",
        counts=(Count("labels.jsonl", documents=100, summaries=900),),
        convert=_convert,
    )

The columns of a file determine its role (`FileRole.columns`); the order of the files does not matter. Each row of the
role `rows` is joined with the rows of the other roles that have the same key, and `convert` converts it to flat rows
(the fields of `data.rows.FlatRow`; label 1 means supported; other columns are unchanged). `convert` raises
`LayoutError` if a row does not have the layout. `data.layout` reports files that are missing, superfluous or in another
layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Strict, TypeAdapter, ValidationError

from summeter.data.faults import Faults
from summeter.data.formats import Format, NotJSON, Row, parse_json

Cells = dict[str, Any]
Text = Annotated[str, Strict()]
T = TypeVar("T")
ROWS = "rows"
"""Name of the role whose rows are converted to summaries."""


class LayoutError(ValueError):
    """A row does not have the layout of the preset; `field` is the faulty column."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class Columns(Cells):
    """The cells of a row. Accessing a missing column raises `LayoutError`.

    `released` maps columns to their names in the release, for the message.
    """

    released: Mapping[str, str] = MappingProxyType({})

    def __missing__(self, column: str) -> Any:
        name = self.released.get(column, column)
        raise LayoutError(name, "is missing, but this layout requires it; check the preset")

    def pop(self, column: str, *default: Any) -> Any:
        """Remove a column and return its value, or return the default if the column is missing."""
        return super().pop(column, *default) if column in self or default else self[column]


Key = tuple[str, ...] | Callable[[Row], Hashable]
"""The columns whose values are the key of a row, or a function that returns the key."""


def key_of(key: Key, row: Row) -> Hashable:
    """Return the key of a row, with numbers as strings, because tables store ids as numbers."""
    if callable(key):
        return key(row)
    return tuple(str(row.cells.get(column)) for column in key)


def always(cells: Mapping[str, Any]) -> bool:
    """Return True. For roles that every row needs."""
    del cells
    return True


def never(cells: Mapping[str, Any]) -> bool:
    """Return False. For roles that are optional."""
    del cells
    return False


@dataclass(frozen=True)
class FileRole:
    """The role of a file in a layout.

    Attributes:
        name: The name of the role in `convert`. The rows of the role `rows` become summaries.
        columns: The columns of a file with this role (`text|document` means either). If several roles match, the role
            with the most columns is used.
        what: The name of the released file, for messages.
        key: The columns by which the file is joined.
        row_key: The corresponding columns of the role `rows`, or None if they have the same names.
        needed: Function that returns whether a row is unusable without the role.
        files: Patterns of file names. Matching files in a folder are read as `format`, whatever their suffix.
    """

    name: str
    columns: tuple[str, ...]
    what: str
    key: Key = ()
    row_key: Key | None = None
    needed: Callable[[Mapping[str, Any]], bool] = always
    files: tuple[str, ...] = ()
    format: Format | None = None

    def named(self, file: str) -> bool:
        """Return whether the name of a file matches a pattern of the role."""
        return any(PurePath(file).match(pattern) for pattern in self.files)

    def missing(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return the columns of the role that are not in `columns`."""
        present = set(columns)
        return tuple(column for column in self.columns if present.isdisjoint(column.split("|")))

    def fits(self, file: str, columns: Iterable[str]) -> bool:
        """Return whether a file has this role.

        The columns must fit and, if `format` is set, the name.
        """
        return not self.missing(columns) and (self.format is None or self.named(file))


@dataclass(frozen=True)
class Articles:
    """Documents in separate files.

    `what` describes the documents in messages. `id_of` returns the document id of a row, or None if the row contains
    its document.
    """

    what: str
    id_of: Callable[[Cells], str | None]


class Count(NamedTuple):
    """The size of a released file or set of files."""

    what: str
    documents: int | None
    """Number of documents, or None if the authors do not state it."""
    summaries: int

    def __str__(self) -> str:
        documents = "" if self.documents is None else f" of {self.documents:,} documents"
        return f"{self.summaries:,} summaries{documents} ({self.what})"


class Joined:
    """A row of the role `rows`, joined with the rows of the other roles.

    `cells` is a copy of the cells of the row, which `convert` may change. `rows` contains all rows of the group if the
    preset groups rows, and otherwise only the row itself. `document` is the text found by `Preset.articles`, or None.
    """

    def __init__(
        self,
        rows: tuple[Row, ...],
        roles: Mapping[str, tuple[Row, ...]] | None = None,
        document: str | None = None,
        faults: Faults | None = None,
    ) -> None:
        self.rows = rows
        self.row = rows[0]
        self.cells: Cells = Columns(rows[0].cells)
        self.document = document
        self._roles = roles or {}
        self._faults = faults or Faults(self.row.file)

    def warn(self, field: str, message: str) -> None:
        """Add a warning about the row."""
        self._faults.warn(self.row.line, field, message)

    def without(self, column: str) -> Joined:
        """Return a copy of the joined row without a column."""
        cells = {name: value for name, value in self.row.cells.items() if name != column}
        rows = (self.row._replace(cells=cells), *self.rows[1:])
        return Joined(rows, self._roles, self.document, self._faults)

    def rows_of(self, name: str) -> tuple[Row, ...]:
        """Return the rows of another role with the same key, in the order of their files."""
        return self._roles.get(name, ())

    def first(self, name: str) -> Cells | None:
        """Return the cells of the first row of another role with the same key, or None."""
        rows = self.rows_of(name)
        return rows[0].cells if rows else None


Convert = Callable[[Joined], Iterable[Cells]]


@dataclass(frozen=True)
class Preset:
    """A public layout.

    Attributes:
        about: The dataset, and the meaning of its labels.
        convert: Function that converts a joined row to flat rows.
        roles: The roles of files. Several roles may be called `rows` if the dataset is released in several forms.
        gives: The fields that the flat rows contain, as shown in the list of presets.
        counts: The sizes of the released files.
        group: The key of rows that are converted together, if there is one row per sentence or per vote.
        repair: Function that corrects a released file with a known error; it reports warnings as (line, message).
        assemble: Function that joins the roles if keys cannot: given the rows of each role, it returns the rows to
            convert.
        notes: Known peculiarities of the data, which are printed at import.
        ignored: Patterns of other files of the release. Such files in a folder are not read, and a warning lists them.
        ids_repeat: Whether two documents may have the same id; the second document then gets the id `ID#2`.
    """

    name: str
    about: str
    convert: Convert
    roles: tuple[FileRole, ...]
    gives: str
    licence: str | None = None
    citation: str | None = None
    counts: tuple[Count, ...] = ()
    articles: Articles | None = None
    group: Key | None = None
    repair: Callable[[str, Callable[[int, str], None]], str] | None = None
    assemble: Callable[[Mapping[str, Sequence[Row]], Faults], Iterable[Row]] | None = None
    notes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    ids_repeat: bool = False

    @property
    def needs(self) -> str:
        """A description of the files that the preset needs."""
        roles = [
            role.what
            if role.needed is always
            else f"{role.what} ({'optional' if role.needed is never else 'for some rows'})"
            for role in self.roles
        ]
        return "; ".join([*roles, *([f"{self.articles.what} (--documents)"] if self.articles else [])])

    @property
    def terms(self) -> str:
        """The licence, or "no licence stated" if there is none."""
        return self.licence or "no licence stated"


def renamed(cells: Mapping[str, Any], columns: Mapping[str, str]) -> Columns:
    """Return the row with renamed columns; `columns` maps column names to fields."""
    row = Columns({columns.get(name, name): value for name, value in cells.items()})
    row.released = {field: column for column, field in columns.items()}
    return row


def taken(cells: Cells, column: str, form: TypeAdapter[T], what: str) -> T:
    """Remove a required column and return its value, validated by `form`.

    `what` describes the expected value in messages.
    """
    if column not in cells:
        raise LayoutError(column, "is missing, but this layout requires it; check the preset")
    return formed(cells.pop(column), column, form, what)


def formed(value: Any, column: str, form: TypeAdapter[T], what: str) -> T:
    """Return a value, validated by `form`. Raises LayoutError if the value is invalid."""
    try:
        return form.validate_python(value)
    except ValidationError:
        raise LayoutError(column, f"is not {what}, as this layout requires; check the preset") from None


TEXTS: TypeAdapter[list[str]] = TypeAdapter(list[Text])
LIST: TypeAdapter[list[Any]] = TypeAdapter(list[Any])
OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
OBJECTS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])


def supported(value: Any, column: str) -> int:
    """Return a label of 0 or 1, given as a number or string. Raises LayoutError otherwise.

    >>> supported("1.0", "label"), supported(0, "label")
    (1, 0)
    """
    text = value.strip() if isinstance(value, str) else value
    if text not in (0, 1, "0", "1", "0.0", "1.0"):
        raise LayoutError(column, f"is {value!r}, but must be 0 or 1 in this layout; check the preset")
    return int(float(text))


def label_of(name: Any, labels: Mapping[str, int | None], column: str) -> int | None:
    """Return the label for a name. Raises LayoutError if the name is not in `labels`.

    >>> label_of("CORRECT", {"CORRECT": 1, "INCORRECT": 0}, "label")
    1
    """
    if not isinstance(name, str) or name not in labels:
        raise LayoutError(column, f"is {name!r}, but this layout has {', '.join(labels)}; check the preset")
    return labels[name]


def inverted(value: Any, column: str) -> int | None:
    """Convert a label with 1 = error to a label with 1 = supported. None remains None."""
    return None if value is None else 1 - supported(value, column)


def python_list(value: Any, column: str) -> list[Any]:
    """Return a list, given as a list or as a string in JSON or Python syntax.

    Raises LayoutError for other values.

    >>> python_list("['a', \\"it's\\"]", "types"), python_list([1], "types"), python_list("", "types")
    (['a', "it's"], [1], [])
    """
    import ast

    if isinstance(value, list):
        return value
    if value is None or (isinstance(value, str) and not value.strip()):
        return []
    parsed = None
    if isinstance(value, str) and len(value) <= MOST_OF_A_LIST:
        try:
            parsed = parse_json(value)
        except NotJSON:
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                parsed = ast.literal_eval(value)
    if not isinstance(parsed, list):
        raise LayoutError(column, "is neither a list nor a string with one, as this layout requires; check the preset")
    return parsed


MOST_OF_A_LIST = 1_000_000
"""Maximum length, in characters, of a list that is written as a string."""


def near_span(text: str, wanted: str, start: int, within: int = 3) -> tuple[int, int] | None:
    """Return the offsets of the occurrence of `wanted` nearest to `start`.

    Returns None if no occurrence begins within `within` characters of `start`.

    >>> near_span("It rained all day.", "rained", 4), near_span("It rained.", "rained", 9)
    ((3, 9), None)
    """
    if not wanted:
        return None
    first = max(0, start - within)
    nearby = text[first : start + within + len(wanted)]
    starts = [first + match.start() for match in re.finditer(f"(?={re.escape(wanted)})", nearby)]
    nearest = min(starts, key=lambda each: abs(each - start), default=None)
    return None if nearest is None else (nearest, nearest + len(wanted))


def located_span(text: str, wanted: str, start: int | None = None) -> tuple[int, int] | None:
    """Return the offsets of a passage near `start`, or those of its only occurrence, or None.

    The passage is searched for, because released offsets may start at 0 or at 1, or may refer to another text.

    >>> located_span("It rained.", "rained", 4), located_span("It rained.", "rained"), located_span("a a", "a")
    ((3, 9), (3, 9), None)
    """
    offsets = None if start is None else near_span(text, wanted, start)
    if offsets is None and wanted and text.count(wanted) == 1:
        offsets = text.index(wanted), text.index(wanted) + len(wanted)
    return offsets


def located_spans(text: str, marks: Iterable[tuple[str | None, int | None, Cells]]) -> dict[str, list[Cells]] | None:
    """Return marked passages, given as (passage, start, other fields), as the field `spans` of a `human` block.

    Returns None if a passage cannot be located, because a missing span would mean that its annotator found no error.
    """
    spans = []
    for passage, start, fields in marks:
        if (offsets := located_span(text, passage or "", start)) is None:
            return None
        spans.append({**fields, "start": offsets[0], "end": offsets[1]})
    return {"spans": spans}


def text_of(cells: Mapping[str, Any], column: str, released: str | None = None) -> str:
    """Return the value of a column that must contain a string.

    Raises LayoutError for other values; `released` is the column name in the message.
    """
    value = cells.get(column)
    if not isinstance(value, str):
        raise LayoutError(released or column, "is not a string, as this layout requires; check the preset")
    return value


def integer_of(cells: Mapping[str, Any], column: str) -> int:
    """Return the integer in a column, which may be written as a string.

    Raises LayoutError for other values.
    """
    try:
        return int(cells[column])
    except (KeyError, TypeError, ValueError):
        raise LayoutError(column, "is not an integer, as this layout requires; check the preset") from None
