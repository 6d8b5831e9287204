"""Read files in public layouts: find the role of each file, and join the rows for a preset."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from summeter.data.articles import IDS, TEXTS, read_articles
from summeter.data.faults import Faults
from summeter.data.formats import Row, file_name, format_to_read, read_rows, sheets
from summeter.data.presets import PRESETS
from summeter.data.presets.base import ROWS, Columns, FileRole, Joined, Key, Preset, always, key_of
from summeter.data.rows import Columns as FlatColumns
from summeter.records import Message, Parameter, UsageError, count

PEEKED = 20
"""Number of rows that determine the columns of a file, because a row of a JSON file may lack some columns."""
ARTICLES = FileRole("documents", ("|".join(IDS), "|".join(TEXTS)), "documents by id")
Apply = Callable[[Row], Mapping[str, Any]]
"""Function that returns the cells of a row with renamed columns."""
ReadRows = Callable[..., Iterator[Row]]
"""`read_rows` with some of its arguments."""


class Table(NamedTuple):
    """The name, rows and columns of a file or sheet.

    The rows are read when they are iterated over.
    """

    file: str
    rows: Iterator[Row]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, file: str, rows: Iterable[Row]) -> Table:
        """Return a table whose columns are those of the first rows."""
        rows = iter(rows)
        first = list(islice(rows, PEEKED))
        return cls(file, chain(first, rows), tuple(dict.fromkeys(name for row in first for name in row.cells)))


def read_tables(
    paths: Sequence[str | Path], preset: Preset, named: str | None, faults: Faults, read: ReadRows
) -> Iterator[Table]:
    """Yield the tables in files and folders that have the layout of a preset; `read` reads the rows of a file."""
    known: set[Path] = set()
    for path in chain.from_iterable(_files_of(path, preset, faults) for path in paths):
        file = file_name(path)
        of_file = faults.of(file)
        if (resolved := Path(path).resolve()) in known:
            of_file.fail(None, None, "is given twice; give it once")
            continue
        known.add(resolved)
        role = next((role for role in preset.roles if role.format and role.named(str(path))), None)
        role_format = role.format if named is None and role is not None else None
        kind = role_format or format_to_read(path, named, of_file)
        if kind is None:
            continue
        names: tuple[str | None, ...] = _sheets_of(path, preset, of_file) if kind == "xlsx" else (None,)
        for sheet in names:
            rows = read(path, of_file, kind, sheet=sheet, repair=preset.repair)
            yield Table.of(file, of_file.counted(rows))


def _sheets_of(path: str | Path, preset: Preset, faults: Faults) -> tuple[str, ...]:
    """Return the sheets of a workbook that have a role in the layout, or all if none has."""
    names, file = sheets(path, faults), file_name(path)

    def fits(sheet: str) -> bool:
        table = Table.of(file, read_rows(path, Faults(file), "xlsx", sheet=sheet))
        return _role_of(preset.roles, table) is not None

    return tuple(filter(fits, names)) or names


def with_documents(
    rows: Sequence[Row], columns: FlatColumns, documents: Sequence[str | Path], faults: Faults
) -> Iterator[Row]:
    """Yield flat rows, adding the document with the same doc_id to each row without a document.

    Adds a warning with the number of rows whose document differs from the one in `documents`.
    """
    wanted = {str(doc_id) for row in rows if (doc_id := columns.cell(row.cells, "doc_id"))}
    articles = read_articles(documents, faults, wanted)
    differing: list[Row] = []
    for each in rows:
        given = columns.cell(each.cells, "doc_id")
        doc_id = str(given)
        row = articles.shared(each, doc_id)
        document = columns.cell(row.cells, "document")
        if not given:
            yield row
        elif document not in (None, ""):
            text = articles.texts.get(doc_id)
            if text is not None and isinstance(document, str) and document.strip() != text.strip():
                differing.append(row)
            yield row
        elif (text := articles.text_of(row, doc_id, "document", faults.of(row.file))) is not None:
            yield row._replace(cells={**row.cells, columns.renamed.get("document", "document"): text})
    if differing:
        where = f"in {count(len(differing), 'row')}, differs from the document in "
        message = Message(where, Parameter("documents", "FILE|FOLDER"), "; the text of the row is used")
        faults.of(differing[0].file).warn(differing[0].line, "document", message)


def _files_of(path: str | Path, preset: Preset, faults: Faults) -> list[str | Path]:
    if str(path) == "-" or not Path(path).is_dir():
        return [path]
    patterns = [pattern for role in preset.roles for pattern in role.files]
    if not patterns:
        raise UsageError(
            f"{path} is a folder, and ", Parameter("preset", preset.name), " takes files; give the files in it"
        )
    found = [file for file in sorted(Path(path).rglob("*")) if file.is_file()]
    files: list[str | Path] = [file for file in found if any(map(file.match, patterns))]
    others = (file for file in found if any(map(file.match, preset.ignored)) and not any(map(file.match, patterns)))
    if ignored := [str(file.relative_to(path)) for file in others]:
        number = count(len(ignored), "file")
        faults.of(str(path)).warn(None, None, f"{number} of no use to the preset were ignored: {', '.join(ignored)}")
    if not files:
        faults.of(str(path)).fail(None, None, f"contains no file of preset {preset.name}: {', '.join(patterns)}")
    return files


def joined(
    preset: Preset, tables: Iterable[Table], apply: Apply, documents: Sequence[str | Path], faults: Faults
) -> Iterator[Joined]:
    """Yield each main row of the layout with the rows of other files that have the same key.

    Each missing file and each missing row is a fault.
    """
    with_fields = [
        table._replace(columns=tuple(apply(Row(table.file, 1, dict.fromkeys(table.columns))))) for table in tables
    ]
    tables_of = _by_role(preset, with_fields, faults)
    if faults.count:
        return

    def rows_of(role: str) -> Iterator[Row]:
        rows = chain.from_iterable(table.rows for table in tables_of.get(role, ()))
        return (row._replace(cells=Columns(apply(row))) for row in rows)

    if preset.assemble is not None:
        for role in preset.roles:
            if ROWS in tables_of and role.name not in tables_of and role.needed is always:
                faults.of(tables_of[ROWS][-1].file).fail(None, None, _missing_file(preset, role))
        roles = {name: list(rows_of(name)) for name in tables_of}
        if not faults.count and roles:
            for row in preset.assemble(roles, faults):
                yield Joined((row,), faults=faults.of(row.file))
        return
    groups: Iterable[Sequence[Row]] = ((row,) for row in rows_of(ROWS))
    if preset.group is not None:
        groups = _by_key(preset.group, rows_of(ROWS)).values()
    articles = None
    if preset.articles is not None:
        groups = list(groups)
        wanted = {doc_id for group in groups if (doc_id := preset.articles.id_of(group[0].cells)) is not None}
        paths = [*documents, *(table.file for table in tables_of.get(ARTICLES.name, ()))]
        before = faults.count
        if wanted and not paths:
            what = f"the rows have no documents; give {preset.articles.what} with "
            faults.of(groups[0][0].file).fail(None, None, Message(what, Parameter("documents", "FILE|FOLDER")))
        elif wanted:
            articles = read_articles(paths, faults, wanted)
        if faults.count > before:
            return  # report the files instead of every row
    others = {
        role.name: _by_key(role.key, rows_of(role.name))
        for role in preset.roles
        if role.name != ROWS and role.name in tables_of
    }
    absent: dict[str, tuple[FileRole, Faults]] = {}
    for group in groups:
        row, of_file = group[0], faults.of(group[0].file)
        matches: dict[str, tuple[Row, ...]] = {}
        document, complete = None, True
        for role in preset.roles:
            if role.name in others:
                key = key_of(role.row_key or role.key, row)
                matches[role.name] = tuple(others[role.name].get(key, ()))
            if role.name == ROWS or matches.get(role.name) or not role.needed(row.cells):
                continue
            complete = False
            if role.name in others:
                given = ", ".join(dict.fromkeys(table.file for table in tables_of[role.name]))
                shown = ", ".join(map(repr, key)) if isinstance(key, tuple) else repr(key)
                of_file.add(row.line, None, f"{given} contains no {_words(role)} of {shown}; add them there")
            else:
                absent[role.name] = role, of_file
        if preset.articles is not None and articles is not None:
            doc_id = preset.articles.id_of(row.cells)
            if doc_id is not None:
                document = articles.text_of(row, doc_id, None, of_file)
                row, complete = articles.shared(row, doc_id), complete and document is not None
        if complete:
            yield Joined((row, *group[1:]), matches, document, of_file)
    for role, of_file in absent.values():  # one fault instead of one per row
        of_file.fail(None, None, _missing_file(preset, role))


def _by_key(key: Key, rows: Iterable[Row]) -> dict[Hashable, list[Row]]:
    by_key: dict[Hashable, list[Row]] = {}
    for row in rows:
        by_key.setdefault(key_of(key, row), []).append(row)
    return by_key


def _missing_file(preset: Preset, role: FileRole) -> str:
    columns = "" if role.format == "lines" else f" (columns {', '.join(role.columns)})"
    return f"the {_words(role)} are missing; give {role.what}{columns} as well (preset {preset.name})"


def _words(role: FileRole) -> str:
    return role.name.replace("_", " ")


def _by_role(preset: Preset, tables: Sequence[Table], faults: Faults) -> dict[str, list[Table]]:
    """Return the tables by role. A file without a role is a fault."""
    tables_of: dict[str, list[Table]] = {}
    known = [*preset.roles, *([ARTICLES] if preset.articles is not None else [])]
    for table in tables:
        if not table.columns:
            continue  # the file is empty, or its faults were reported when it was read
        role = _role_of(known, table)
        if role is None:
            faults.of(table.file).fail(*_misfit(preset, table))
        else:
            tables_of.setdefault(role.name, []).append(table)
    if not faults.count and ROWS not in tables_of and any(table.columns for table in tables):
        faults.fail(None, None, _missing_file(preset, next(role for role in preset.roles if role.name == ROWS)))
    return tables_of


def _role_of(roles: Iterable[FileRole], table: Table) -> FileRole | None:
    fitting = [role for role in roles if role.fits(table.file, table.columns)]
    by_name = [role for role in fitting if role.files and role.named(table.file)]
    return max(by_name or fitting, key=lambda role: len(role.columns), default=None)


def _misfit(preset: Preset, table: Table) -> tuple[int, str | None, Message]:
    """Return the fault for a file without a role, naming the preset that the file matches."""
    missing_of = {role.name: role.missing(table.columns) for role in preset.roles}
    nearest = max(preset.roles, key=lambda role: (len(role.columns) - len(missing_of[role.name]), role.name == ROWS))
    missing = missing_of[nearest.name]
    fault = f"is missing, but this layout requires it; check the preset (preset {preset.name})"
    if not missing:  # the file name determines the role
        patterns = ", ".join(nearest.files)
        fault = (
            f"the columns are those of {nearest.what}, but the name does not match {patterns} (preset {preset.name})"
        )
    other = preset_of(table.columns, table.file)
    hint = Message("; its columns are those of ", Parameter("preset", other)) if other else Message("")
    return 1, missing[0] if missing else None, Message(fault, hint)


def preset_of(columns: Iterable[str], file: str = "") -> str | None:
    """Return the name of the preset that best matches these columns, or None if none matches."""
    present = tuple(columns)
    fitting = [
        (len(role.columns), preset.name)
        for preset in PRESETS.values()
        for role in preset.roles
        if role.name == ROWS and len(role.columns) > 1 and role.fits(file, present)
        if not role.files or role.named(file)
    ]
    return max(fitting, key=lambda fit: fit[0])[1] if fitting else None
