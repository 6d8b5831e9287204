"""Read the judgments of single summaries from a run without loading all judgments."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json

from summeter.data.folder import JUDGMENTS
from summeter.data.human import RAW
from summeter.records import Document, InputError, Judgment, KeyFacts, whole_lines
from summeter.runs.progress import DoneItems, DoneKey
from summeter.runs.run import FAILURES, Failure, RunFolder, as_judgments, prepared_rows
from summeter.scoring import dedupe

R = TypeVar("R", Judgment, Failure)
Known: TypeAlias = "tuple[list[Path], dict[tuple[str, str], array[int]]]"
"""Files; and for each (document, system): file number, start and length of consecutive lines, repeated."""


class SummaryReader:
    """Read the records about a summary from JSON Lines files when they are requested.

    Only offsets are held in memory: about 250 bytes per summary, and 24 bytes for each file with lines about the
    summary. The lines about a pair belong to both summaries.
    """

    def __init__(self, only: Collection[tuple[str, str]] | None = None, files: Iterable[Path] = ()) -> None:
        """Create a reader of files of judgments, or of the lines whose (document, system) is in `only`."""
        self._only = only
        self._files: list[Path] = []
        self._offsets: dict[tuple[str, str], array[int]] = {}
        for file in files:
            self._index(file)

    @property
    def known(self) -> Known:
        """The files, and the offsets of the lines about each summary, from which an equal reader can be made."""
        return self._files, self._offsets

    @known.setter
    def known(self, known: Known) -> None:
        self._files, self._offsets = known

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield (document, system) for every summary with records, alone or in a pair."""
        return iter(self._offsets)

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """Return all judgments of a summary, alone or in a pair.

        The judgments are sorted by file, and within a file by position.

        Raises InputError if a file has changed since the reader was created.
        """
        return [_parse(Judgment, file, line, document_id, system) for file, line in self._lines(document_id, system)]

    def _index(self, file: Path, items: Container[DoneKey] | None = None) -> None:
        """Index the lines of a file of judgments or failures, if the file exists.

        If `items` is given, only the lines of these items are indexed.
        """
        self._files.append(file)
        with closing(whole_lines(file)) as lines:
            start = 0
            for line in lines:
                row = from_json(line)
                target = row.get("target", row)  # a line about a failure has no target
                document_id, systems = target["document_id"], (target["system"], target.get("rival"))
                if items is None or (row["signature"], document_id, *systems) in items:
                    self._add(document_id, systems, start, len(line))
                start += len(line)

    def _add(self, document_id: str, systems: Iterable[str | None], start: int, length: int) -> None:
        """Record the offset of lines in the last file for the summaries by these systems."""
        if not length:  # an item without judgments, whose file may not exist
            return
        number = len(self._files) - 1
        for system in systems:
            if system is None or (self._only is not None and (document_id, system) not in self._only):
                continue
            offsets = self._offsets.setdefault((document_id, system), array("q"))
            if offsets and offsets[-3] == number and offsets[-2] + offsets[-1] == start:
                offsets[-1] += length
            else:
                offsets.extend((number, start, length))

    def _lines(self, document_id: str, system: str) -> Iterator[tuple[Path, bytes]]:
        offsets = self._offsets.get((document_id, system), array("q"))
        for number, start, length in zip(offsets[::3], offsets[1::3], offsets[2::3], strict=True):
            file = self._files[number]
            with file.open("rb") as handle:
                handle.seek(start)
                lines = handle.read(length)
            if len(lines) < length:
                raise _changed(file)
            for line in lines.splitlines():
                yield file, line


def human_reader(run: RunFolder, only: Collection[tuple[str, str]] | None = None) -> SummaryReader:
    """Return a reader of the human judgments in a run's copy of the data."""
    return SummaryReader(only, [run.folder / "data" / JUDGMENTS / f"{RAW}.jsonl"])


class RunReader(SummaryReader):
    """Read the judgments of a run, like `RunFolder.judgments`."""

    def __init__(
        self, run: RunFolder, only: Collection[tuple[str, str]] | None = None, known: Known | None = None
    ) -> None:
        super().__init__(only)
        self._models = {judge.signature: judge.model for judge in run.manifest.judges}
        self._failures = run.folder / FAILURES
        if known is not None:
            self.known = known
            return
        failed = {failure.key for failure in run.failures() if failure.status == "error"}
        for file, all_items, offsets, _ in run.confirmed().values():
            rows = np.arange(len(all_items))
            if self._only is not None:
                documents, systems = ({item[index] for item in self._only} for index in (0, 1))
                about = all_items.system.equal(*systems) | all_items.rival.equal(*systems)
                rows = rows[all_items.document.equal(*documents) & about]
            items = all_items.take(rows)
            done = items.done() if offsets is None or failed else DoneItems()
            if offsets is None:
                self._index(file, done)
            else:
                self._files.append(file)
                starts, ends = offsets.starts[rows].tolist(), offsets.starts[rows + 1].tolist()
                for (document_id, *names), start, end in zip(items.items(), starts, ends, strict=True):
                    self._add(document_id, names, start, end - start)
            failed = {key for key in failed if key not in done}
        self._index(self._failures, failed)

    def read(self, document_id: str, system: str) -> list[Judgment]:
        """Return the judgments of a summary, sorted by judge; see `SummaryReader.read`."""
        rows: list[Judgment] = []
        last: dict[DoneKey, Failure] = {}
        for file, line in self._lines(document_id, system):
            if file != self._failures:
                rows.append(_parse(Judgment, file, line, document_id, system))
            elif (failure := _parse(Failure, file, line, document_id, system)).status == "error":
                last[failure.key] = failure
        for failure in last.values():
            rows.extend(as_judgments(failure, self._models))
        return dedupe(rows)


def key_fact_lists(run: RunFolder, documents: Iterable[Document]) -> dict[str, KeyFacts]:
    """Return the lists of key facts to which judgments may refer, by id: those of documents and of prepared data."""
    lists = [KeyFacts.of(document.key_facts, "given") for document in documents if document.key_facts]
    for judge in run.manifest.judges:
        # Prepared data of an evaluator, with `key_facts` (strings) and their `origin`
        rows = prepared_rows(judge.prepared_in(run.folder))
        lists += [facts for _, row in rows if (facts := _facts(row["data"])) is not None]
    # A list from the data takes precedence over an equal list from elsewhere.
    return {facts.id: facts for facts in reversed(lists)}


def _facts(data: object) -> KeyFacts | None:
    if not isinstance(data, Mapping):
        return None
    texts, origin = data.get("key_facts"), data.get("origin")
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)):
        return None
    return KeyFacts.of(texts, origin if origin in ("given", "reference", "document") else "document")


def _parse(record: type[R], file: Path, line: bytes, document_id: str, system: str) -> R:
    """Return a line as a record.

    Raises InputError if it is not about the summary, which means that another process changed the file.
    """
    try:
        row = record.model_validate_json(line)
    except ValidationError as error:
        raise _changed(file) from error
    target = row.target if isinstance(row, Judgment) else row
    if target.document_id != document_id or system not in (target.system, target.rival):
        raise _changed(file)
    return row


def _changed(file: Path) -> InputError:
    return InputError.at(file, "was changed while it was read. Run the command again")
