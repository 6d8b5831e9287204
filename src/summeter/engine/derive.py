"""Derived judges: computed from their members' judgments once the members are through."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import IO, overload

from summeter.data.dataset import Dataset
from summeter.engine.plan import Job, RunPlan, Wanted, item_key, units
from summeter.engine.worker import FATAL, failure, reason_of, record
from summeter.evaluators.cascade import Cascade, CascadePlan
from summeter.evaluators.derived import DerivedEvaluator, ItemKey, MemberJudgments
from summeter.records import Judgment, read_lines
from summeter.runs.journal import Journal, judged_item
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import DoneKey
from summeter.runs.run import FAILURES, CascadeSample, Failure, RunFolder
from summeter.scoring import dedupe
from summeter.scoring.table import JudgmentTable

log = logging.getLogger(__name__)


def undecided(plan: RunPlan, journal: Journal, *, judged: bool) -> dict[str, set[ItemKey]]:
    """The items that each partial judge must judge, by signature: those known before any work, or those that follow
    from what is `judged`."""
    wanted: dict[str, set[ItemKey]] = {job.signature: set() for job in plan.jobs if job.entry.partial}
    entries = {job.signature: job.entry for job in plan.jobs}
    for job in plan.jobs:
        if isinstance(job.evaluator, DerivedEvaluator) and not wanted.keys().isdisjoint(job.entry.members):
            items, _ = _items(job, plan.data, journal.done, plan.options.limit)
            members = [entries[signature] for signature in job.entry.members]
            with _judged(items, members, journal.folder, nothing=not judged) as rows:
                named = job.evaluator.undecided(rows)
            for signature in wanted.keys() & job.entry.members:
                wanted[signature].update(item for item in items if item in named)
    return wanted


def drop_outdated(plan: RunPlan, jobs: Sequence[Job], journal: Journal, wanted: Wanted) -> None:
    """Forget the judgments of derived judges that rest on one of `jobs` that has something left to do."""
    for job in plan.jobs:
        members = [other for other in jobs if other.signature in job.entry.members]
        if members and any(True for _ in units(plan.data, members, journal.done, plan.options.limit, wanted)):
            journal.drop(job.entry)


def derive(
    jobs: Sequence[Job], judges: Sequence[JudgeEntry], data: Dataset, journal: Journal, limit: int | None = None
) -> bool:
    """Compute those of the jobs that are derived judges and have an item left, in order, from what is in the journal;
    returns whether an item waits for a partial member that has not been asked about it.

    `judges` are those of the run. An item that a member could not judge at all is the derived judge's error too.
    `limit` is how many documents the run is over.
    """
    entries = {judge.signature: judge for judge in judges}
    waits = False
    for job in jobs:
        if isinstance(job.evaluator, DerivedEvaluator):
            members = [entries[signature] for signature in job.entry.members]
            left = _derive(job.evaluator, job, members, data, journal, limit)
            waits |= _note_errors(job, left, journal)
    return waits


def cascades(run: RunFolder) -> Iterator[tuple[JudgeEntry, Cascade, CascadePlan, Sequence[MemberJudgments]]]:
    """The cascades of a run: which judge decides what, and what both have judged of each item, to be read before the
    next cascade is asked for."""
    entries = {judge.signature: judge for judge in run.manifest.judges}
    for entry in entries.values():
        if entry.name == Cascade.name and not entry.imported:
            cascade = Cascade(**entry.settings)
            items, _ = _items(Job(cascade, entry), run.data, run.done(), run.manifest.options.get("limit"))
            members = [entries[signature] for signature in entry.members]
            with _judged(items, members, run.folder) as judged:
                yield entry, cascade, cascade.plan(judged), judged


def cascade_samples(run: RunFolder) -> list[CascadeSample]:
    """The random samples of the run's cascades, leaving out cascades of whose sample the second judge judged
    nothing."""
    samples = []
    for entry, cascade, plan, judged in cascades(run):
        if plan.sampled:
            first = plan.first - plan.passed_on
            machine = JudgmentTable.of(cascade.judgments(judged, entry.signature, plan, first, plan.passed_on))
            said = cascade.judgments(judged, entry.members[1], plan, (), plan.sampled)
            name = cascade.members[1].name
            last = JudgmentTable.of(row.model_copy(update={"judge": name}) for row in said)
            samples.append(CascadeSample(entry, machine, last))
    return samples


def _items(
    job: Job, data: Dataset, done: Container[DoneKey], limit: int | None
) -> tuple[list[ItemKey], dict[ItemKey, list[Judgment]]]:
    """The items that a derived judge is over (those of the first `limit` documents, and those that a member has
    finished in an earlier session), and the judgments that say why others cannot be judged."""
    fit: list[ItemKey] = []
    unfit: dict[ItemKey, list[Judgment]] = {}
    for place, (document, summaries) in enumerate(data.items()):
        for item in job.evaluator.items(document, summaries):
            key = item_key(item)
            if limit is not None and place >= limit and not any((name, *key) in done for name in job.entry.members):
                continue
            skipped = job.evaluator.unjudged(item, job.signature)
            if skipped is None:
                fit.append(key)
            else:
                unfit[key] = [row.model_copy(update={"model": job.entry.model}) for row in skipped]
    return fit, unfit


def _derive(
    evaluator: DerivedEvaluator,
    job: Job,
    members: Sequence[JudgeEntry],
    data: Dataset,
    journal: Journal,
    limit: int | None,
) -> list[ItemKey]:
    """Judge all items that every member has finished, unless that is done; returns the items that are left."""
    fit, unfit = _items(job, data, journal.done, limit)
    partial = any(member.partial for member in evaluator.members)
    whole = [entry.signature for member, entry in zip(evaluator.members, members, strict=True) if not member.partial]
    ready = {key: None for key in fit if all((signature, *key) in journal.done for signature in whole)}
    left = [key for key in fit if key not in ready]
    if all((job.signature, *key) in journal.done for key in (*unfit, *ready)):
        return left
    journal.drop(job.entry)
    try:
        with _judged(fit if partial else list(ready), members, journal.folder) as judged:
            derived = groupby(evaluator.derive(judged, job.signature), key=lambda row: row.target.item)
            for key, rows in derived:
                del ready[key]  # KeyError for an item that was not asked about, or comes twice
                record(journal, job.entry, key, list(rows))
    except FATAL:
        raise
    except Exception as error:
        log.exception("%s could not be computed", evaluator.name)
        journal.drop(job.entry)
        for key in fit:
            if key not in left:
                journal.failed(failure(job.entry, key, "error", reason_of(error), ()))
    else:
        for key in ready:
            if all((member.signature, *key) in journal.done for member in members):
                journal.judged(job.entry, key, [])
            else:  # a partial member could not judge it
                left.append(key)
    for key, judgments in unfit.items():
        record(journal, job.entry, key, judgments)
    return left


def _note_errors(job: Job, left: Sequence[ItemKey], journal: Journal) -> bool:
    """Note a failure for each item that a member could not judge; one that the budget left undone is no failure.
    Returns whether the first member has judged such an item."""
    if not left:
        return False
    waits = False
    errors: dict[DoneKey, str] = {
        (entry.signature, entry.document_id, entry.system, entry.rival): entry.reason
        for entry in read_lines(journal.folder / FAILURES, Failure)
        if entry.status == "error"
    }
    for key in left:
        undone = [(member, *key) for member in job.entry.members if (member, *key) not in journal.done]
        why = next((errors[of_member] for of_member in undone if of_member in errors), None)
        if why is None:
            waits |= (job.entry.members[0], *key) in journal.done
        elif errors.get((job.signature, *key)) != why:
            journal.failed(failure(job.entry, key, "error", why, ()))
    return waits


@contextmanager
def _judged(
    items: Sequence[ItemKey], members: Sequence[JudgeEntry], folder: Path, *, nothing: bool = False
) -> Iterator[_JudgedItems]:
    """What the members have judged of the items, read while the files are open; `nothing` as before any work."""
    files = [folder / "judgments" / f"{judge.file}.jsonl" for judge in members]
    with ExitStack() as stack:
        # A member that has judged nothing has no file.
        there = [not nothing and file.exists() for file in files]
        lines = [
            stack.enter_context(file.open("rb")) if it else BytesIO() for file, it in zip(files, there, strict=True)
        ]
        yield _JudgedItems(items, [_MemberFile(own) for own in lines])


class _MemberFile:
    """One member's judgments, read item by item; memory holds where the lines of each item stand."""

    def __init__(self, lines: IO[bytes]) -> None:
        self._file = lines
        self._starts: dict[ItemKey, list[int]] = {}
        start = 0
        for line in lines:
            self._starts.setdefault(judged_item(line)[1:], []).append(start)
            start += len(line)

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
