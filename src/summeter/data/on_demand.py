"""Read records of large JSON Lines files when they are accessed."""

from __future__ import annotations

import threading
import weakref
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar, overload

from pydantic import ValidationError

from summeter.records import InputError, Summary

_R = TypeVar("_R")


class LineFile:
    """An open file whose lines are read by byte offset. Instances are thread-safe.

    The instance holds a reference to `owner`, such as the temporary folder that contains the file.
    """

    def __init__(self, path: Path, owner: object = None) -> None:
        self.path, self._owner = path, owner
        self._handle = path.open("rb")
        self._lock = threading.Lock()
        weakref.finalize(self, self._handle.close)

    def line(self, start: int) -> bytes:
        """Return the line that starts at a byte offset."""
        with self._lock:
            self._handle.seek(start)
            return self._handle.readline()

    def damaged(self, start: int, error: ValueError) -> InputError:
        """Return the error for a line that was valid when the file was opened."""
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        message = f"the line at byte {start:,} is invalid ({why}) because the file was changed; import the data again"
        return InputError.at(self.path, message)


class StoredMapping(Mapping[str, _R], Generic[_R]):
    """Records by id, in the order of `starts`.

    `starts` maps each id to the byte offset of the line, and `make` parses a line.
    """

    def __init__(self, file: LineFile, starts: Mapping[str, int], make: Callable[[bytes], _R]) -> None:
        self._file, self._starts, self._make = file, starts, make
        self._last: tuple[str, _R] | None = None

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._starts)

    def __contains__(self, key: object) -> bool:
        return key in self._starts

    def __getitem__(self, key: str) -> _R:
        last = self._last
        if last is not None and last[0] == key:  # the summaries of a document access it in succession
            return last[1]
        start = self._starts[key]
        try:
            record = self._make(self._file.line(start))
        except ValueError as error:
            raise self._file.damaged(start, error) from error
        self._last = key, record
        return record

    def of(self, kept: Container[str]) -> StoredMapping[_R]:
        """Return the mapping restricted to these ids."""
        return StoredMapping(self._file, {key: at for key, at in self._starts.items() if key in kept}, self._make)


class StoredSummaries(Sequence[Summary]):
    """Summaries that are read when accessed; document ids and systems are held in memory.

    `starts`, `documents` and `kinds` have one entry per summary: the byte offset of the line, the index of the document
    id in `ids`, and the index of the (system, splitter) pair in `names`.
    """

    def __init__(
        self,
        file: LineFile,
        starts: Sequence[int],
        documents: Sequence[int],
        kinds: Sequence[int],
        ids: Sequence[str],
        names: Sequence[tuple[str, str]],
    ) -> None:
        self._file, self._starts, self._documents, self._kinds = file, starts, documents, kinds
        self._ids, self._names = ids, names

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Summary: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Summary, ...]: ...
    def __getitem__(self, index: int | slice) -> Summary | tuple[Summary, ...]:
        if isinstance(index, slice):
            return tuple(map(self._read, self._starts[index]))
        return self._read(self._starts[index])

    def __iter__(self) -> Iterator[Summary]:
        return map(self._read, self._starts)

    def _read(self, start: int) -> Summary:
        try:
            return Summary.model_validate_json(self._file.line(start))
        except ValidationError as error:
            raise self._file.damaged(start, error) from error

    def keys(self) -> Iterator[tuple[str, str]]:
        """Yield the document id and the system of each summary, without reading the summaries."""
        pairs = zip(self._documents, self._kinds, strict=True)
        return ((self._ids[document], self._names[kind][0]) for document, kind in pairs)

    @property
    def splitters(self) -> set[str]:
        """The sentence splitters of the summaries."""
        return {self._names[kind][1] for kind in set(self._kinds)}

    def take(self, indexes: Iterable[int]) -> StoredSummaries:
        """Return the summaries at these indexes, in the order of the indexes."""
        chosen = list(indexes)
        starts, documents, kinds = (
            array("q", (column[index] for index in chosen)) for column in (self._starts, self._documents, self._kinds)
        )
        return StoredSummaries(self._file, starts, documents, kinds, self._ids, self._names)


def records_of(records: Mapping[str, _R], kept: Container[str]) -> Mapping[str, _R]:
    """Return the mapping, which may be stored, restricted to these ids."""
    if isinstance(records, StoredMapping):
        return records.of(kept)
    return {key: record for key, record in records.items() if key in kept}


def summaries_at(summaries: Sequence[Summary], indexes: Iterable[int]) -> Sequence[Summary]:
    """Return the summaries, which may be stored, at these indexes."""
    if isinstance(summaries, StoredSummaries):
        return summaries.take(indexes)
    return tuple(summaries[index] for index in indexes)


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (byte offset, line) for each line of a file, or nothing if the file does not exist."""
    if not path.exists():
        return
    start = 0
    with path.open("rb") as handle:
        for line in handle:
            yield start, line
            start += len(line)
