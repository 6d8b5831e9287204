"""Where the judgments of each summary stand in a run's files: to read those of one without holding those of all."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Container, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from summeter.data.folder import JUDGMENTS
from summeter.data.human import RAW
from summeter.records import InputError, Judgment, Record
from summeter.runs.run import FAILURES, Failure, RunFolder, as_judgments, interned_item, item_head
from summeter.scoring import dedupe

ItemKey = tuple[str, str, str | None]
R = TypeVar("R", bound=Record)


class Places:
    """Where lines about each summary stand in some files: some 250 bytes a summary, and 24 for each file it is in.

    The lines of a pair stand with both of its summaries.
    """

    def __init__(self) -> None:
        self._files: list[Path] = []
        # (document, system) -> number of a file, start and length of lines that stand together; and so on.
        self._at: dict[tuple[str, str], array[int]] = {}

    def add(self, file: Path, kept: Container[ItemKey] | None = None) -> None:
        """Find the lines of a file of judgments, if there is one: those on items that are `kept`, else all."""
        self.open(file)
        for item, lines in groupby(_keyed(file), itemgetter(0)):
            if kept is None or item in kept:
                _, start, length = next(lines)
                self.put(item, start, length + sum(more for _, _, more in lines))

    def open(self, file: Path) -> None:
        """What is put from here on stands in this file."""
        self._files.append(file)

    def put(self, item: ItemKey, start: int, length: int) -> None:
        """Keep the place of lines on an item."""
        document_id, system, rival = item
        for name in (system,) if rival is None else (system, rival):
            place = (len(self._files) - 1, start, length)
            self._at.setdefault((document_id, name), array("q")).extend(place)

    def items(self) -> Iterator[tuple[str, str]]:
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
        done: dict[str, set[ItemKey]] = {}
        for entry in run.progress():
            done.setdefault(entry.signature, set()).add(interned_item(entry.document_id, entry.system, entry.rival))
        for judge in run.manifest.judges:
            self._places.add(
                run.folder / "judgments" / f"{judge.file}.jsonl", done.get(judge.signature, frozenset())
            )  # fmt: skip
        last: dict[tuple[str, ItemKey], tuple[int, int]] = {}
        for failure, place in zip(run.failures(), _spans(self._failures), strict=False):
            item = interned_item(failure.document_id, failure.system, failure.rival)
            if failure.status == "error" and item not in done.get(failure.signature, ()):
                last[sys.intern(failure.signature), item] = place
        self._places.open(self._failures)
        for (_, item), place in last.items():
            self._places.put(item, *place)

    def items(self) -> Iterator[tuple[str, str]]:
        """(document, system) of every summary that was judged, alone or in a pair."""
        return self._places.items()

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """One judgment a question on this summary, alone or in a pair; judge by judge, in order of writing.

        Raises InputError where the run's files have changed since they were looked through.
        """
        found: list[Judgment] = []
        for file, line in self._places.lines(document_id, system):
            if file == self._failures:
                found.extend(as_judgments(_read(Failure, file, line), self._models))
            else:
                found.append(_read(Judgment, file, line))
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
        return self._places.items()

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """Everything people said of this summary, in order. InputError where the file has changed meanwhile."""
        found = [_read(Judgment, file, line) for file, line in self._places.lines(document_id, system)]
        _check(found, document_id, system, self._file)
        return found


def _keyed(file: Path) -> Iterator[tuple[ItemKey, int, int]]:
    """The item of every line, and its start and length. A torn last line (a killed writer) is passed over."""
    if not file.exists():
        return
    with file.open("rb") as lines:
        start, head, item = 0, b"", interned_item("", "", None)
        for line in lines:
            if not line.endswith(b"\n"):
                return
            found = item_head(line)
            if not found or found != head:
                target = json.loads(line)["target"]
                item = interned_item(target["document_id"], target["system"], target.get("rival"))
                head = found
            yield item, start, len(line)
            start += len(line)


def _spans(file: Path) -> Iterator[tuple[int, int]]:
    """Start and length of every line."""
    with file.open("rb") as lines:
        start = 0
        for line in lines:
            yield start, len(line)
            start += len(line)


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
