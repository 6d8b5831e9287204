"""Write a run so that a crash at any point loses no finished item.

The judgments of an item by a judge are appended in one write; then a line with their number and checksum is appended to
progress.jsonl to confirm them. When a run is opened, unconfirmed judgments are removed, and so are lines of progress
whose judgments are incomplete or changed. These items are judged again, from stored calls if possible. When a run ends,
the files are sorted in the order of the data, so that equal runs have equal files.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json

from summeter.data.atomic import sweep, write_lines, write_text, writing
from summeter.data.dataset import Dataset
from summeter.records import Fault, Judgment, UsageError, damaged_line, read_lines, whole_lines
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.progress import (
    PROGRESS,
    Done,
    DoneItems,
    DoneKey,
    ItemKey,
    JudgmentLines,
    ProgressTable,
    checksum,
    item_checksum,
    item_offsets,
)
from summeter.runs.run import CHECKSUMS, FAILURES, MANIFEST, Failure, checksums_of, prepared_rows
from summeter.stats.base import Bools, Ints

CHECKSUM_FILE = "checksums.json"
"""Name of the file with the checksums of a run that has ended (see `runs.checksums`)."""

LOCK = ".lock"
_BLOCK = 1 << 20

log = logging.getLogger(__name__)


class ItemOrder:
    """The positions of items in the data, looked up by `order[document, system, rival]`.

    Pairs follow their first summary and are ordered by their second summary. Each distinct list of systems is stored
    once.

    >>> from summeter.data.dataset import load
    >>> order = ItemOrder(load([{"doc_id": "d", "system": name, "document": "x", "summary": "y"} for name in "ab"]))
    >>> order["d", "a", None] < order["d", "a", "b"] < order["d", "b", None], order.of_document("d")
    (True, 0)
    """

    def __init__(self, data: Dataset) -> None:
        self._step = len(data) + 1
        self._positions: dict[str, int] = {}
        self._first, self._systems = array("q"), list[dict[str, int]]()
        by_systems: dict[tuple[str, ...], dict[str, int]] = {}
        first = 0
        for document_id, names in data.systems_by_document().items():
            systems = tuple(names)
            if systems not in by_systems:
                by_systems[systems] = {system: index for index, system in enumerate(systems)}
            self._positions[document_id] = len(self._first)
            self._first.append(first)
            self._systems.append(by_systems[systems])
            first += len(systems)

    def __getitem__(self, key: ItemKey) -> int:
        document_id, system, rival = key
        document = self._positions[document_id]
        first, systems = self._first[document], self._systems[document]
        position = (first + systems[system]) * self._step
        return position if rival is None else position + 1 + first + systems[rival]

    def of_document(self, document_id: str) -> int:
        """Return the position of a document in the data, counted from 0."""
        return self._positions[document_id]


class Journal:
    """The writer of a run folder. Raises UsageError if another process has the run open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "judgments").mkdir(parents=True, exist_ok=True)
        (folder / "prepared").mkdir(exist_ok=True)
        self._lock = _lock(folder)
        for subfolder in (folder, folder / "judgments", folder / "prepared"):
            sweep(subfolder)
        self._files: dict[Path, IO[bytes]] = {}
        self.broken: OSError | None = None
        """The error of a failed write, after which nothing more is written, or None."""
        self._prepared: dict[tuple[str, str], str] = {}
        self.done = DoneItems()
        """The items that each judge has finished."""
        self.kept = 0
        """The number of judgments of earlier sessions, which `repair` counts."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all files and release the lock."""
        self._close_files()
        self._lock.close()

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def manifest(self, manifest: Manifest) -> None:
        """Replace run.json atomically."""
        fields = manifest.model_dump(mode="json", by_alias=True)
        text = json.dumps({**fields, CHECKSUMS: checksums_of(fields)}, ensure_ascii=False, indent=2)
        write_text(self.folder / MANIFEST, text + "\n")

    def repair(self, judges: Sequence[JudgeEntry]) -> list[Fault]:
        """Load the finished items, and remove unconfirmed and damaged judgments.

        Returns a fault for each line that cannot be read and each item whose judgments have been changed.
        """
        damaged: list[Fault] = []
        (self.folder / CHECKSUM_FILE).unlink(missing_ok=True)
        for name in (PROGRESS, FAILURES):
            _remove_truncated_line(self.folder / name)
        failures = [failure.line for failure in read_lines(self.folder / FAILURES, Failure, damaged)]
        if damaged:
            write_lines(self.folder / FAILURES, failures)
        before = len(damaged)
        items = ProgressTable.read(self.folder / PROGRESS, damaged)
        intact = np.zeros(len(items), np.bool_)
        self.done = DoneItems()
        for judge in judges:
            rows = items.of_judge(judge.signature)
            judge_items = items.take(rows)
            ids = self._repair_prepared(judge, damaged)
            missing = np.array([name is not None and name not in ids for name in judge_items.prepared.names], np.bool_)
            without_prepared = missing[judge_items.prepared.codes]
            repaired = self._repair_judgments(judge, judge_items, without_prepared, damaged)
            intact[rows], items.checksum[rows] = repaired
            self.done.add_all(judge.signature, items.take(rows[intact[rows]]).keys())
        self.kept = int(items.judgments[intact].sum())
        if not intact.all() or len(damaged) > before:
            write_lines(self.folder / PROGRESS, items.take(intact).lines())
        return damaged

    def _repair_prepared(self, judge: JudgeEntry, damaged: list[Fault]) -> set[str]:
        """Remove the damaged rows in a judge's prepared data, and return the ids of the other rows."""
        file, faults = judge.prepared_in(self.folder), list[Fault]()
        _remove_truncated_line(file)
        ids = set()
        for _, row in prepared_rows(file, faults):
            self._prepared[judge.signature, row["document_id"]] = row["id"]
            ids.add(row["id"])
        if faults:
            write_lines(file, (json.dumps(row, ensure_ascii=False) for _, row in prepared_rows(file, [])))
            damaged.extend(faults)
        return ids

    def _repair_judgments(
        self, judge: JudgeEntry, items: ProgressTable, dropped: Bools, damaged: list[Fault]
    ) -> tuple[Bools, Ints]:
        """Remove the judgments of `dropped` items, and incomplete or changed judgments.

        Returns a boolean mask of the other items, and the checksums of all items.
        """
        file = judge.judgments_in(self.folder)
        _remove_truncated_line(file)
        if not dropped.any() and (offsets := item_offsets(file, items)) is not None:
            end = int(offsets.starts[-1])
            if file.exists() and end < file.stat().st_size:
                with file.open("rb") as unconfirmed:
                    unconfirmed.seek(end)
                    for number, line in enumerate(unconfirmed, int(offsets.lines[-1]) + 1):
                        try:
                            Judgment.model_validate_json(line)
                        except ValidationError as error:
                            damaged.append(damaged_line(file, number, error))
                os.truncate(file, end)
            return ~dropped, items.checksum
        lines = JudgmentLines(file, items)
        intact = lines.intact & ~dropped
        damaged.extend(lines.damaged)
        damaged.extend(lines.alterations())
        kept = (lines.of >= 0) & intact[lines.of]  # the first condition masks the last row, which is selected by -1
        if not kept.all():
            kept_lines = (line for line, keep in zip(whole_lines(file), kept.tolist(), strict=True) if keep)
            write_lines(file, (line.decode().removesuffix("\n") for line in kept_lines))
        return intact, lines.checksums

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Append the judgments of an item by a judge, and then the line that confirms them."""
        self.judged_lines(judge, item, [f"{row.line}\n".encode() for row in judgments])

    def judged_lines(self, judge: JudgeEntry, item: ItemKey, lines: Sequence[bytes]) -> None:
        """Append judgments that are given as lines of JSON with line feeds; see `judged`."""
        self._append(judge.judgments_in(self.folder), lines)
        document_id, system, rival = item
        done = Done(
            signature=judge.signature,
            document_id=document_id,
            system=system,
            rival=rival,
            judgments=len(lines),
            checksum=item_checksum(item, checksum(lines)),
            prepared=self._prepared.get((judge.signature, document_id)),
        )
        self._append(self.folder / PROGRESS, [f"{done.model_dump_json()}\n".encode()])
        self.done.add(done.key)

    def drop(self, judge: JudgeEntry) -> None:
        """Remove all finished items of a judge. After an interruption, `repair` removes the rest."""
        self._close_files()
        self.done.drop(judge.signature)
        items = ProgressTable.read(self.folder / PROGRESS)
        write_lines(self.folder / PROGRESS, items.take(~items.signature.equal(judge.signature)).lines())
        judge.judgments_in(self.folder).unlink(missing_ok=True)

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Append a row of prepared data about a document."""
        line = json.dumps(row, ensure_ascii=False)
        self._append(judge.prepared_in(self.folder), [f"{line}\n".encode()])
        self._prepared[judge.signature, row["document_id"]] = row["id"]

    def failed(self, failure: Failure) -> None:
        """Append a failure."""
        self._append(self.folder / FAILURES, [f"{failure.line}\n".encode()])

    def _append(self, path: Path, lines: Sequence[bytes]) -> None:
        if self.broken is not None:
            # Lines appended after a failed write could not be distinguished from its remains.
            raise OSError(self.broken.errno or errno.EIO, f"writing stopped after an error: {self.broken}")
        if not lines:
            return
        data = b"".join(lines)
        try:
            if path not in self._files:
                self._files[path] = path.open("ab", buffering=0)
            written = self._files[path].write(data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"wrote {written} of {len(data)} bytes", str(path))
        except OSError as error:
            self.broken = error
            raise

    def sort_files(self, judges: Sequence[JudgeEntry], data: Dataset) -> None:
        """Sort judgments, prepared data, progress and failures in the order of the data.

        Each file is replaced atomically.
        """
        self._close_files()
        order, items = ItemOrder(data), ProgressTable.read(self.folder / PROGRESS)
        ranks = np.fromiter(map(order.__getitem__, items.items()), np.int64, len(items))
        for judge in judges:
            file, rows = judge.judgments_in(self.folder), items.of_judge(judge.signature)
            offsets = item_offsets(file, items.take(rows))
            if offsets is None or offsets.more:
                _sort_lines(file, lambda line: (order[judged_item(line)[1:]],))
            elif file.exists():
                _rearrange(file, offsets.starts, np.argsort(ranks[rows], kind="stable"))
            _sort_lines(
                judge.prepared_in(self.folder),
                lambda line: (order.of_document(from_json(line)["document_id"]),),
            )
        position = {judge.signature: index for index, judge in enumerate(judges)}

        def rank(line: bytes) -> tuple[int, int]:
            row = from_json(line)
            item = row["document_id"], row["system"], row.get("rival")
            return position.get(row["signature"], len(position)), order[item]

        for name in (PROGRESS, FAILURES):
            _sort_lines(self.folder / name, rank)


def judged_item(line: bytes) -> DoneKey:
    """Return (signature, document, system, rival) for a line of judgments."""
    row = from_json(line)
    target = row["target"]
    return row["signature"], target["document_id"], target["system"], target.get("rival")


def _sort_lines(file: Path, rank: Callable[[bytes], tuple[int, ...]]) -> None:
    """Sort the lines of a file by rank with a stable sort.

    Only numbers are held in memory.
    """
    if not file.exists():
        return
    starts, ranks = array("q", [0]), array("q")
    width = 1
    with file.open("rb") as lines:
        for line in lines:
            key = rank(line)
            width = len(key)
            ranks.extend(key)
            starts.append(starts[-1] + len(line))
    keys = np.frombuffer(ranks, np.int64).reshape(-1, width)
    _rearrange(file, np.frombuffer(starts, np.int64), np.lexsort(keys.T[::-1]))  # a stable sort


def _rearrange(file: Path, starts: Ints, order: Ints) -> None:
    """Reorder the ranges of bytes in a file.

    Range `i` is from `starts[i]` up to but not including `starts[i + 1]`.
    """
    breaks = np.flatnonzero(np.diff(order) != 1) + 1
    if not len(breaks):
        return
    with file.open("rb") as source, writing(file) as target:
        for ranges in np.split(order, breaks):
            source.seek(starts[ranges[0]])
            remaining = int(starts[ranges[-1] + 1] - starts[ranges[0]])
            while block := source.read(min(remaining, _BLOCK)):
                remaining -= target.write(block)


def _remove_truncated_line(file: Path) -> None:
    """Remove the bytes after the last line feed."""
    if not file.exists() or not (size := file.stat().st_size):
        return
    with file.open("rb") as data, mmap(data.fileno(), 0, access=ACCESS_READ) as content:
        end = content.rfind(b"\n") + 1
    if end < size:
        os.truncate(file, end)


def is_being_written(folder: Path) -> bool:
    """Return whether a process has the run open for writing."""
    import fcntl

    if not (folder / LOCK).is_file():
        return False
    with (folder / LOCK).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Prevent other processes from writing or removing the run while the block is executed.

    Raises UsageError if another process is writing the run.
    """
    with _lock(folder):
        yield


def _lock(folder: Path) -> IO[bytes]:
    import fcntl

    file = (folder / LOCK).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UsageError(
            f"{folder}: another process is writing to this run. Wait for it to finish, or choose a different -o"
        ) from error
    return file
