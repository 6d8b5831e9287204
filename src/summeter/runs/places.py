"""Where the judgments of each summary stand in a run's files: to read those of one without holding those of all."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from summeter.data.folder import JUDGMENTS
from summeter.data.human import RAW
from summeter.records import InputError, Judgment, Record
from summeter.runs.run import FAILURES, DoneKey, Failure, RunFolder, as_judgments
from summeter.scoring import dedupe

R = TypeVar("R", bound=Record)


class Places:
    """Where lines about each summary stand in some files: some 250 bytes a summary, and 24 for each file it is in.

    The lines of a pair stand with both of its summaries.
    """

    def __init__(self) -> None:
        self._files: list[Path] = []
        # (document, system) -> number of a file, start and length of lines that stand together; and so on.
        self._at: dict[tuple[str, str], array[int]] = {}

    def add(self, file: Path, kept: Container[DoneKey] | None = None) -> None:
        """Find the lines of a file of judgments or failures, if there is one: those of items `kept`, else all."""
        self._files.append(file)
        if not file.exists():
            return
        with file.open("rb") as lines:
            start = 0
            for line in lines:
                if not line.endswith(b"\n"):  # torn: the writer was killed
                    return
                signature, document_id, *systems = _item(from_json(line))
                if kept is None or (signature, document_id, *systems) in kept:
                    for system in systems:
                        if system is not None:
                            self._put((document_id, system), start, len(line))
                start += len(line)

    def _put(self, summary: tuple[str, str], start: int, length: int) -> None:
        number = len(self._files) - 1
        places = self._at.setdefault(summary, array("q"))
        if places and places[-3] == number and places[-2] + places[-1] == start:
            places[-1] += length
        else:
            places.extend((number, start, length))

    def summaries(self) -> Iterator[tuple[str, str]]:
        """(document, system) of every summary that some line is about, alone or in a pair."""
        return iter(self._at)

    def lines(self, document_id: str, system: str) -> Iterator[tuple[Path, bytes]]:
        """The lines about a summary, each with its file, in the order of files and lines.

        Raises InputError where a file has become shorter than it was.
        """
        found = self._at.get((document_id, system), array("q"))
        for number, start, length in zip(found[::3], found[1::3], found[2::3], strict=True):
            file = self._files[number]
            with file.open("rb") as opened:
                opened.seek(start)
                held = opened.read(length)
            if len(held) < length:
                raise _changed(file)
            for line in held.splitlines():
                yield file, line


class ItemReader:
    """The judgments of any summary of a run, read when they are asked for: those that `RunFolder.judgments` gives."""

    def __init__(self, run: RunFolder) -> None:
        self._places = Places()
        self._models = {judge.signature: judge.model for judge in run.manifest.judges}
        self._failures = run.folder / FAILURES
        self._done = {entry.key for entry in run.progress()}
        for judge in run.manifest.judges:
            self._places.add(run.folder / "judgments" / f"{judge.file}.jsonl", self._done)
        failed = {failure.key for failure in run.failures() if failure.status == "error"}
        self._places.add(self._failures, failed - self._done)

    def items(self) -> Iterator[tuple[str, str]]:
        """(document, system) of every summary that was judged, alone or in a pair."""
        return self._places.summaries()

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """One judgment a question on this summary, alone or in a pair; judge by judge, in order of writing.

        Raises InputError where the run's files have changed since they were looked through.
        """
        found: list[Judgment] = []
        last: dict[DoneKey, Failure] = {}
        for file, line in self._places.lines(document_id, system):
            if file != self._failures:
                found.append(_read(Judgment, file, line))
            elif (failure := _read(Failure, file, line)).status == "error":
                last[failure.key] = failure
        for failure in last.values():
            found.extend(as_judgments(failure, self._models))
        _check(found, document_id, system, self._failures.parent)
        return dedupe(found)


class PeopleReader:
    """What people said of any summary in a run's own copy of the data, read when it is asked for."""

    def __init__(self, run: RunFolder) -> None:
        self._places = Places()
        self._file = run.folder / "data" / JUDGMENTS / f"{RAW}.jsonl"
        self._places.add(self._file)

    def items(self) -> Iterator[tuple[str, str]]:
        """(document, system) of every summary that people judged."""
        return self._places.summaries()

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """Everything people said of this summary, in order. InputError where the file has changed meanwhile."""
        found = [_read(Judgment, file, line) for file, line in self._places.lines(document_id, system)]
        _check(found, document_id, system, self._file)
        return found


def _item(row: dict[str, Any]) -> DoneKey:
    """The item of a line of judgments (which has a target) or of failures."""
    target = row.get("target", row)
    return row["signature"], target["document_id"], target["system"], target.get("rival")


def _read(kind: type[R], file: Path, line: bytes) -> R:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise _changed(file) from error


def _check(found: list[Judgment], document_id: str, system: str, file: Path) -> None:
    """InputError unless all are about this summary: where they were found, another writer has put others since."""
    for one in found:
        if one.target.document_id != document_id or system not in (one.target.system, one.target.rival):
            raise _changed(file)


def _changed(file: Path) -> InputError:
    return InputError.at(file, None, None, "was changed while it was read; do the same once more")
