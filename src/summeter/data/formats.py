"""Flat files as rows: JSON Lines, JSON, CSV, TSV, Parquet and XLSX; `.gz` by suffix, `-` for standard input.

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
import pickle
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, cast

from summeter.data.faults import Faults
from summeter.data.remote import is_remote, opened
from summeter.records import InstallError, Parameter, UsageError, describe

Format = Literal["jsonl", "json", "csv", "tsv", "parquet", "xlsx", "lines", "pickle"]
FORMATS: tuple[Format, ...] = ("jsonl", "json", "csv", "tsv", "parquet", "xlsx")
"""Those that a user names; only presets read `lines` (a text a line, aligned with other files) and `pickle`."""
TABLES = frozenset({"csv", "tsv", "parquet", "xlsx"})
"""Formats whose cells are texts: an empty one means nothing, lists are JSON."""
RECORD_ID = "_id"
"""The column of a record's key, in a JSON object of records."""
LISTS = ("rows", "samples")
"""What the list of rows may be called in a JSON object."""

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip
DEEPEST = 100
"""How many lists and objects may stand within each other: what is stored is nested a little deeper, and what reads it
back ends at 200."""
UNPACKED, PACKED = 256 << 20, 200
"""A gzip file may unpack to this many bytes, or to this many times its size where that is more."""
VALUE_BYTES = 16
"""What each value of a Parquet file counts at least: a file holds equal values in a few bits, memory does not."""
LONGEST_LINE = 64 << 20
"""Bytes of a line, and characters of a table's cell: no row of texts is longer."""
LONGEST_JSON = 4 << 30
"""Bytes of a JSON file, which is held in memory; JSON Lines are not."""
MOST_CELLS = 20_000_000
"""Cells of a sheet, with the empty ones left of the last filled one of each row."""
WRITTEN_HERE, JSON_COLUMN = {b"summeter": b"flat/1"}, {b"summeter": b"json"}
"""What a Parquet file of `data.exports` says of itself: in its schema, and of a column that holds JSON text."""
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
        empty = f"{path} holds no flat files, and its name says no format; say "
        raise UsageError(
            empty if is_remote(path) else f"cannot tell the format of {path} from its name; say ",
            Parameter("format", "|".join(FORMATS)),
        )
    return format_name


def format_to_read(path: str | Path, named: str | None, faults: Faults) -> Format | None:
    """The format of a file that is to be read, as `format_of` has it; None and a fault where there is no such file."""
    try:
        return format_of(path, named)
    except UsageError:
        if named is not None or is_remote(path) or Path(path).exists():
            raise
        faults.fail(None, None, "no such file or folder")
        return None


Repair = Callable[[str, Callable[[int, str], None]], str]
"""Repairs a text that is known to be broken, and says so by (line, message)."""
OnRead = Callable[[int], None]
"""Called with how many bytes more of a file were read."""


def read_rows(
    path: str | Path,
    faults: Faults,
    kind: Format,
    *,
    sheet: str | None = None,
    repair: Repair | None = None,
    on_read: OnRead | None = None,
) -> Iterator[Row]:
    """The rows of a file. What cannot be read, or could not be stored (`storable`), goes to `faults`.

    `sheet` is that of an XLSX file (default: the first); `repair` repairs the text of a JSON file; `on_read` hears how
    much of the file was read.

    Raises InstallError where Parquet or XLSX is asked for and the package that reads it is not installed.
    """
    readers: dict[Format, Callable[[BinaryIO, Faults], Iterator[Row]]] = {
        "jsonl": lambda handle, faults: _jsonl(_lines_of(handle), faults),
        "json": partial(_json, repair=repair),
        "csv": partial(_table, delimiter=","),
        "tsv": partial(_table, delimiter="\t"),
        "parquet": _parquet,
        "xlsx": partial(_xlsx, sheet=sheet),
        "lines": _text_lines,
        "pickle": _pickle,
    }
    try:
        with _opened(path, on_read) as handle:
            for row in readers[kind](handle, faults):
                if (kept := storable(row, faults)) is not None:
                    yield kept
    except _TooLarge as error:
        faults.add(None, None, str(error))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        faults.add(None, None, f"is not a whole gzip file ({error}); compress it again, or drop the .gz from its name")
    except FileNotFoundError:
        faults.add(None, None, "no such file")
    except OSError as error:
        faults.add(None, None, f"cannot be read: {error.strerror or error}")


_HUNG_ON = {"doc_id", "system", "document", "summary", "sentences", "key_facts"}
"""Columns without which a row is none, or its judgments may be those of something else."""


def storable(row: Row, faults: Faults) -> Row | None:
    """The row, if every cell is JSON of at most `DEEPEST` levels and every text and name UTF-8.

    A cell that is not is a fault: the row goes, or only the cell, where `faults.on_fault` says so and nothing else of
    the row hangs on it.
    """
    try:  # all at once, which is the rule
        _check_json({name: None if isinstance(value, str) else value for name, value in row.cells.items()})
        for value in row.cells.values():
            if isinstance(value, str):
                value.encode("utf-8")
        return row
    except (TypeError, ValueError, RecursionError):
        pass
    wrong = {name: why for name, value in row.cells.items() if (why := _unstorable(name, value)) is not None}
    cell_goes = faults.on_fault == "keep-valid" and faults.columns_known and not wrong.keys() & _HUNG_ON
    for name, message in wrong.items():
        if cell_goes:
            faults.drop(row.line, str(name), message, "field")
        else:
            faults.add(row.line, str(name), message)
    if faults.on_fault == "error":
        return row
    if not cell_goes:
        return None
    return Row(row.line, {name: value for name, value in row.cells.items() if name not in wrong})


def _unstorable(name: str, value: Any) -> str | None:
    """What is wrong with a cell, or None."""
    try:
        _check_json({name: value})
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        return f"holds half a surrogate pair (U+{code:04X}), which is no character; remove it"
    except RecursionError:
        return f"is nested too deeply; {DEEPEST} lists and objects within each other do"
    except (TypeError, ValueError) as error:
        return f"cannot be stored as JSON ({error}); give texts, numbers, lists or objects"
    return None


def _check_json(cells: dict[str, Any]) -> None:
    """Raises TypeError or ValueError; UnicodeEncodeError, which is one, for half a surrogate pair; RecursionError."""
    text = _ENCODER.encode(cells)
    text.encode("utf-8")
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    level: list[Any] = list(cells.values())
    for _ in range(DEEPEST):
        inner = (value.values() if isinstance(value, dict) else value for value in level if isinstance(value, _NESTED))
        level = list(chain.from_iterable(inner))
    if any(isinstance(value, _NESTED) for value in level):
        raise RecursionError


_NESTED = (list, tuple, dict)
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
def _opened(path: str | Path, on_read: OnRead | None = None) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with opened(str(path)) if is_remote(path) else Path(path).open("rb") as file:
        handle = file if on_read is None else cast("BinaryIO", io.BufferedReader(_Counted(file, on_read), 1 << 20))
        if Path(path).suffix.lower() == ".gz":
            with io.BufferedReader(_Unpacked(handle)) as unpacked:
                yield unpacked
        else:
            yield handle


class _Counted(io.RawIOBase):
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, on_read: OnRead) -> None:
        self._file, self._on_read = file, on_read

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._on_read(len(content))
        return len(content)


class _TooLarge(Exception):
    """A packed file that unpacks to more than any text would."""


def _unpacks() -> str:
    return (
        f"unpacks to over {UNPACKED >> 20} MiB and {PACKED} times its size, as no text does; "
        "where that is right, unpack it first"
    )


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
            raise _TooLarge(_unpacks())
        return size


_NO_LINE = "a line end may be missing, or the file may be of another format"


def _lines_of(handle: BinaryIO) -> Iterator[bytes]:
    """The lines; of one that is longer than `LONGEST_LINE` a byte more."""
    return iter(lambda: handle.readline(LONGEST_LINE + 1), b"")


def _lines(lines: Iterable[bytes], faults: Faults) -> Iterator[tuple[int, str | None]]:
    """Numbered lines as text, line ends kept; None for a line that is not UTF-8. All such lines together are one fault,
    unless faulty rows are dropped one by one."""
    first, more = None, 0
    for number, raw in enumerate(lines, 1):
        if len(raw) > LONGEST_LINE:
            faults.fail(number, None, f"is longer than {LONGEST_LINE >> 20} MiB, as no row of texts is; {_NO_LINE}")
            return
        line = raw.removeprefix(_BOM) if number == 1 else raw
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            if number == 1 and raw.startswith(_GZIP):  # no use in naming every line of it
                faults.add(None, None, _looks_packed(faults))
                return
            place = error.start + len(raw) - len(line) + 1
            message = _not_text(raw if number == 1 else b"", line, line[error.start], place)
            if faults.on_fault != "error":
                faults.add(number, None, message)
            elif first is None:
                first = number, message
            else:
                more += 1
            yield number, None
    if first is not None:
        faults.add(first[0], None, first[1] + (f" ({more:,} more lines)" if more else ""))


def _looks_packed(faults: Faults) -> str:
    return f"looks like gzip; {'unpack it first' if faults.file == file_name('-') else 'name it .gz'}"


def _not_text(start: bytes, line: bytes, byte: int, place: int) -> str:
    """The message for a byte of a line that is not UTF-8; `start` is how the file begins, where that may tell why."""
    hint = ""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        hint = "; it looks like UTF-16"
    elif line and not any(other in line for other in b"\x00\x81\x8d\x8f\x90\x9d"):  # which Windows-1252 lacks
        hint = "; it may be Windows-1252"
    return f"is not UTF-8: byte 0x{byte:02x} at byte {place} of the line{hint}; save the file as UTF-8"


def _jsonl(lines: Iterable[bytes], faults: Faults) -> Iterator[Row]:
    for number, line in _lines(lines, faults):
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


def _json(handle: BinaryIO, faults: Faults, *, repair: Repair | None = None) -> Iterator[Row]:
    lines = _lines_of(handle)
    read: list[bytes] = []
    filled: list[bytes] = []
    while len(filled) < 2 and (line := next(lines, None)) is not None:
        read.append(line)
        if line.removeprefix(_BOM).strip():
            filled.append(line)
    if _is_json_lines(filled):  # many a .json in this field is JSON Lines
        yield from _jsonl(chain(read, lines), faults)
        return
    content = b"".join([*read, handle.read(LONGEST_JSON + 1)])
    if len(content) > LONGEST_JSON:
        faults.fail(None, None, f"is longer than {LONGEST_JSON >> 30} GiB; convert it to JSON Lines")
        return
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before, byte = error.object[: error.start], error.object[error.start]
        line_number = before.count(b"\n") + 1
        message = _not_text(content[:2] if line_number == 1 else b"", b"", byte, len(before) - before.rfind(b"\n"))
        looks_packed = content.startswith(_GZIP)
        faults.fail(None if looks_packed else line_number, None, _looks_packed(faults) if looks_packed else message)
        return
    del content
    if repair is not None:
        text = repair(text, lambda line, message: faults.warn(line, None, message))
    try:
        yield from _JsonText(text, faults).rows()
    except _Broken as error:
        faults.fail(error.line, None, str(error))


def _is_json_lines(lines: Sequence[bytes]) -> bool:
    """Whether the first line alone is an object, and another line follows or it holds no rows itself."""
    if not lines or len(lines[0]) > LONGEST_LINE or not lines[0].removeprefix(_BOM).lstrip().startswith(b"{"):
        return False
    try:
        value = parse_json(lines[0].decode("utf-8-sig"))
    except (NotJSON, UnicodeDecodeError):
        return False
    of_records = bool(value) and all(isinstance(each, dict) for each in value.values())
    return len(lines) > 1 or not (of_records or any(isinstance(value.get(name), list) for name in LISTS))


class _Broken(ValueError):
    """A text that ends being JSON at a line."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


class _JsonText:
    """A JSON text whose rows are parsed one by one, each with its line.

    What is not JSON raises _Broken; a value that is JSON and not strict (NaN, a key twice) is a fault.
    """

    def __init__(self, text: str, faults: Faults) -> None:
        self._text, self._faults, self._place = text, faults, 0
        self._line, self._counted = 1, 0
        """The line at the place `_counted`."""

    def rows(self) -> Iterator[Row]:
        """The rows of the file: of a list, of a list within an object, or the records of an object."""
        opening = self._next()
        if opening == "[":
            yield from self._listed()
        elif opening == "{":
            yield from self._within()
        else:
            self._faults.fail(1, None, 'is neither a list of rows nor an object {"rows": [...]}')
            return
        self._expect("")

    def _listed(self) -> Iterator[Row]:
        """The rows of the list that starts here."""
        for line, _ in self._entries("]"):
            value = self._value()
            if isinstance(value, dict):
                yield Row(line, value)
            elif value is not _REFUSED:
                what = f"is {describe(value)}, not an object; each row is one JSON object {{...}}"
                self._faults.add(line, None, what)

    def _within(self) -> Iterator[Row]:
        """The rows of the object that starts here: of its list "rows" (or "samples"), or its records by their keys."""
        before, listed, values = self._faults.count, False, dict[str, Any]()
        lines: list[int] = []
        for line, key in self._entries("}"):
            if key in values:
                self._faults.fail(line, None, f"has the key {key!r} twice in one object; keep one")
            if key in LISTS and self._next() == "[" and not listed:
                listed = True
                values[key] = _REFUSED
                yield from self._listed()
            else:
                values[key] = self._value()
            lines.append(line)
        if listed:
            return
        records = {key: value for key, value in values.items() if value is not _REFUSED}
        if records and all(isinstance(value, dict) for value in records.values()):
            for line, (key, value) in zip(lines, values.items(), strict=False):
                if value is not _REFUSED:
                    yield Row(line, {RECORD_ID: key, **value})
        elif self._faults.count == before:
            self._faults.fail(1, None, 'is an object without a list "rows"; give a list of rows or {"rows": [...]}')

    def _entries(self, end: str) -> Iterator[tuple[int, str]]:
        """The line of each entry of the list or object that starts here, and its key ("" in a list). Whoever takes them
        reads the value before the next one."""
        self._place += 1
        if self._next() != end:
            while True:
                key = ""
                if end == "}":
                    if self._next() != '"':
                        self._expect('"')
                    key = str(self._value())
                    self._expect(":")
                self._next()
                yield self._at(), key
                if self._next() != ",":
                    break
                self._place += 1
        self._expect(end)

    def _next(self) -> str:
        """Go on to the next character that is not white space, and return it; "" at the end."""
        self._place = cast("re.Match[str]", _BLANKS.match(self._text, self._place)).end()
        return self._text[self._place : self._place + 1]

    def _expect(self, mark: str) -> None:
        """Go past the next character. Raises _Broken unless it is `mark`."""
        if self._next() != mark:
            what = {"": "Extra data", ":": "Expecting ':' delimiter", '"': "Expecting a property name in double quotes"}
            error = json.JSONDecodeError(what.get(mark, "Expecting ',' delimiter"), self._text, self._place)
            raise _Broken(error.lineno, f"is not JSON: {error.msg} at column {error.colno}")
        self._place += 1

    def _value(self) -> Any:
        """The value that starts here; `_REFUSED` for JSON that is not strict (a fault)."""
        self._next()
        refused: str | None = None
        try:
            try:
                value, end = _DECODER.raw_decode(self._text, self._place)
            except NotJSON as error:  # go on behind the value
                refused = str(error)
                value, end = _REFUSED, json.JSONDecoder().raw_decode(self._text, self._place)[1]
        except json.JSONDecodeError as error:
            raise _Broken(error.lineno, f"is not JSON: {_said(error)} at column {error.colno}") from None
        except RecursionError:
            raise _Broken(self._at(), "is nested too deeply") from None
        except ValueError:
            raise _Broken(self._at(), _LONG_NUMBER) from None
        if refused is not None:
            self._faults.add(self._at(), None, refused)
        if end - self._place > LONGEST_LINE:
            raise _Broken(self._at(), f"is longer than {LONGEST_LINE >> 20} MiB, as no row of texts is; {_NO_LINE}")
        self._place = end
        return value

    def _at(self) -> int:
        """The line of this place."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line


_REFUSED = object()
_BLANKS = re.compile(r"[ \t\r\n]*")


def _table(handle: BinaryIO, faults: Faults, *, delimiter: str) -> Iterator[Row]:
    unread: set[int] = set()

    def texts() -> Iterator[str]:
        for number, line in _lines(_lines_of(handle), faults):
            if line is None:
                unread.add(number)
            yield "\ufffd\n" if line is None else line

    lines = texts()
    before = csv.field_size_limit(LONGEST_LINE)  # documents are longer than the 128 kB the module allows
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        header = next((cells for cells in reader if cells), None)
        if header is None or not _header_is_sound(header, faults):
            return
        start = reader.line_num + 1
        for cells in reader:
            if not unread.isdisjoint(range(start, reader.line_num + 1)):
                unread.clear()  # it is a fault already
            elif cells and len(cells) != len(header):
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
        faults.fail(reader.line_num, None, f"is not a table that can be read: {error}")
    finally:
        csv.field_size_limit(before)


def _header_is_sound(header: list[str], faults: Faults) -> bool:
    if (name := _repeated(header)) is not None:
        faults.fail(1, name, "is the name of two columns; rename one")
        return False
    other = next((mark for mark in (";", "|", "\t", ",") if mark in header[0]), None)
    if len(header) == 1 and other is not None:
        faults.fail(
            1, None, f"has the one column {header[0]!r}; cells are separated by commas in .csv, by tabs in .tsv"
        )
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
        source = handle if handle.seekable() else io.BytesIO(handle.read())
        file = pq.ParquetFile(source)
        if (name := _repeated(file.schema_arrow.names)) is not None:
            faults.add(None, name, "is the name of two columns; rename one")
            return
        own = WRITTEN_HERE.items() <= (file.schema_arrow.metadata or {}).items()
        texts = frozenset(field.name for field in file.schema_arrow if (field.metadata or {}) == JSON_COLUMN)
        most = max(UNPACKED, PACKED * source.seek(0, io.SEEK_END))
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        largest = max((group.total_byte_size for group in groups), default=0)  # no row can be larger
        values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
        if max(sum(group.total_byte_size for group in groups), VALUE_BYTES * values) > most:
            raise _TooLarge(_unpacks())
        size = 0
        for batch in file.iter_batches(batch_size=max(1, min(1024, min(most, 1 << 30) // max(1, largest)))):
            names, columns = (
                batch.schema.names,
                [
                    _values(column, number, name, faults)
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                ],
            )
            # Arrow holds a text once that stands in many rows.
            size += batch.nbytes + sum(len(value) for values in columns for value in values if isinstance(value, str))
            if size > most:
                raise _TooLarge(_unpacks())
            for values in zip(*columns, strict=True):
                number += 1
                cells = dict(zip(names, values, strict=True))
                yield Row(number, _as_written(cells, texts) if own else cells)
    except NotJSON as error:
        faults.add(number, None, f"{error}; export the data again")
    except pa.ArrowException as error:
        faults.add(None, None, f"is not a Parquet file that can be read: {str(error).splitlines()[0]}")


def _as_written(cells: dict[str, Any], texts: frozenset[str]) -> dict[str, Any]:
    """A row of a file of our own: what is absent is null there, and some columns (`texts`) hold JSON."""
    there = {name: value for name, value in cells.items() if value is not None}
    return {name: parse_json(value) if name in texts else value for name, value in there.items()}


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
                faults.fail(number, name, f"cannot be read ({error}); write dates and times as text")
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


def sheets(path: str | Path, faults: Faults) -> tuple[str, ...]:
    """The names of an XLSX file's sheets that are tables; none where it cannot be read (a fault)."""
    try:
        with _opened(path) as handle, _workbook(handle) as book:
            return tuple(sheet.title for sheet in book.worksheets)
    except _NoWorkbook as error:
        faults.fail(None, None, str(error))
    except FileNotFoundError:
        faults.fail(None, None, "no such file")
    except OSError as error:
        faults.fail(None, None, f"cannot be read: {error.strerror or error}")
    return ()


class _NoWorkbook(Exception):
    """A file that is no XLSX file, or one that unpacks to more than any table would."""


@contextmanager
def _workbook(handle: BinaryIO) -> Iterator[Any]:
    import zipfile

    try:
        import openpyxl
    except ImportError:
        raise InstallError.missing("openpyxl", "xlsx") from None
    content = io.BytesIO(handle.read())
    try:
        with zipfile.ZipFile(content) as packed:
            unpacked = sum(member.file_size for member in packed.infolist())
        if unpacked > max(UNPACKED, PACKED * len(content.getbuffer())):
            raise _NoWorkbook(_unpacks())
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    except _NoWorkbook:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl raises whatever broken XML leads it to
        raise _NoWorkbook(f"is not an XLSX file that can be read: {error}") from None
    try:
        yield book
    finally:
        book.close()


def _xlsx(handle: BinaryIO, faults: Faults, *, sheet: str | None = None) -> Iterator[Row]:
    try:
        with _workbook(handle) as book:
            table = book.worksheets[0] if sheet is None else book[sheet]
            if sheet is None and len(book.worksheets) > 1:
                others = ", ".join(repr(other.title) for other in book.worksheets[1:])
                faults.warn(None, None, f"has several sheets; {table.title!r} is read, not {others}")
            yield from _cells_of(table, faults)
    except _NoWorkbook as error:
        faults.fail(None, None, str(error))


def _cells_of(table: Any, faults: Faults) -> Iterator[Row]:
    header: list[str] | None = None
    table.reset_dimensions()  # else each row has as many cells as the sheet says, filled or not
    left = MOST_CELLS
    for number, values in enumerate(table.iter_rows(values_only=True), 1):
        left -= len(values)
        if left < 0:
            raise _TooLarge(f"has over {MOST_CELLS:,} cells, most of them empty; delete the cells far from the table")
        cells = ["" if value is None else _plain(value) for value in values]
        if all(value == "" for value in cells):
            continue
        if header is None:
            while cells and cells[-1] == "":
                cells.pop()
            header = [str(value) or f"column {place}" for place, value in enumerate(cells, 1)]
            if not _header_is_sound(header, faults):
                return
        elif any(value != "" for value in cells[len(header) :]):
            faults.add(number, None, f"has a cell to the right of the {len(header)} columns that the first row names")
        else:
            yield Row(number, dict(zip(header, [*cells, *[""] * len(header)], strict=False)))


def _text_lines(handle: BinaryIO, faults: Faults) -> Iterator[Row]:
    for number, line in _lines(_lines_of(handle), faults):
        if line is not None:
            yield Row(number, {"text": line.rstrip("\r\n")})


MOST_OF_A_PICKLE = 2_000_000
"""Values in a pickle: each is a few bytes there, and may be pointed at any number of times."""


class _NumberType:
    """What `numpy.dtype` is read as: a letter, a size, a byte order."""

    def __init__(self, code: str, *_: Any) -> None:
        if not re.fullmatch(r"[fiub][1248]", code):
            raise pickle.UnpicklingError(f"it holds values of type {code!r}, and plain numbers are expected")
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1] if state[1] in ("<", ">") else "<"


def _number_of(kind: _NumberType, content: bytes) -> int | float | bool:
    """What `numpy.core.multiarray.scalar` is read as."""
    import struct

    letters = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I",
               "u8": "Q", "b1": "?"}  # fmt: skip
    if kind.code not in letters:
        raise pickle.UnpicklingError(f"it holds numbers of type {kind.code!r}, which no machine reads alike")
    number: int | float | bool = struct.unpack(f"{kind.order}{letters[kind.code]}", content)[0]
    return number


class _Unpickler(pickle.Unpickler):
    """Admits lists, objects, texts, numbers and NumPy's scalars; runs nothing that the file names."""

    _ADMITTED: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy", "dtype"): _NumberType,
        ("numpy.core.multiarray", "scalar"): _number_of,
        ("numpy._core.multiarray", "scalar"): _number_of,
    }

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in self._ADMITTED:
            raise pickle.UnpicklingError(f"it names {module_name}.{global_name}, which is not run; check its source")
        return self._ADMITTED[module_name, global_name]


def _pickle(handle: BinaryIO, faults: Faults) -> Iterator[Row]:
    """The records of a pickled dict, each with its key as a column."""
    try:
        records = _Unpickler(handle).load()
    except Exception as error:  # noqa: BLE001 - a broken pickle raises anything
        faults.fail(None, None, f"is not a pickle that can be read: {str(error) or type(error).__name__}")
        return
    if not isinstance(records, dict):
        faults.fail(None, None, f"holds {describe(records)}; give the pickle of a dict of records")
        return
    left = [MOST_OF_A_PICKLE]
    for number, (key, value) in enumerate(records.items(), 1):
        if not isinstance(value, dict) or not isinstance(key, str | int):
            faults.add(number, None, f"is {describe(value)}, not a dict of columns")
            continue
        try:
            cells = _unpickled(value, left)
        except (ValueError, RecursionError):
            faults.fail(number, None, "holds more values than any data set, or values within themselves")
            return
        yield Row(number, {RECORD_ID: str(key), **cells})


def _unpickled(value: Any, left: list[int]) -> Any:
    """A value as JSON has it. Raises ValueError once `left` values were met."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError
    if isinstance(value, dict):
        return {str(key): _unpickled(item, left) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_unpickled(item, left) for item in value]
    return value
