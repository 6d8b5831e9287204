"""Validate flat rows, and recognise and rename their columns."""

from __future__ import annotations

import difflib
import logging
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    StrictBool,
    StrictStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from summeter.data.faults import Faults, explained, problem
from summeter.data.formats import NotJSON, Row, parse_json
from summeter.records import (
    Fault,
    InputError,
    Message,
    Parameter,
    Source,
    UsageError,
    describe,
    digest,
    nearest,
    problem_of,
)
from summeter.records.text import SHARE, is_share, read_share

log = logging.getLogger(__name__)

EMPTY = "is empty, which is valid; it is judged `skipped`"
"""Warning for an empty document or summary."""
SYSTEM = "system"
"""The default system of a row."""

_KEEP = "extra."
SETTINGS = "summeter.toml"
"""The file in which a mapping of columns can be kept."""
TEXTS = ("document", "summary")
"""The required fields."""
_ALIASES = {
    "document": (
        "article", "dialogue", "transcript", "source", "src", "source_text", "source_document", "doc", "text",
        "context", "input",
    ),
    "summary": (
        "highlights", "prediction", "pred", "hypothesis", "hyp", "output", "generated_summary", "model_summary",
        "system_summary", "candidate", "decoded", "claim",
    ),
    "doc_id": ("id", "document_id", "article_id", "source_id"),
    "system": ("model", "model_name", "model_id", "system_name", "system_id"),
}  # fmt: skip
"""Usual names of the columns of some fields."""


def _integer_to_text(value: Any) -> Any:
    """Return an integer as a string, because tables store numeric ids as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _not_blank(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise problem("is empty; leave it out")
    return value


def _has_text(value: str) -> str:
    if not value.strip():
        raise problem("is empty; give a text, or leave out the source")
    return value


Name = Annotated[StrictStr | None, BeforeValidator(_integer_to_text)]
Id = Annotated[Name, AfterValidator(_not_blank)]
Texts = tuple[Annotated[StrictStr, AfterValidator(_not_blank)], ...]


class GivenSource(BaseModel):
    """One of the texts in a list that takes the place of a document's text."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[StrictStr, BeforeValidator(_integer_to_text), AfterValidator(_has_text)]
    title: Annotated[StrictStr | None, AfterValidator(_not_blank)] = None
    text: Annotated[StrictStr, AfterValidator(_has_text)]


def _not_repeated(sources: tuple[GivenSource, ...]) -> tuple[GivenSource, ...]:
    ids = [source.id for source in sources]
    if not ids:
        raise problem("is an empty list; give a text, or a list of sources")
    for index, name in enumerate(ids):
        if name in ids[:index]:
            raise problem(f"is {name!r}, which is also the id of document[{ids.index(name)}]", f"[{index}].id")
    return sources


_SOURCES = TypeAdapter(Annotated[tuple[GivenSource, ...], AfterValidator(_not_repeated)])
BETWEEN_SOURCES = "\n\n"
"""The string between the texts of two sources."""


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
    _sources: tuple[Source, ...] = PrivateAttr(())

    @property
    def sources(self) -> tuple[Source, ...]:
        """The parts of `document` that are sources, if it was given as a list."""
        return self._sources

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


def unnamed_document(cell: str | list[Any]) -> str:
    """Return the default id of a document, which is derived from a hash of the text or of the texts of its sources."""
    if isinstance(cell, list):
        cell = BETWEEN_SOURCES.join(str(each.get("text")) for each in cell if isinstance(each, dict))
    return f"doc-{digest(cell, 12)}"


def document_in(cell: Any, *, as_text: bool) -> Any:
    """Return the list of sources in a cell, or any other cell unchanged. A table contains the list as JSON.

    Another JSON text is the text of a document.

    >>> document_in('[{"id": "a", "text": "It rained."}]', as_text=True), document_in("[1]", as_text=True)
    ([{'id': 'a', 'text': 'It rained.'}], '[1]')
    """
    if isinstance(cell, tuple):
        return list(cell)
    if not as_text or not isinstance(cell, str) or not cell.lstrip().startswith("["):
        return cell
    try:
        value = parse_json(cell)
    except NotJSON:
        return cell
    names = {"id", "title", "text"}
    is_list = bool(value) and all(
        isinstance(each, dict) and names - {"title"} <= each.keys() <= names for each in value
    )
    return value if is_list else cell


FIELDS = tuple(FlatRow.model_fields)
LISTS = ("references", "key_facts", "sentences")


class Columns:
    """The mapping of columns to fields.

    `given` maps a field to the name of its column. A field is one of `FIELDS`, or `extra.NAME` to rename an unknown
    column to NAME. Other columns keep their names. Raises UsageError for an unknown field or for a column that is
    mapped to two fields.
    """

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._given = dict(given or {})
        self._stored: Path | None = None
        """The file that contains the mapping of the fields in `renamed` that are not given."""
        for field, column in self._given.items():
            if not _is_field(field):
                hint = f"fields are: {', '.join(FIELDS)}, and extra.NAME for any other column"
                raise UsageError(
                    Parameter("map", f"{field}={column}"), f": unknown field {field!r}{nearest(field, FIELDS)}; {hint}"
                )
        self._rename(self._given)
        self._columns: dict[str, None] = {}
        """The columns that occur in the rows as they are read."""
        self._used: dict[str, None] = {}
        """The columns that occur in the rows after conversion by a preset, if there is one."""
        self._ids: dict[int, int] | None = None
        """Hashes of documents and their ids if `doc_id` was recognised."""
        self._other_id: Fault | None = None
        """The first row whose id differs from that of an earlier row with the same document."""

    def _rename(self, renamed: Mapping[str, str]) -> None:
        columns = list(renamed.values())
        repeated = next((name for name in columns if columns.count(name) > 1), None)
        if repeated is not None:
            raise UsageError(Parameter("map"), f": the column {repeated!r} is mapped to two fields; map it to one")
        self.renamed = dict(renamed)
        self._mapped = set(columns)

    def recognise(
        self,
        rows: Sequence[Row],
        faults: Faults,
        stored: tuple[Path, Mapping[str, str]] | None = None,
        preset: str | None = None,
        needed: Sequence[str] = TEXTS,
    ) -> None:
        """Map the fields that the first rows lack to columns with a usual name, and log this mapping.

        This concerns the fields `needed`, and if one of them is recognised, also `doc_id` and `system`. `stored` is a
        file with a mapping, which is used if it fits the columns. It is a fault if a needed field is still absent, if
        several columns may hold it, or if the columns are those of a `preset`.
        """
        names = list(dict.fromkeys(name for row in rows for name in row.cells))
        if not names:
            return
        if stored is not None:
            self._apply_stored(*stored, names)
        absent = [field for field in needed if field not in self._present(names)]
        if stored is not None and absent and self._stored is None:
            log.warning(f"{stored[0]}: is not used, because its columns are not those of {faults.file}")
        chosen: dict[str, str] = {}
        before = faults.count
        for field in absent:
            if field in self._given:
                faults.fail(None, None, self._no_column(field, names))
                continue
            found = self._candidates(field, names)
            options = [Parameter("map", f"{field}={name}") for name in found]
            if preset is not None:
                options.append(Parameter("preset", preset))
            if len(options) == len(found) == 1:
                chosen[field] = found[0]
            elif options:
                first, *others = options
                either = (part for option in others for part in (" or ", option))
                what = "is missing, and it is not clear which column contains it; give "
                faults.fail(None, field, Message(what, first, *either))
            else:
                how = Message("is missing; name its column with ", Parameter("map", f"{field}=COLUMN"))
                faults.fail(None, field, Message(how, f"{nearest(field, names)}; {_listed(names)}"))
        if faults.count > before:
            faults.stop()
        if not chosen:
            return
        self._rename({**self.renamed, **chosen})
        texts = [str(self.cell(row.cells, "document")) for row in rows]
        for field in ("doc_id", "system"):
            found = [] if field in self._present(names) else self._candidates(field, names)
            values = [self.cell(row.cells, found[0]) for row in rows] if len(found) == 1 else []
            fits = bool(values) and all(isinstance(value, str | int) and value != "" for value in values)
            if fits and field == "doc_id":  # otherwise the column identifies rows, not documents
                fits = len(set(zip(values, texts, strict=True))) == len(set(values)) == len(set(texts))
            if fits:
                chosen[field] = found[0]
        self._rename({**self.renamed, **chosen})
        if "doc_id" in chosen and "doc_id" not in needed:
            self._ids = {}
        log.warning(Message(f"{faults.file}: {_shown(chosen)}; change with ", Parameter("map")))

    def _apply_stored(self, path: Path, mapping: Mapping[str, str], names: Sequence[str]) -> None:
        """Apply a stored mapping if the columns of its texts exist, or one of its columns if it maps no text."""
        texts = [column for field, column in mapping.items() if field in TEXTS]
        if not (all(column in names for column in texts) if texts else any(c in names for c in mapping.values())):
            return
        used = {
            field: column
            for field, column in mapping.items()
            if field not in self._given and column not in self._mapped
        }
        self._stored = path
        self._rename({**used, **self._given})
        log.warning(f"{path}: {_shown(used)}")

    def _present(self, names: Iterable[str]) -> set[str]:
        """Return the names of the columns after `apply`."""
        renamed = {field.removeprefix(_KEEP) for field, column in self.renamed.items() if column in names}
        return (set(names) - self._mapped) | renamed

    def _candidates(self, field: str, names: Iterable[str]) -> list[str]:
        """Return the columns with a usual name of a field: if possible, the name of the field itself."""
        usual = {name: re.sub(r"[\W_]+", "_", name).lower() for name in names if name not in self._mapped}
        same = [name for name, as_field in usual.items() if as_field == field]
        return same or [name for name, as_field in usual.items() if as_field in _ALIASES[field]]

    def _no_column(self, field: str, names: Iterable[str]) -> Message:
        column = self.renamed[field]
        what = f": there is no column {column!r}{nearest(column, names)}; {_listed(names)}"
        return Message(Parameter("map", f"{field}={column}"), what)

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
        if self._ids is not None and self._other_id is None:
            text, doc_id = hash(str(cells.get("document"))), hash(str(cells.get("doc_id")))
            if self._ids.setdefault(text, doc_id) != doc_id:
                column = self.renamed["doc_id"]
                what = f"differs from earlier rows with the same document. If {column!r} identifies documents, give "
                either = Parameter("map", f"doc_id={column}"), "; if it numbers the rows, give "
                message = Message(what, *either, Parameter("map", f"{_KEEP}{column}={column}"))
                self._other_id = Fault(row.file, row.line, "doc_id", message)
        return cells

    def note(self, cells: Mapping[str, Any]) -> None:
        """Record the columns of a row, after it was converted by a preset if there is one."""
        self._used.update(dict.fromkeys(cells))

    def finish(self, faults: Faults) -> None:
        """Report mapped columns that are missing, and warn of misspelt columns, after the last row."""
        for field, column in self.renamed.items() if self._columns else ():
            if column in self._columns:
                continue
            if field in self._given:
                faults.add(None, None, self._no_column(field, self._columns))
            else:
                what = f"there is no column {column!r}{nearest(column, self._columns)}"
                faults.of(str(self._stored)).warn(None, f"map.{field}", what)
        if self._other_id is not None:
            faults.of(self._other_id.file).fail(*self._other_id[1:])
        for name in self._used:
            near = difflib.get_close_matches(name.lower(), FIELDS, 1, 0.85)
            if near and name not in FIELDS and name in self._columns and near[0] not in self._used:
                message = f"is kept as an unknown column; if you mean {near[0]!r}, give "
                faults.warn(None, name, Message(message, Parameter("map", f"{near[0]}={name}")))


def stored_map(folders: Iterable[Path]) -> tuple[Path, dict[str, str]] | None:
    """Return the path and the mapping of the first `summeter.toml` in some folders, or None if there is none.

    The file has one table, `[map]`, with the name of a column for each field. Raises InputError if it is invalid.
    """
    path = next((file for folder in folders if (file := folder / SETTINGS).is_file()), None)
    if path is None:
        return None
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError.at(path, f"is not TOML: {error}") from error
    table = settings.pop("map", {})
    if settings or not isinstance(table, dict):
        raise InputError.at(path, "is not known; the file has one table, [map]", field=next(iter(settings), "map"))
    kept = table.pop("extra", {})
    mapping = table | ({f"{_KEEP}{name}": column for name, column in kept.items()} if isinstance(kept, dict) else {})
    for field, column in mapping.items():
        if not _is_field(field):
            what = f"is not a field{nearest(field, FIELDS)}; fields are: {', '.join(FIELDS)}, and extra.NAME"
            raise InputError.at(path, what, field=f"map.{field}")
        if not isinstance(column, str):
            raise InputError.at(path, f"is {describe(column)}; give the name of a column", field=f"map.{field}")
    return path, mapping


def _is_field(name: str) -> bool:
    return name in FIELDS or (name.startswith(_KEEP) and name != _KEEP)


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - 30:,} more" if len(listed) > 30 else ""
    return f"columns are: {', '.join(listed[:30])}{more}"


def _shown(mapping: Mapping[str, str]) -> str:
    return ", ".join(f"{field} = column {name}" for field, name in mapping.items())


def check(line: int, cells: Mapping[str, Any], faults: Faults, *, as_text: bool = False) -> FlatRow | None:
    """Return the validated row. If it has faults, add them to `faults` and return None.

    With `as_text`, the cells come from a table: empty cells (except document and summary) are absent values, lists and
    objects are JSON text, and `share` is "true" or "false" in upper or lower case.
    """
    before = faults.count
    if as_text:
        cells = _parse_cells(line, cells, faults)
    sources: list[Source] = []
    problems: list[tuple[str, str]] = []
    if isinstance(given := document_in(cells.get("document"), as_text=as_text), list):
        text = ""
        try:
            for each in _SOURCES.validate_python(given):
                text += BETWEEN_SOURCES if sources else ""
                sources.append(Source(id=each.id, title=each.title, start=len(text), end=len(text) + len(each.text)))
                text += each.text
        except ValidationError as error:
            problems += ((f"document{field}", message) for field, message in explained(error, _source_message))
        cells = {**cells, "document": text}
    row = None
    try:
        row = FlatRow.model_validate(cells)
    except ValidationError as error:
        problems += explained(error, lambda field, details: _message(field, details, cells))
    for field, message in sorted(problems, key=lambda each: not each[0].startswith(TEXTS)):  # texts first
        faults.add(line, field, message)
    if row is None or problems:
        return None
    row._sources = tuple(sources)
    for field in TEXTS:
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
        elif value == "" and field not in TEXTS:
            parsed[field] = None
        elif isinstance(value, str) and field in (*LISTS, "human"):
            try:
                parsed[field] = parse_json(value)
            except NotJSON as error:
                what = "a JSON object" if field == "human" else "a JSON list of strings"
                faults.add(line, field, f"{error}; give {what}")
                parsed[field] = None
    return parsed


def _source_message(field: str, details: ErrorDetails) -> str:
    expected = "an object with id, text and, if known, title" if field.endswith("]") else "a string"
    return problem_of(details, GivenSource.model_fields, expected)


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
        )
    if field == SHARE:
        return f"is {details['input']!r}; give true or false"
    expected = {
        "string_type": "a string",
        "tuple_type": "a list of strings",
        "dict_type": "an object of human judgments",
    }[details["type"]]
    if field in TEXTS and details["input"] is None:
        expected = "a string (it may be empty)"
    elif field == "document":
        expected = "a string, or a list of sources"
    elif field == "reference":
        expected = "a string (`references` takes a list of strings)"
    return problem_of(details, expected=expected)
