"""Derived judges: computed from their members' judgments once the members are through."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import IO, Self, overload

from summeter.data.dataset import Dataset
from summeter.engine.plan import Job, RunPlan, item_key, units
from summeter.engine.worker import FATAL, failure, reason_of, record, skipped
from summeter.evaluators.derived import DerivedEvaluator, ItemKey, MemberJudgments
from summeter.records import Judgment, read_lines
from summeter.runs.journal import Journal, judged_item
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import DoneKey
from summeter.runs.run import FAILURES, Failure
from summeter.scoring import dedupe

log = logging.getLogger(__name__)


def drop_outdated(plan: RunPlan, journal: Journal) -> None:
    """Forget the judgments of derived judges whose members have something left to do in this session."""
    for job in plan.jobs:
        members = [other for other in plan.jobs if other.signature in job.entry.members]
        if any(True for _ in units(plan.data, members, journal.done, plan.options.limit)):
            journal.drop(job.entry)


def derive(jobs: Sequence[Job], judges: Sequence[JudgeEntry], data: Dataset, journal: Journal) -> None:
    """Compute those of the jobs that are derived judges and have an item left, in order, from what is in the journal.

    `judges` are those of the run. An item that a member could not judge at all is the derived judge's error too.
    """
    entries = {judge.signature: judge for judge in judges}
    for job in jobs:
        if isinstance(job.evaluator, DerivedEvaluator):
            members = [entries[signature] for signature in job.entry.members]
            _note_errors(job, _derive(job.evaluator, job, members, data, journal), journal)


def _derive(
    evaluator: DerivedEvaluator, job: Job, members: Sequence[JudgeEntry], data: Dataset, journal: Journal
) -> list[ItemKey]:
    """Judge all items that every member has finished, unless that is done; returns the items that are left."""
    items = [item for document, summaries in data.items() for item in evaluator.items(document, summaries)]
    unfit = {item_key(item): skipped(job, item, why) for item in items if (why := evaluator.skip_reason(item))}
    fit = [key for item in items if (key := item_key(item)) not in unfit]
    ready = [key for key in fit if all((member, *key) in journal.done for member in job.entry.members)]
    if any((job.signature, *key) not in journal.done for key in (*unfit, *ready)):
        journal.drop(job.entry)
        try:
            _write(evaluator, job, members, ready, journal)
        except FATAL:
            raise
        except Exception as error:
            log.exception("%s could not be computed", evaluator.name)
            journal.drop(job.entry)
            for key in ready:
                journal.failed(failure(job.entry, key, "error", reason_of(error), ()))
        for key, judgments in unfit.items():
            record(journal, job.entry, key, judgments)
    there = set(ready)
    return [key for key in fit if key not in there]


def _write(
    evaluator: DerivedEvaluator, job: Job, members: Sequence[JudgeEntry], ready: Sequence[ItemKey], journal: Journal
) -> None:
    silent = dict.fromkeys(ready)
    with ExitStack() as stack:
        files = [stack.enter_context(_MemberFile(journal.folder, judge.file)) for judge in members]
        rows = evaluator.derive(_JudgedItems(ready, files), job.signature)
        for key, judgments in groupby(rows, key=lambda row: row.target.item):
            del silent[key]  # KeyError for an item that was not asked about, or comes twice
            record(journal, job.entry, key, list(judgments))
    for key in silent:
        journal.judged(job.entry, key, [])


def _note_errors(job: Job, left: Sequence[ItemKey], journal: Journal) -> None:
    """Note a failure for each item that a member could not judge; one that the budget left undone is no failure."""
    if not left:
        return
    errors: dict[DoneKey, str] = {
        (entry.signature, entry.document_id, entry.system, entry.rival): entry.reason
        for entry in read_lines(journal.folder / FAILURES, Failure)
        if entry.status == "error"
    }
    for key in left:
        undone = [(member, *key) for member in job.entry.members if (member, *key) not in journal.done]
        why = next((errors[of_member] for of_member in undone if of_member in errors), None)
        if why is not None and errors.get((job.signature, *key)) != why:
            journal.failed(failure(job.entry, key, "error", why, ()))


class _MemberFile:
    """One member's judgments, read item by item; memory holds where the lines of each item stand."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._path = folder / "judgments" / f"{stem}.jsonl"
        self._starts: dict[ItemKey, list[int]] = {}

    def __enter__(self) -> Self:
        # A member that has judged nothing has no file.
        self._file: IO[bytes] = self._path.open("rb") if self._path.exists() else BytesIO()
        start = 0
        for line in self._file:
            self._starts.setdefault(judged_item(line)[1:], []).append(start)
            start += len(line)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, key: ItemKey) -> tuple[Judgment, ...]:
        """The judgments of an item; of two answers to one question the later one."""
        lines = []
        for start in self._starts.get(key, ()):
            self._file.seek(start)
            lines.append(self._file.readline())
        return tuple(dedupe(map(Judgment.model_validate_json, lines)))


class _JudgedItems(Sequence[MemberJudgments]):
    """What the members judged, read when it is asked for."""

    def __init__(self, items: Sequence[ItemKey], files: Sequence[_MemberFile]) -> None:
        self._items, self._files = items, files

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> MemberJudgments: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[MemberJudgments]: ...
    def __getitem__(self, index: int | slice) -> MemberJudgments | Sequence[MemberJudgments]:
        if isinstance(index, slice):
            return _JudgedItems(self._items[index], self._files)
        item = self._items[index]
        return MemberJudgments(item, tuple(file.of(item) for file in self._files))
