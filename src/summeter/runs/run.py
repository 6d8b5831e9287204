"""A run is a folder: facts that only grow (judgments, prepared, failures, calls) and views rebuilt from them.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`RunFolder` reads such a folder; `summeter.runs.journal` writes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self, TypeVar
from weakref import ref
from zlib import crc32

import numpy as np
from pydantic import ValidationError, model_validator

from summeter.data.dataset import Dataset, load
from summeter.records import Fault, InputError, Judgment, Record, Status, UsageError, digest, read_lines
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable, PairScore, Score, SystemTable, dedupe, to_frame

T = TypeVar("T")

MANIFEST = "run.json"
FAILURES = "failures.jsonl"
PROGRESS = "progress.jsonl"
CALLS = "calls.sqlite"
CHECKSUM, CHECKSUMS = "checksum", "checksums"
"""The keys of run.json that hold the hash of all else in it, and that of each field, which tells what was changed."""

DoneKey = tuple[str, str, str, str | None]
"""(signature, document, system, rival): an item that a judge has finished."""


class Failure(Record):
    """One item one evaluator could not judge fully. With status "error" it is tried again on resume.

    `checksum` is that of the other fields; older runs have none.
    """

    document_id: str
    system: str
    rival: str | None = None
    judge: str
    signature: str
    aspects: tuple[str, ...]
    status: Status
    reason: str
    units: int = 1
    calls: tuple[str, ...] = ()
    at: str
    checksum: int | None = None

    @model_validator(mode="after")
    def _as_written(self) -> Self:
        if self.checksum not in (None, self._sum()):
            raise ValueError("is not as it was written")
        return self

    def _sum(self) -> int:
        return crc32(self.model_dump_json(exclude={"checksum"}, exclude_defaults=True).encode())

    @property
    def line(self) -> str:
        """The failure as a line of JSON."""
        return self.model_copy(update={"checksum": self._sum()}).model_dump_json()

    @property
    def key(self) -> DoneKey:
        """(signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


class Done(Record):
    """Progress: one evaluator has finished one item; `judgments` is how many it wrote, `checksum` that of their lines,
    `prepared` the id of what was prepared for them. Older runs have neither of these."""

    signature: str
    document_id: str
    system: str
    rival: str | None = None
    judgments: int
    checksum: int | None = None
    prepared: str | None = None

    @property
    def key(self) -> DoneKey:
        """(signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


def checksum(lines: Iterable[bytes]) -> int:
    """Of lines with their line feeds, whatever their order.

    >>> checksum([b"a\\n", b"b\\n"]) == checksum([b"b\\n", b"a\\n"])
    True
    """
    return _combined(map(crc32, lines))


def _combined(sums: Iterable[int]) -> int:
    return sum(sums) & 0xFFFFFFFF


def in_order(file: Path, items: Iterable[Done], *, more: bool = False) -> bool:
    """Whether a file of judgments holds the lines of these items, one item after the other, and nothing else (with
    `more`: others behind them too); False also where some have no checksum. Reads the lines without parsing them."""
    if not file.exists():
        return not any(True for _ in items)
    with file.open("rb") as lines:
        return all(
            item.checksum is not None and checksum(islice(lines, item.judgments)) == item.checksum for item in items
        ) and (more or not lines.readline())


class JudgmentLines:
    """The lines of a file of judgments, each parsed: `items` says of which item each is (None: of none that can be
    read), `damaged` what is wrong with the latter. A torn last line (a killed writer) is passed over."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.items: list[DoneKey | None] = []
        self.damaged: list[Fault] = []
        self._sums: dict[DoneKey, list[int]] = {}
        self._first: dict[DoneKey, int] = {}
        names: dict[str, str] = {}
        for number, line in enumerate(whole_lines(file), 1):
            try:
                row = Judgment.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or None
                self.damaged.append(Fault(str(file), number, field, f"damaged: {first['msg']}"))
                self.items.append(None)
                continue
            document_id, system, rival = (text and names.setdefault(text, text) for text in row.target.item)
            key = (names.setdefault(row.signature, row.signature), document_id or "", system or "", rival)
            self.items.append(key)
            self._sums.setdefault(key, []).append(crc32(line))
            self._first.setdefault(key, number)

    def holds(self, item: Done) -> bool:
        """Whether an item has exactly the lines that were written."""
        sums = self._sums.get(item.key, [])
        return len(sums) == item.judgments and item.checksum in (None, _combined(sums))

    def alterations(self, items: Iterable[Done]) -> list[Fault]:
        """The items that have as many lines as were written, or more, and not those; copies of one change nothing."""
        return [
            Fault(str(self.file), self._first[item.key], None, f"judgments of document {item.document_id!r}, system "
                  f"{item.system!r} are not as they were written")
            for item in items
            if (sums := self._sums.get(item.key)) and len(sums) >= item.judgments
            and item.checksum not in {None, _combined(sums), _combined(set(sums))}
        ]  # fmt: skip

    def confirmed(self, item: Done) -> Done:
        """The item with the checksum of its lines, which those of older runs have not."""
        return item.model_copy(update={"checksum": _combined(self._sums.get(item.key, []))})


def whole_lines(file: Path) -> Iterator[bytes]:
    """The lines of a file, if it is there, without a torn last one."""
    if file.exists():
        with file.open("rb") as lines:
            yield from (line for line in lines if line.endswith(b"\n"))


def prepared_rows(file: Path, damaged: list[Fault] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """What an evaluator derived, row by row, each with the place in the file where it starts; none if there is no file.

    A torn last line is passed over. Raises InputError naming file and line of a damaged one; given a list, notes it
    there and reads on.
    """
    start = 0
    for number, line in enumerate(whole_lines(file), 1):
        try:
            row = json.loads(line)
            same = row["id"] == digest([row["document_id"], row["data"], row["status"]], 12)
        except (ValueError, KeyError, TypeError, RecursionError):
            same = False
        if same:
            yield start, row
        else:
            fault = Fault(str(file), number, None, "damaged: not a row of prepared data")
            if damaged is None:
                raise InputError([fault])
            damaged.append(fault)
        start += len(line)


_AGAIN = "Bring the file back, or give the command that made the run again"


class RunFolder:
    """Read access to a run's folder, finished or not.

    Raises InputError where the folder is no run or a file in it is damaged.
    """

    def __init__(self, folder: str | Path, *, data: Dataset | None = None) -> None:
        """`data` is the dataset the run judges, where it is at hand; it is used as long as somebody else holds it."""
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self._given = None if data is None else ref(data)
        self._data: Dataset | None = None
        self._made: dict[Hashable, tuple[object, Any]] = {}
        self._checked: dict[str, object] = {}

    @property
    def data(self) -> Dataset:
        """The dataset the run judged, from its own copy."""
        if self._given is not None and (given := self._given()) is not None:
            return given
        if self._data is None:
            if not (self.folder / "data").is_dir():
                raise InputError.at(self.folder / "data", None, None, f"is missing. {_AGAIN}")
            self._data = load(self.folder / "data")
        return self._data

    @property
    def reduce(self) -> dict[str, str]:
        """How each judge's units become a score."""
        return {judge.name: judge.reduce for judge in self.manifest.judges}

    def judgments(self) -> list[Judgment]:
        """Every judgment, the last one a question, in order of writing; an item that failed for good is
        there too, as one judgment an aspect with status "error"."""
        return list(self.iter_judgments())

    def iter_judgments(self) -> Iterator[Judgment]:
        """`judgments` one by one, without keeping them.

        Raises InputError where judgments that are confirmed as written have changed, or behind the last of them, where
        some are gone."""
        left = self._confirmed()
        counts: Counter[str] = Counter()
        for judge in self.manifest.judges:
            file = self.file_of(judge)
            # Counted before the rows are read, which take from `left`.
            repeated = _may_repeat(file, sum(left[key] for key in left if key[0] == judge.signature))
            rows = _of_items(file, left)
            # Where a copy took the place of a neighbour's line, the counts agree: the lines of an item stand together.
            groups = [rows] if repeated else (group for _, group in groupby(rows, _item_of))
            for group in groups:
                for row in dedupe(group):
                    counts[row.status] += 1
                    yield row
        self._check_whole(left)
        for row in self._errors(left):
            counts[row.status] += 1
            yield row
        self._check_counts(counts.total())

    def table(self) -> JudgmentTable:
        """`judgments` as a table, read without making a record of each."""
        left = self._confirmed()
        parts = []
        for judge in self.manifest.judges:
            table = JudgmentTable.read(self.file_of(judge), repeats=True)
            groups = table.groups("signature", "document", "system", "rival")
            first = table.take(groups.first)
            columns = (first.signature, first.document, first.system, first.rival)
            items: list[Any] = list(zip(*(column.labels() for column in columns), strict=True))
            for item, judgments in zip(items, np.bincount(groups.of, minlength=len(items)).tolist(), strict=True):
                if item in left:
                    left[item] -= judgments
            finished = np.array([item in left for item in items], np.bool_)
            parts.append(table if finished.all() else table.take(finished[groups.of]))
        self._check_whole(left)
        table = JudgmentTable.join([*parts, JudgmentTable.of(self._errors(left))])
        self._check_counts(len(table))
        return table

    def file_of(self, judge: JudgeEntry) -> Path:
        """Where a judge's judgments stand."""
        return self.folder / "judgments" / f"{judge.file}.jsonl"

    def _confirmed(self) -> dict[DoneKey, int]:
        """How many judgments each finished item has. InputError where some are not as they were written."""
        items: dict[str, list[Done]] = {}
        for item in self.progress():
            items.setdefault(item.signature, []).append(item)
        for judge in self.manifest.judges:
            self._check_lines(self.file_of(judge), items.get(judge.signature, []))
        return {item.key: item.judgments for of_judge in items.values() for item in of_judge}

    def _check_lines(self, file: Path, items: Sequence[Done]) -> None:
        if file.is_dir():
            raise InputError.at(file, None, None, f"is a folder, not a file of judgments. {_AGAIN}")
        stamp = _stamp(file), _stamp(self.folder / PROGRESS)
        if self._checked.get(file.name) == stamp:
            return
        running = self.manifest.status == "running"  # a writer may be ahead of its lines of progress
        if any(item.checksum is not None for item in items) and not in_order(file, items, more=running):
            lines = JudgmentLines(file)
            if faults := lines.damaged or lines.alterations(items):
                advice = f"{_AGAIN}: what is damaged is judged anew"
                raise InputError([*faults, Fault(str(self.folder), None, None, advice)])
        self._checked[file.name] = stamp

    def check_prepared(self) -> None:
        """InputError where something that was prepared for a finished item is damaged or gone."""
        items = list(self.progress())
        for judge in self.manifest.judges:
            file = self.folder / "prepared" / f"{judge.file}.jsonl"
            wanted = {item.prepared for item in items if item.signature == judge.signature} - {None}
            if lost := wanted - {row["id"] for _, row in prepared_rows(file)}:
                message = f"{len(lost)} of {len(wanted)} rows that {PROGRESS} names are gone. {_AGAIN}"
                raise InputError.at(file, None, None, message)

    def _check_counts(self, there: int) -> None:
        """InputError where fewer judgments are `there` than the run ended with: nothing confirms the others."""
        ended = sum(self.manifest.counts.values())
        if there < ended and self.manifest.status != "running" and read_manifest(self.folder) == self.manifest:
            message = f"{there:,} of the {ended:,} judgments that the run ended with are there"
            cut = f"{PROGRESS} or {FAILURES} was cut. {_AGAIN}: what is gone is judged anew"
            raise InputError.at(self.folder, None, None, f"{message}: {cut}")

    def _check_whole(self, left: Mapping[DoneKey, int]) -> None:
        """InputError where `left`, how many judgments of each finished item were not met, is above nothing."""
        lost = {key: number for key, number in left.items() if number > 0}
        if not lost:
            return
        (signature, document_id, system, _), number = next(iter(lost.items()))
        file = next((judge.file for judge in self.manifest.judges if judge.signature == signature), signature)
        more = f" and of {len(lost) - 1:,} more finished items" if len(lost) > 1 else ""
        raise InputError.at(
            self.folder / "judgments" / f"{file}.jsonl", None, None,
            f"judgments that {PROGRESS} confirms are gone: {number} of document {document_id!r}, system {system!r}"
            f"{more}. {_AGAIN}: what is gone is judged anew",
        )  # fmt: skip

    def _errors(self, done: Container[DoneKey]) -> Iterator[Judgment]:
        last: dict[DoneKey, Failure] = {}
        for failure in self.failures():
            if failure.status == "error" and failure.key not in done:
                last[failure.key] = failure
        models = {judge.signature: judge.model for judge in self.manifest.judges}
        for failure in last.values():
            yield from as_judgments(failure, models)

    def progress(self) -> Iterator[Done]:
        """What is finished."""
        return read_lines(self.folder / PROGRESS, Done)

    def failures(self) -> Iterator[Failure]:
        """Everything that went wrong, in order, also what later went well."""
        return read_lines(self.folder / FAILURES, Failure)

    @property
    def totals(self) -> RunTotals:
        """The run in numbers."""
        return self.once("totals", self._add_up)

    def _add_up(self) -> RunTotals:
        domains = {document.id: document.domain for document in self.data.documents.values()}
        return RunTotals.of(self.table(), self.reduce, domains, self.seed)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, under a key; made again only where the run has gone on."""
        stamp = tuple(_stamp(self.folder / name) for name in (PROGRESS, FAILURES))
        if key not in self._made or self._made[key][0] != stamp:
            self._made[key] = stamp, make()
        made: T = self._made[key][1]
        return made

    @property
    def seed(self) -> int:
        """The seed its intervals are drawn with: the run's own, else 0."""
        return int(self.manifest.options.get("seed") or 0)

    def scores(self) -> list[Score]:
        """Summary scores, recomputed from the judgments."""
        return list(self.totals.scores)

    def to_pandas(self) -> Any:
        """A pandas data frame of `scores`, one row a summary, judge and aspect."""
        return to_frame([score.model_dump() for score in self.totals.scores])

    def summary(self) -> SystemTable:
        """Means of systems with interval, n and missing, over all documents and by domain."""
        return self.totals.systems

    def pairs(self) -> list[PairScore]:
        """Mean preferences of each pair of systems by judge and aspect; empty where nothing compares."""
        return list(self.totals.pairs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, {self.manifest.status})"


def _may_repeat(file: Path, confirmed: int) -> bool:
    """Whether a question may stand twice in a file of judgments: only where it has more lines than are confirmed."""
    if not file.exists():
        return False
    with file.open("rb") as lines:
        if sum(block.count(b"\n") for block in iter(lambda: lines.read(1 << 20), b"")) <= confirmed:
            return False
    table = JudgmentTable.read(file, repeats=True)
    return len(table.last_asked()) < len(table)


def _item_of(row: Judgment) -> DoneKey:
    return (row.signature, *row.target.item)


def _of_items(file: Path, left: dict[DoneKey, int]) -> Iterator[Judgment]:
    """The judgments of finished items; each is taken from the count that is `left` of its item."""
    for row in read_lines(file, Judgment):
        key = _item_of(row)
        if key in left:
            left[key] -= 1
            yield row


def _stamp(file: Path) -> tuple[int, int]:
    """What changes when a file does."""
    if not file.exists():
        return 0, 0
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def checksums_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The two keys that run.json has besides the fields of the manifest."""
    return {CHECKSUM: digest(fields, 16), CHECKSUMS: {name: digest(value, 8) for name, value in fields.items()}}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run's folder."""
    file = folder / MANIFEST
    if not file.is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}")
    try:
        fields = json.loads(file.read_bytes())
        sealed, sums = fields.pop(CHECKSUM, None), fields.pop(CHECKSUMS, {})
        if sealed is not None and sealed != digest(fields, 16):
            written, there = dict(sums), checksums_of(fields)[CHECKSUMS]  # runs of before have the one sum only
            changed = [name for name in {**written, **there} if written and written.get(name) != there.get(name)]
            raise InputError.at(
                file, None, ", ".join(changed) or None,
                "changed since summeter wrote it, and the numbers of the run may rest on it; bring it back as it was "
                f"(to read the run as this file now stands, remove its keys {CHECKSUM!r} and {CHECKSUMS!r})",
            )  # fmt: skip
        return Manifest.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError.at(file, None, place or None, f"not a run of this version: {first['msg']}") from error
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError.at(file, None, None, f"damaged: {error}") from error


def as_judgments(failure: Failure, models: dict[str, str | None]) -> Iterator[Judgment]:
    """An item that failed for good, as one judgment an aspect; `models` are those of the judges by signature."""
    target = {"document_id": failure.document_id, "system": failure.system, "rival": failure.rival}
    for aspect in failure.aspects:
        yield Judgment.model_validate(
            {
                "target": {**target, "unit": "pair" if failure.rival else "summary"},
                "aspect": aspect, "judge": failure.judge, "signature": failure.signature,
                "model": models.get(failure.signature), "status": "error", "reason": failure.reason,
                "calls": failure.calls,
            }
        )  # fmt: skip
