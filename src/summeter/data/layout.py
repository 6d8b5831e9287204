"""The files of a public layout, joined: recognised by their columns, and given to a preset row by row."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from summeter.data.articles import IDS, TEXTS, ArticleTexts, missing_articles
from summeter.data.faults import Faults
from summeter.data.formats import TABLES, Format, OnRead, Row, file_name, format_to_read, read_rows, sheets
from summeter.data.presets import PRESETS
from summeter.data.presets.base import ROWS, Columns, FileRole, Joined, Key, Preset, Record, always, key_of
from summeter.records import Message, Parameter, UsageError

PEEKED = 20
"""Rows that are looked at for the columns of a file: in JSON a row may leave some out."""
ARTICLES = FileRole("documents", ("|".join(IDS), "|".join(TEXTS)), "documents by id")
Apply = Callable[[Record], Mapping[str, Any]]
"""Renames the columns of a row."""


class Table(NamedTuple):
    """A file, or a sheet of one, with the rows that are still to be read."""

    file: str
    records: Iterator[Record]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, file: str, records: Iterable[Record]) -> Table:
        """Looks at the first rows for their columns."""
        rows = iter(records)
        first = list(islice(rows, PEEKED))
        return cls(file, chain(first, rows), tuple(dict.fromkeys(name for record in first for name in record.cells)))


def read_tables(
    paths: Sequence[str | Path], preset: Preset, named: str | None, faults: Faults, on_read: OnRead | None = None
) -> Iterator[Table]:
    """The tables in the files (and folders) of a layout."""
    known: set[Path] = set()
    for path in chain.from_iterable(_files_of(path, preset, faults) for path in paths):
        file = file_name(path)
        own = faults.of(file)
        if (resolved := Path(path).resolve()) in known:
            own.fail(None, None, "is named twice; name it once")
            continue
        known.add(resolved)
        role = next((role for role in preset.roles if role.format and role.named(str(path))), None)
        own_format = role.format if named is None and role is not None else None
        kind = own_format or format_to_read(path, named, own)
        if kind is None:
            continue
        names: tuple[str | None, ...] = _sheets_of(path, preset, own) if kind == "xlsx" else (None,)
        for sheet in names:
            rows = read_rows(path, own, kind, sheet=sheet, repair=preset.repair, on_read=on_read)
            yield Table.of(file, records(file, rows, own, kind))


def _sheets_of(path: str | Path, preset: Preset, faults: Faults) -> tuple[str, ...]:
    """The sheets of a workbook that are tables of the layout, for notes stand beside them; all where none is."""
    names, file = sheets(path, faults), file_name(path)

    def fits(sheet: str) -> bool:
        aside = Faults(file)
        rows = read_rows(path, aside, "xlsx", sheet=sheet)
        return _role_of(preset.roles, Table.of(file, records(file, rows, aside, "xlsx"))) is not None

    return tuple(filter(fits, names)) or names


def records(file: str, rows: Iterable[Row], faults: Faults, kind: Format | None = None) -> Iterator[Record]:
    """The rows of a file as records, counted."""
    for line, cells in rows:
        faults.read_row()
        yield Record(file, line, cells, kind in TABLES)


def with_documents(rows: Sequence[Record], documents: Sequence[str | Path], faults: Faults) -> Iterator[Record]:
    """Flat rows with the documents of their doc_ids, where they bring none. Told: how many bring another text."""
    wanted = {str(record.cells["doc_id"]) for record in rows if record.cells.get("doc_id")}
    texts = ArticleTexts(documents, faults, wanted)
    other: list[Record] = []
    for row in rows:
        doc_id = str(row.cells.get("doc_id"))
        record = texts.shared(row, doc_id)
        own = record.cells.get("document")
        if not record.cells.get("doc_id"):
            yield record
        elif own not in (None, ""):
            text = texts.text(doc_id)
            if text is not None and isinstance(own, str) and own.strip() != text.strip():
                other.append(record)
            yield record
        elif (text := texts.text(doc_id)) is None:
            message = f"there is no document {doc_id!r} in {texts.names}; add it there"
            faults.of(record.file).add(record.line, "document", message)
        else:
            yield record._replace(cells={**record.cells, "document": text})
    if other:
        count = f"in {len(other)} row{'s' if len(other) > 1 else ''}, is another text than that of "
        message = Message(count, Parameter("documents", "FILE|FOLDER"), "; the row's own was taken")
        faults.of(other[0].file).warn(other[0].line, "document", message)


def _files_of(path: str | Path, preset: Preset, faults: Faults) -> list[str | Path]:
    if str(path) == "-" or not Path(path).is_dir():
        return [path]
    patterns = [pattern for role in preset.roles for pattern in role.files]
    if not patterns:
        raise UsageError(
            f"{path} is a folder, and ", Parameter("preset", preset.name), " takes files; name those in it"
        )
    files: list[str | Path] = [
        file for file in sorted(Path(path).rglob("*")) if file.is_file() and any(map(file.match, patterns))
    ]
    if not files:
        faults.of(str(path)).fail(None, None, f"holds no file of preset {preset.name}: {', '.join(patterns)}")
    return files


def joined(
    preset: Preset, tables: Iterable[Table], apply: Apply, documents: Sequence[str | Path], faults: Faults
) -> Iterator[Joined]:
    """The rows of the layout, each with what belongs to it in the other files. What is missing is one fault each."""
    sorted_tables = _sorted(preset, [_with_renamed_columns(table, apply) for table in tables], faults)
    if faults.count:
        return
    if preset.assemble is not None:
        yield from _assembled(preset, sorted_tables, apply, faults)
        return
    rows = (record for table in sorted_tables.get(ROWS, ()) for record in _renamed(table, apply))
    groups = _groups(rows, preset.group)
    articles = None
    if preset.articles is not None:
        groups = list(groups)
        files = [table.file for table in sorted_tables.get(ARTICLES.name, ())]
        articles = _articles(preset, groups, [*documents, *files], faults)
    others = {
        role.name: _indexed(role, sorted_tables[role.name], apply)
        for role in preset.roles
        if role.name != ROWS and role.name in sorted_tables
    }
    missing = _Missing(preset, others, faults)
    for group in groups:
        record, own = group[0], faults.of(group[0].file)
        joined = {role.name: others[role.name].rows(role, record) for role in preset.roles if role.name in others}
        document, complete = None, missing.note(record, joined)
        if preset.articles is not None and (wanted := preset.articles.id_of(record.cells)) is not None:
            document = None if articles is None else articles.text(wanted)
            if document is None:
                complete = False
                if articles is not None:
                    own.add(record.line, None, f"there is no document {wanted!r} in {articles.names}; add it there")
            elif articles is not None:
                record = articles.shared(record, wanted)
        if complete:
            yield Joined((record, *group[1:]), joined, document, partial(own.warn, record.line))
    missing.finish()


def _with_renamed_columns(table: Table, apply: Apply) -> Table:
    head = Record(table.file, 1, dict.fromkeys(table.columns), as_text=False)
    return table._replace(columns=tuple(apply(head)))


def _renamed(table: Table, apply: Apply) -> Iterator[Record]:
    return (record._replace(cells=Columns(apply(record))) for record in table.records)


def _assembled(
    preset: Preset, sorted_tables: Mapping[str, Sequence[Table]], apply: Apply, faults: Faults
) -> Iterator[Joined]:
    """The rows of a preset that joins its roles itself. A role that is missing is one fault."""
    missing = _Missing(preset, {}, faults)
    for table in sorted_tables.get(ROWS, ()):
        missing.needs(table.file, [role for role in preset.roles if role.name not in sorted_tables])
    missing.finish()
    roles = {name: [r for table in tables for r in _renamed(table, apply)] for name, tables in sorted_tables.items()}
    if preset.assemble is None or faults.count or not roles:
        return
    for record in preset.assemble(roles, faults):
        yield Joined((record,), warn=partial(faults.of(record.file).warn, record.line))


class _Index:
    """The rows of a role by key."""

    def __init__(self, files: str) -> None:
        self.files = files
        self._rows: dict[Hashable, list[Record]] = {}

    def add(self, key: Hashable, record: Record) -> None:
        self._rows.setdefault(key, []).append(record)

    def rows(self, role: FileRole, record: Record) -> tuple[Record, ...]:
        return tuple(self._rows.get(key_of(role.row_key or role.key, record), ()))


def _indexed(role: FileRole, tables: Sequence[Table], apply: Apply) -> _Index:
    index = _Index(", ".join(dict.fromkeys(table.file for table in tables)))
    for table in tables:
        for record in _renamed(table, apply):
            index.add(key_of(role.key, record), record)
    return index


class _Missing:
    """Parts that rows need and have not: one fault for a file that was not given, else one a row."""

    def __init__(self, preset: Preset, others: Mapping[str, _Index], faults: Faults) -> None:
        self._preset, self._others, self._faults = preset, others, faults
        self._absent: dict[str, FileRole] = {}
        self._file = faults.file

    def note(self, record: Record, joined: Mapping[str, tuple[Record, ...]]) -> bool:
        """Whether the row has all that it needs."""
        complete = True
        for role in self._preset.roles:
            if role.name == ROWS or joined.get(role.name) or not role.needed(record.cells):
                continue
            complete = False
            if role.name in self._others:
                key = key_of(role.row_key or role.key, record)
                shown = ", ".join(map(repr, key)) if isinstance(key, tuple) else repr(key)
                message = f"{self._others[role.name].files} holds no {_words(role)} of {shown}; add them there"
                self._faults.of(record.file).add(record.line, None, message)
            else:
                self._absent[role.name] = role
                self._file = record.file
        return complete

    def needs(self, file: str, roles: Iterable[FileRole]) -> None:
        """Note roles that every row of a file needs."""
        self._file = file
        self._absent.update({role.name: role for role in roles if role.needed is always})

    def finish(self) -> None:
        for role in self._absent.values():
            what = f"the {_words(role)} are missing: they stand in {role.what}{_columns(role)}"
            self._faults.of(self._file).fail(None, None, f"{what}; name that file as well (preset {self._preset.name})")


def _columns(role: FileRole) -> str:
    return "" if role.format == "lines" else f" (columns {', '.join(role.columns)})"


def _words(role: FileRole) -> str:
    return role.name.replace("_", " ")


def _groups(rows: Iterable[Record], key: Key | None) -> Iterable[tuple[Record, ...]]:
    if key is None:
        return ((record,) for record in rows)
    groups: dict[Hashable, list[Record]] = {}
    for record in rows:
        groups.setdefault(key_of(key, record), []).append(record)
    return [tuple(group) for group in groups.values()]


def _articles(
    preset: Preset, groups: Iterable[tuple[Record, ...]], paths: Sequence[str | Path], faults: Faults
) -> ArticleTexts | None:
    """The documents that the rows ask for; None where there are none, or none are needed."""
    if preset.articles is None:
        return None
    wanted = {doc_id for group in groups if (doc_id := preset.articles.id_of(group[0].cells)) is not None}
    if not wanted:
        return None
    if not paths:
        first = next(iter(groups))[0]
        faults.of(first.file).fail(None, None, Message(*missing_articles(preset.articles.what)))
        return None
    before = faults.count
    texts = ArticleTexts(paths, faults, wanted)
    return texts if faults.count == before else None  # one report, not one a row


def _sorted(preset: Preset, tables: Sequence[Table], faults: Faults) -> dict[str, list[Table]]:
    """The tables by role. A file of no role is a fault, with the preset that it fits."""
    sorted_tables: dict[str, list[Table]] = {}
    known = [*preset.roles, *([ARTICLES] if preset.articles is not None else [])]
    for table in tables:
        if not table.columns:
            continue  # it is empty, or its faults say why nothing was read
        role = _role_of(known, table)
        if role is None:
            faults.of(table.file).fail(*_misfit(preset, table))
        else:
            sorted_tables.setdefault(role.name, []).append(table)
    if not faults.count and tables and ROWS not in sorted_tables:
        rows = next(role for role in preset.roles if role.name == ROWS)
        what = f"the rows are missing: they stand in {rows.what}{_columns(rows)}"
        if any(table.columns for table in tables):
            faults.fail(None, None, f"{what}; name that file as well (preset {preset.name})")
    return sorted_tables


def _role_of(roles: Iterable[FileRole], table: Table) -> FileRole | None:
    fitting = [role for role in roles if role.fits(table.file, table.columns)]
    by_name = [role for role in fitting if role.files and role.named(table.file)]
    return max(by_name or fitting, key=lambda role: len(role.columns), default=None)


def _misfit(preset: Preset, table: Table) -> tuple[int, str | None, Message]:
    """The fault of a file that is of no role: the first column that it lacks, and the preset that it fits."""
    lacks = {role.name: role.missing(table.columns) for role in preset.roles}
    nearest = max(preset.roles, key=lambda role: (len(role.columns) - len(lacks[role.name]), role.name == ROWS))
    missing = lacks[nearest.name]
    fault = f"is missing, and this layout has it; check the preset (preset {preset.name})"
    if not missing:  # the name of the file decides
        patterns = ", ".join(nearest.files)
        fault = f"the columns are those of {nearest.what}, the name is not: {patterns} (preset {preset.name})"
    other = preset_of(table.columns, table.file)
    hint = Message("; its columns are those of ", Parameter("preset", other)) if other else Message("")
    return 1, missing[0] if missing else None, Message(fault, hint)


def preset_of(columns: Iterable[str], file: str = "") -> str | None:
    """The name of the preset whose layout has these columns: the one of which most are known; or None."""
    present = tuple(columns)
    fitting = [
        (len(role.columns), preset.name)
        for preset in PRESETS.values()
        for role in preset.roles
        if role.name == ROWS and len(role.columns) > 1 and role.fits(file, present)
        if not role.files or role.named(file)
    ]
    return max(fitting, key=lambda fit: fit[0])[1] if fitting else None
