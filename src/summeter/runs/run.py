"""Read run folders.

A run consists of facts, which are only appended (judgments, prepared data, failures, calls), and of views that are
computed from the facts.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`summeter.runs.journal` writes such a folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, groupby, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar
from weakref import ref
from zlib import crc32

import numpy as np
from pydantic import ValidationError, model_validator

from summeter.data.dataset import Dataset, load
from summeter.data.differences import differences
from summeter.data.folder import document_domains, is_dataset
from summeter.records import (
    Fault,
    InputError,
    Judgment,
    Parameter,
    Record,
    Status,
    UsageError,
    digest,
    invalid,
    read_lines,
    whole_lines,
)
from summeter.runs.calls import CallStore
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.progress import (
    PROGRESS,
    Done,
    DoneItems,
    DoneKey,
    ItemOffsets,
    JudgmentLines,
    ProgressTable,
    item_offsets,
)
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable, PairScore, Records, Score, SystemTable, dedupe
from summeter.stats.base import Ints

T = TypeVar("T")

MANIFEST = "run.json"
FAILURES = "failures.jsonl"
CALLS = "calls.sqlite"
BY_SOURCE = "by_source"
"""Folder of a run in which the same judges judge each source alone."""
CHECKSUMS = "checksums"
"""The key in run.json of the hashes of the other fields."""


class Failure(Record):
    """An item that a judge could not judge completely.

    Items with the status "error" are judged again when the run is resumed. `checksum` is the checksum of the other
    fields.
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
    def _check_checksum(self) -> Self:
        if self.checksum not in (None, self._sum()):
            raise ValueError("has been changed")
        return self

    def _sum(self) -> int:
        return crc32(self.model_dump_json(exclude={"checksum"}, exclude_defaults=True).encode())

    @property
    def line(self) -> str:
        """Return the failure as a line of JSON."""
        return self.model_copy(update={"checksum": self._sum()}).model_dump_json()

    @property
    def key(self) -> DoneKey:
        """The signature and the item: (signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


class CascadeSample(NamedTuple):
    """The random sample of a cascade.

    `last` contains the second judge's judgments of the sample, and `machine` the cascade's judgments of all items
    without them.
    """

    cascade: JudgeEntry
    machine: JudgmentTable
    last: JudgmentTable


def prepared_rows(file: Path, damaged: list[Fault] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (byte offset, row) for each row of prepared data, or nothing if the file is missing.

    A truncated last line is skipped. Raises InputError if a line is damaged; if the list `damaged` is given, the fault
    is instead appended to this list.
    """
    start = 0
    for number, line in enumerate(whole_lines(file), 1):
        try:
            row = json.loads(line)
            valid = row["id"] == digest([row["document_id"], row["data"], row["status"]], 12)
        except (ValueError, KeyError, TypeError, RecursionError):
            valid = False
        if valid:
            yield start, row
        else:
            fault = Fault(str(file), number, None, "damaged: is not a row of prepared data")
            if damaged is None:
                raise InputError([fault])
            damaged.append(fault)
        start += len(line)


_RESTORE = "Restore the file, or rerun the command that created the run"


class RunFolder:
    """Read access to the folder of a run, which may be unfinished.

    Raises UsageError if the folder is not a run, and InputError if a file in it is damaged.
    """

    def __init__(self, folder: str | Path, *, data: Dataset | None = None) -> None:
        """Open a run folder. `data` is the dataset of the run, or None to load it when needed.

        Only a weak reference to `data` is stored.
        """
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self._loaded = None if data is None else ref(data)
        self._data: Dataset | None = None
        self._cache: dict[Hashable, tuple[object, Any]] = {}
        self._checked: dict[str, tuple[object, Confirmed]] = {}

    @property
    def data(self) -> Dataset:
        """The dataset that was judged, read from the copy in the run folder."""
        if self._loaded is not None and (loaded := self._loaded()) is not None:
            return loaded
        if self._data is None:
            self._data = load(self._data_folder)
        return self._data

    def check_data(self, data: Dataset, *remedy: str | Parameter) -> None:
        """Raise UsageError, with the differences and a remedy, if the run is over other documents or summaries."""
        entry = self.manifest.data
        if entry.hash == data.hash:
            return
        try:
            words = differences(self.data, data)
        except InputError:  # the copy in the run is missing or damaged
            words = f"{entry.summaries:,} summaries (hash {entry.hash[:12]}) before, {len(data):,} now"
        raise UsageError(f"{self.folder} is a run over other data than {data.card.name} ({words}). ", *remedy)

    @property
    def _data_folder(self) -> Path:
        """The folder with the copy of the data. Raises InputError if it is missing."""
        if not (self.folder / "data").is_dir():
            raise InputError.at(self.folder / "data", f"is missing. {_RESTORE}")
        return self.folder / "data"

    def domains(self) -> dict[str, str]:
        """Return the domains by document id, without documents that have no domain."""
        loaded = self._data if self._loaded is None else self._loaded()
        if loaded is None and is_dataset(self._data_folder):
            return document_domains(self._data_folder)
        return (self.data if loaded is None else loaded).document_domains()

    @property
    def reduce(self) -> dict[str, str]:
        """The reduction of units to a score for each judge."""
        return {judge.name: judge.reduce for judge in self.manifest.judges}

    @property
    def partial(self) -> frozenset[str]:
        """The signatures of judges without scores, which judged only items passed on by a cascade."""
        return frozenset(judge.signature for judge in self.manifest.judges if judge.partial)

    def judgments(self) -> Records[Judgment]:
        """Return all judgments in the order in which they were written.

        If a unit was judged several times, only the last judgment is returned. A failed item has one judgment per
        aspect with the status "error".
        """
        return Records(self.iter_judgments())

    def iter_judgments(self) -> Iterator[Judgment]:
        """Yield all judgments.

        Raises InputError if confirmed judgments have been changed or are missing.
        """
        count = 0
        for row in chain(*(confirmed.rows() for confirmed in self.confirmed().values()), self._errors()):
            count += 1
            yield row
        self._check_counts(count)

    def table(self) -> JudgmentTable:
        """Return all judgments as a table, without creating records."""
        return self.once("table", lambda: JudgmentTable.concat(list(self.tables())))

    def tables(self) -> Iterator[JudgmentTable]:
        """Yield all judgments as tables that fit into memory.

        All judgments of an item, and of a pair in both orders, are in the same table. Raises InputError like
        `iter_judgments`.
        """
        count = 0
        for confirmed in self.confirmed().values():
            for table in confirmed.tables():
                count += len(table)
                yield table
        errors = JudgmentTable.of(self._errors())
        yield errors
        self._check_counts(count + len(errors))

    def confirmed(self) -> dict[str, Confirmed]:
        """Return, by signature, the judgments that are confirmed by lines of progress.

        Raises InputError if confirmed judgments have been changed or are missing.
        """
        progress: ProgressTable | None = None
        for judge in self.manifest.judges:
            file = judge.judgments_in(self.folder)
            stamp = _stamp(file), _stamp(self.folder / PROGRESS)
            if judge.signature not in self._checked or self._checked[judge.signature][0] != stamp:
                progress = ProgressTable.read(self.folder / PROGRESS) if progress is None else progress
                items = progress.take(progress.of_judge(judge.signature))
                self._checked[judge.signature] = stamp, self._check_lines(file, items)
        return {judge.signature: self._checked[judge.signature][1] for judge in self.manifest.judges}

    def _check_lines(self, file: Path, items: ProgressTable) -> Confirmed:
        if file.is_dir():
            raise InputError.at(file, f"is a folder, not a file of judgments. {_RESTORE}")
        offsets = item_offsets(file, items)
        # A writer may be ahead of its lines of progress.
        if offsets is not None and (self.manifest.status == "running" or not offsets.more):
            return Confirmed(file, items, offsets)
        lines = JudgmentLines(file, items)
        faults = lines.damaged or lines.alterations()
        incomplete = np.flatnonzero(lines.count < items.judgments)
        if len(incomplete) and not faults:
            document, system, _ = items.item(int(incomplete[0]))
            more = f" and of {len(incomplete) - 1:,} more finished items" if len(incomplete) > 1 else ""
            missing = int((items.judgments - lines.count)[incomplete[0]])
            message = (
                f"judgments that {PROGRESS} confirms are missing: {missing} of document {document!r}, "
                f"system {system!r}{more}"
            )
            faults = [Fault(str(file), None, None, message)]
        if faults:
            advice = f"{_RESTORE}, which judges damaged and missing items again"
            raise InputError([*faults, Fault(str(self.folder), None, None, advice)])
        return Confirmed(file, items, None, np.flatnonzero(lines.of >= 0))

    def check_prepared(self) -> None:
        """Raise InputError if prepared data of a finished item is damaged or missing."""
        items = ProgressTable.read(self.folder / PROGRESS)
        for judge in self.manifest.judges:
            file = judge.prepared_in(self.folder)
            needed = set(items.prepared.take(items.of_judge(judge.signature)).used()) - {None}
            if missing := needed - {row["id"] for _, row in prepared_rows(file)}:
                message = f"{len(missing)} of {len(needed)} rows that {PROGRESS} refers to are missing. {_RESTORE}"
                raise InputError.at(file, message)

    def _check_counts(self, present: int) -> None:
        """Raise InputError if fewer judgments are `present` than there were when the run ended."""
        ended = sum(self.manifest.counts.values())
        if present < ended and self.manifest.status != "running" and read_manifest(self.folder) == self.manifest:
            message = (
                f"{present:,} of {ended:,} judgments are present: {PROGRESS} or {FAILURES} was cut. {_RESTORE}, which "
                "judges missing items again"
            )
            raise InputError.at(self.folder, message)

    def _errors(self) -> Iterator[Judgment]:
        """Yield judgments with the status "error" for the failed items."""
        last = {failure.key: failure for failure in self.failures() if failure.status == "error"}
        done = self.done() if last else DoneItems()
        models = {judge.signature: judge.model for judge in self.manifest.judges}
        for key, failure in last.items():
            if key not in done:
                yield from as_judgments(failure, models)

    def progress(self) -> Iterator[Done]:
        """Yield the lines of progress."""
        return read_lines(self.folder / PROGRESS, Done)

    def calls(self) -> CallStore:
        """Open the stored calls, which are none if the run has asked no model."""
        return CallStore(self.folder / CALLS, readonly=True) if (self.folder / CALLS).exists() else CallStore()

    def by_source(self) -> RunFolder | None:
        """Return the run in which the same judges judged each source alone, or None if there is none."""
        inside = self.folder / BY_SOURCE
        return RunFolder(inside) if (inside / MANIFEST).exists() else None

    def judged(self) -> set[tuple[str, str]]:
        """Return (document, system) of each summary with a finished or failed item, alone or in a pair."""

        def judged() -> set[tuple[str, str]]:
            finished = (confirmed.items.items() for confirmed in self.confirmed().values())
            failed = (failure.key[1:] for failure in self.failures() if failure.status == "error")
            items = chain(*finished, failed)
            return {(document, system) for document, *systems in items for system in systems if system is not None}

        return self.once("judged", judged)

    def done(self) -> DoneItems:
        """Return the items that each judge has finished."""
        return ProgressTable.read(self.folder / PROGRESS).done()

    def failures(self) -> Iterator[Failure]:
        """Yield all failures in order, including those of items that were later judged."""
        return read_lines(self.folder / FAILURES, Failure)

    @property
    def totals(self) -> RunTotals:
        """The totals of the run."""
        return self.once(
            "totals", lambda: RunTotals.of(self.tables(), self.reduce, self.domains(), self.seed, self.partial)
        )

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make()`, which is cached under `key` until the run changes."""
        stamp = tuple(_stamp(self.folder / name) for name in (PROGRESS, FAILURES))
        if key not in self._cache or self._cache[key][0] != stamp:
            self._cache[key] = stamp, make()
        result: T = self._cache[key][1]
        return result

    @property
    def seed(self) -> int:
        """The random seed for the intervals of the run, or 0 if the run has no seed."""
        return int(self.manifest.options.get("seed") or 0)

    def scores(self) -> Records[Score]:
        """Return the scores of summaries, computed from the judgments."""
        return Records(self.totals.scores)

    def to_pandas(self) -> Any:
        """Return a pandas data frame of the scores, with one row per summary, judge and aspect."""
        return self.scores().to_pandas()

    def to_polars(self) -> Any:
        """Return a polars data frame of the scores, with one row per summary, judge and aspect."""
        return self.scores().to_polars()

    def summary(self) -> SystemTable:
        """Return the system means over all documents and by domain.

        Each mean has an interval, the number of scores (n) and the number of missing scores.
        """
        return self.totals.systems

    def pairs(self) -> Records[PairScore]:
        """Return the mean preference for each pair of systems, judge and aspect.

        The list is empty if there are no pairwise judges.
        """
        return Records(self.totals.pairs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, {self.manifest.status})"

    def _repr_html_(self) -> str:
        shown = self.summary().table() if len(self.summary()) or not self.pairs() else self.pairs().table()
        title = f"{self.folder.name}: {self.manifest.status}, {self.manifest.data.summaries:,} summaries"
        return replace(shown, title=title).html()


class Confirmed(NamedTuple):
    """The confirmed judgments of a judge.

    `offsets` is None if the items are not consecutive in the file; in this case, `lines` contains the numbers of their
    lines.
    """

    file: Path
    items: ProgressTable
    offsets: ItemOffsets | None
    lines: Ints = np.zeros(0, np.int64)

    def rows(self) -> Iterator[Judgment]:
        """Yield the judgments. If a unit has several judgments, only the last one is yielded."""
        rows = read_lines(self.file, Judgment)
        if self.offsets is None:
            numbers = set(self.lines.tolist())
            yield from dedupe(row for number, row in enumerate(rows) if number in numbers)
            return
        # The lines of an item are consecutive.
        confirmed = islice(rows, int(self.offsets.lines[-1]))
        for _, group in groupby(confirmed, lambda row: (row.signature, *row.target.item)):
            yield from dedupe(group)

    def tables(self) -> Iterator[JudgmentTable]:
        """Yield the judgments as tables.

        A large file is divided, unless it contains pairs, because the two orders of a pair must be in the same table.
        """
        if self.offsets is None:
            yield JudgmentTable.read(self.file, repeats=True).take(self.lines).last_asked()
            return
        at = self.offsets.chunks()
        if len(at) > 2 and not self.items.rival.equal(None).all():
            at = [at[0], at[-1]]
        if len(at) <= 2 and not self.offsets.more:
            yield JudgmentTable.read(self.file)
            return
        for start, end in pairwise(self.offsets.starts[at].tolist()):
            yield JudgmentTable.read_part(self.file, start, end).last_asked()


def _stamp(file: Path) -> tuple[int, int]:
    """Return the size and modification time of a file."""
    if not file.exists():
        return 0, 0
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def checksums_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of each field of run.json."""
    return {name: digest(value, 16) for name, value in fields.items()}


def read_manifest(folder: Path) -> Manifest:
    """Read run.json.

    Raises UsageError if the file is missing, and InputError if it is damaged.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}")
    try:
        fields = json.loads(file.read_bytes())
        recorded, current = fields.pop(CHECKSUMS, None), checksums_of(fields)
        if recorded is not None and recorded != current:
            changed = [name for name in {**recorded, **current} if recorded.get(name) != current.get(name)]
            raise InputError.at(
                file,
                "was changed after summeter wrote it, and the results of the run may depend on it. Restore it, or "
                f"remove its key {CHECKSUMS!r} to accept the change",
                field=", ".join(changed),
            )
        return Manifest.model_validate(fields)
    except ValidationError as error:
        raise invalid(file, None, error, "this is not a run of this version") from error
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError.at(file, f"damaged: {error}") from error


def as_judgments(failure: Failure, models: dict[str, str | None]) -> Iterator[Judgment]:
    """Yield one judgment per aspect for a failed item.

    `models` maps the signatures of judges to their models.
    """
    target = {"document_id": failure.document_id, "system": failure.system, "rival": failure.rival}
    for aspect in failure.aspects:
        yield Judgment.model_validate(
            {
                "target": {**target, "unit": "pair" if failure.rival else "summary"},
                "aspect": aspect,
                "judge": failure.judge,
                "signature": failure.signature,
                "model": models.get(failure.signature),
                "status": "error",
                "reason": failure.reason,
                "calls": failure.calls,
            }
        )
