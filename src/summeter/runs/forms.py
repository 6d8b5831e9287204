"""The two forms of a run's files of records: JSON lines, and, once a run is compact, Parquet.

A file is named by its JSON lines (`judgments/NAME.jsonl`); the Parquet beside it (`judgments/NAME.parquet`) stands in
its place. Where both are there, whoever made one of them was killed before the other was gone: the JSON lines count.
The columns of the Parquet are the fields of the records, for whoever asks it with other tools, and `line`, each record
as it was written, from which this package reads it: so nothing that was written is lost, and checksums of lines hold.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from summeter.data.atomic import write_lines
from summeter.records import Fault, InputError, Record, WriteError, read_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

R = TypeVar("R", bound=Record)

SUFFIX = ".parquet"
DAMAGED = (
    "is damaged, or no Parquet of a run; bring it back as it was, or remove it and give the command that made the run "
    "again: what it held is judged anew"
)
_AT_ONCE = 10_000
_GROUP = 20_000
"""Rows of a group of the Parquet, which its writer holds in memory: some tens of megabytes for each thread."""
_TEXT, _NUMBER = "VARCHAR", "BIGINT"


def _texts(*names: str) -> dict[str, object]:
    return dict.fromkeys(names, _TEXT)


_ITEM = _texts("document_id", "system", "rival")
FIELDS: dict[str, dict[str, object]] = {
    "judgments": {
        "target": {**_ITEM, "unit": _TEXT, "index": _NUMBER, "list_id": _TEXT},
        **_texts("aspect", "judge", "signature", "model", "error_type", "reason", "status"),
        "value": "DOUBLE",
        "label": "JSON",
        "calls": [_TEXT],
        "truncated_tokens": _NUMBER,
    },
    "prepared": _texts("id", "signature", "document_id", "status"),
    "progress": {
        **_texts("signature", "document_id", "system", "rival", "prepared"),
        **dict.fromkeys(("judgments", "checksum"), _NUMBER),
    },
    "failures": _texts("document_id", "system", "rival", "judge", "signature", "status", "reason", "at"),
}
"""The columns of each kind of file, as DuckDB takes them from JSON; `line` holds the others."""


def stored(file: Path) -> Path:
    """Where the records of a file are: the file, or the Parquet in its place."""
    parquet = file.with_suffix(SUFFIX)
    return parquet if not file.exists() and parquet.exists() else file


def is_compact(file: Path) -> bool:
    """Whether Parquet stands in the place of a file of JSON lines."""
    return stored(file).suffix == SUFFIX


def lines_of(file: Path) -> Generator[bytes, None, None]:
    """The lines of a file in either form, each with its line feed, without a torn last one; none if there is none."""
    place = stored(file)
    if place.suffix == SUFFIX:
        with _connected() as connection:
            _read(connection, place, "SELECT line FROM read_parquet(?)")
            while rows := connection.fetchmany(_AT_ONCE):
                yield from (f"{line}\n".encode() for (line,) in rows)
    elif place.exists():
        with place.open("rb") as lines:
            yield from (line for line in lines if line.endswith(b"\n"))


def records_of(file: Path, record: type[R], damaged: list[Fault] | None = None) -> Iterator[R]:
    """`records.read_lines` of a file in either form."""
    place = stored(file)
    if place.suffix != SUFFIX:
        yield from read_lines(file, record, damaged)
        return
    for number, line in enumerate(lines_of(file), 1):
        try:
            yield record.model_validate_json(line)
        except ValidationError as error:
            fault = damaged_line(place, number, error)
            if damaged is None:
                raise InputError([fault]) from error
            damaged.append(fault)


def damaged_line(file: Path, number: int, error: ValidationError) -> Fault:
    """What is wrong with a line, and where."""
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"])) or None
    return Fault(str(file), number, field, f"damaged: {first['msg']}")


@contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """The lines of a file in either form, to be read from any place on: those of Parquet from a copy that goes."""
    if not is_compact(file):
        with file.open("rb") as lines:
            yield lines
        return
    with tempfile.TemporaryFile() as copy:
        copy.writelines(lines_of(file))
        copy.seek(0)
        yield copy


def compact_file(file: Path, kind: str) -> bool:
    """Put Parquet in the place of a file of JSON lines; returns False where there are none. What was written is read
    back before the lines go, so that a kill, or an error, loses nothing. WriteError where the disk is full."""
    if not file.exists() or not file.stat().st_size:
        return False
    import duckdb

    target = file.with_suffix(SUFFIX)
    fresh = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    read = "read_json_objects(?, format = 'newline_delimited')"
    fields = f"unnest(json_transform(json, '{json.dumps(FIELDS[kind])}'))"
    lines = f"SELECT {fields}, json::VARCHAR AS line FROM {read}"  # noqa: S608 - names of our own
    try:
        with _connected() as connection:
            try:
                connection.execute(
                    f"COPY ({lines}) TO '{_quoted(fresh)}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP})",
                    [_pattern(file)],
                )
            except duckdb.IOException as error:
                raise WriteError.of(target, "the compact form", OSError(str(error))) from error
            except duckdb.Error as error:
                raise InputError.at(file, None, None, f"cannot be made compact: {error}") from error
        with fresh.open("rb+") as handle:
            os.fsync(handle.fileno())
        _check_same(file, fresh)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    file.unlink()
    return True


def expand_file(file: Path) -> bool:
    """Put JSON lines in the place of Parquet; returns False where there is none."""
    parquet = file.with_suffix(SUFFIX)
    if not parquet.exists():
        return False
    if not file.exists():
        write_lines(file, (line.decode().removesuffix("\n") for line in lines_of(file)))
    parquet.unlink()
    return True


def _check_same(file: Path, parquet: Path) -> None:
    """InputError unless the Parquet holds the lines of the file."""
    with _connected() as connection, file.open("rb") as lines:
        _read(connection, parquet, "SELECT line FROM read_parquet(?)")
        while rows := connection.fetchmany(_AT_ONCE):
            for (line,) in rows:
                if lines.readline() != f"{line}\n".encode():
                    raise InputError.at(file, None, None, "cannot be made compact: its lines come back changed")
        if lines.readline():
            raise InputError.at(file, None, None, "cannot be made compact: some of its lines are lost")


@contextmanager
def _connected() -> Iterator[DuckDBPyConnection]:
    """DuckDB with bounded memory; what does not fit waits in a folder that goes."""
    import duckdb

    folder = tempfile.mkdtemp(prefix="summeter-")
    try:
        limits: dict[str, Any] = {"memory_limit": "256MB", "threads": 2, "temp_directory": folder}
        with duckdb.connect(config=limits) as connection:
            yield connection
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(connection: DuckDBPyConnection, file: Path, sql: str) -> None:
    """Run a query on a file of Parquet. InputError where it is damaged."""
    import duckdb

    try:
        connection.execute(sql, [_pattern(file)])
    except duckdb.Error as error:
        raise InputError.at(file, None, None, f"{DAMAGED} (DuckDB: {str(error).splitlines()[0]})") from error


def _pattern(path: Path) -> str:
    """A path that DuckDB does not read as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
