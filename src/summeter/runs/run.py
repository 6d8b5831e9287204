"""A run is a folder: facts that only grow (judgments, prepared, failures, calls) and views rebuilt from them.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`RunFolder` reads such a folder; `summeter.runs.journal` writes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar
from weakref import ref
from zlib import crc32

import numpy as np
from pydantic import ValidationError, model_validator

from summeter.data.dataset import Dataset, load
from summeter.data.folder import document_domains, is_dataset
from summeter.records import (
    Fault,
    InputError,
    Judgment,
    Record,
    Status,
    UsageError,
    digest,
    invalid,
    read_lines,
    whole_lines,
)
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.progress import (
    PROGRESS,
    Done,
    DoneItems,
    DoneKey,
    ItemPlaces,
    JudgmentLines,
    ProgressTable,
    item_places,
)
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable, PairScore, Score, SystemTable, dedupe, to_frame
from summeter.scoring.table import Categorical, Groups
from summeter.stats.base import Ints

T = TypeVar("T")

MANIFEST = "run.json"
FAILURES = "failures.jsonl"
CALLS = "calls.sqlite"
CHECKSUMS = "checksums"
"""The key of run.json that holds the hash of each other field."""


class Failure(Record):
    """One item one evaluator could not judge fully. With status "error" it is tried again on resume.

    `checksum` is that of the other fields.
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


class CascadeSample(NamedTuple):
    """A cascade's random sample: `last` holds the second judge's judgments of it, `machine` what the cascade says of
    all items without them."""

    cascade: JudgeEntry
    machine: JudgmentTable
    last: JudgmentTable


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
        self._checked: dict[str, tuple[object, Confirmed]] = {}

    @property
    def data(self) -> Dataset:
        """The dataset the run judged, from its own copy."""
        if self._given is not None and (given := self._given()) is not None:
            return given
        if self._data is None:
            self._data = load(self._data_folder)
        return self._data

    @property
    def _data_folder(self) -> Path:
        """The run's own copy of the data. InputError where it is gone."""
        if not (self.folder / "data").is_dir():
            raise InputError.at(self.folder / "data", None, None, f"is missing. {_AGAIN}")
        return self.folder / "data"

    def domains(self) -> dict[str, str]:
        """The domain of each document that has one, by id."""
        given = self._data if self._given is None else self._given()
        if given is None and is_dataset(self._data_folder):
            return document_domains(self._data_folder)
        return (self.data if given is None else given).document_domains()

    @property
    def reduce(self) -> dict[str, str]:
        """How each judge's units become a score."""
        return {judge.name: judge.reduce for judge in self.manifest.judges}

    @property
    def partial(self) -> frozenset[str]:
        """The signatures of judges that judged only what a cascade asked of them: they have no scores of their own."""
        return frozenset(judge.signature for judge in self.manifest.judges if judge.partial)

    def judgments(self) -> list[Judgment]:
        """Every judgment, the last one a question, in order of writing; an item that failed for good is
        there too, as one judgment an aspect with status "error"."""
        return list(self.iter_judgments())

    def iter_judgments(self) -> Iterator[Judgment]:
        """`judgments` one by one, without keeping them.

        Raises InputError where judgments that are confirmed as written have changed, or some are gone."""
        counts: Counter[str] = Counter()
        for confirmed in self.confirmed().values():
            for row in confirmed.rows():
                counts[row.status] += 1
                yield row
        for row in self._errors():
            counts[row.status] += 1
            yield row
        self._check_counts(counts.total())

    def table(self) -> JudgmentTable:
        """`judgments` as a table, read without making a record of each."""
        return JudgmentTable.concat(list(self.tables()))

    def tables(self) -> Iterator[JudgmentTable]:
        """`table` in parts, one below the other, so that memory need not hold all: no item is in two of them, and no
        pair, either way round.

        Raises InputError as `iter_judgments` does."""
        count = 0
        for confirmed in self.confirmed().values():
            for table in confirmed.tables():
                count += len(table)
                yield table
        errors = JudgmentTable.of(self._errors())
        yield errors
        self._check_counts(count + len(errors))

    def file_of(self, judge: JudgeEntry) -> Path:
        """Where a judge's judgments stand."""
        return self.folder / "judgments" / f"{judge.file}.jsonl"

    def confirmed(self) -> dict[str, Confirmed]:
        """The judgments that lines of progress confirm, by signature. InputError where some are not as they were
        written, or gone."""
        progress: ProgressTable | None = None
        for judge in self.manifest.judges:
            file = self.file_of(judge)
            stamp = _stamp(file), _stamp(self.folder / PROGRESS)
            if judge.signature not in self._checked or self._checked[judge.signature][0] != stamp:
                progress = ProgressTable.read(self.folder / PROGRESS) if progress is None else progress
                own = progress.take(progress.of_judge(judge.signature))
                self._checked[judge.signature] = stamp, self._check_lines(file, own)
        return {judge.signature: self._checked[judge.signature][1] for judge in self.manifest.judges}

    def _check_lines(self, file: Path, items: ProgressTable) -> Confirmed:
        if file.is_dir():
            raise InputError.at(file, None, None, f"is a folder, not a file of judgments. {_AGAIN}")
        places = item_places(file, items)
        # A writer may be ahead of its lines of progress.
        if places is not None and (self.manifest.status == "running" or not places.more):
            return Confirmed(file, items, places)
        lines = JudgmentLines(file, items)
        faults = lines.damaged or lines.alterations()
        lost = np.flatnonzero(lines.count < items.judgments)
        if len(lost) and not faults:
            document, system, _ = items.item(int(lost[0]))
            more = f" and of {len(lost) - 1:,} more finished items" if len(lost) > 1 else ""
            gone = int((items.judgments - lines.count)[lost[0]])
            what = (
                f"judgments that {PROGRESS} confirms are gone: {gone} of document {document!r}, system {system!r}{more}"
            )
            faults = [Fault(str(file), None, None, what)]
        if faults:
            raise InputError(
                [*faults, Fault(str(self.folder), None, None, f"{_AGAIN}: what is damaged or gone is judged anew")]
            )
        return Confirmed(file, items, None, np.flatnonzero(lines.of >= 0))

    def check_prepared(self) -> None:
        """InputError where something that was prepared for a finished item is damaged or gone."""
        items = ProgressTable.read(self.folder / PROGRESS)
        for judge in self.manifest.judges:
            file = self.folder / "prepared" / f"{judge.file}.jsonl"
            wanted = set(items.prepared.take(items.of_judge(judge.signature)).used()) - {None}
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

    def _errors(self) -> Iterator[Judgment]:
        """The items that failed for good, as judgments."""
        last = {failure.key: failure for failure in self.failures() if failure.status == "error"}
        done = self.done() if last else DoneItems()
        models = {judge.signature: judge.model for judge in self.manifest.judges}
        for key, failure in last.items():
            if key not in done:
                yield from as_judgments(failure, models)

    def progress(self) -> Iterator[Done]:
        """What is finished."""
        return read_lines(self.folder / PROGRESS, Done)

    def judged(self) -> int:
        """How many summaries some judge has finished, or failed at for good, alone or in a pair."""
        items = ProgressTable.read(self.folder / PROGRESS)
        errors = [failure for failure in self.failures() if failure.status == "error"]
        paired = np.flatnonzero(~items.rival.equal(None))
        systems = [failure.system for failure in errors], [failure.rival for failure in errors if failure.rival]
        documents = [failure.document_id for failure in errors], [each.document_id for each in errors if each.rival]
        document = Categorical.concat([items.document, items.document.take(paired), *map(Categorical.of, documents)])
        system = Categorical.concat([items.system, items.rival.take(paired), *map(Categorical.of, systems)])
        return len(Groups.by(document, system))

    def done(self) -> DoneItems:
        """Which items each judge has finished."""
        return ProgressTable.read(self.folder / PROGRESS).done()

    def failures(self) -> Iterator[Failure]:
        """Everything that went wrong, in order, also what later went well."""
        return read_lines(self.folder / FAILURES, Failure)

    @property
    def totals(self) -> RunTotals:
        """The run in numbers."""
        return self.once("totals", self._add_up)

    def _add_up(self) -> RunTotals:
        return RunTotals.of(self.tables(), self.reduce, self.domains(), self.seed, self.partial)

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


class Confirmed(NamedTuple):
    """The judgments of a judge that lines of progress confirm: `places` says where they stand, None where they do not
    stand one item after the other; then `lines` are the numbers of the lines, among others that nothing confirms."""

    file: Path
    items: ProgressTable
    places: ItemPlaces | None
    lines: Ints = np.zeros(0, np.int64)

    def rows(self) -> Iterator[Judgment]:
        """The judgments one by one, the last one a question."""
        rows = read_lines(self.file, Judgment)
        if self.places is None:
            wanted = set(self.lines.tolist())
            yield from dedupe(row for number, row in enumerate(rows) if number in wanted)
            return
        # The lines of an item stand together.
        confirmed = islice(rows, int(self.places.lines[-1]))
        for _, group in groupby(confirmed, lambda row: (row.signature, *row.target.item)):
            yield from dedupe(group)

    def tables(self) -> Iterator[JudgmentTable]:
        """The judgments; those of a large file in parts, unless it holds pairs, of which two may be one."""
        if self.places is None:
            yield JudgmentTable.read(self.file, repeats=True).take(self.lines).last_asked()
            return
        at = self.places.parts()
        if len(at) > 2 and not self.items.rival.equal(None).all():
            at = [at[0], at[-1]]
        if len(at) <= 2 and not self.places.more:
            yield JudgmentTable.read(self.file)
            return
        for start, end in pairwise(self.places.starts[at].tolist()):
            yield JudgmentTable.read_part(self.file, start, end).last_asked()


def _stamp(file: Path) -> tuple[int, int]:
    """What changes when a file does."""
    if not file.exists():
        return 0, 0
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def checksums_of(fields: Mapping[str, Any]) -> dict[str, str]:
    """The hash of each field of run.json."""
    return {name: digest(value, 16) for name, value in fields.items()}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run's folder."""
    file = folder / MANIFEST
    if not file.is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}")
    try:
        fields = json.loads(file.read_bytes())
        written, there = fields.pop(CHECKSUMS, None), checksums_of(fields)
        if written is not None and written != there:
            changed = [name for name in {**written, **there} if written.get(name) != there.get(name)]
            raise InputError.at(
                file,
                None,
                ", ".join(changed),
                "changed since summeter wrote it, and the numbers of the run may rest on it; bring it back as it was "
                f"(to read the run as this file now stands, remove its key {CHECKSUMS!r})",
            )
        return Manifest.model_validate(fields)
    except ValidationError as error:
        raise invalid(file, None, error, "this is not a run of this version") from error
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError.at(file, None, None, f"damaged: {error}") from error


def as_judgments(failure: Failure, models: dict[str, str | None]) -> Iterator[Judgment]:
    """An item that failed for good, as one judgment an aspect; `models` are those of the judges by signature."""
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
