"""A run is a folder: facts that only grow (judgments, prepared, failures, calls) and views rebuilt from them.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`RunFolder` reads such a folder; `summeter.runs.journal` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from summeter.data.dataset import Dataset, load
from summeter.records import InputError, Judgment, Record, Status, UsageError
from summeter.runs.manifest import Manifest
from summeter.runs.tally import Tally, tally
from summeter.scoring import PairScore, ReplyCount, Score, SystemTable, dedupe, pair_scores, system_scores

MANIFEST = "run.json"
FAILURES = "failures.jsonl"
PROGRESS = "progress.jsonl"
CALLS = "calls.sqlite"

R = TypeVar("R", bound=Record)


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


class Done(Record):
    """Progress: one evaluator has finished one item; `judgments` is how many it wrote."""

    signature: str
    document_id: str
    system: str
    rival: str | None = None
    judgments: int

    @property
    def key(self) -> tuple[str, str, str, str | None]:
        """(signature, document, system, rival)."""
        return self.signature, self.document_id, self.system, self.rival


class RunFolder:
    """Read access to a run's folder, finished or not.

    Raises InputError where the folder is no run or a file in it is damaged.
    """

    def __init__(self, folder: str | Path, *, data: Dataset | None = None) -> None:
        """`data` is the dataset the run judges, where it is at hand."""
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self._data = data
        self._tally: tuple[object, Tally] | None = None

    @property
    def data(self) -> Dataset:
        """The dataset the run judged, from its own copy."""
        if self._data is None:
            self._data = load(self.folder / "data")
        return self._data

    def forget_data(self) -> None:
        """Let go of the dataset in memory; whoever asks for it next gets the run's own copy."""
        self._data = None

    @property
    def reduce(self) -> dict[str, str]:
        """How each judge's units become a score."""
        return {judge.name: judge.reduce for judge in self.manifest.judges}

    def judgments(self) -> list[Judgment]:
        """Every judgment, the last one a question, in order of writing; an item that failed for good is
        there too, as one judgment an aspect with status "error"."""
        return list(self.iter_judgments())

    def iter_judgments(self) -> Iterator[Judgment]:
        """`judgments` one by one, without keeping them."""
        for judgments in self.by_item():
            yield from judgments

    def by_item(self) -> Iterator[list[Judgment]]:
        """`judgments` in the same order, those of one item by one judge together; all of a judge's at once where its
        file has been written by another hand, and the lines of an item do not stand together.

        Raises InputError, behind the last of them, where judgments that are confirmed as written are gone."""
        done = {interned(entry.key): entry.judgments for entry in self.progress()}
        for judge in self.manifest.judges:
            file = self.folder / "judgments" / f"{judge.file}.jsonl"
            rows = _confirmed(file, done)
            if stands_together(file):
                yield from (dedupe(group) for _, group in groupby(rows, lambda row: (row.signature, row.target.item)))
            elif found := dedupe(rows):
                yield found
        self._check_whole(done)
        errors = groupby(self._errors(done), lambda row: (row.signature, row.target.item))
        yield from (list(group) for _, group in errors)

    def _check_whole(self, left: Mapping[tuple[str, str, str, str | None], int]) -> None:
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

    def _errors(self, done: Container[tuple[str, str, str, str | None]]) -> Iterator[Judgment]:
        last: dict[tuple[str, str, str, str | None], Failure] = {}
        for failure in self.failures():
            key = (failure.signature, failure.document_id, failure.system, failure.rival)
            if failure.status == "error" and key not in done:
                last[key] = failure
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
    def tally(self) -> Tally:
        """The run in numbers, added up in one pass over its judgments; again only where the run has gone on."""
        stamp = tuple(_stamp(self.folder / name) for name in (PROGRESS, FAILURES))
        if self._tally is None or self._tally[0] != stamp:
            domains = {document.id: document.domain for document in self.data.documents.values()}
            self._tally = stamp, tally(self.by_item(), self.reduce, domains, self.seed)
        return self._tally[1]

    def scores(self) -> list[Score]:
        """Summary scores, recomputed from the judgments."""
        return list(self.tally.scores)

    @property
    def seed(self) -> int:
        """The seed its intervals are drawn with: the run's own, else 0."""
        return int(self.manifest.options.get("seed") or 0)

    def summary(self, *, seed: int | None = None) -> SystemTable:
        """Means of systems with interval, n and missing, over all documents and by domain."""
        if seed is None or seed == self.seed:
            return self.tally.table
        domains = {document.id: document.domain for document in self.data.documents.values()}
        return SystemTable(system_scores(self.tally.scores, domains, seed=seed))

    def pairs(self, *, seed: int | None = None) -> list[PairScore]:
        """Mean preferences of each pair of systems by judge and aspect; empty where nothing compares."""
        if seed is None or seed == self.seed:
            return list(self.tally.pairs)
        return pair_scores(self.tally.preferences, seed=seed)

    def replies(self) -> list[ReplyCount]:
        """How many of each judge's replies could be used, and what was wrong with the others, by class."""
        return list(self.tally.replies)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, {self.manifest.status})"


def _confirmed(file: Path, left: dict[tuple[str, str, str, str | None], int]) -> Iterator[Judgment]:
    """The judgments of finished items; each is taken from the count that is `left` of its item."""
    for row in read_lines(file, Judgment):
        key = (row.signature, *row.target.item)
        if key in left:
            left[key] -= 1
            yield row


def stands_together(file: Path) -> bool:
    """Whether the lines of each item stand together in a file of judgments, as those who write runs put them."""
    if not file.exists():
        return True
    seen: set[int] = set()
    last = b""
    with file.open("rb") as lines:
        for line in lines:
            item = item_head(line)
            if not item:
                return False
            if item != last:
                last, mark = item, hash(item)
                if mark in seen:
                    return False
                seen.add(mark)
    return True


def item_head(line: bytes) -> bytes:
    """The item of a judgment's line as it stands; empty where another hand wrote the line otherwise.

    A line of ours begins with its target, and the target with the item: what is before the unit.

    >>> item_head(b'{"target":{"document_id":"d","system":"s","rival":null,"unit":"summary"}}')
    b'{"target":{"document_id":"d","system":"s","rival":null'
    """
    head, _, rest = line.partition(b',"unit":')
    ours = rest and head.startswith(b'{"target":{"document_id":') and b'"rival":' not in rest
    return head if ours else b""


def interned_item(document_id: str, system: str, rival: str | None) -> tuple[str, str, str | None]:
    """An item with each text held once, however many name it."""
    return sys.intern(document_id), sys.intern(system), rival and sys.intern(rival)


def interned(key: tuple[str, str, str, str | None]) -> tuple[str, str, str, str | None]:
    """The key with each text held once, however many name it."""
    signature, document_id, system, rival = key
    return sys.intern(signature), *interned_item(document_id, system, rival)


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


def read_lines(file: Path, record: type[R]) -> Iterator[R]:
    """Records of a JSONL file, none if it is absent. A torn last line (a killed writer) is passed over."""
    if not file.exists():
        return
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield record.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or None
                raise InputError.at(file, number, field, f"damaged: {first['msg']}") from error


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
