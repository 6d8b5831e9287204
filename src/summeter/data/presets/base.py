"""What a preset is made of: the files of a public layout, how their rows are joined, and what a joined row becomes.

A preset is one file in this folder, and a line in `__init__.py`:

    LAYOUT = Preset(
        name="mine",
        about="Mine (Author et al., 2024): one label a sentence, inverted",
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

The role of each file that a user names follows from its columns (`FileRole.columns`), never from the order. Each row of
the role `rows` is joined with the rows of the other roles that have the same key, and `convert` makes flat rows of it
(the fields of `data.rows.FlatRow`; in labels 1 means supported; every other column is kept as it is). `convert` raises
`LayoutError` where a row is not in the layout. `data.layout` reports files that are missing, superfluous or of another
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

from summeter.data.faults import Faults, Report
from summeter.data.formats import Format, NotJSON, parse_json

Cells = dict[str, Any]
Text = Annotated[str, Strict()]
T = TypeVar("T")
ROWS = "rows"
"""The role whose rows become summaries."""


class LayoutError(ValueError):
    """A row that is not in the preset's layout; `field` is the column at fault."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class Columns(Cells):
    """A row's columns: one that is asked for and not there is a `LayoutError`, under its name in the release."""

    released: Mapping[str, str] = MappingProxyType({})

    def __missing__(self, column: str) -> Any:
        name = self.released.get(column, column)
        raise LayoutError(name, "is missing, and this layout has it; check the preset")

    def pop(self, column: str, *default: Any) -> Any:
        """Remove a column and return it, or the default."""
        return super().pop(column, *default) if column in self or default else self[column]


class Record(NamedTuple):
    """One row of a file as released: the file's path, the line the row starts on, its columns."""

    file: str
    line: int
    cells: Cells
    as_text: bool = False
    """It comes from a table, so that lists are JSON text and an empty cell means nothing."""

    @property
    def stem(self) -> str:
        """The file's name without folder and suffixes: `mturk_xsum` of `data/mturk_xsum.jsonl.gz`."""
        return PurePath(self.file).name.partition(".")[0]


Key = tuple[str, ...] | Callable[[Record], Hashable]
"""What rows are joined by: the columns, or a function of the row (of its file, its line...)."""


def key_of(key: Key, record: Record) -> Hashable:
    """The key of a row; texts and whole numbers are the same (tables turn ids into numbers)."""
    if callable(key):
        return key(record)
    return tuple(str(record.cells.get(column)) for column in key)


def always(cells: Mapping[str, Any]) -> bool:
    """Every row needs the role."""
    del cells
    return True


def never(cells: Mapping[str, Any]) -> bool:
    """No row needs the role: it is joined where it is given."""
    del cells
    return False


@dataclass(frozen=True)
class FileRole:
    """The role of a file in a layout.

    `name`: its name in `convert`; the rows of the role `rows` become summaries. `columns`: those that a file of this
    role has (`text|document`: either); a file has the role whose columns it has, the longest list first.
    `what`: the file as released, for messages. `key`: its columns to join by, `row_key`: those of the rows where they
    have other names. `needed`: whether a row is no use without the role. `files`: patterns of the names (or last
    folders and names) of files that are read as `format` whatever their suffix; these are also found in a folder.
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
        """Whether a file's name is that of the role."""
        return any(PurePath(file).match(pattern) for pattern in self.files)

    def missing(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns of the role that are not among `columns`."""
        present = set(columns)
        return tuple(column for column in self.columns if present.isdisjoint(column.split("|")))

    def fits(self, file: str, columns: Iterable[str]) -> bool:
        """Whether a file with these columns is of this role; where `format` is given, its name decides as well."""
        return not self.missing(columns) and (self.format is None or self.named(file))


@dataclass(frozen=True)
class Articles:
    """Documents that come in files of their own: what they are, and the id by which a row finds its own.

    `id_of` gives None for a row that brings its document.
    """

    what: str
    id_of: Callable[[Cells], str | None]


class Count(NamedTuple):
    """How much a released file (or set of files) holds."""

    what: str
    documents: int | None
    """None where the authors do not say."""
    summaries: int

    def __str__(self) -> str:
        documents = "" if self.documents is None else f" of {self.documents:,} documents"
        return f"{self.summaries:,} summaries{documents} ({self.what})"


class Joined:
    """A row of the role `rows` with what the other files say of it: what `convert` gets.

    `cells` is a copy of the row's columns, to be changed at will; `rows` are all rows of the group where the preset
    groups them (else the one); `document` is the text found by `Preset.articles`, or None; `warn(field, message)` notes
    what is worth a look.
    """

    def __init__(
        self,
        rows: tuple[Record, ...],
        roles: Mapping[str, tuple[Record, ...]] | None = None,
        document: str | None = None,
        warn: Report | None = None,
    ) -> None:
        self.rows = rows
        self.record = rows[0]
        self.cells: Cells = Columns(rows[0].cells)
        self.document = document
        self.warn: Report = warn or _unheard
        self._roles = roles or {}

    def without(self, column: str) -> Joined:
        """The same row as released, less a column."""
        cells = {name: value for name, value in self.record.cells.items() if name != column}
        rows = (self.record._replace(cells=cells), *self.rows[1:])
        return Joined(rows, self._roles, self.document, self.warn)

    def rows_of(self, name: str) -> tuple[Record, ...]:
        """The rows of another role that have the key of this one, in the order of their files."""
        return self._roles.get(name, ())

    def first(self, name: str) -> Cells | None:
        """The columns of the first of them, or None."""
        rows = self.rows_of(name)
        return rows[0].cells if rows else None

    def column(self, name: str) -> list[Any]:
        """A column of all rows of the group."""
        return [row.cells.get(name) for row in self.rows]


def _unheard(field: str, message: str) -> None:
    del field, message


Convert = Callable[[Joined], Iterable[Cells]]


@dataclass(frozen=True)
class Preset:
    """One public layout.

    `about` says whose, and what its labels become; `convert` makes flat rows of one joined row; `group`: rows of one
    key are converted together (a row a sentence, a row a vote); `gives`: the fields it fills; `counts`: how much the
    released files hold; `notes`: known oddities, printed at import. Several roles may be called `rows`: forms in which
    the set is released. `ids_repeat`: two documents may have one id, the second is then `ID#2`. `repair`
    corrects a text that is known to be broken, and warns by (line, message). `assemble` joins the roles itself where
    keys do not do: it gets the rows of each role, and gives the rows to be converted.
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
    assemble: Callable[[Mapping[str, Sequence[Record]], Faults], Iterable[Record]] | None = None
    notes: tuple[str, ...] = ()
    ids_repeat: bool = False

    @property
    def needs(self) -> str:
        """The files it takes, in words."""
        roles = [
            role.what
            if role.needed is always
            else f"{role.what} ({'optional' if role.needed is never else 'for some'})"
            for role in self.roles
        ]
        return "; ".join([*roles, *([f"{self.articles.what} (--documents)"] if self.articles else [])])

    @property
    def terms(self) -> str:
        """The licence, or that the authors state none."""
        return self.licence or "no licence stated"


def renamed(cells: Mapping[str, Any], columns: Mapping[str, str]) -> Columns:
    """The row with its columns (old name: field) renamed; the other columns keep their names."""
    row = Columns({columns.get(name, name): value for name, value in cells.items()})
    row.released = {field: column for column, field in columns.items()}
    return row


def taken(cells: Cells, column: str, form: TypeAdapter[T], what: str) -> T:
    """Remove a column that must be there, and return it in the form that the layout has; `what` names the form."""
    if column not in cells:
        raise LayoutError(column, "is missing, and this layout has it; check the preset")
    return formed(cells.pop(column), column, form, what)


def formed(value: Any, column: str, form: TypeAdapter[T], what: str) -> T:
    """A value in the form that the layout has. Raises LayoutError."""
    try:
        return form.validate_python(value)
    except ValidationError:
        raise LayoutError(column, f"is not {what}, as this layout has it; check the preset") from None


TEXTS: TypeAdapter[list[str]] = TypeAdapter(list[Text])
LIST: TypeAdapter[list[Any]] = TypeAdapter(list[Any])


def supported(value: Any, column: str) -> int:
    """A label of 0 or 1, also as text (tables have no numbers)."""
    if (label := zero_or_one(value)) is not None:
        return label
    raise LayoutError(column, f"holds {value!r} where this layout has 0 or 1; check the preset")


def zero_or_one(value: Any) -> int | None:
    """A label as a number, also where a table has it as text; None where it is neither 0 nor 1.

    >>> zero_or_one("1.0"), zero_or_one(0), zero_or_one("2")
    (1, 0, None)
    """
    text = value.strip() if isinstance(value, str) else value
    if text in (0, 1, "0", "1", "0.0", "1.0"):
        return int(float(text))
    return None


def label_of(name: Any, labels: Mapping[str, int | None], column: str) -> int | None:
    """The label that a name stands for. Raises LayoutError for any other name.

    >>> label_of("CORRECT", {"CORRECT": 1, "INCORRECT": 0}, "label")
    1
    """
    if not isinstance(name, str) or name not in labels:
        raise LayoutError(column, f"holds {name!r} where this layout has {', '.join(labels)}; check the preset")
    return labels[name]


def inverted(value: Any, column: str) -> int | None:
    """A label with 1 = error as one with 1 = supported; null stays null."""
    return None if value is None else 1 - supported(value, column)


def python_list(value: Any, column: str) -> list[Any]:
    """A list, also as JSON or as Python writes it in a table (`"['a', 'b']"`). Raises LayoutError.

    >>> python_list("['a', \\"it's\\"]", "types"), python_list([1], "types"), python_list("", "types")
    (['a', "it's"], [1], [])
    """
    import ast

    if isinstance(value, list):
        return value
    if value is None or (isinstance(value, str) and not value.strip()):
        return []
    read = None
    if isinstance(value, str) and len(value) <= MOST_OF_A_LIST:
        try:
            read = parse_json(value)
        except NotJSON:
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                read = ast.literal_eval(value)
    if not isinstance(read, list):
        raise LayoutError(column, "is not a list, or the text of one, as this layout has it; check the preset")
    return read


MOST_OF_A_LIST = 1_000_000
"""Characters of a list written as text."""


def near_span(text: str, wanted: str, start: int, within: int = 3) -> tuple[int, int] | None:
    """Where `wanted` stands in `text`, starting at most `within` characters from `start`, the nearest first; or None.

    >>> near_span("It rained all day.", "rained", 4), near_span("It rained.", "rained", 9)
    ((3, 9), None)
    """
    if not wanted:
        return None
    first = max(0, start - within)
    nearby = text[first : start + within + len(wanted)]
    places = [first + match.start() for match in re.finditer(f"(?={re.escape(wanted)})", nearby)]
    near = min(places, key=lambda place: abs(place - start), default=None)
    return None if near is None else (near, near + len(wanted))


def located_span(text: str, wanted: str, start: int | None = None) -> tuple[int, int] | None:
    """Where a marked stretch stands: at `start` or within three characters of it, else where it stands once; or None.

    Offsets of releases follow no one rule (from 0, from 1, in another text), so that the text itself decides.

    >>> located_span("It rained.", "rained", 4), located_span("It rained.", "rained"), located_span("a a", "a")
    ((3, 9), (3, 9), None)
    """
    place = None if start is None else near_span(text, wanted, start)
    if place is None and wanted and text.count(wanted) == 1:
        place = text.index(wanted), text.index(wanted) + len(wanted)
    return place
