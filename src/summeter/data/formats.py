"""Flat files as rows: JSON Lines, JSON, CSV, TSV and Parquet; `.gz` by suffix, `-` for standard input.

A row is a plain dict with the line it starts on. Whatever cannot be read is a fault that names file, line and
place; reading goes on where the format allows it, so that all faults of a file are found at once.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import json
import math
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast, get_args

from summeter.data.faults import Faults, describe
from summeter.records import InstallError, Parameter, UsageError

Format = Literal["jsonl", "json", "csv", "tsv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


class Row(NamedTuple):
    """One row as read; `line` is where it starts (in Parquet: the row's number, from 1)."""

    line: int
    cells: dict[str, Any]


class NotJSON(ValueError):
    """A text that is not the JSON summeter reads; says why."""


def file_name(path: str | Path) -> str:
    """The name an input goes by in messages."""
    return "<stdin>" if str(path) == "-" else str(path)


def format_of(path: str | Path, named: str | None = None) -> Format:
    """The format of a file: `named` where given, else by suffix (`-` is jsonl).

    >>> format_of("rows.csv.gz")
    'csv'
    """
    if named is not None:
        if named not in FORMATS:
            raise UsageError(f"unknown format {named!r}; formats are: {', '.join(FORMATS)}")
        return named
    if str(path) == "-":
        return "jsonl"
    name = Path(path)
    suffix = name.with_suffix("").suffix if name.suffix.lower() == ".gz" else name.suffix
    format_name = _SUFFIXES.get(suffix.lower())
    if format_name is None:
        raise UsageError(
            f"cannot tell the format of {path} from its name; say ", Parameter("format", "|".join(FORMATS))
        )
    return format_name


def read_rows(path: str | Path, faults: Faults, kind: Format) -> Iterator[Row]:
    """The rows of a file. What cannot be read goes to `faults`.

    Raises InstallError where Parquet is asked for and pyarrow is not installed.
    """
    readers: dict[Format, Callable[[BinaryIO, Faults], Iterator[Row]]] = {
        "jsonl": _jsonl,
        "json": _json,
        "csv": partial(_table, delimiter=","),
        "tsv": partial(_table, delimiter="\t"),
        "parquet": _parquet,
    }
    try:
        with _opened(path) as handle:
            yield from readers[kind](handle, faults)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        faults.add(None, None, f"is not a whole gzip file ({error}); compress it again, or drop the .gz from its name")
    except FileNotFoundError:
        faults.add(None, None, "no such file")
    except OSError as error:
        faults.add(None, None, f"cannot be read: {error.strerror or error}")


def parse_json(text: str) -> Any:
    """Strict JSON: no NaN or Infinity, no key twice in one object, no number beyond a double.

    Raises NotJSON.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} column {error.colno}"
        raise NotJSON(f"is not JSON: {_said(error)} at {place}") from error
    except RecursionError:
        raise NotJSON("is nested too deeply") from None
    except NotJSON:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise NotJSON(f"is not JSON that can be read: {error}") from None


def _said(error: json.JSONDecodeError) -> str:
    """The message, without the " at" or ":" on which some of them end, as a place is to follow."""
    return error.msg.rstrip(": ").removesuffix(" at")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in cells if names.count(key) > 1)
        raise NotJSON(f"has the key {twice!r} twice in one object; keep one")
    return cells


def _constant(name: str) -> Any:
    raise NotJSON(f"holds {name}, which is not JSON; write null where there is no value")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotJSON(f"holds the number {text}, which is out of range")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)


@contextmanager
def _opened(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as handle:
        if Path(path).suffix.lower() == ".gz":
            with gzip.GzipFile(fileobj=handle) as packed:
                yield cast("BinaryIO", packed)
        else:
            yield handle


def _lines(handle: Iterable[bytes], faults: Faults) -> Iterator[tuple[int, str | None]]:
    """Numbered lines as text, line ends kept; None for a line that is not UTF-8 (a fault)."""
    for number, raw in enumerate(handle, 1):
        line = raw[len(_BOM) :] if number == 1 and raw.startswith(_BOM) else raw
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            if number == 1 and raw.startswith(_GZIP):  # no use in naming every line of it
                way = "unpack it first" if faults.file == file_name("-") else "name it .gz"
                faults.add(None, None, f"looks like gzip; {way}")
                return
            hint = "; it looks like UTF-16" if number == 1 and raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
            place = error.start + len(raw) - len(line) + 1
            message = f"is not UTF-8: byte 0x{line[error.start]:02x} at byte {place} of the line{hint}"
            faults.add(number, None, f"{message}; save the file as UTF-8")
            yield number, None


def _jsonl(handle: BinaryIO, faults: Faults) -> Iterator[Row]:
    for number, line in _lines(handle, faults):
        if line is None or not line.strip():
            continue
        try:
            value = parse_json(line.rstrip("\r\n"))
        except NotJSON as error:
            faults.add(number, None, str(error))
            continue
        if isinstance(value, dict):
            yield Row(number, value)
        else:
            faults.add(number, None, f"is {describe(value)}, not an object; each line is one JSON object {{...}}")


def _json(handle: BinaryIO, faults: Faults) -> Iterator[Row]:
    content = handle.read()
    if _is_lines(content):  # many a .json in this field is JSON Lines
        yield from _jsonl(cast("BinaryIO", io.BytesIO(content)), faults)
        return
    before = faults.count
    text = "".join(line or "" for _, line in _lines(io.BytesIO(content), faults))
    if faults.count > before:
        return
    start = _skip(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        faults.add(1, None, 'is neither a list of rows nor an object {"rows": [...]}')
        return
    try:
        json.loads(text)  # whether it is JSON at all; each value is then read strictly
    except json.JSONDecodeError as error:
        faults.add(error.lineno, None, f"is not JSON: {_said(error)} at column {error.colno}")
    except RecursionError:
        faults.add(1, None, "is nested too deeply")
    except ValueError as error:  # an integer of thousands of digits
        faults.add(1, None, f"is not JSON that can be read: {error}")
    else:
        yield from _rows_of(text, start, faults) if text[start] == "[" else _rows_within(text, start, faults)


def _is_lines(content: bytes) -> bool:
    """Whether the first line alone is an object, with more after it or no list of rows in it."""
    head, _, rest = content.removeprefix(_BOM).strip().partition(b"\n")
    if not head.lstrip().startswith(b"{"):
        return False
    try:
        first = parse_json(head.decode("utf-8"))
    except (NotJSON, UnicodeDecodeError):
        return False
    return bool(rest.strip()) or not isinstance(first.get("rows"), list)


def _rows_of(text: str, start: int, faults: Faults) -> Iterator[Row]:
    """The rows of the list that starts there, each with its line. The text is known to be JSON."""
    line, counted, place = 1, 0, _skip(text, start + 1)
    while text[place] != "]":
        line, counted = line + text.count("\n", counted, place), place
        value, end = _strict(text, place, line, faults)
        if isinstance(value, dict):
            yield Row(line, value)
        elif value is not _REFUSED:
            faults.add(line, None, f"is {describe(value)}, not an object; each row is one JSON object {{...}}")
        place = _next(text, end)


def _rows_within(text: str, start: int, faults: Faults) -> Iterator[Row]:
    """The rows of the list "rows" in the object that starts there."""
    before, keys, place = faults.count, list[str](), _skip(text, start + 1)
    listed = False
    while text[place] != "}":
        key, end = _PLAIN.raw_decode(text, place)
        place = _skip(text, _skip(text, end) + 1)
        line = text.count("\n", 0, place) + 1
        if key in keys:
            faults.add(line, None, f"has the key {key!r} twice in one object; keep one")
        elif key == "rows" and text[place] == "[":
            listed = True
            yield from _rows_of(text, place, faults)
        keys.append(key)
        end = _PLAIN.raw_decode(text, place)[1] if key == "rows" else _strict(text, place, line, faults)[1]
        place = _next(text, end)
    if not listed and faults.count == before:
        faults.add(1, None, 'is an object without a list "rows"; give a list of rows or {"rows": [...]}')


_PLAIN = json.JSONDecoder()
_REFUSED = object()


def _strict(text: str, place: int, line: int, faults: Faults) -> tuple[Any, int]:
    """A value and where it ends; `_REFUSED` for JSON that is not strict (a fault)."""
    try:
        return _DECODER.raw_decode(text, place)
    except ValueError as error:
        faults.add(line, None, str(error))
    return _REFUSED, _PLAIN.raw_decode(text, place)[1]


def _next(text: str, end: int) -> int:
    """Where the next value of a list, or key of an object, starts, or its bracket."""
    place = _skip(text, end)
    return _skip(text, place + 1) if text[place] == "," else place


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _table(handle: BinaryIO, faults: Faults, *, delimiter: str) -> Iterator[Row]:
    lines = ("\ufffd\n" if line is None else line for _, line in _lines(handle, faults))
    before = csv.field_size_limit(sys.maxsize)  # documents are longer than the 128 kB the module allows
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        header = next((cells for cells in reader if cells), None)
        if header is None or not _header_is_sound(header, faults):
            return
        start = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(header):
                faults.add(
                    start,
                    None,
                    f"has {len(cells)} cells where the header has {len(header)}; quote cells that "
                    "hold the separator or a line end",
                )
            elif cells:
                yield Row(start, dict(zip(header, cells, strict=True)))
            start = reader.line_num + 1
    except csv.Error as error:
        faults.add(reader.line_num, None, f"is not a table that can be read: {error}")
    finally:
        csv.field_size_limit(before)


def _header_is_sound(header: list[str], faults: Faults) -> bool:
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            faults.add(1, name, "is the name of two columns; rename one")
            return False
    other = next((mark for mark in (";", "|", "\t", ",") if mark in header[0]), None)
    if len(header) == 1 and other is not None:
        faults.add(1, None, f"has the one column {header[0]!r}; cells are separated by commas in .csv, by tabs in .tsv")
        return False
    return True


def _parquet(handle: BinaryIO, faults: Faults) -> Iterator[Row]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InstallError.missing("pyarrow", "parquet") from None
    content = io.BytesIO(handle.read())
    number = 0
    try:
        for batch in pq.ParquetFile(content).iter_batches(batch_size=1024):
            for cells in batch.to_pylist():
                number += 1
                yield Row(number, {name: _plain(value) for name, value in cells.items()})
    except pa.ArrowException as error:
        faults.add(None, None, f"is not a Parquet file that can be read: {str(error).splitlines()[0]}")


def _plain(value: Any) -> Any:
    """A Parquet value as JSON has it: dates and decimals as text, NaN (how tables say "none") as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, decimal.Decimal) else value
