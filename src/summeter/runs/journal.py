"""Writing a run so that a kill at any point loses nothing that was finished.

One item's judgments by one evaluator are one append; a line in progress.jsonl then says they are there, how many, and
their checksum. On opening, judgments that no line confirms are dropped wherever they stand, and lines whose judgments
are not all there as they were written are dropped too, so that such an item is judged again, from stored calls where
there are any. When a run ends, its files are put into the order of the data, so that equal runs have equal files
whatever the order of completion was.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

import numpy as np
from pydantic import ValidationError
from pydantic_core import from_json

from summeter.data.atomic import sweep, write_lines, write_text, writing
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
    item_places,
)
from summeter.runs.run import CHECKSUMS, FAILURES, MANIFEST, Failure, checksums_of, prepared_rows
from summeter.stats.base import Bools, Ints

SEALS = "checksums.json"
"""The checksums of the facts of a run that has ended (`runs.seals`); none while it is written."""

LOCK = ".lock"
_BLOCK = 1 << 20

log = logging.getLogger(__name__)


class Order(Protocol):
    """Where each item, and each document, stands in the data."""

    def __getitem__(self, key: ItemKey) -> int: ...
    def of_document(self, document_id: str) -> int: ...


class Journal:
    """The one writer of a run's folder. A second one, in any process, is refused while it is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "judgments").mkdir(parents=True, exist_ok=True)
        (folder / "prepared").mkdir(exist_ok=True)
        self._lock = _lock(folder)
        for place in (folder, folder / "judgments", folder / "prepared"):
            sweep(place)
        self._files: dict[Path, IO[bytes]] = {}
        self._broken: OSError | None = None
        self._prepared: dict[tuple[str, str], str] = {}
        self.done = DoneItems()
        """Which items each judge has finished."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def broken(self) -> OSError | None:
        """The write that failed, if one did; nothing is written after it."""
        return self._broken

    def close(self) -> None:
        """Close every file and let the next writer in."""
        self._close_files()
        self._lock.close()

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def manifest(self, manifest: Manifest) -> None:
        """Replace run.json in one step."""
        fields = manifest.model_dump(mode="json", by_alias=True)
        text = json.dumps({**fields, CHECKSUMS: checksums_of(fields)}, ensure_ascii=False, indent=2)
        write_text(self.folder / MANIFEST, text + "\n")

    def repair(self, judges: Sequence[JudgeEntry]) -> list[Fault]:
        """Read what is finished, and drop what a killed or failed writer left unconfirmed, or what is damaged. Returns
        what was damaged: the lines that could not be read, the items whose judgments have changed."""
        damaged: list[Fault] = []
        (self.folder / SEALS).unlink(missing_ok=True)
        for name in (PROGRESS, FAILURES):
            _cut_torn_line(self.folder / name)
        self._drop_damaged_failures(damaged)
        before = len(damaged)
        items = ProgressTable.read(self.folder / PROGRESS, damaged)
        sound = np.zeros(len(items), np.bool_)
        self.done = DoneItems()
        for judge in judges:
            rows = items.of_judge(judge.signature)
            own = items.take(rows)
            known = self._repair_prepared(judge, damaged)
            lost = np.array([name is not None and name not in known for name in own.prepared.names], np.bool_)
            sound[rows], items.checksum[rows] = self._repair_judgments(judge, own, lost[own.prepared.codes], damaged)
            self.done.add_all(judge.signature, items.take(rows[sound[rows]]).keys())
        if not sound.all() or len(damaged) > before:
            write_lines(self.folder / PROGRESS, items.take(sound).lines())
        return damaged

    def _drop_damaged_failures(self, damaged: list[Fault]) -> None:
        file, faults = self.folder / FAILURES, list[Fault]()
        failures = [failure.line for failure in read_lines(file, Failure, faults)]
        if faults:
            write_lines(file, failures)
            damaged.extend(faults)

    def _repair_prepared(self, judge: JudgeEntry, damaged: list[Fault]) -> set[str]:
        """Drop the damaged rows of what a judge prepared; returns the ids of the others."""
        file, faults = self.folder / "prepared" / f"{judge.file}.jsonl", list[Fault]()
        _cut_torn_line(file)
        known = set()
        for _, row in prepared_rows(file, faults):
            self._prepared[judge.signature, row["document_id"]] = row["id"]
            known.add(row["id"])
        if faults:
            write_lines(file, (json.dumps(row, ensure_ascii=False) for _, row in prepared_rows(file, [])))
            damaged.extend(faults)
        return known

    def _repair_judgments(
        self, judge: JudgeEntry, items: ProgressTable, lost: Bools, damaged: list[Fault]
    ) -> tuple[Bools, Ints]:
        """Drop the judgments of items that are `lost`, or not there as they were written; returns which of the others
        are sound, and the checksums of all."""
        file = self.folder / "judgments" / f"{judge.file}.jsonl"
        _cut_torn_line(file)
        if not lost.any() and (places := item_places(file, items)) is not None:
            end = int(places.starts[-1])
            if file.exists() and end < file.stat().st_size:
                damaged.extend(_damaged_behind(file, end, int(places.lines[-1])))
                os.truncate(file, end)
            return ~lost, items.checksum
        lines = JudgmentLines(file, items)
        sound = lines.whole & ~lost
        damaged.extend(lines.damaged)
        damaged.extend(lines.alterations())
        kept = (lines.of >= 0) & sound[lines.of]  # the last row, at -1, is masked by the first condition
        if not kept.all():
            rest = (line for line, keep in zip(whole_lines(file), kept.tolist(), strict=True) if keep)
            write_lines(file, (line.decode().removesuffix("\n") for line in rest))
        return sound, lines.checksums

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Add one item's judgments by one evaluator, then the line that confirms them."""
        self.judged_lines(judge, item, [f"{row.line}\n".encode() for row in judgments])

    def judged_lines(self, judge: JudgeEntry, item: ItemKey, lines: Sequence[bytes]) -> None:
        """`judged`, of judgments that are lines of JSON already, each with its line feed."""
        self._append(self.folder / "judgments" / f"{judge.file}.jsonl", lines)
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
        """Forget all that a judge has finished. After a kill in between, `repair` drops what is left of it."""
        self._close_files()
        self.done.drop(judge.signature)
        items = ProgressTable.read(self.folder / PROGRESS)
        write_lines(self.folder / PROGRESS, items.take(~items.signature.equal(judge.signature)).lines())
        (self.folder / "judgments" / f"{judge.file}.jsonl").unlink(missing_ok=True)

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Add what an evaluator derived for a document."""
        line = json.dumps(row, ensure_ascii=False)
        self._append(self.folder / "prepared" / f"{judge.file}.jsonl", [f"{line}\n".encode()])
        self._prepared[judge.signature, row["document_id"]] = row["id"]

    def failed(self, failure: Failure) -> None:
        """Add one failure."""
        self._append(self.folder / FAILURES, [f"{failure.line}\n".encode()])

    def sync(self) -> None:
        """Have what was added so far on the disk itself, where it outlives the machine."""
        try:
            for file in self._files.values():
                os.fsync(file.fileno())
        except OSError as error:
            self._broken = error
            raise

    def _append(self, path: Path, lines: Sequence[bytes]) -> None:
        if self._broken is not None:
            # What follows a failed append could not be told from what belongs to it.
            raise OSError(self._broken.errno or errno.EIO, f"nothing more is written after: {self._broken}")
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
            self._broken = error
            raise

    def sort_files(self, judges: Sequence[JudgeEntry], order: Order) -> None:
        """Put the judgments, prepared rows, progress and failures into the order of the data, each file in one step."""
        self._close_files()
        items = ProgressTable.read(self.folder / PROGRESS)
        ranks = np.fromiter(map(order.__getitem__, items.items()), np.int64, len(items))
        for judge in judges:
            file, rows = self.folder / "judgments" / f"{judge.file}.jsonl", items.of_judge(judge.signature)
            places = item_places(file, items.take(rows))
            if places is None or places.more:
                _sort_lines(file, lambda line: (order[judged_item(line)[1:]],))
            elif file.exists():
                _rearrange(file, places.starts, np.argsort(ranks[rows], kind="stable"))
            _sort_lines(
                self.folder / "prepared" / f"{judge.file}.jsonl",
                lambda line: (order.of_document(from_json(line)["document_id"]),),
            )
        place = {judge.signature: index for index, judge in enumerate(judges)}

        def of_item(line: bytes) -> tuple[int, int]:
            signature, document_id, system, rival = _item_of(line)
            return place.get(signature, len(place)), order[document_id, system, rival]

        for name in (PROGRESS, FAILURES):
            _sort_lines(self.folder / name, of_item)


def _item_of(line: bytes) -> DoneKey:
    """(signature, document, system, rival) of a line of progress or of failures."""
    row = from_json(line)
    return row["signature"], row["document_id"], row["system"], row.get("rival")


def judged_item(line: bytes) -> DoneKey:
    """(signature, document, system, rival) of a line of judgments."""
    row = from_json(line)
    target = row["target"]
    return row["signature"], target["document_id"], target["system"], target.get("rival")


def _sort_lines(file: Path, rank: Callable[[bytes], tuple[int, ...]]) -> None:
    """Sort a file's lines by rank, keeping the order within a rank; memory holds some numbers a line."""
    if not file.exists():
        return
    starts, ranks = array("q", [0]), array("q")
    width = 1
    with file.open("rb") as lines:
        for line in lines:
            place = rank(line)
            width = len(place)
            ranks.extend(place)
            starts.append(starts[-1] + len(line))
    places = np.frombuffer(ranks, np.int64).reshape(-1, width)
    _rearrange(file, np.frombuffer(starts, np.int64), np.lexsort(places.T[::-1]))  # a stable sort


def _rearrange(file: Path, starts: Ints, order: Ints) -> None:
    """Put stretches of a file into another order; stretch `i` reaches from byte `starts[i]` to `starts[i + 1]`."""
    turns = np.flatnonzero(np.diff(order) != 1) + 1
    if not len(turns):
        return
    with file.open("rb") as source, writing(file) as target:
        for stretch in np.split(order, turns):
            source.seek(starts[stretch[0]])
            left = int(starts[stretch[-1] + 1] - starts[stretch[0]])
            while block := source.read(min(left, _BLOCK)):
                left -= target.write(block)


def _cut_torn_line(file: Path) -> None:
    """Drop what stands behind the last line break."""
    if not file.exists():
        return
    with file.open("rb+") as data:
        size = data.seek(0, os.SEEK_END)
        end = size
        while end > 0:
            start = max(0, end - 65536)
            data.seek(start)
            last = data.read(end - start).rfind(b"\n")
            if last >= 0:
                end = start + last + 1
                break
            end = start
        if end < size:
            data.truncate(end)


def _damaged_behind(file: Path, end: int, number: int) -> Iterator[Fault]:
    """What is wrong with the lines of a file of judgments that stand behind its first `number`, which `end` there."""
    with file.open("rb") as lines:
        lines.seek(end)
        for place, line in enumerate(lines, number + 1):
            try:
                Judgment.model_validate_json(line)
            except ValidationError as error:
                yield damaged_line(file, place, error)


def is_being_written(folder: Path) -> bool:
    """Whether a process has the run open to write it."""
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
    """Let no other process write or remove the run meanwhile. UsageError where one is writing it."""
    with _lock(folder):
        yield


def _lock(folder: Path) -> IO[bytes]:
    import fcntl

    file = (folder / LOCK).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UsageError(f"{folder}: another process is writing this run; wait for it or choose another -o") from error
    return file
