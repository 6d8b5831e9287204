"""A run is a folder: facts that only grow (judgments, prepared, failures, calls) and views rebuilt from them.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`RunFolder` reads such a folder; `summeter.runs.journal` writes it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
from pydantic import ValidationError

from summeter.data.dataset import Dataset, load
from summeter.records import InputError, Judgment, Record, Status, UsageError, read_lines
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable, PairScore, Score, SystemTable, dedupe, to_frame

MANIFEST = "run.json"
FAILURES = "failures.jsonl"
PROGRESS = "progress.jsonl"
CALLS = "calls.sqlite"

DoneKey = tuple[str, str, str, str | None]
"""(signature, document, system, rival): an item that a judge has finished."""


class Failure(Record):
    """One item one evaluator could not judge fully. With status "error" it is tried again on resume."""

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

    @property
    def key(self) -> DoneKey:
        """(signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


class Done(Record):
    """Progress: one evaluator has finished one item; `judgments` is how many it wrote."""

    signature: str
    document_id: str
    system: str
    rival: str | None = None
    judgments: int

    @property
    def key(self) -> DoneKey:
        """(signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


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
        self._totals: tuple[object, RunTotals] | None = None

    @property
    def data(self) -> Dataset:
        """The dataset the run judged, from its own copy."""
        if self._given is not None and (given := self._given()) is not None:
            return given
        if self._data is None:
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

        Raises InputError, behind the last of them, where judgments that are confirmed as written are gone."""
        left = {entry.key: entry.judgments for entry in self.progress()}
        for judge in self.manifest.judges:
            file = self.file_of(judge)
            # Counted before the rows are read, which take from `left`.
            repeated = _may_repeat(file, sum(left[key] for key in left if key[0] == judge.signature))
            rows = _confirmed(file, left)
            # Where a copy took the place of a neighbour's line, the counts agree: the lines of an item stand together.
            groups = [rows] if repeated else (group for _, group in groupby(rows, _item_of))
            for group in groups:
                yield from dedupe(group)
        self._check_whole(left)
        yield from self._errors(left)

    def table(self) -> JudgmentTable:
        """`judgments` as a table, read without making a record of each."""
        left = {entry.key: entry.judgments for entry in self.progress()}
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
        return JudgmentTable.join([*parts, JudgmentTable.of(self._errors(left))])

    def file_of(self, judge: JudgeEntry) -> Path:
        """Where a judge's judgments stand."""
        return self.folder / "judgments" / f"{judge.file}.jsonl"

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
            f"{more}. Bring the file back, or give the command that made the run again: what is gone is judged anew",
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
        """The run in numbers; added up again only where the run has gone on."""
        stamp = tuple(_stamp(self.folder / name) for name in (PROGRESS, FAILURES))
        if self._totals is None or self._totals[0] != stamp:
            domains = {document.id: document.domain for document in self.data.documents.values()}
            self._totals = stamp, RunTotals.of(self.table(), self.reduce, domains, self.seed)
        return self._totals[1]

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


def _confirmed(file: Path, left: dict[DoneKey, int]) -> Iterator[Judgment]:
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
    found = file.stat()
    return found.st_size, found.st_mtime_ns


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run's folder."""
    file = folder / MANIFEST
    if not file.is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}")
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError.at(file, None, place or None, f"not a run of this version: {first['msg']}") from error


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
