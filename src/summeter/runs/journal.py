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
import os
import sys
from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from summeter.data.atomic import sweep, write_lines, write_text
from summeter.records import Fault, Judgment, UsageError, read_lines
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.run import (
    FAILURES,
    MANIFEST,
    PROGRESS,
    Done,
    DoneKey,
    Failure,
    JudgmentLines,
    checksum,
    checksums_of,
    in_order,
    prepared_rows,
    whole_lines,
)

ItemKey = tuple[str, str, str | None]


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
        self.done: dict[DoneKey, str] = {}
        """The line of progress of every finished item."""

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
        text = json.dumps({**fields, **checksums_of(fields)}, ensure_ascii=False, indent=2)
        write_text(self.folder / MANIFEST, text + "\n")

    def repair(self, judges: Sequence[JudgeEntry]) -> list[Fault]:
        """Read what is finished, and drop what a killed or failed writer left unconfirmed, or what is damaged. Returns
        what was damaged: the lines that could not be read, the items whose judgments have changed."""
        damaged: list[Fault] = []
        for name in (PROGRESS, FAILURES):
            _cut_torn_line(self.folder / name)
        self._drop_damaged_failures(damaged)
        before = len(damaged)
        items = {_interned(item.key): item for item in read_lines(self.folder / PROGRESS, Done, damaged)}
        sound: dict[DoneKey, str] = {}
        for judge in judges:
            own = {key: item for key, item in items.items() if key[0] == judge.signature}
            known = self._repair_prepared(judge, damaged)
            lost = {key for key, item in own.items() if item.prepared is not None and item.prepared not in known}
            sound |= self._repair_judgments(judge, own, lost, damaged)
        self.done = {key: sound[key] for key in items if key in sound}
        older = any(item.checksum is None for item in items.values())
        if older or len(self.done) < len(items) or len(damaged) > before:
            write_lines(self.folder / PROGRESS, self.done.values())
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
        self, judge: JudgeEntry, items: Mapping[DoneKey, Done], lost: set[DoneKey], damaged: list[Fault]
    ) -> dict[DoneKey, str]:
        """Drop the judgments of items that are `lost`, or not there as they were written; returns the lines of progress
        of the others."""
        file = self.folder / "judgments" / f"{judge.file}.jsonl"
        _cut_torn_line(file)
        if not lost and in_order(file, items.values()):
            return {key: item.model_dump_json() for key, item in items.items()}
        lines = JudgmentLines(file)
        sound = {key: item for key, item in items.items() if key not in lost and lines.holds(item)}
        damaged.extend(lines.damaged)
        damaged.extend(lines.alterations(items.values()))
        if any(key not in sound for key in lines.items):
            kept = (line for line, key in zip(whole_lines(file), lines.items, strict=True) if key in sound)
            write_lines(file, (line.decode().removesuffix("\n") for line in kept))
        return {key: lines.confirmed(item).model_dump_json() for key, item in sound.items()}

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Add one item's judgments by one evaluator, then the line that confirms them."""
        lines = [f"{row.line}\n".encode() for row in judgments]
        self._append(self.folder / "judgments" / f"{judge.file}.jsonl", lines)
        document_id, system, rival = item
        done = Done(
            signature=judge.signature, document_id=document_id, system=system, rival=rival, judgments=len(judgments),
            checksum=checksum(lines), prepared=self._prepared.get((judge.signature, document_id)),
        ).model_dump_json()  # fmt: skip
        self._append(self.folder / PROGRESS, [f"{done}\n".encode()])
        self.done[(judge.signature, *item)] = done

    def drop(self, judge: JudgeEntry) -> None:
        """Forget all that a judge has finished. After a kill in between, `repair` drops what is left of it."""
        self._close_files()
        self.done = {key: line for key, line in self.done.items() if key[0] != judge.signature}
        write_lines(self.folder / PROGRESS, self.done.values())
        (self.folder / "judgments" / f"{judge.file}.jsonl").unlink(missing_ok=True)

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Add what an evaluator derived for a document."""
        line = json.dumps(row, ensure_ascii=False)
        self._append(self.folder / "prepared" / f"{judge.file}.jsonl", [f"{line}\n".encode()])
        self._prepared[judge.signature, row["document_id"]] = row["id"]

    def failed(self, failure: Failure) -> None:
        """Add one failure."""
        self._append(self.folder / FAILURES, [f"{failure.line}\n".encode()])

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

    def sort_files(self, judges: Sequence[JudgeEntry], order: Mapping[ItemKey, int]) -> None:
        """Put the judgments, prepared rows and progress into the order of the data, each file in one step."""
        self._close_files()
        ranks: dict[str, int] = {}
        for (document_id, _, _), rank in order.items():
            ranks.setdefault(document_id, rank)
        for judge in judges:
            _sort_lines(self.folder / "judgments" / f"{judge.file}.jsonl", lambda line: order[judged_item(line)[1:]])
            _sort_lines(
                self.folder / "prepared" / f"{judge.file}.jsonl", lambda line: ranks[json.loads(line)["document_id"]]
            )
        place = {judge.signature: index for index, judge in enumerate(judges)}
        _sort_lines(self.folder / PROGRESS, lambda line: _progress_rank(line, place, order))


def _progress_rank(line: bytes, place: Mapping[str, int], order: Mapping[ItemKey, int]) -> tuple[int, int]:
    entry = Done.model_validate_json(line)
    return place[entry.signature], order[(entry.document_id, entry.system, entry.rival)]


def judged_item(line: bytes) -> DoneKey:
    """(signature, document, system, rival) of a line of judgments."""
    row = json.loads(line)
    target = row["target"]
    return _interned((row["signature"], target["document_id"], target["system"], target.get("rival")))


def _interned(key: DoneKey) -> DoneKey:
    """The key with each text held once, however many name it."""
    signature, document_id, system, rival = key
    return sys.intern(signature), sys.intern(document_id), sys.intern(system), rival and sys.intern(rival)


def _sort_lines(file: Path, rank: Any) -> None:
    """Sort a file's lines by rank, keeping the order within a rank; memory holds one number a line."""
    if not file.exists():
        return
    numbers: dict[Any, int] = {}  # one object a rank, however many lines have it
    ranks: list[Any] = []
    starts = array("q", [0])
    with file.open("rb") as lines:
        for line in lines:
            place = rank(line)
            ranks.append(numbers.setdefault(place, place))
            starts.append(starts[-1] + len(line))
    if all(rank <= other for rank, other in pairwise(ranks)):
        return
    ordered = sorted(range(len(ranks)), key=ranks.__getitem__)
    with file.open("rb") as source:
        write_lines(file, (_cut(source, starts[at], starts[at + 1] - starts[at]) for at in ordered))


def _cut(source: IO[bytes], at: int, length: int) -> str:
    source.seek(at)
    return source.read(length).decode().removesuffix("\n")


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


def _lock(folder: Path) -> IO[bytes]:
    import fcntl

    file = (folder / ".lock").open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UsageError(f"{folder}: another process is writing this run; wait for it or choose another -o") from error
    return file
