"""Validate flat rows, and rename their columns."""

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
from summeter.records import Message, Parameter, UsageError, digest, problem_of
from summeter.records.text import SHARE, is_share, read_share

EMPTY = "is empty, which is valid; it is judged `skipped`"
"""Warning for an empty document or summary."""
SYSTEM = "system"
"""The default system of a row."""

_KEEP = "extra."
_ALIASES = {
    "document": ("source", "article", "transcript", "dialogue", "src", "context", "text", "input"),
    "summary": ("hyp", "output", "prediction", "generated_summary", "model_summary", "decoded", "claim"),
}


def _integer_to_text(value: Any) -> Any:
    """Return an integer as a string, because tables store numeric ids as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _not_blank(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise problem("is empty; leave it out")
    return value


Name = Annotated[StrictStr | None, BeforeValidator(_integer_to_text)]
Id = Annotated[Name, AfterValidator(_not_blank)]
Texts = tuple[Annotated[StrictStr, AfterValidator(_not_blank)], ...]


class FlatRow(BaseModel):
    """A row of a flat file: one summary with its document.

    Absent optional fields are None, except that `doc_id` and `system` have defaults. Unknown columns are in
    `model_extra`. `human` is validated later, by `summeter.data.human`, which needs the sentences.
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
    def _set_defaults(self) -> Self:
        if self.reference is not None and self.references is not None and self.reference not in self.references:
            raise problem("is not among `references`; give one of the two", "reference")
        single = None if self.reference is None else (self.reference,)
        self.references = self.references or single
        if column := next(filter(is_share, self.model_extra or {}), None):
            raise problem(f"is in a column called {column!r}; rename that column to {SHARE!r}", SHARE)
        self.key_facts = self.key_facts or None
        self.doc_id = self.doc_id or unnamed_document(self.document)
        self.system = self.system or SYSTEM
        return self


def unnamed_document(text: str) -> str:
    """Return the default id of a document, which is derived from a hash of the text."""
    return f"doc-{digest(text, 12)}"


FIELDS = tuple(FlatRow.model_fields)
LISTS = ("references", "key_facts", "sentences")


class Columns:
    """The mapping of columns to fields.

    `renamed` maps a field to the name of its column. A field is one of `FIELDS`, or `extra.NAME` to rename an unknown
    column to NAME. Other columns keep their names. Raises UsageError for an unknown field or for a column that is
    mapped to two fields.
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
        repeated = next((name for name in columns if columns.count(name) > 1), None)
        if repeated is not None:
            raise UsageError(Parameter("map"), f": the column {repeated!r} is mapped to two fields; map it to one")
        self._mapped = set(columns)
        self._columns: dict[str, None] = {}
        """The columns that occur in the rows as they are read."""
        self._used: dict[str, None] = {}
        """The columns that occur in the rows after conversion by a preset, if there is one."""

    def cell(self, cells: Mapping[str, Any], field: str) -> Any:
        """Return the value of a field in a row before `apply`, or None if the field is absent."""
        column = self.renamed.get(field)
        if column is not None and column in cells:
            return cells[column]
        return None if field in self._mapped else cells.get(field)

    def apply(self, row: Row, faults: Faults) -> dict[str, Any]:
        """Return the cells of a row with renamed columns. A name clash is a fault."""
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
                message = Message(
                    "is mapped by ", option, f", but there is also a column {name!r}; keep that column with ", other
                )
                faults.add(row.line, name, message)
            cells[name] = row.cells[column]
        return cells

    def note(self, cells: Mapping[str, Any]) -> None:
        """Record the columns of a row, after it was converted by a preset if there is one."""
        self._used.update(dict.fromkeys(cells))

    def finish(self, faults: Faults) -> None:
        """Report mapped columns that are missing, and warn of misspelt columns, after the last row."""
        for field, column in self.renamed.items():
            if self._columns and column not in self._columns:
                more = f" and {len(self._columns) - 30:,} more" if len(self._columns) > 30 else ""
                known = f"columns are: {', '.join(islice(self._columns, 30))}{more}"
                what = f": there is no column {column!r}{meant(column, self._columns)}; {known}"
                faults.add(None, None, Message(Parameter("map", f"{field}={column}"), what))
        for name in self._used:
            near = difflib.get_close_matches(name.lower(), FIELDS, 1, 0.85)
            if near and name not in FIELDS and name in self._columns and near[0] not in self._used:
                message = f"is kept as an unknown column; if you mean {near[0]!r}, give "
                faults.warn(None, name, Message(message, Parameter("map", f"{near[0]}={name}")))


def check(line: int, cells: Mapping[str, Any], faults: Faults, *, as_text: bool = False) -> FlatRow | None:
    """Return the validated row. If it has faults, add them to `faults` and return None.

    With `as_text`, the cells come from a table: empty cells (except document and summary) are absent values, lists and
    objects are JSON text, and `share` is "true" or "false" in upper or lower case.
    """
    before = faults.count
    if as_text:
        cells = _parse_cells(line, cells, faults)
    try:
        row = FlatRow.model_validate(cells)
    except ValidationError as error:
        problems = explained(error, lambda field, details: _message(field, details, cells))
        for field, message in sorted(problems, key=lambda each: each[0] not in _ALIASES):  # document and summary first
            faults.add(line, field, message)
        return None
    for field in ("document", "summary"):
        if not getattr(row, field).strip():
            faults.warn(line, field, EMPTY)
    return row if faults.count == before else None


def _parse_cells(line: int, cells: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """Convert the cells of a table row to those of a JSON row."""
    parsed = dict(cells)
    for field in FIELDS:
        value = parsed.get(field)
        if field == SHARE:
            parsed[field] = read_share(value)
        elif value == "" and field not in ("document", "summary"):
            parsed[field] = None
        elif isinstance(value, str) and field in (*LISTS, "human"):
            try:
                parsed[field] = parse_json(value)
            except NotJSON as error:
                what = "a JSON object" if field == "human" else "a JSON list of strings"
                faults.add(line, field, f"{error}; give {what}")
                parsed[field] = None
    return parsed


def _message(field: str, details: ErrorDetails, cells: Mapping[str, Any]) -> str:
    if details["type"] == "missing":
        column = next((name for name in _ALIASES[field] if name in cells), None)
        if column is None:
            option = Parameter("map", f"{field}=COLUMN")
            return Message(f"is missing; give each row a {field}, or name its column with ", option)
        return Message(
            f"is missing; if it is in the column {column!r}, give ",
            Parameter("map", f"{field}={column}"),
            ", or name the layout with ",
            Parameter("preset"),
            " (column names are never guessed)",
        )
    if field == SHARE:
        return f"is {details['input']!r}; give true or false"
    expected = {
        "string_type": "a string",
        "tuple_type": "a list of strings",
        "dict_type": "an object of human judgments",
    }[details["type"]]
    if field in _ALIASES and details["input"] is None:
        expected = "a string (it may be empty)"
    elif field == "reference":
        expected = "a string (`references` takes a list of strings)"
    return problem_of(details, expected=expected)
