"""A run is a folder: facts that only grow (judgments, prepared, failures, calls) and views rebuilt from them.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`RunFolder` reads such a folder; `summeter.store.journal` writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from summeter.records import InputError, Judgment, Record, Status, UsageError
from summeter.scoring import (
    PairScore,
    ReplyCount,
    Score,
    SystemTable,
    dedupe,
    pair_scores,
    preferences,
    reply_counts,
    summary_scores,
    system_scores,
)
from summeter.store.dataset import Dataset, load
from summeter.store.manifest import Manifest

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

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)

    @cached_property
    def data(self) -> Dataset:
        """The dataset the run judged, from its own copy."""
        return load(self.folder / "data")

    @property
    def reduce(self) -> dict[str, str]:
        """How each judge's units become a score."""
        return {judge.name: judge.reduce for judge in self.manifest.judges}

    def judgments(self) -> list[Judgment]:
        """Every judgment, the last one a question, in order of writing; an item that failed for good is
        there too, as one judgment an aspect with status "error"."""
        found: list[Judgment] = []
        done = {entry.key for entry in self.progress()}
        for judge in self.manifest.judges:
            rows = read_lines(self.folder / "judgments" / f"{judge.file}.jsonl", Judgment)
            found.extend(row for row in rows if (row.signature, *row.target.item) in done)
        return dedupe(found) + self._errors(done)

    def _errors(self, done: set[tuple[str, str, str, str | None]]) -> list[Judgment]:
        last: dict[tuple[str, str, str, str | None], Failure] = {}
        for failure in self.failures():
            key = (failure.signature, failure.document_id, failure.system, failure.rival)
            if failure.status == "error" and key not in done:
                last[key] = failure
        models = {judge.signature: judge.model for judge in self.manifest.judges}
        return [error for failure in last.values() for error in _as_judgments(failure, models)]

    def progress(self) -> Iterator[Done]:
        """What is finished."""
        return read_lines(self.folder / PROGRESS, Done)

    def failures(self) -> Iterator[Failure]:
        """Everything that went wrong, in order, also what later went well."""
        return read_lines(self.folder / FAILURES, Failure)

    def scores(self) -> list[Score]:
        """Summary scores, recomputed from the judgments."""
        return summary_scores(self.judgments(), self.reduce)

    @property
    def seed(self) -> int:
        """The seed its intervals are drawn with: the run's own, else 0."""
        return int(self.manifest.options.get("seed") or 0)

    def summary(self, *, seed: int | None = None) -> SystemTable:
        """Means of systems with interval, n and missing, over all documents and by domain."""
        domains = {document.id: document.domain for document in self.data.documents.values()}
        return SystemTable(system_scores(self.scores(), domains, seed=self.seed if seed is None else seed))

    def pairs(self, *, seed: int | None = None) -> list[PairScore]:
        """Mean preferences of each pair of systems by judge and aspect; empty where nothing compares."""
        return pair_scores(preferences(self.judgments()), seed=self.seed if seed is None else seed)

    def replies(self) -> list[ReplyCount]:
        """How many of each judge's replies could be used, and what was wrong with the others, by class."""
        return reply_counts(self.judgments())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, {self.manifest.status})"


def counts(judgments: list[Judgment]) -> dict[str, int]:
    """Judgments by status."""
    return dict(Counter(judgment.status for judgment in judgments))


class LeftOut(NamedTuple):
    """How many judgments go by a document that was not shown whole, and the tokens not shown (estimated).

    `tokens` adds up one figure a judge and summary: its judgments speak of one reading.
    """

    judgments: int
    tokens: int

    def __str__(self) -> str:
        many = f"{self.judgments:,} judgment{' goes' if self.judgments == 1 else 's go'}"
        return f"{many} by a document that the judge was not shown whole (about {self.tokens:,} tokens left out in all)"


def left_out(judgments: Iterable[Judgment]) -> LeftOut:
    """What of documents the judges of a run were not shown; nothing, mostly."""
    cut = [one for one in judgments if one.truncated_tokens]
    readings: dict[tuple[object, ...], int] = {}
    for one in cut:
        key = (one.signature, one.target.item)
        readings[key] = max(readings.get(key, 0), one.truncated_tokens or 0)
    return LeftOut(len(cut), sum(readings.values()))


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


def _as_judgments(failure: Failure, models: dict[str, str | None]) -> Iterator[Judgment]:
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
