"""Records of a large JSON Lines file, parsed when they are asked for: memory holds where each line starts."""

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
    """An open file whose lines are read by the byte where they start. Threads may share it.

    `place` is kept as long as the file: the temporary folder in which the file is, if it is in one.
    """

    def __init__(self, path: Path, place: object = None) -> None:
        self.path, self._place = path, place
        self._handle = path.open("rb")
        self._lock = threading.Lock()
        weakref.finalize(self, self._handle.close)

    def line(self, start: int) -> bytes:
        """The line that starts at a byte."""
        with self._lock:
            self._handle.seek(start)
            return self._handle.readline()

    def damaged(self, start: int, error: ValueError) -> InputError:
        """The error that a line which was read before can no longer be read."""
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        message = f"the line at byte {start:,} cannot be read ({why}): the file was changed; import the data again"
        return InputError.at(self.path, None, None, message)


class StoredMapping(Mapping[str, _R], Generic[_R]):
    """Records by id, in the order of `starts`; `make` gives the record of a line."""

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
        if last is not None and last[0] == key:  # the summaries of a document ask for it one after another
            return last[1]
        start = self._starts[key]
        try:
            record = self._make(self._file.line(start))
        except ValueError as error:
            raise self._file.damaged(start, error) from error
        self._last = key, record
        return record

    def of(self, kept: Container[str]) -> StoredMapping[_R]:
        """The records with these ids alone."""
        return StoredMapping(self._file, {key: at for key, at in self._starts.items() if key in kept}, self._make)


class StoredSummaries(Sequence[Summary]):
    """Summaries, with the ids of their documents and their systems in memory.

    `starts`, `documents` and `kinds` have a number for each summary: where its line starts, the place of its document's
    id in `ids`, and the place of its system and splitter in `names`.
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
        """The id of the document and the system of each; no summary is read."""
        pairs = zip(self._documents, self._kinds, strict=True)
        return ((self._ids[document], self._names[kind][0]) for document, kind in pairs)

    @property
    def splitters(self) -> set[str]:
        """Who drew the sentences; no summary is read."""
        return {self._names[kind][1] for kind in set(self._kinds)}

    def take(self, places: Iterable[int]) -> StoredSummaries:
        """The summaries at these places alone, in the order of the places."""
        chosen = list(places)
        starts, documents, kinds = (
            array("q", (column[place] for place in chosen)) for column in (self._starts, self._documents, self._kinds)
        )
        return StoredSummaries(self._file, starts, documents, kinds, self._ids, self._names)


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line of a file with the byte where it starts; none where there is no file."""
    if not path.exists():
        return
    start = 0
    with path.open("rb") as handle:
        for line in handle:
            yield start, line
            start += len(line)
