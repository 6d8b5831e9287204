"""Read rows from JSON Lines, JSON, CSV, TSV, Parquet and XLSX files.

Files may be compressed (`.gz`); `-` is standard input. Content that cannot be read is reported as a fault with its
file, line and field. Reading then continues if the format allows it, so that all faults of a file are found at once.
Text files are UTF-8; another encoding or separator that is detected is logged as a warning.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import decimal
import gzip
import io
import json
import logging
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
from pathlib import Path, PurePath
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, cast

from summeter.data.faults import Faults
from summeter.data.remote import is_remote, open_object
from summeter.records import InstallError, Message, Parameter, UsageError, describe

log = logging.getLogger(__name__)

Format = Literal["jsonl", "json", "csv", "tsv", "parquet", "xlsx", "lines", "pickle"]
FORMATS: tuple[Format, ...] = ("jsonl", "json", "csv", "tsv", "parquet", "xlsx")
"""The formats that users can choose. Only presets read `lines` (one text per line) and `pickle`."""
DELIMITED: dict[Format, str] = {"csv": ",", "tsv": "\t"}
"""Formats whose cells are separated by a character, with the usual one."""
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_TEXT: frozenset[Format] = frozenset({"jsonl", "json", "lines", *DELIMITED})
TABLES = frozenset({"csv", "tsv", "parquet", "xlsx"})
"""Formats in which all cells are strings: an empty cell is an absent value, and a list is JSON text."""
RECORD_ID = "_id"
"""The column that holds the key of a record if a JSON object maps keys to records."""
LISTS = ("rows", "samples")
"""Possible keys of the list of rows in a JSON object."""

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip
DEEPEST = 100
"""Maximum nesting depth of lists and objects. Stored records are slightly deeper, and the function that reads them
accepts a depth of up to 200.
"""
UNPACKED, PACKED = 256 << 20, 200
"""Maximum uncompressed size of a file: `UNPACKED` bytes or `PACKED` times its compressed size, whichever is larger."""
VALUE_BYTES = 16
"""Bytes that each value of a Parquet file counts at least: equal values take a few bits in the file, but not in
memory."""
LONGEST_LINE = 64 << 20
"""Maximum length of a line in bytes, and of a cell in characters."""
LONGEST_JSON = 4 << 30
"""Maximum size of a JSON file in bytes. Such a file is held in memory, unlike JSON Lines."""
MOST_CELLS = 20_000_000
"""Maximum number of cells in a sheet, including empty cells to the left of the last filled cell of a row."""
WRITTEN_HERE, JSON_COLUMN = {b"summeter": b"flat/1"}, {b"summeter": b"json"}
"""Keys of the metadata that `data.exports` writes to Parquet files: for the schema, and for columns with JSON text."""
_BOM = b"\xef\xbb\xbf"
_BOMS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16",
         codecs.BOM_UTF16_BE: "UTF-16"}  # fmt: skip
_SAMPLE = 1 << 20
"""Size in bytes of the text from which Windows-1252 is recognised."""
_NOT_WINDOWS = re.compile(
    rb"[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]"  # undefined or control characters
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"  # UTF-8
)
_GZIP = b"\x1f\x8b"


class Row(NamedTuple):
    """One row of a file.

    `line` is the number of the first line of the row, from 1 (in Parquet files: the number of the row).
    """

    file: str
    line: int
    cells: dict[str, Any]
    as_text: bool = False
    """Whether the row comes from a table, in which lists are JSON text and an empty cell is absent."""

    @property
    def stem(self) -> str:
        """The file name without suffixes, such as `mturk_xsum` for `data/mturk_xsum.jsonl.gz`."""
        return PurePath(self.file).name.partition(".")[0]


class NotJSON(ValueError):
    """The text is not valid JSON, or it is JSON that is not accepted (NaN, duplicate keys)."""


class _Unreadable(Exception):
    """The file cannot be read from `line` on, or not at all if `line` is None."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def file_name(path: str | Path) -> str:
    """Return the name of an input file for messages."""
    return "<stdin>" if str(path) == "-" else str(path)


def format_of(path: str | Path, named: str | None = None) -> Format:
    """Return the format of a file: `named` if given, or else the format of the suffix.

    The format of `-` is JSON Lines. Raises UsageError if the format is unknown.

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
        empty = f"{path} contains no flat files, and its name has no known suffix; give "
        raise UsageError(
            empty if is_remote(path) else f"cannot tell the format of {path} from its name; give ",
            Parameter("format", "|".join(FORMATS)),
        )
    return format_name


def checked_delimiter(text: str | None) -> str | None:
    """Return a delimiter, which may be written as `tab` or `\\t`. Raises UsageError unless it is one character."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(text or "", text)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise UsageError(Parameter("delimiter", repr(text)), ": give one character, such as ; or tab")
    return delimiter


def checked_encoding(name: str | None) -> str | None:
    """Return the name of an encoding. Raises UsageError if Python does not know it as an encoding of texts."""
    try:
        if name is not None:
            "a".encode(name)
    except (LookupError, UnicodeError):
        raise UsageError(Parameter("encoding", name), ": unknown encoding; give one such as cp1252 or utf-16") from None
    return name


def format_to_read(path: str | Path, named: str | None, faults: Faults) -> Format | None:
    """Return the format of an input file.

    If the file does not exist, a fault is added and None is returned.
    """
    try:
        return format_of(path, named)
    except UsageError:
        if named is not None or is_remote(path) or Path(path).exists():
            raise
        faults.fail(None, None, "no such file or folder")
        return None


Repair = Callable[[str, Callable[[int, str], None]], str]
"""Function that corrects a file with a known error; receives the text and a function that reports (line, message)."""
OnRead = Callable[[int], None]
"""Callback for progress; receives the number of bytes that were read since the last call."""


def read_rows(
    path: str | Path,
    faults: Faults,
    kind: Format,
    *,
    sheet: str | None = None,
    repair: Repair | None = None,
    on_read: OnRead | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Iterator[Row]:
    """Yield the rows of a file, and add content that cannot be read or stored to `faults`.

    `sheet` is the sheet of an XLSX file (default: the first). `repair` corrects the text of a JSON file. `on_read` is
    called with the number of bytes read since the last call. `delimiter` separates the cells of a CSV or TSV file, and
    `encoding` is the encoding of a text file; by default, both are detected. Raises InstallError if the package that
    reads Parquet or XLSX is missing, and UsageError for a `delimiter` or `encoding` that the format does not have.
    """
    if delimiter is not None and kind not in DELIMITED:
        raise UsageError(f"{faults.file} is not a CSV or TSV file; leave out ", Parameter("delimiter"))
    if encoding is not None and kind not in _TEXT:
        raise UsageError(f"{faults.file} is not a text file; leave out ", Parameter("encoding"))
    readers: dict[Format, Callable[[Any, Faults], Iterator[_Cells]]] = {
        "jsonl": _read_jsonl,
        "json": partial(_read_json, repair=repair),
        "csv": partial(_read_table, usual=DELIMITED["csv"], delimiter=delimiter),
        "tsv": partial(_read_table, usual=DELIMITED["tsv"], delimiter=delimiter),
        "parquet": _read_parquet,
        "xlsx": partial(_read_xlsx, sheet=sheet),
        "lines": _read_lines,
        "pickle": _read_pickle,
    }
    with _reported(faults), _open(path, on_read) as handle:
        content = _lines_of(handle, encoding, faults) if kind in _TEXT else handle
        for line, cells in readers[kind](content, faults):
            row = storable(Row(faults.file, line, cells, kind in TABLES), faults)
            if row is not None:
                yield row


_Cells = tuple[int, dict[str, Any]]
"""The line of a row, and its cells by column."""


@contextmanager
def _reported(faults: Faults) -> Iterator[None]:
    """Convert exceptions that are raised while a file is read to faults."""
    try:
        yield
    except _Unreadable as error:
        faults.fail(error.line, None, error.message)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        faults.fail(
            None, None, f"is not a complete gzip file ({error}); compress it again, or remove .gz from its name"
        )
    except FileNotFoundError:
        faults.fail(None, None, "no such file")
    except OSError as error:
        faults.fail(None, None, f"cannot be read: {error.strerror or error}")


_ESSENTIAL = {"doc_id", "system", "document", "summary", "sentences", "key_facts"}
"""Columns without which a row, or the units to which its judgments refer, would be undefined."""


def storable(row: Row, faults: Faults) -> Row | None:
    """Return the row if its cells are valid UTF-8 and JSON with at most `DEEPEST` levels.

    Any other cell is a fault. If `faults.on_fault` is `skip`, the row is dropped and None is returned; if it is
    `keep-valid`, only the cell is dropped, unless the row is meaningless without this cell.
    """
    try:  # check all cells at once, because almost all rows are valid
        _check_json({name: None if isinstance(value, str) else value for name, value in row.cells.items()})
        for value in row.cells.values():
            if isinstance(value, str):
                value.encode("utf-8")
        return row
    except (TypeError, ValueError, RecursionError):
        pass
    messages = {name: message for name, value in row.cells.items() if (message := _storage_fault(name, value))}
    drop_cells = faults.on_fault == "keep-valid" and faults.columns_known and not messages.keys() & _ESSENTIAL
    for name, message in messages.items():
        if drop_cells:
            faults.drop(row.line, str(name), message, "field")
        else:
            faults.add(row.line, str(name), message)
    if faults.on_fault == "error":
        return row
    if not drop_cells:
        return None
    return row._replace(cells={name: value for name, value in row.cells.items() if name not in messages})


def _storage_fault(name: str, value: Any) -> str | None:
    """Return the reason why a cell cannot be stored, or None if it can be stored."""
    try:
        _check_json({name: value})
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        return f"contains half a surrogate pair (U+{code:04X}), which is not a character; remove it"
    except RecursionError:
        return f"is nested too deeply; use at most {DEEPEST} levels of lists and objects"
    except (TypeError, ValueError) as error:
        return f"cannot be stored as JSON ({error}); use strings, numbers, lists or objects"
    return None


def _check_json(cells: dict[str, Any]) -> None:
    """Raise TypeError or ValueError if cells are not JSON, or RecursionError if too deep."""
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


_LONG_NUMBER = "cannot be read: it contains an integer with thousands of digits"


def parse_json(text: str) -> Any:
    """Return the value of a JSON string.

    Raises NotJSON for invalid JSON, NaN, Infinity, duplicate keys in an object, and numbers outside the range of a
    double.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        position = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno} column {error.colno}"
        raise NotJSON(f"is not JSON: {_reason(error)} at {position}") from error
    except RecursionError:
        raise NotJSON("is nested too deeply") from None
    except NotJSON:
        raise
    except ValueError:
        raise NotJSON(_LONG_NUMBER) from None


def _reason(error: json.JSONDecodeError) -> str:
    """Return the error message without a final " at" or ":", so that a position can follow."""
    return error.msg.rstrip(": ").removesuffix(" at")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) != len(pairs):
        raise NotJSON(f"has the key {repeated(key for key, _ in pairs)!r} twice in one object; keep one")
    return cells


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _refuse_constant(name: str) -> Any:
    raise NotJSON(f"contains {name}, which is not JSON; write null for a missing value")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotJSON(f"contains the number {text}, which is out of range")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite_float)


@contextmanager
def _open(path: str | Path, on_read: OnRead | None = None) -> Iterator[io.BufferedReader[Any]]:
    if str(path) == "-":
        stdin: io.BufferedReader[Any] = io.BufferedReader(cast("Any", sys.stdin.buffer))
        try:
            yield stdin
        finally:
            stdin.detach()
        return
    with open_object(str(path)) if is_remote(path) else Path(path).open("rb") as file:
        handle: io.BufferedReader[Any] = file
        if on_read is not None:
            handle = io.BufferedReader(_Counted(file, on_read), 1 << 20)
        if Path(path).suffix.lower() == ".gz":
            with io.BufferedReader(_Unpacked(handle)) as unpacked:
                yield unpacked
        else:
            yield handle


class _Counted(io.RawIOBase):
    """File that calls `on_read` with the number of bytes read."""

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


def _bomb() -> _Unreadable:
    return _Unreadable(
        f"unpacks to over {UNPACKED >> 20} MiB and {PACKED} times its size, which no text does; "
        "unpack it first if this is correct"
    )


class _Unpacked(io.RawIOBase):
    """The content of a gzip file.

    Reading raises _Unreadable if the file is a decompression bomb.
    """

    def __init__(self, packed: BinaryIO) -> None:
        self._packed, self._content, self._size = packed, gzip.GzipFile(fileobj=packed), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._content.readinto(buffer)
        self._size += size
        if self._size > max(UNPACKED, PACKED * self._packed.tell()):
            raise _bomb()
        return size


def _announce(faults: Faults, *parts: str | Parameter) -> None:
    """Log how a file is read if this was detected, once per file."""
    log.warning(Message(f"{faults.file}: ", *parts))


_NO_LINE = "a line break may be missing, or the file may be in another format"


def _lines_of(handle: io.BufferedReader[Any], encoding: str | None, faults: Faults) -> Iterator[bytes]:
    """Yield the lines of a text file in UTF-8, or in an unknown encoding.

    The encoding is the given one, or that of the byte order mark, or else UTF-8. If the first line that is not ASCII is
    not UTF-8 and may be Windows-1252, like the text after it, then so are all lines that are not UTF-8. A line of more
    than `LONGEST_LINE` bytes is cut one byte after this length.
    """
    start = handle.peek(4)
    if encoding is None and (encoding := next((name for mark, name in _BOMS.items() if start.startswith(mark)), None)):
        _announce(faults, f"is read as {encoding}, as its byte order mark says; change with ", Parameter("encoding"))
    if encoding is not None and codecs.lookup(encoding).name != "utf-8":
        text = io.TextIOWrapper(handle, encoding, newline="\n")
        try:
            yield from iter(lambda: text.readline(LONGEST_LINE + 1).encode(), b"")
        except UnicodeError as wrong:
            what = f"is not {encoding}: {getattr(wrong, 'reason', wrong)}; give another "
            raise _Unreadable(Message(what, Parameter("encoding"))) from None
        finally:
            text.detach()
        return
    lines = iter(lambda: handle.readline(LONGEST_LINE + 1), b"")
    if encoding is not None:
        yield from lines
        return
    for number, line in enumerate(lines, 1):
        if line.isascii():
            yield line
            continue
        sample, size = [line], len(line)
        if (error := _decoding_error(line)) is not None:
            while size < _SAMPLE and (following := next(lines, b"")):
                sample.append(following)
                size += len(following)
        rest = chain(sample, lines)
        if error is None or not _may_be_windows(b"".join(sample)):
            yield from rest
            return
        why = f"byte 0x{line[error.start]:02x} of line {number} is not UTF-8"
        _announce(faults, f"is read as Windows-1252, because {why}; change with ", Parameter("encoding"))
        for each in rest:
            windows = _decoding_error(each) is not None and not _NOT_WINDOWS.search(each)
            yield each.decode("cp1252").encode() if windows else each
        return


def _may_be_windows(text: bytes | bytearray) -> bool:
    """Return whether a text may be Windows-1252, that is, a text with few characters that are not ASCII."""
    return not _NOT_WINDOWS.search(text) and 5 * len(text.translate(None, bytes(range(128)))) <= len(text)


def _decoding_error(line: bytes) -> UnicodeDecodeError | None:
    """Return the error that occurs if a line is decoded as UTF-8, or None."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return error
    return None


def _lines(lines: Iterable[bytes], faults: Faults) -> Iterator[tuple[int, str | None]]:
    """Yield numbered lines as text with line endings, and None for a line that is not UTF-8.

    All such lines together are one fault, unless faulty rows are dropped one by one.
    """
    first, more = None, 0
    for number, raw in enumerate(lines, 1):
        if len(raw) > LONGEST_LINE:
            faults.fail(number, None, f"is longer than {LONGEST_LINE >> 20} MiB; {_NO_LINE}")
            return
        line = raw.removeprefix(_BOM) if number == 1 else raw
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            if number == 1 and raw.startswith(_GZIP):  # one fault instead of one per line
                faults.fail(None, None, _looks_packed(faults))
                return
            position = error.start + len(raw) - len(line) + 1
            message = _not_utf8(line, line[error.start], position)
            if faults.on_fault != "error":
                faults.add(number, None, message)
            elif first is None:
                first = number, message
            else:
                more += 1
            yield number, None
    if first is not None:
        faults.add(first[0], None, Message(first[1], f" ({more:,} more lines)" if more else ""))


def _looks_packed(faults: Faults) -> str:
    return f"looks like gzip; {'unpack it first' if faults.file == file_name('-') else 'name it .gz'}"


def _not_utf8(line: bytes | bytearray, byte: int, position: int) -> Message:
    """Return the message for a byte of a line that is not UTF-8."""
    hint = "; it may be Windows-1252" if _may_be_windows(line) else ""
    what = f"is not UTF-8: byte 0x{byte:02x} at byte {position} of the line{hint}; save the file as UTF-8, or give "
    return Message(what, Parameter("encoding", "NAME"))


def _read_jsonl(lines: Iterable[bytes], faults: Faults) -> Iterator[_Cells]:
    for number, line in _lines(lines, faults):
        if line is None or not line.strip():
            continue
        try:
            value = parse_json(line.rstrip("\r\n"))
        except NotJSON as error:
            faults.add(number, None, str(error))
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            faults.add(number, None, f"is {describe(value)}, not an object; each line is one JSON object {{...}}")


def _read_json(lines: Iterator[bytes], faults: Faults, *, repair: Repair | None = None) -> Iterator[_Cells]:
    start: list[bytes] = []
    filled: list[bytes] = []
    while len(filled) < 2 and (line := next(lines, None)) is not None:
        start.append(line)
        if line.removeprefix(_BOM).strip():
            filled.append(line)
    if _is_json_lines(filled):  # many released files called .json are JSON Lines
        yield from _read_jsonl(chain(start, lines), faults)
        return
    content = bytearray(b"".join(start))
    for line in lines:
        content += line
        if len(content) > LONGEST_JSON:
            raise _Unreadable(f"is longer than {LONGEST_JSON >> 30} GiB; convert it to JSON Lines")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if content.startswith(_GZIP):
            raise _Unreadable(_looks_packed(faults)) from None
        before, byte = error.object[: error.start], error.object[error.start]
        line_number = before.count(b"\n") + 1
        raise _Unreadable(_not_utf8(content, byte, len(before) - before.rfind(b"\n")), line_number) from None
    del content
    if repair is not None:
        text = repair(text, lambda line, message: faults.warn(line, None, message))
    yield from _JsonText(text, faults).rows()


def _is_json_lines(lines: Sequence[bytes]) -> bool:
    """Return whether the lines are JSON Lines, that is, whether the first line is a row.

    The first line is a row if it is an object, and if another line follows or the object does not contain rows.
    """
    if not lines or len(lines[0]) > LONGEST_LINE or not lines[0].removeprefix(_BOM).lstrip().startswith(b"{"):
        return False
    try:
        value = parse_json(lines[0].decode("utf-8-sig"))
    except (NotJSON, UnicodeDecodeError):
        return False
    of_records = bool(value) and all(isinstance(each, dict) for each in value.values())
    return len(lines) > 1 or not (of_records or any(isinstance(value.get(name), list) for name in LISTS))


class _JsonText:
    """Incremental JSON parser that yields the rows of a text with their lines.

    Raises _Unreadable if the JSON is invalid. A value that `parse_json` would refuse (NaN, a duplicate key) is a fault.
    """

    def __init__(self, text: str, faults: Faults) -> None:
        self._text, self._faults, self._position = text, faults, 0
        self._line, self._counted = 1, 0
        """The number of the line at position `_counted`."""

    def rows(self) -> Iterator[_Cells]:
        """Yield the rows of a list, of a list within an object, or the records of an object."""
        opening = self._next()
        if opening == "[":
            yield from self._list_rows()
        elif opening == "{":
            yield from self._object_rows()
        else:
            raise _Unreadable('is neither a list of rows nor an object {"rows": [...]}', 1)
        self._expect("")

    def _list_rows(self) -> Iterator[_Cells]:
        """Yield the rows of the list that starts here."""
        for line, _ in self._entries("]"):
            value = self._value()
            if isinstance(value, dict):
                yield line, value
            elif value is not _REFUSED:
                what = f"is {describe(value)}, not an object; each row is one JSON object {{...}}"
                self._faults.add(line, None, what)

    def _object_rows(self) -> Iterator[_Cells]:
        """Yield the rows in the list "rows" of the object that starts here, or its records."""
        before, listed, values = self._faults.count, False, dict[str, Any]()
        lines: list[int] = []
        for line, key in self._entries("}"):
            if key in values:
                self._faults.fail(line, None, f"has the key {key!r} twice in one object; keep one")
            if key in LISTS and self._next() == "[" and not listed:
                listed = True
                values[key] = _REFUSED
                yield from self._list_rows()
            else:
                values[key] = self._value()
            lines.append(line)
        if listed:
            return
        records = {key: value for key, value in values.items() if value is not _REFUSED}
        if records and all(isinstance(value, dict) for value in records.values()):
            for line, (key, value) in zip(lines, values.items(), strict=False):
                if value is not _REFUSED:
                    yield line, {RECORD_ID: key, **value}
        elif self._faults.count == before:
            self._faults.fail(1, None, 'is an object without a list "rows"; give a list of rows or {"rows": [...]}')

    def _entries(self, end: str) -> Iterator[tuple[int, str]]:
        """Yield the line and key of each entry of the list or object at this position.

        The key of an entry of a list is "". The caller must read the value before requesting the next entry.
        """
        self._position += 1
        if self._next() != end:
            while True:
                key = ""
                if end == "}":
                    if self._next() != '"':
                        self._expect('"')
                    key = str(self._value())
                    self._expect(":")
                self._next()
                yield self._line_number(), key
                if self._next() != ",":
                    break
                self._position += 1
        self._expect(end)

    def _next(self) -> str:
        """Skip white space and return the next character, or "" at the end."""
        self._position = cast("re.Match[str]", _BLANKS.match(self._text, self._position)).end()
        return self._text[self._position : self._position + 1]

    def _expect(self, mark: str) -> None:
        """Skip the next character; raise _Unreadable unless it is `mark`."""
        if self._next() != mark:
            what = {"": "Extra data", ":": "Expecting ':' delimiter", '"': "Expecting a property name in double quotes"}
            error = json.JSONDecodeError(what.get(mark, "Expecting ',' delimiter"), self._text, self._position)
            raise _Unreadable(f"is not JSON: {error.msg} at column {error.colno}", error.lineno)
        self._position += 1

    def _value(self) -> Any:
        """Return the value that starts here, or add a fault and return `_REFUSED`."""
        self._next()
        refused: str | None = None
        try:
            try:
                value, end = _DECODER.raw_decode(self._text, self._position)
            except NotJSON as error:  # continue after the value
                refused = str(error)
                value, end = _REFUSED, json.JSONDecoder().raw_decode(self._text, self._position)[1]
        except json.JSONDecodeError as error:
            raise _Unreadable(f"is not JSON: {_reason(error)} at column {error.colno}", error.lineno) from None
        except RecursionError:
            raise _Unreadable("is nested too deeply", self._line_number()) from None
        except ValueError:
            raise _Unreadable(_LONG_NUMBER, self._line_number()) from None
        if refused is not None:
            self._faults.add(self._line_number(), None, refused)
        if end - self._position > LONGEST_LINE:
            raise _Unreadable(f"is longer than {LONGEST_LINE >> 20} MiB; {_NO_LINE}", self._line_number())
        self._position = end
        return value

    def _line_number(self) -> int:
        """Return the number of the line at the current position."""
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._line


_REFUSED = object()
_BLANKS = re.compile(r"[ \t\r\n]*")


def _read_table(lines: Iterator[bytes], faults: Faults, *, usual: str, delimiter: str | None) -> Iterator[_Cells]:
    undecoded: set[int] = set()

    def texts() -> Iterator[str]:
        for number, line in _lines(lines, faults):
            if line is None:
                undecoded.add(number)
            yield "\ufffd\n" if line is None else line

    table = texts()
    before = csv.field_size_limit(LONGEST_LINE)  # documents may exceed the default of 128 kB
    try:
        start_lines: list[str] = []
        while not "".join(start_lines[-1:]).strip() and (line := next(table, None)) is not None:
            start_lines.append(line)
        separator = delimiter or _delimiter_of("".join(start_lines[-1:]), usual, faults)
        reader = csv.reader(chain(start_lines, table), delimiter=separator, strict=True)
        header = next((cells for cells in reader if cells), None)
        if header is None or not _is_valid_header(header, faults):
            return
        start = reader.line_num + 1
        for cells in reader:
            if not undecoded.isdisjoint(range(start, reader.line_num + 1)):
                undecoded.clear()  # already reported as a fault
            elif cells and len(cells) != len(header):
                faults.add(
                    start,
                    None,
                    f"has {len(cells)} cells, but the header has {len(header)}; quote cells that "
                    "contain the separator or a line end",
                )
            elif cells:
                yield start, dict(zip(header, cells, strict=True))
            start = reader.line_num + 1
    except csv.Error as error:
        raise _Unreadable(f"is not a valid table: {error}", reader.line_num) from None
    finally:
        csv.field_size_limit(before)


def _delimiter_of(header: str, usual: str, faults: Faults) -> str:
    """Return the character that separates the cells of a header: the usual one unless it does not occur."""
    counts: dict[str, int] = {}
    for mark in (usual, *_DELIMITERS):
        try:
            counts[mark] = len(next(csv.reader([header], delimiter=mark, strict=True), []))
        except csv.Error:
            counts[mark] = 0
    most = max(counts, key=counts.__getitem__)
    if counts[usual] > 1 or counts[most] <= 1:
        return usual
    _announce(faults, f"cells are separated by {_DELIMITERS[most]}; change with ", Parameter("delimiter"))
    return most


def _is_valid_header(header: list[str], faults: Faults) -> bool:
    if (name := repeated(header)) is not None:
        faults.fail(1, name, "is the name of two columns; rename one")
    return name is None


def _read_parquet(handle: BinaryIO, faults: Faults) -> Iterator[_Cells]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InstallError.missing("pyarrow", "parquet") from None
    number = 0
    try:
        source = handle if handle.seekable() else io.BytesIO(handle.read())
        file = pq.ParquetFile(source)
        if (name := repeated(file.schema_arrow.names)) is not None:
            faults.fail(None, name, "is the name of two columns; rename one")
            return
        written_here = WRITTEN_HERE.items() <= (file.schema_arrow.metadata or {}).items()
        json_columns = frozenset(field.name for field in file.schema_arrow if (field.metadata or {}) == JSON_COLUMN)
        most = max(UNPACKED, PACKED * source.seek(0, io.SEEK_END))
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        largest = max((group.total_byte_size for group in groups), default=0)  # no row can be larger
        values = sum(group.column(index).num_values for group in groups for index in range(group.num_columns))
        if max(sum(group.total_byte_size for group in groups), VALUE_BYTES * values) > most:
            raise _bomb()
        size = 0
        for batch in file.iter_batches(batch_size=max(1, min(1024, min(most, 1 << 30) // max(1, largest)))):
            names = batch.schema.names
            columns = [_values(column, number, name, faults) for name, column in zip(names, batch.columns, strict=True)]
            # Arrow stores a text once even if it occurs in many rows.
            size += batch.nbytes + sum(len(value) for values in columns for value in values if isinstance(value, str))
            if size > most:
                raise _bomb()
            for values in zip(*columns, strict=True):
                number += 1
                cells = dict(zip(names, values, strict=True))
                if written_here:  # absent cells are null, and some columns hold JSON
                    filled = {name: value for name, value in cells.items() if value is not None}
                    cells = {n: parse_json(value) if n in json_columns else value for n, value in filled.items()}
                yield number, cells
    except NotJSON as error:
        faults.add(number, None, f"{error}; export the data again")
    except pa.ArrowException as error:
        raise _Unreadable(f"is not a valid Parquet file: {str(error).splitlines()[0]}") from None


def _values(column: Any, before: int, name: str, faults: Faults) -> list[Any]:
    """Return the values in a batch of a Parquet column; `before` is the number of earlier rows."""
    try:
        return [plain(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        values: list[Any] = []
        for number, value in enumerate(column, before + 1):
            try:
                values.append(plain(value.as_py()))
            except (ValueError, OverflowError) as error:
                values.append(None)
                faults.fail(number, name, f"cannot be read ({error}); write dates and times as text")
        return values


def plain(value: Any) -> Any:
    """Return a value of a table as JSON: dates and decimals as strings, NaN as null, arrays as lists."""
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, decimal.Decimal) else value


def sheets(path: str | Path, faults: Faults) -> tuple[str, ...]:
    """Return the names of the worksheets of an XLSX file.

    If the file is unreadable, a fault is added and no names are returned.
    """
    names: list[str] = []
    with _reported(faults), _open(path) as handle, _workbook(handle) as book:
        names.extend(sheet.title for sheet in book.worksheets)
    return tuple(names)


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
            raise _bomb()
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    except _Unreadable:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl raises many exceptions for malformed XML
        raise _Unreadable(f"is not a valid XLSX file: {error}") from None
    try:
        yield book
    finally:
        book.close()


def _read_xlsx(handle: BinaryIO, faults: Faults, *, sheet: str | None = None) -> Iterator[_Cells]:
    with _workbook(handle) as book:
        table = book.worksheets[0] if sheet is None else book[sheet]
        if sheet is None and len(book.worksheets) > 1:
            others = ", ".join(repr(other.title) for other in book.worksheets[1:])
            faults.warn(None, None, f"has several sheets; {table.title!r} is read, not {others}")
        header: list[str] | None = None
        table.reset_dimensions()  # otherwise each row is padded to the size that the sheet declares
        left = MOST_CELLS
        for number, values in enumerate(table.iter_rows(values_only=True), 1):
            left -= len(values)
            if left < 0:
                what = f"has over {MOST_CELLS:,} cells, most of them empty; delete the cells far from the table"
                raise _Unreadable(what)
            cells = ["" if value is None else plain(value) for value in values]
            if all(value == "" for value in cells):
                continue
            if header is None:
                while cells and cells[-1] == "":
                    cells.pop()
                header = [str(value) or f"column {position}" for position, value in enumerate(cells, 1)]
                if not _is_valid_header(header, faults):
                    return
            elif any(value != "" for value in cells[len(header) :]):
                faults.add(number, None, f"has a cell to the right of the {len(header)} columns of the first row")
            else:
                yield number, dict(zip(header, [*cells, *[""] * len(header)], strict=False))


def _read_lines(lines: Iterator[bytes], faults: Faults) -> Iterator[_Cells]:
    for number, line in _lines(lines, faults):
        if line is not None:
            yield number, {"text": line.rstrip("\r\n")}


MOST_OF_A_PICKLE = 2_000_000
"""Maximum number of values in a pickle after expansion, because a value may be referenced any number of times."""


class _NumberType:
    """Stand-in for `numpy.dtype`: type letter, size and byte order."""

    def __init__(self, code: str, *_: Any) -> None:
        if not re.fullmatch(r"[fiu][1248]|b1", code):
            raise pickle.UnpicklingError(f"it contains values of type {code!r} instead of plain numbers")
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1] if state[1] in ("<", ">") else "<"


def _number_of(kind: _NumberType, content: bytes) -> int | float | bool:
    """Stand-in for `numpy.core.multiarray.scalar`."""
    import numpy as np

    number: int | float | bool = np.frombuffer(content, kind.order + kind.code, 1)[0].item()
    return number


class _Unpickler(pickle.Unpickler):
    """Unpickler for lists, dicts, strings, numbers and NumPy scalars only."""

    _ALLOWED: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy", "dtype"): _NumberType,
        ("numpy.core.multiarray", "scalar"): _number_of,
        ("numpy._core.multiarray", "scalar"): _number_of,
    }

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in self._ALLOWED:
            raise pickle.UnpicklingError(
                f"it refers to {module_name}.{global_name}, which is not allowed; check its source"
            )
        return self._ALLOWED[module_name, global_name]


def _read_pickle(handle: BinaryIO, faults: Faults) -> Iterator[_Cells]:
    """Yield the records of a pickled dict, each with its key as a column."""
    try:
        records = _Unpickler(handle).load()
    except Exception as error:  # noqa: BLE001 - unpickling a damaged file can raise anything
        raise _Unreadable(f"is not a valid pickle: {str(error) or type(error).__name__}") from None
    if not isinstance(records, dict):
        raise _Unreadable(f"contains {describe(records)}; give the pickle of a dict of records")
    left = MOST_OF_A_PICKLE

    def plain(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    for number, (key, value) in enumerate(records.items(), 1):
        if not isinstance(value, dict) or not isinstance(key, str | int):
            faults.add(number, None, f"is {describe(value)}, not a dict of columns")
            continue
        try:
            cells = plain(value)
        except (ValueError, RecursionError):
            raise _Unreadable("contains too many values, or values within themselves", number) from None
        yield number, {RECORD_ID: str(key), **cells}
