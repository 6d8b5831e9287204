"""A run is a folder: facts that only grow (judgments, prepared, failures, calls) and views rebuilt from them.

    RUN/  run.json  data/  judgments/*.jsonl  prepared/*.jsonl  failures.jsonl  progress.jsonl  calls.sqlite
          scores.jsonl  scores.csv  pairs.jsonl  summary.json  report.html        <- views

`RunFolder` reads such a folder; `summeter.runs.journal` writes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar
from weakref import ref
from zlib import crc32

import numpy as np
from pydantic import ValidationError, model_validator

from summeter.data.dataset import Dataset, load
from summeter.data.folder import document_domains, is_dataset
from summeter.records import Fault, InputError, Judgment, Record, Status, UsageError, digest, read_lines, whole_lines
from summeter.runs.manifest import JudgeEntry, Manifest
from summeter.runs.progress import (
    PROGRESS,
    Done,
    DoneItems,
    DoneKey,
    ItemIndex,
    ItemPlaces,
    JudgmentLines,
    ProgressTable,
    hashed,
    item_places,
)
from summeter.runs.totals import RunTotals
from summeter.scoring import JudgmentTable, PairScore, Score, SystemTable, dedupe, to_frame
from summeter.scoring.table import Groups, Names
from summeter.stats.base import Bools, Ints

T = TypeVar("T")

MANIFEST = "run.json"
FAILURES = "failures.jsonl"
CALLS = "calls.sqlite"
CHECKSUM, CHECKSUMS = "checksum", "checksums"
"""The keys of run.json that hold the hash of all else in it, and that of each field, which tells what was changed."""


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
        self._checked: dict[str, tuple[object, ItemPlaces | None]] = {}

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

        Raises InputError where judgments that are confirmed as written have changed, or behind the last of them, where
        some are gone."""
        left = self._confirmed()
        counts: Counter[str] = Counter()
        for judge in self.manifest.judges:
            file = self.file_of(judge)
            # Counted before the rows are read, which take from `left`.
            repeated = _may_repeat(file, left.total(judge.signature))
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
        return JudgmentTable.concat(list(self.tables()))

    def tables(self) -> Iterator[JudgmentTable]:
        """`table` in parts, one below the other, so that memory need not hold all: no item is in two of them, and no
        pair, either way round.

        Raises InputError as `iter_judgments` does."""
        left = self._confirmed()
        count = 0
        for judge in self.manifest.judges:
            for table in self._parts_of(judge, left):
                groups = table.groups("signature", "document", "system", "rival")
                finished = left.take(judge.signature, table.take(groups.first), np.bincount(groups.of))
                part = (table if finished.all() else table.take(finished[groups.of])).last_asked()
                count += len(part)
                yield part
        self._check_whole(left)
        errors = JudgmentTable.of(self._errors(left))
        yield errors
        self._check_counts(count + len(errors))

    def _parts_of(self, judge: JudgeEntry, left: _Left) -> Iterator[JudgmentTable]:
        """The judgments of a judge; those of a large file in parts, unless it holds pairs, of which two may be one."""
        file = self.file_of(judge)
        _, places = self._checked[file.name]
        rows = left.items.of_judge(judge.signature)
        at = [] if places is None else places.parts()
        if places is None or len(at) <= 2 or not left.items.rival.take(rows).equal(None).all():
            yield JudgmentTable.read(file, repeats=True)
            return
        for start, end in pairwise(places.starts[at].tolist()):
            yield JudgmentTable.read_part(file, start, end)

    def lines(self) -> Iterator[tuple[Path, ProgressTable, ItemPlaces | None]]:
        """The file of each judge with its finished items and where their lines stand; None for these where they do not
        stand in order. Raises InputError as `iter_judgments` does."""
        items = ProgressTable.read(self.folder / PROGRESS)
        for judge in self.manifest.judges:
            own, file = items.take(items.of_judge(judge.signature)), self.file_of(judge)
            self._check_lines(file, own)
            yield file, own, self._checked[file.name][1]

    def file_of(self, judge: JudgeEntry) -> Path:
        """Where a judge's judgments stand."""
        return self.folder / "judgments" / f"{judge.file}.jsonl"

    def _confirmed(self) -> _Left:
        """How many judgments each finished item has. InputError where some are not as they were written."""
        items = ProgressTable.read(self.folder / PROGRESS)
        for judge in self.manifest.judges:
            self._check_lines(self.file_of(judge), items.take(items.of_judge(judge.signature)))
        return _Left(items)

    def _check_lines(self, file: Path, items: ProgressTable) -> None:
        if file.is_dir():
            raise InputError.at(file, None, None, f"is a folder, not a file of judgments. {_AGAIN}")
        stamp = _stamp(file), _stamp(self.folder / PROGRESS)
        if file.name in self._checked and self._checked[file.name][0] == stamp:
            return
        places = None
        if len(items):
            running = self.manifest.status == "running"  # a writer may be ahead of its lines of progress
            places = item_places(file, items)
            if places is None or (not running and places.more):
                lines = JudgmentLines(file, items)
                if faults := lines.damaged or lines.alterations():
                    advice = f"{_AGAIN}: what is damaged is judged anew"
                    raise InputError([*faults, Fault(str(self.folder), None, None, advice)])
        self._checked[file.name] = stamp, places

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

    def _check_whole(self, left: _Left) -> None:
        """InputError where some judgments of finished items were not met."""
        lost = left.lost()
        if not len(lost):
            return
        first = left.items.record(int(lost[0]))
        file = next((each.file for each in self.manifest.judges if each.signature == first.signature), first.signature)
        more = f" and of {len(lost) - 1:,} more finished items" if len(lost) > 1 else ""
        raise InputError.at(
            self.folder / "judgments" / f"{file}.jsonl",
            None,
            None,
            f"judgments that {PROGRESS} confirms are gone: {left.number[lost[0]]} of document {first.document_id!r}, "
            f"system {first.system!r}{more}. {_AGAIN}: what is gone is judged anew",
        )

    def _errors(self, done: Container[DoneKey]) -> Iterator[Judgment]:
        last = {
            failure.key: failure for failure in self.failures() if failure.status == "error" and failure.key not in done
        }
        models = {judge.signature: judge.model for judge in self.manifest.judges}
        for failure in last.values():
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
        document = Names.concat([items.document, items.document.take(paired), *map(Names.of, documents)])
        system = Names.concat([items.system, items.rival.take(paired), *map(Names.of, systems)])
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


def _may_repeat(file: Path, confirmed: int) -> bool:
    """Whether a question may stand twice in a file of judgments: only where it has more lines than are confirmed."""
    if sum(1 for _ in whole_lines(file)) <= confirmed:
        return False
    table = JudgmentTable.read(file, repeats=True)
    return len(table.last_asked()) < len(table)


def _item_of(row: Judgment) -> DoneKey:
    return (row.signature, *row.target.item)


def _of_items(file: Path, left: _Left) -> Iterator[Judgment]:
    """The judgments of finished items; each is taken from what is `left` of its item."""
    for key, rows in groupby(read_lines(file, Judgment), _item_of):
        place = left.place(key)
        for row in rows:
            if place is not None:
                left.number[place] -= 1
                yield row


class _Left(Container[DoneKey]):
    """How many judgments of each finished item were not met so far: `number`, by the rows of `items`."""

    def __init__(self, items: ProgressTable) -> None:
        self.items = items
        self.number = items.judgments.copy()
        self._index: dict[str, tuple[Ints, ItemIndex]] = {}
        self._finished: dict[str, _Finished] = {}

    def _of(self, signature: str) -> tuple[Ints, ItemIndex]:
        """The rows of a judge, and where among them each item is."""
        if signature not in self._index:
            rows = self.items.of_judge(signature)
            self._index[signature] = rows, ItemIndex(self.items.take(rows).keys())
        return self._index[signature]

    def place(self, key: DoneKey) -> int | None:
        """The row of an item; None where it is not finished."""
        signature, document_id, system, rival = key
        rows, index = self._of(signature)
        at = index.find(hashed(document_id, system, rival))
        return None if at is None else int(rows[at])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and self.place(key) is not None

    def total(self, signature: str) -> int:
        """How many judgments of a judge are left."""
        return int(self.number[self.items.of_judge(signature)].sum())

    def take(self, signature: str, items: JudgmentTable, judgments: Ints) -> Bools:
        """Take so many judgments off each of these items, which are different; returns which of them are finished."""
        if signature not in self._finished:
            self._finished[signature] = _Finished(self.items, self.items.of_judge(signature))
        rows = self._finished[signature].rows_of(items)
        there = (rows >= 0) & items.signature.equal(signature)
        self.number[rows[there]] -= judgments[there]
        return there

    def lost(self) -> Ints:
        """The rows of the items of which some judgments were not met."""
        return np.flatnonzero(self.number > 0)


class _Finished:
    """The finished items of a judge, found by the names in a table of judgments."""

    def __init__(self, items: ProgressTable, rows: Ints) -> None:
        columns = [column.take(rows) for column in (items.document, items.system, items.rival)]
        self._codes = [{name: code for code, name in enumerate(column.names)} for column in columns]
        keys = self._keys([column.codes for column in columns])
        order = np.argsort(keys)
        self._keys_in_order, self._rows = keys[order], rows[order]

    def _keys(self, codes: Sequence[Ints]) -> Ints:
        document, system, rival = (column.astype(np.int64) for column in codes)
        keys: Ints = (document * len(self._codes[1]) + system) * len(self._codes[2]) + rival
        return keys

    def rows_of(self, table: JudgmentTable) -> Ints:
        """The row of the item of each judgment, -1 where it is not finished."""
        codes = [
            np.array([known.get(name, -1) for name in column.names], np.int64)[column.codes]
            for known, column in zip(self._codes, (table.document, table.system, table.rival), strict=True)
        ]
        if not len(self._rows):
            return np.full(len(table), -1, np.int64)
        keys = np.where(np.min(codes, axis=0) < 0, -1, self._keys(codes))
        at = np.minimum(self._keys_in_order.searchsorted(keys), len(self._rows) - 1)
        return np.where(self._keys_in_order[at] == keys, self._rows[at], -1)


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
                file,
                None,
                ", ".join(changed) or None,
                "changed since summeter wrote it, and the numbers of the run may rest on it; bring it back as it was "
                f"(to read the run as this file now stands, remove its keys {CHECKSUM!r} and {CHECKSUMS!r})",
            )
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
                "aspect": aspect,
                "judge": failure.judge,
                "signature": failure.signature,
                "model": models.get(failure.signature),
                "status": "error",
                "reason": failure.reason,
                "calls": failure.calls,
            }
        )
