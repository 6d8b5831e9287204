"""Parts: what the workers of a run hand over, one file for each bundle of work, and its way into the run's journal.

    RUN/parts/SESSION-00000012.part

A part is lines: a heading of JSON that says what follows, and so many lines of it as they go into the run's files; the
last line confirms all others. It appears whole or not at all, and is on the disk before its worker says so. The one
writer of the run takes it in: an item that the run holds already is passed over, so a part may be taken in twice, and
two parts may hold the same item.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from pydantic_core import from_json

from summeter.records import InputError, Judgment
from summeter.runs.forms import lines_of
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import ItemKey
from summeter.runs.results import Results
from summeter.runs.run import FAILURES, Failure

PARTS = "parts"
SUFFIX = ".part"
_UNFINISHED = ".unfinished"


class Part:
    """The facts of one bundle, collected in memory until they are written."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._lines)

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """The judgments of an item."""
        self._add({"judged": judge.signature, "item": item}, [row.line for row in judgments])

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """What an evaluator derived for a document."""
        about = {"prepared": judge.signature, "document": row["document_id"], "id": row["id"]}
        self._add(about, [json.dumps(row, ensure_ascii=False)])

    def failed(self, failure: Failure) -> None:
        """An item that could not be judged."""
        self._add({"failed": failure.signature, "item": failure.key[1:]}, [failure.line])

    def results(self, values: Mapping[str, Mapping[bytes, bytes]]) -> None:
        """Results of local models, by model and key."""
        for model, rows in values.items():
            lines = [f"{b64encode(key).decode()} {b64encode(value).decode()}" for key, value in rows.items()]
            self._add({"results": model}, lines)

    def _add(self, about: Mapping[str, Any], lines: Sequence[str]) -> None:
        self._lines.append(json.dumps({**about, "lines": len(lines)}, ensure_ascii=False).encode())
        self._lines.extend(line.encode() for line in lines)

    def text(self) -> bytes:
        """The content of the file."""
        text = b"".join(line + b"\n" for line in self._lines)
        return text + json.dumps({"end": crc32(text)}).encode() + b"\n"


def part_file(folder: Path, session: str, bundle: int) -> Path:
    """Where the part of a bundle stands: its writer and its reader, two processes, must agree."""
    return folder / f"{session}-{bundle:08d}{SUFFIX}"


def write_part(file: Path, text: bytes) -> None:
    """Put a part where its reader looks, in one step. It is on the disk itself when this returns; OSError where it
    cannot be, and nothing is left behind then."""
    unfinished = file.with_name(file.name + _UNFINISHED)
    try:
        with unfinished.open("wb") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        unfinished.replace(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


class Section(NamedTuple):
    """A heading of a part and the lines under it, each with its line feed."""

    about: Mapping[str, Any]
    lines: list[bytes]


def sections(file: Path) -> list[Section]:
    """The content of a part. InputError where it is not as it was written."""
    text = file.read_bytes()
    body, _, last = text.removesuffix(b"\n").rpartition(b"\n")
    try:
        if from_json(last) != {"end": crc32(body + b"\n" if body else b"")}:
            raise ValueError("its checksum is another")
        return list(_sections([line + b"\n" for line in body.split(b"\n")] if body else []))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError.at(file, None, None, f"is not as it was written: {error}") from error


def _sections(lines: Sequence[bytes]) -> Iterator[Section]:
    place = 0
    while place < len(lines):
        about = from_json(lines[place])
        end = place + 1 + about["lines"]
        yield Section(about, [*lines[place + 1 : end]])
        place = end


class PartTaker:
    """Takes parts into a run. A part is removed once what it held is on the disk itself: see `settle`."""

    def __init__(self, journal: Journal, judges: Sequence[JudgeEntry], results: Results | None) -> None:
        self.folder = journal.folder / PARTS
        self._journal = journal
        self._judges = {judge.signature: judge for judge in judges}
        self._results = results
        self._taken: list[Path] = []

    def take(self, file: Path, known_failures: Collection[bytes] = ()) -> int:
        """Take a part in, but for what the run holds already; `known_failures` are lines of failures that it holds.
        Returns how many items were judged in it that the run did not hold.

        InputError where the part is damaged, OSError where the run cannot be written.
        """
        content = sections(file)
        judged = {_key(section) for section in content if "judged" in section.about}
        passed_over = {key for key in judged if key in self._journal.done}
        fresh_documents = {key[:2] for key in judged - passed_over}
        self._put_results(content)  # before the judgments that rest on them
        for section in content:
            about = section.about
            judge = self._judges.get(next(iter(about.values())))
            if judge is None:  # results; or a judge that the run no longer has
                continue
            match next(iter(about)):
                case "prepared":
                    before = self._journal.prepared_id(judge, about["document"])
                    needed = (judge.signature, about["document"]) in fresh_documents
                    if before is None or (before != about["id"] and needed):
                        self._journal.prepared(judge, from_json(section.lines[0]))
                case "judged" if _key(section) not in passed_over:
                    document_id, system, rival = about["item"]
                    self._journal.judged_lines(judge, (document_id, system, rival), section.lines)
                case "failed" if _key(section) not in passed_over and section.lines[0] not in known_failures:
                    self._journal.failed(Failure.model_validate_json(section.lines[0]))
        self._taken.append(file)
        return len(judged) - len(passed_over)

    def _put_results(self, content: Sequence[Section]) -> None:
        rows: dict[str, dict[bytes, bytes]] = defaultdict(dict)
        for section in content:
            if "results" in section.about:
                pairs = (line.split() for line in section.lines)
                rows[section.about["results"]].update((b64decode(key), b64decode(value)) for key, value in pairs)
        for model, values in rows.items():
            if self._results is not None:
                self._results.put(model, values)

    def settle(self, *, at_least: int = 1) -> None:
        """Put what was taken in on the disk itself, and remove its parts, where these are so many."""
        if len(self._taken) < at_least:
            return
        self._journal.sync()
        for file in self._taken:
            file.unlink(missing_ok=True)
        self._taken.clear()

    def take_left(self, session: str = "") -> list[str]:
        """Take in what lies there (of one session, or of any) and remove it, with all else that a session leaves there.
        Returns what is wrong with damaged parts, which are removed too: their work is done again."""
        damaged: list[str] = []
        files = sorted(self.folder.glob(f"{session}*{SUFFIX}")) if self.folder.is_dir() else []
        waiting = [file for file in files if file not in self._taken]
        known = set(lines_of(self._journal.folder / FAILURES)) if waiting else set()
        for file in waiting:
            try:
                self.take(file, known)
            except InputError as error:
                damaged.append(str(error))
                self._taken.append(file)
        self.settle()
        if self.folder.is_dir():
            for file in self.folder.glob(f"{session}*"):
                file.unlink(missing_ok=True)
            with suppress(OSError):
                self.folder.rmdir()
        return damaged


def _key(section: Section) -> tuple[Any, ...]:
    return next(iter(section.about.values())), *section.about["item"]
