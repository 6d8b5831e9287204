"""Flat rows, checked: what a cell may hold, how columns are renamed, and what is said when it does not fit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from summeter.data.faults import Faults, explained, meant, problem
from summeter.data.formats import NotJSON, Row, parse_json
from summeter.data.presets.base import Record
from summeter.records import Message, Parameter, UsageError, digest, problem_of
from summeter.records.text import SHARE, is_share, read_share

EMPTY = "is empty: valid, and judged `skipped`"
SYSTEM = "system"
"""The system of a row that names none."""

_KEEP = "extra."
_ALIASES = {
    "document": ("source", "article", "transcript", "dialogue", "src", "context", "text", "input"),
    "summary": ("hyp", "output", "prediction", "generated_summary", "model_summary", "decoded", "claim"),
}


def _whole_number_as_text(value: Any) -> Any:
    """Tables turn ids into numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _named(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise problem("is empty; give a name, or leave it out")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise problem("is empty; leave it out")
    return value


Name = Annotated[StrictStr | None, BeforeValidator(_whole_number_as_text)]
Id = Annotated[Name, AfterValidator(_named)]
Texts = tuple[Annotated[StrictStr, AfterValidator(_filled)], ...]


class FlatRow(BaseModel):
    """One summary with its document, as a flat file holds it; None means that the row does not say.

    Columns that are no field are kept in `model_extra`. `human` is checked with the summary's sentences
    (`summeter.data.human`).
    """

    model_config = ConfigDict(extra="allow")

    doc_id: Id = None
    system: Id = None
    category: Name = None
    document: StrictStr
    summary: StrictStr
    reference: StrictStr | None = None
    references: tuple[StrictStr, ...] | None = None
    key_facts: Texts | None = None
    sentences: Texts | None = None
    domain: Name = None
    split: Name = None
    share: StrictBool | None = None
    human: dict[Any, Any] | None = None

    @model_validator(mode="after")
    def _with_defaults(self) -> Self:
        """An empty list says nothing, except that a summary has no sentences."""
        if self.reference is not None and self.references is not None and self.reference not in self.references:
            raise problem("is not among `references`; give one of the two", "reference")
        single = None if self.reference is None else (self.reference,)
        self.references = self.references or single
        if column := next(filter(is_share, self.model_extra or {}), None):
            raise problem(f"stands in a column called {column!r}; rename that column to {SHARE!r}", SHARE)
        self.key_facts = self.key_facts or None
        self.doc_id = self.doc_id or unnamed_document(self.document)
        self.system = self.system or SYSTEM
        return self


def unnamed_document(text: str) -> str:
    """The id of a document whose rows give none."""
    return f"doc-{digest(text, 12)}"


FIELDS = tuple(FlatRow.model_fields)
LISTS = ("references", "key_facts", "sentences")


class Columns:
    """Which column holds which field: names that are fields stand for themselves, `renamed` adds to that.

    A field is one of `FIELDS`, or `extra.NAME` for a column to be kept under another name.
    """

    def __init__(self, renamed: Mapping[str, str] | None = None) -> None:
        self.renamed = dict(renamed or {})
        for field, column in self.renamed.items():
            if field not in FIELDS and not (field.startswith(_KEEP) and field != _KEEP):
                hint = f"fields are: {', '.join(FIELDS)}, and extra.NAME for any other column"
                raise UsageError(
                    Parameter("map", f"{field}={column}"), f": unknown field {field!r}{meant(field, FIELDS)}; {hint}"
                )
        columns = list(self.renamed.values())
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise UsageError(Parameter("map"), f": the column {twice!r} is mapped to two fields; map it to one")
        self._mapped = set(columns)
        self._columns: dict[str, None] = {}
        self._kept: dict[str, None] = {}

    def cell(self, cells: Mapping[str, Any], field: str) -> Any:
        """What a row holds of a field, as `apply` would have it; None where that is nothing."""
        column = self.renamed.get(field)
        if column is not None and column in cells:
            return cells[column]
        return None if field in self._mapped else cells.get(field)

    def apply(self, row: Row | Record, faults: Faults) -> dict[str, Any]:
        """The row's cells by field; unknown columns keep their names."""
        self._columns.update(dict.fromkeys(row.cells))
        if not self.renamed:
            return row.cells
        cells = {name: value for name, value in row.cells.items() if name not in self._mapped}
        for field, column in self.renamed.items():
            if column not in row.cells:
                continue
            name = field.removeprefix(_KEEP)
            if name in cells:
                option, other = Parameter("map", f"{field}={column}"), Parameter("map", f"extra.old_{name}={name}")
                why = Message(
                    "is named by ", option, f", but there is also a column {name!r}; keep that one as ", other
                )
                faults.add(row.line, name, why)
            cells[name] = row.cells[column]
        return cells

    def note(self, cells: Mapping[str, Any]) -> None:
        """Remember what a row is made of once a preset has converted it: a column that was read is not unknown."""
        self._kept.update(dict.fromkeys(cells))

    def finish(self, faults: Faults) -> None:
        """Once all rows were seen: a mapped column that never was is a fault, a near miss a warning."""
        for field, column in self.renamed.items():
            if self._columns and column not in self._columns:
                more = f" and {len(self._columns) - 30:,} more" if len(self._columns) > 30 else ""
                known = f"columns are: {', '.join(islice(self._columns, 30))}{more}"
                what = f": there is no column {column!r}{meant(column, self._columns)}; {known}"
                faults.add(None, None, Message(Parameter("map", f"{field}={column}"), what))
        for name in self._kept:
            near = difflib.get_close_matches(name.lower(), FIELDS, 1, 0.85)
            if near and name not in FIELDS and name in self._columns and near[0] not in self._kept:
                why = f"is kept as an unknown column; if it is {near[0]!r} that is meant, say "
                faults.warn(None, name, Message(why, Parameter("map", f"{near[0]}={name}")))


def check(line: int, cells: Mapping[str, Any], faults: Faults, *, as_text: bool = False) -> FlatRow | None:
    """The row, or None with its faults noted.

    `as_text`: cells come from a table, so an empty cell means "nothing" (save for document and summary), lists and
    objects are JSON text, and `share` is true or false in any case.
    """
    before = faults.count
    if as_text:
        cells = _read_texts(line, cells, faults)
    try:
        row = FlatRow.model_validate(cells)
    except ValidationError as error:
        problems = explained(error, lambda field, details: _message(field, details, cells))
        for field, message in sorted(problems, key=lambda each: each[0] not in _ALIASES):  # the two texts first
            faults.add(line, field, message)
        return None
    for field in ("document", "summary"):
        if not getattr(row, field).strip():
            faults.warn(line, field, EMPTY)
    return row if faults.count == before else None


def _read_texts(line: int, cells: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The cells of a table's row as those of a JSON row."""
    read = dict(cells)
    for field in FIELDS:
        value = read.get(field)
        if field == SHARE:
            read[field] = read_share(value)
        elif value == "" and field not in ("document", "summary"):
            read[field] = None
        elif isinstance(value, str) and field in (*LISTS, "human"):
            try:
                read[field] = parse_json(value)
            except NotJSON as error:
                what = "a JSON object" if field == "human" else "a JSON list of texts"
                faults.add(line, field, f"{error}; give {what}")
                read[field] = None
    return read


def _message(field: str, details: ErrorDetails, cells: Mapping[str, Any]) -> str:
    if details["type"] == "missing":
        return _absent(field, cells)
    if field == SHARE:
        return f"is {details['input']!r}; give true or false"
    wanted = {"string_type": "a text", "tuple_type": "a list of texts", "dict_type": "an object of people's judgments"}
    expected = wanted[details["type"]]
    if field in _ALIASES and details["input"] is None:
        expected = "a text (it may be empty)"
    elif field == "reference":
        expected = "a text (a list of texts goes into `references`)"
    return problem_of(details, expected=expected)


def _absent(field: str, cells: Mapping[str, Any]) -> Message:
    """What to do about a row without a document or a summary."""
    column = next((name for name in _ALIASES[field] if name in cells), None)
    if column is None:
        option = Parameter("map", f"{field}=COLUMN")
        return Message(f"is missing; give each row a {field}, or name the column that holds it with ", option)
    return Message(
        f"is missing; if the column {column!r} holds it, say ",
        Parameter("map", f"{field}={column}"),
        ", or name the layout with ",
        Parameter("preset"),
        " (the names of columns are never guessed)",
    )
