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
import re
import sys
import zlib
from collections import Counter
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
DEEPEST = 100
"""How many lists and objects may stand within each other: what is stored is nested a little deeper, and what reads it
back ends at 200."""
UNPACKED, PACKED = 256 << 20, 200
"""A gzip file may unpack to this many bytes, or to this many times its size where that is more."""
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
    """The rows of a file. What cannot be read, or could not be stored (`check_storable`), goes to `faults`.

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
            for row in readers[kind](handle, faults):
                check_storable(row, faults)
                yield row
    except _TooLarge as error:
        faults.add(None, None, str(error))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        faults.add(None, None, f"is not a whole gzip file ({error}); compress it again, or drop the .gz from its name")
    except FileNotFoundError:
        faults.add(None, None, "no such file")
    except OSError as error:
        faults.add(None, None, f"cannot be read: {error.strerror or error}")


def check_storable(row: Row, faults: Faults) -> None:
    """Every cell must be JSON of at most `DEEPEST` levels, and every text and name UTF-8."""
    try:  # all at once, which is the rule
        _check_json({name: None if isinstance(value, str) else value for name, value in row.cells.items()})
        for value in row.cells.values():
            if isinstance(value, str):
                value.encode("utf-8")
        return
    except (TypeError, ValueError, RecursionError):
        pass
    for name, value in row.cells.items():
        try:
            _check_json({name: value})
        except UnicodeEncodeError as error:
            what = f"half a surrogate pair (U+{ord(error.object[error.start]):04X}), which is no character; remove it"
            faults.add(row.line, str(name), f"holds {what}")
        except RecursionError:
            faults.add(row.line, str(name), f"is nested too deeply; {DEEPEST} lists and objects within each other do")
        except (TypeError, ValueError) as error:
            what = f"cannot be stored as JSON ({error}); give texts, numbers, lists or objects"
            faults.add(row.line, str(name), what)


def _check_json(cells: dict[str, Any]) -> None:
    """Raises TypeError or ValueError; UnicodeEncodeError, which is one, for half a surrogate pair; RecursionError."""
    text = _ENCODER.encode(cells)
    text.encode("utf-8")
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    level: list[Any] = list(cells.values())
    for _ in range(DEEPEST):
        level = [inner for value in level if isinstance(value, list | tuple | dict) for inner in _inner(value)]
    if any(isinstance(value, list | tuple | dict) for value in level):
        raise RecursionError


def _inner(value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


_LONG_NUMBER = "is not JSON that can be read: it holds a whole number of thousands of digits"


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
    except ValueError:
        raise NotJSON(_LONG_NUMBER) from None


def _said(error: json.JSONDecodeError) -> str:
    """The message, without the " at" or ":" on which some of them end, as a place is to follow."""
    return error.msg.rstrip(": ").removesuffix(" at")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) != len(pairs):
        raise NotJSON(f"has the key {_repeated(key for key, _ in pairs)!r} twice in one object; keep one")
    return cells


def _repeated(names: Iterable[str]) -> str | None:
    """The first name that comes again, or None."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


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
            with io.BufferedReader(_Unpacked(handle)) as unpacked:
                yield unpacked
        else:
            yield handle


class _TooLarge(Exception):
    """A packed file that unpacks to more than any text would."""


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, as long as it is no bomb: texts shrink to a tenth, not to a thousandth."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed, self._content, self._size = packed, gzip.GzipFile(fileobj=packed), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._content.readinto(buffer)
        self._size += size
        if self._size > max(UNPACKED, PACKED * self._packed.tell()):
            raise _TooLarge(
                f"unpacks to over {UNPACKED >> 20} MiB and {PACKED} times its size, as no text does; "
                "where that is right, unpack it first"
            )
        return size


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
    walk = _Walk(text, faults)
    if walk.at not in ("[", "{"):
        faults.add(1, None, 'is neither a list of rows nor an object {"rows": [...]}')
        return
    try:
        json.loads(text)  # whether it is JSON at all; each value is then read strictly
    except json.JSONDecodeError as error:
        faults.add(error.lineno, None, f"is not JSON: {_said(error)} at column {error.colno}")
    except RecursionError:
        faults.add(1, None, "is nested too deeply")
    except ValueError:
        faults.add(1, None, _LONG_NUMBER)
    else:
        yield from walk.rows() if walk.at == "[" else walk.rows_within()


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


class _Walk:
    """A way through a text that is known to be JSON, value by value, each with its line."""

    def __init__(self, text: str, faults: Faults) -> None:
        self._text, self._faults = text, faults
        self._place = self._counted = 0
        self._line = 1
        self._skip()

    @property
    def at(self) -> str:
        """The character that comes next."""
        return self._text[self._place : self._place + 1]

    def rows(self) -> Iterator[Row]:
        """The rows of the list that starts here."""
        self._skip(1)
        while self.at != "]":
            line = self._count()
            value = self._value()
            if isinstance(value, dict):
                yield Row(line, value)
            elif value is not _REFUSED:
                self._faults.add(
                    line, None, f"is {describe(value)}, not an object; each row is one JSON object {{...}}"
                )
            self._skip_comma()
        self._skip(1)

    def rows_within(self) -> Iterator[Row]:
        """The rows of the list "rows" in the object that starts here."""
        before, keys, listed = self._faults.count, set[str](), False
        self._skip(1)
        while self.at != "}":
            key, self._place = _PLAIN.raw_decode(self._text, self._place)
            self._skip()
            self._skip(1)
            line = self._count()
            if key in keys:
                self._faults.add(line, None, f"has the key {key!r} twice in one object; keep one")
            keys.add(key)
            if key == "rows" and self.at == "[" and not listed:
                listed = True
                yield from self.rows()
            else:
                self._value()
            self._skip_comma()
        if not listed and self._faults.count == before:
            self._faults.add(1, None, 'is an object without a list "rows"; give a list of rows or {"rows": [...]}')

    def _value(self) -> Any:
        """The value that starts here; `_REFUSED` for JSON that is not strict (a fault)."""
        try:
            value, self._place = _DECODER.raw_decode(self._text, self._place)
        except ValueError as error:
            self._faults.add(self._count(), None, str(error))
            value, self._place = _REFUSED, _PLAIN.raw_decode(self._text, self._place)[1]
        return value

    def _count(self) -> int:
        """The line of this place."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def _skip(self, characters: int = 0) -> None:
        """Go on by so many characters, and by the blanks behind them."""
        self._place = cast("re.Match[str]", _BLANKS.match(self._text, self._place + characters)).end()

    def _skip_comma(self) -> None:
        self._skip()
        if self.at == ",":
            self._skip(1)


_PLAIN = json.JSONDecoder()
_REFUSED = object()
_BLANKS = re.compile(r"[ \t\r\n]*")


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
    if (name := _repeated(header)) is not None:
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
    number = 0
    try:
        file = pq.ParquetFile(io.BytesIO(handle.read()))
        if (name := _repeated(file.schema_arrow.names)) is not None:
            faults.add(None, name, "is the name of two columns; rename one")
            return
        for batch in file.iter_batches(batch_size=1024):
            names, columns = (
                batch.schema.names,
                [
                    _values(column, number, name, faults)
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                ],
            )
            for cells in zip(*columns, strict=True):
                number += 1
                yield Row(number, dict(zip(names, cells, strict=True)))
    except pa.ArrowException as error:
        faults.add(None, None, f"is not a Parquet file that can be read: {str(error).splitlines()[0]}")


def _values(column: Any, before: int, name: str, faults: Faults) -> list[Any]:
    """The values of some rows of a Parquet column, of which `before` rows were read."""
    try:
        return [_plain(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        values: list[Any] = []
        for number, value in enumerate(column, before + 1):
            try:
                values.append(_plain(value.as_py()))
            except (ValueError, OverflowError) as error:
                values.append(None)
                faults.add(number, name, f"cannot be read ({error}); write dates and times as text")
        return values


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
