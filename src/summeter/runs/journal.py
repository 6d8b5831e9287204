"""Writing a run so that a kill at any point loses nothing that was finished.

One item's judgments by one evaluator are one append; a line in progress.jsonl then says they are there, and
how many. On opening, judgments that no line confirms are dropped wherever they stand, and lines whose
judgments are not all there are dropped too, so that such an item is judged again, from stored calls where there
are any. When a run ends, its files are put into the order of the data, so that equal runs have equal files
whatever the order of completion was.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from summeter.data.atomic import write_lines, write_text
from summeter.records import Judgment, UsageError, read_lines
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.run import FAILURES, MANIFEST, PROGRESS, Done, DoneKey, Failure

ItemKey = tuple[str, str, str | None]


class Journal:
    """The one writer of a run's folder. A second one, in any process, is refused while it is open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "judgments").mkdir(parents=True, exist_ok=True)
        (folder / "prepared").mkdir(exist_ok=True)
        self._lock = _lock(folder)
        self._files: dict[Path, IO[bytes]] = {}
        self._broken: OSError | None = None
        self.done: dict[DoneKey, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

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
        text = json.dumps(manifest.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=2)
        write_text(self.folder / MANIFEST, text + "\n")

    def repair(self, judges: Sequence[JudgeEntry]) -> None:
        """Read what is finished, and drop what a killed or failed writer left unconfirmed."""
        for name in (PROGRESS, FAILURES):
            _cut_torn_line(self.folder / name)
        entries = {_interned(entry.key): entry.judgments for entry in read_lines(self.folder / PROGRESS, Done)}
        found: Counter[DoneKey] = Counter()
        files = [self.folder / "judgments" / f"{judge.file}.jsonl" for judge in judges]
        for file in files:
            _cut_torn_line(file)
            found.update(judged_item(line) for line in _lines(file))
        for judge in judges:
            _cut_torn_line(self.folder / "prepared" / f"{judge.file}.jsonl")
        sound = {key: judgments for key, judgments in entries.items() if found[key] == judgments}
        if len(sound) < len(entries):
            write_lines(self.folder / PROGRESS, (_confirming(key, judgments) for key, judgments in sound.items()))
        if any(key not in sound for key in found):
            for file in files:
                _keep(file, sound)
        self.done = sound

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Add one item's judgments by one evaluator, then the line that confirms them."""
        self._append(self.folder / "judgments" / f"{judge.file}.jsonl", [one.line for one in judgments])
        key = (judge.signature, *item)
        self._append(self.folder / PROGRESS, [_confirming(key, len(judgments))])
        self.done[key] = len(judgments)

    def drop(self, judge: JudgeEntry) -> None:
        """Forget all that a judge has finished. After a kill in between, `repair` drops what is left of it."""
        self._close_files()
        self.done = {key: number for key, number in self.done.items() if key[0] != judge.signature}
        write_lines(self.folder / PROGRESS, (_confirming(key, number) for key, number in self.done.items()))
        (self.folder / "judgments" / f"{judge.file}.jsonl").unlink(missing_ok=True)

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Add what an evaluator derived for a document."""
        self._append(self.folder / "prepared" / f"{judge.file}.jsonl", [json.dumps(row, ensure_ascii=False)])

    def failed(self, failure: Failure) -> None:
        """Add one failure."""
        self._append(self.folder / FAILURES, [failure.model_dump_json()])

    def _append(self, path: Path, lines: Sequence[str]) -> None:
        if self._broken is not None:
            # What follows a failed append could not be told from what belongs to it.
            raise OSError(self._broken.errno or errno.EIO, f"nothing more is written after: {self._broken}")
        if not lines:
            return
        data = "".join(line + "\n" for line in lines).encode()
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


def _confirming(key: DoneKey, judgments: int) -> str:
    """The line that says that an item's judgments are there."""
    signature, document_id, system, rival = key
    entry = Done(signature=signature, document_id=document_id, system=system, rival=rival, judgments=judgments)
    return entry.model_dump_json()


def judged_item(line: bytes) -> DoneKey:
    """(signature, document, system, rival) of a line of judgments."""
    row = json.loads(line)
    target = row["target"]
    return _interned((row["signature"], target["document_id"], target["system"], target.get("rival")))


def _interned(key: DoneKey) -> DoneKey:
    """The key with each text held once, however many name it."""
    signature, document_id, system, rival = key
    return sys.intern(signature), sys.intern(document_id), sys.intern(system), rival and sys.intern(rival)


def _lines(file: Path) -> Iterator[bytes]:
    if file.exists():
        with file.open("rb") as lines:
            yield from lines


def _keep(file: Path, sound: Mapping[DoneKey, object]) -> None:
    """Rewrite a file of judgments with those of sound items only."""
    if file.exists():
        write_lines(file, (line.decode().removesuffix("\n") for line in _lines(file) if judged_item(line) in sound))


def _sort_lines(file: Path, rank: Any) -> None:
    """Sort a file's lines by rank, keeping the order within a rank; memory holds one number a line."""
    if not file.exists():
        return
    numbers: dict[Any, int] = {}  # one object a rank, however many lines have it
    ranks: list[Any] = []
    starts = array("q", [0])
    with file.open("rb") as lines:
        for line in lines:
            found = rank(line)
            ranks.append(numbers.setdefault(found, found))
            starts.append(starts[-1] + len(line))
    if all(one <= other for one, other in pairwise(ranks)):
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
            found = data.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
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
