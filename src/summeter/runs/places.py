"""Where the judgments of each summary stand in a run's files: to read those of one without holding those of all."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json

from summeter.data.folder import JUDGMENTS
from summeter.data.human import RAW
from summeter.records import InputError, Judgment, Record, whole_lines
from summeter.runs.progress import DoneKey, ProgressTable
from summeter.runs.run import FAILURES, Failure, RunFolder, as_judgments
from summeter.scoring import dedupe
from summeter.stats.base import Ints

R = TypeVar("R", bound=Record)


class SummaryReader:
    """Records about any summary, from files of JSON lines, read when they are asked for.

    Memory holds where the lines stand: some 250 bytes a summary, and 24 for each file it is in. The lines of a pair
    stand with both of its summaries.
    """

    def __init__(self, only: Collection[tuple[str, str]] | None = None) -> None:
        """`only` these summaries, if given, are found."""
        self._only = only
        self._files: list[Path] = []
        # (document, system) -> number of a file, start and length of lines that stand together; and so on.
        self._at: dict[tuple[str, str], array[int]] = {}

    def items(self) -> Iterator[tuple[str, str]]:
        """(document, system) of every summary that some line is about, alone or in a pair."""
        return iter(self._at)

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """All judgments of this summary, alone or in a pair; file by file, in order of writing.

        Raises InputError where a file has changed since it was looked through.
        """
        rows = [_parsed(Judgment, file, line) for file, line in self._lines(document_id, system)]
        return _about(rows, document_id, system, self._files[0])

    def _add(self, file: Path, kept: Container[DoneKey] | None = None) -> None:
        """Find the lines of a file of judgments or failures, if there is one: those of items `kept`, else all."""
        self._files.append(file)
        with closing(whole_lines(file)) as lines:
            start = 0
            for line in lines:
                signature, document_id, *systems = _item(from_json(line))
                if kept is None or (signature, document_id, *systems) in kept:
                    self._put(document_id, systems, start, len(line))
                start += len(line)

    def _put(self, document_id: str, systems: Iterable[str | None], start: int, length: int) -> None:
        """Note that lines of the last file are about the summaries of these systems, so far as they are wanted."""
        if not length:  # an item without judgments; its file may not exist
            return
        number = len(self._files) - 1
        for system in systems:
            if system is None or (self._only is not None and (document_id, system) not in self._only):
                continue
            places = self._at.setdefault((document_id, system), array("q"))
            if places and places[-3] == number and places[-2] + places[-1] == start:
                places[-1] += length
            else:
                places.extend((number, start, length))

    def _lines(self, document_id: str, system: str) -> Iterator[tuple[Path, bytes]]:
        places = self._at.get((document_id, system), array("q"))
        for number, start, length in zip(places[::3], places[1::3], places[2::3], strict=True):
            file = self._files[number]
            with file.open("rb") as handle:
                handle.seek(start)
                lines = handle.read(length)
            if len(lines) < length:
                raise _changed(file)
            for line in lines.splitlines():
                yield file, line


class HumanReader(SummaryReader):
    """What people said of the summaries in a run's own copy of the data."""

    def __init__(self, run: RunFolder, only: Collection[tuple[str, str]] | None = None) -> None:
        super().__init__(only)
        self._add(run.folder / "data" / JUDGMENTS / f"{RAW}.jsonl")


class RunReader(SummaryReader):
    """The judgments of a run: those that `RunFolder.judgments` gives, one a question."""

    def __init__(self, run: RunFolder, only: Collection[tuple[str, str]] | None = None) -> None:
        super().__init__(only)
        self._models = {judge.signature: judge.model for judge in run.manifest.judges}
        failed = {failure.key for failure in run.failures() if failure.status == "error"}
        for file, items, places, _ in run.confirmed().values():
            rows = self._wanted(items)
            own = items.take(rows)
            done = own.done()
            if places is None:
                self._add(file, done)
            else:
                self._place(file, own, places.starts[rows], places.starts[rows + 1])
            failed = {key for key in failed if key not in done}
        self._failures = run.folder / FAILURES
        self._add(self._failures, failed)

    def _wanted(self, items: ProgressTable) -> Ints:
        """The rows of items that are about a summary that is to be found."""
        rows = np.arange(len(items))
        if self._only is None:
            return rows
        documents, systems = ({item[place] for item in self._only} for place in (0, 1))
        named = items.system.equal(*systems) | items.rival.equal(*systems)
        return rows[items.document.equal(*documents) & named]

    def _place(self, file: Path, items: ProgressTable, starts: Ints, ends: Ints) -> None:
        """Note where the lines of these items begin and end, without reading them."""
        self._files.append(file)
        for (document_id, *systems), start, end in zip(items.items(), starts.tolist(), ends.tolist(), strict=True):
            self._put(document_id, systems, start, end - start)

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """One judgment a question on this summary, judge by judge; see `SummaryReader.read`."""
        rows: list[Judgment] = []
        last: dict[DoneKey, Failure] = {}
        for file, line in self._lines(document_id, system):
            if file != self._failures:
                rows.append(_parsed(Judgment, file, line))
            elif (failure := _parsed(Failure, file, line)).status == "error":
                last[failure.key] = failure
        for failure in last.values():
            rows.extend(as_judgments(failure, self._models))
        return dedupe(_about(rows, document_id, system, self._failures.parent))


def _item(row: dict[str, Any]) -> DoneKey:
    """The item of a line of judgments (which has a target) or of failures."""
    target = row.get("target", row)
    return row["signature"], target["document_id"], target["system"], target.get("rival")


def _parsed(kind: type[R], file: Path, line: bytes) -> R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise _changed(file) from error


def _about(rows: list[Judgment], document_id: str, system: str, file: Path) -> list[Judgment]:
    """The rows; InputError unless all are about this summary: another writer has put others in their place."""
    for row in rows:
        if row.target.document_id != document_id or system not in (row.target.system, row.target.rival):
            raise _changed(file)
    return rows


def _changed(file: Path) -> InputError:
    return InputError.at(file, None, None, "was changed while it was read; do the same once more")
