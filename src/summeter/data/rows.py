"""Flat rows, checked: what a cell may hold, how columns are renamed, and what is said when it does not fit."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from summeter.data.faults import Faults
from summeter.data.formats import NotJSON, Row, describe, parse_json
from summeter.records import UsageError, digest

FIELDS = (
    "doc_id", "system", "category", "document", "summary", "reference", "references", "key_facts", "sentences",
    "domain", "split", "human",
)  # fmt: skip
LISTS = ("references", "key_facts", "sentences")
EMPTY = "is empty: valid, and judged `skipped`"
SYSTEM = "system"
"""The system of a row that names none."""

_KEEP = "extra."
_ALIASES = {
    "document": ("source", "article", "transcript", "dialogue", "src", "context", "text", "input"),
    "summary": ("hyp", "output", "prediction", "generated_summary", "model_summary", "decoded", "claim"),
}


class Entry(NamedTuple):
    """A sound row. `None` means that the row says nothing; `human` is not looked into yet."""

    line: int
    doc_id: str
    system: str
    category: str | None
    document: str
    summary: str
    references: tuple[str, ...] | None
    key_facts: tuple[str, ...] | None
    sentences: tuple[str, ...] | None
    domain: str | None
    split: str | None
    human: dict[str, Any] | None
    extra: dict[str, Any]


class Columns:
    """Which column holds which field: names that are fields stand for themselves, `renamed` adds to that.

    A field is one of `FIELDS`, or `extra.NAME` for a column to be kept under another name.
    """

    def __init__(self, renamed: Mapping[str, str] | None = None) -> None:
        self.renamed = dict(renamed or {})
        for field, column in self.renamed.items():
            if field not in FIELDS and not (field.startswith(_KEEP) and field != _KEEP):
                hint = f"fields are: {', '.join(FIELDS)}, and extra.NAME for any other column"
                raise UsageError(f"--map {field}={column}: unknown field {field!r}{meant(field, FIELDS)}; {hint}")
        columns = list(self.renamed.values())
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"--map: the column {twice!r} is mapped to two fields; map it to one")
        self._taken = set(columns)
        self._seen: set[str] = set()
        self._all: dict[str, None] = {}

    def apply(self, row: Row, faults: Faults) -> dict[str, Any]:
        """The row's cells by field; unknown columns keep their names."""
        self._all.update(dict.fromkeys(row.cells))
        if not self.renamed:
            return row.cells
        cells = {name: value for name, value in row.cells.items() if name not in self._taken}
        for field, column in self.renamed.items():
            if column not in row.cells:
                continue
            self._seen.add(column)
            name = field.removeprefix(_KEEP)
            if name in cells:
                what = f"is named by --map {field}={column}, but there is also a column {name!r}"
                faults.add(row.line, name, f"{what}; keep that one as --map extra.old_{name}={name}")
            cells[name] = row.cells[column]
        return cells

    def finish(self, faults: Faults) -> None:
        """Once all rows were seen: a mapped column that never was is a fault, a near miss a warning."""
        for field, column in self.renamed.items():
            if self._all and column not in self._seen:
                names = ", ".join(self._all)
                faults.add(None, None, f"--map {field}={column}: there is no column {column!r}"
                                       f"{meant(column, self._all)}; columns are: {names}")  # fmt: skip
        for name in self._all:
            near = difflib.get_close_matches(name.lower(), FIELDS, 1, 0.85)
            if near and name not in FIELDS and name not in self._taken and near[0] not in self._all:
                faults.warn(None, name, f"is kept as an unknown column; if it is {near[0]!r} that is meant, "
                                        f"say --map {near[0]}={name}")  # fmt: skip


def meant(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'summary'?"`, or nothing where no known name is near."""
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def check(line: int, cells: Mapping[str, Any], faults: Faults, *, as_text: bool = False) -> Entry | None:
    """The row as an Entry, or None with its faults noted.

    `as_text`: cells come from a table, so an empty cell means "nothing" (save for document and summary),
    and lists and objects are JSON text.
    """
    before = faults.count
    _check_plain(line, cells, faults)
    read = _Cells(line, cells, faults, as_text=as_text)
    document, summary = read.required("document"), read.required("summary")
    doc_id = read.name("doc_id")
    entry_fields: dict[str, Any] = {
        "system": read.name("system") or SYSTEM,
        "category": read.name("category"),
        "references": read.references(),
        "key_facts": read.texts("key_facts"),
        "sentences": read.texts("sentences"),
        "domain": read.name("domain"),
        "split": read.name("split"),
        "human": read.human(),
    }
    if faults.count > before or document is None or summary is None:
        return None
    return Entry(
        line=line, document=document, summary=summary, doc_id=doc_id or f"doc-{digest(document, 12)}",
        extra={name: value for name, value in cells.items() if name not in FIELDS}, **entry_fields,
    )  # fmt: skip


def _check_plain(line: int, cells: Mapping[str, Any], faults: Faults) -> None:
    """Every cell must be JSON and every text UTF-8, else it could not be stored."""
    for name, value in cells.items():
        try:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            code = ord(error.object[error.start])
            faults.add(line, str(name), f"holds half a surrogate pair (U+{code:04X}), which is no character; remove it")
        except (TypeError, ValueError) as error:
            faults.add(line, str(name), f"cannot be stored as JSON ({error}); give texts, numbers, lists or objects")


class _Cells:
    """Typed access to the cells of one row; what does not fit is noted as a fault and read as None."""

    def __init__(self, line: int, cells: Mapping[str, Any], faults: Faults, *, as_text: bool) -> None:
        self.line = line
        self.cells = cells
        self.faults = faults
        self.as_text = as_text

    def fault(self, field: str, message: str) -> None:
        self.faults.add(self.line, field, message)

    def get(self, field: str) -> Any:
        value = self.cells.get(field)
        return None if self.as_text and value == "" else value

    def required(self, field: str) -> str | None:
        value = self.cells.get(field)
        if isinstance(value, str):
            if not value.strip():
                self.faults.warn(self.line, field, EMPTY)
            return value
        if field not in self.cells:
            self.fault(field, f"is missing; {self._advice(field)}")
        elif value is None:
            self.fault(field, "is null; give a text (it may be empty)")
        else:
            self.fault(field, f"is {describe(value)}; give a text")
        return None

    def _advice(self, field: str) -> str:
        column = next((name for name in _ALIASES[field] if name in self.cells), None)
        if column is None:
            return f"give each row a {field}, or name the column that holds it with --map {field}=COLUMN"
        return (
            f"if the column {column!r} holds it, say --map {field}={column}, or name the layout with --preset "
            "(the names of columns are never guessed)"
        )

    def name(self, field: str) -> str | None:
        """A short text; whole numbers are taken as text, since tables turn ids into numbers."""
        value = self.get(field)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            self.fault(field, f"is {describe(value)}; give a text")
            return None
        if not value.strip() and field in ("doc_id", "system"):
            self.fault(field, "is empty; give a name, or leave it out")
        return value

    def references(self) -> tuple[str, ...] | None:
        many, one = self.texts("references"), self.get("reference")
        if one is None:
            return many
        if not isinstance(one, str):
            self.fault("reference", f"is {describe(one)}; give a text (a list of texts goes into `references`)")
            return many
        if many is not None and one not in many:
            self.fault("reference", "is not among `references`; give one of the two")
        return many or (one,)

    def texts(self, field: str) -> tuple[str, ...] | None:
        """A list of texts; an empty list says nothing, save that a summary has no sentences."""
        value = self._decoded(field, "a JSON list of texts")
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            self.fault(field, f"is {describe(value)}; give a list of texts")
            return None
        for index, one in enumerate(value):
            if not isinstance(one, str):
                self.fault(f"{field}[{index}]", f"is {describe(one)}; give a text")
                return None
            if not one.strip() and field != "references":
                self.fault(f"{field}[{index}]", "is empty; leave it out")
                return None
        return tuple(value) if value or field == "sentences" else None

    def human(self) -> dict[str, Any] | None:
        value = self._decoded("human", "a JSON object")
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault("human", f"is {describe(value)}; give an object of people's judgments")
            return None
        return value

    def _decoded(self, field: str, what: str) -> Any:
        value = self.get(field)
        if not (self.as_text and isinstance(value, str)):
            return value
        try:
            return parse_json(value)
        except NotJSON as error:
            self.fault(field, f"{error}; give {what}")
            return None
