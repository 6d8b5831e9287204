"""Derived judges: computed from their members' judgments once the members are through."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from io import BytesIO
from itertools import groupby, islice
from pathlib import Path
from typing import IO, TypeGuard, overload

from summeter.data.dataset import Dataset
from summeter.engine.plan import Job, RunPlan, Wanted, item_key, units
from summeter.engine.worker import FATAL, failure, reason_of, record
from summeter.evaluators.base import Evaluator
from summeter.evaluators.cascade import Cascade
from summeter.evaluators.derived import DerivedEvaluator, ItemKey, MemberJudgments
from summeter.records import Judgment, read_lines
from summeter.runs.journal import Journal, judged_item
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import DoneKey
from summeter.runs.run import FAILURES, CascadeSample, Failure, RunFolder
from summeter.scoring import dedupe
from summeter.scoring.table import JudgmentTable

log = logging.getLogger(__name__)


def rounds(jobs: Iterable[Job]) -> int:
    """How often the judges are asked: once, and once more for each partial member of the longest cascade, since what it
    must judge follows from what those before it have judged."""
    return max((len(job.evaluator.members) for job in jobs if _is_cascade(job.evaluator)), default=1)


def _is_cascade(evaluator: Evaluator) -> TypeGuard[DerivedEvaluator]:
    return isinstance(evaluator, DerivedEvaluator) and any(member.partial for member in evaluator.members)


def wanted_in(number: int, plan: RunPlan, journal: Journal) -> dict[str, Container[ItemKey]]:
    """By signature, what judges are confined to in round `number`, from 0: at first partial ones to what is wanted of
    them before anything is judged; later each to what is now wanted of it, and all others to nothing."""
    wanted: dict[str, set[ItemKey]] = {job.signature: set() for job in plan.jobs if number > 0 or job.entry.partial}
    entries = {job.signature: job.entry for job in plan.jobs}
    for job in plan.jobs:
        if not _is_cascade(evaluator := job.evaluator):
            continue
        items = _fit(evaluator, plan.data, plan.options.limit)
        nothing = _JudgedItems(items, [_Nothing()] * len(evaluator.members))
        for place, (member, signature) in enumerate(zip(evaluator.members, job.entry.members, strict=True)):
            if not (member.partial and entries[signature].partial and number in (0, place)):
                continue
            first = evaluator.wanted(place, nothing)
            if number == 0:
                wanted[signature] |= {item for item in items if item in first}
            else:
                with _judged(items, [entries[name] for name in job.entry.members], journal.folder) as judged:
                    now = evaluator.wanted(place, judged)
                # What was wanted at first was asked in the first round; where it failed, the next session tries again.
                wanted[signature] |= {item for item in items if item in now and item not in first}
    return dict(wanted)


def drop_outdated(plan: RunPlan, journal: Journal, wanted: Wanted) -> None:
    """Forget the judgments of derived judges whose members have something left to do."""
    for job in plan.jobs:
        members = [other for other in plan.jobs if other.signature in job.entry.members]
        if members and any(True for _ in units(plan.data, members, journal.done, plan.options.limit, wanted)):
            journal.drop(job.entry)


def derive(
    jobs: Sequence[Job], judges: Sequence[JudgeEntry], data: Dataset, journal: Journal, limit: int | None = None
) -> None:
    """Compute those of the jobs that are derived judges and have an item left, in order, from what is in the journal.

    `judges` are those of the run. An item that a member could not judge at all is the derived judge's error too.
    `limit` is how many documents a cascade is over.
    """
    entries = {judge.signature: judge for judge in judges}
    for job in jobs:
        if isinstance(job.evaluator, DerivedEvaluator):
            members = [entries[signature] for signature in job.entry.members]
            _note_errors(job, _derive(job.evaluator, job, members, data, journal, limit), journal)


@contextmanager
def cascades(run: RunFolder) -> Iterator[Sequence[tuple[JudgeEntry, Cascade, Sequence[MemberJudgments]]]]:
    """The cascades of a run, with what their judges have judged of each item, read while this is open."""
    entries = {judge.signature: judge for judge in run.manifest.judges}
    limit = run.manifest.options.get("limit")
    with ExitStack() as stack:
        found = []
        for entry in entries.values():
            if entry.name == Cascade.name and not entry.imported:
                evaluator = Cascade(**entry.settings)
                members = [entries[signature] for signature in entry.members]
                judged = _judged(_fit(evaluator, run.data, limit), members, run.folder)
                found.append((entry, evaluator, stack.enter_context(judged)))
        yield found


def cascade_samples(run: RunFolder) -> list[CascadeSample]:
    """The random samples of the run's cascades, leaving out cascades of whose sample the last judge judged nothing."""
    samples = []
    with cascades(run) as each:
        for entry, cascade, judged in each:
            plan = cascade.plan(judged)
            last = len(cascade.members) - 1
            sampled = {item: last for item in plan.sample if plan.decider.get(item) == last}
            if not sampled:
                continue
            whole = replace(plan, decider=plan.by_band)
            said = cascade.judgments(judged, entry.members[last], replace(plan, decider=sampled))
            name = cascade.members[last].name
            samples.append(
                CascadeSample(
                    entry,
                    JudgmentTable.of(cascade.judgments(judged, entry.signature, whole)),
                    JudgmentTable.of(row.model_copy(update={"judge": name}) for row in said),
                )
            )
    return samples


def _fit(evaluator: Evaluator, data: Dataset, limit: int | None) -> list[ItemKey]:
    """The items that can be judged."""
    documents = islice(data.items(), limit)
    items = (item for document, summaries in documents for item in evaluator.items(document, summaries))
    return [item_key(item) for item in items if evaluator.skip_reason(item) is None]


def _sorted_out(job: Job, data: Dataset) -> tuple[list[ItemKey], dict[ItemKey, list[Judgment]]]:
    """The items that can be judged, and the judgments that say why the others cannot."""
    fit: list[ItemKey] = []
    unfit: dict[ItemKey, list[Judgment]] = {}
    for document, summaries in data.items():
        for item in job.evaluator.items(document, summaries):
            skipped = job.evaluator.unjudged(item, job.signature)
            if skipped is None:
                fit.append(item_key(item))
            else:
                unfit[item_key(item)] = [row.model_copy(update={"model": job.entry.model}) for row in skipped]
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
    fit, unfit = _sorted_out(job, data)
    read = fit
    asked: list[Container[ItemKey]] = [fit_all := frozenset(fit)] * len(members)
    if _is_cascade(evaluator):
        read = _fit(evaluator, data, limit)
        with _judged(read, members, journal.folder) as judged:
            asked = [
                evaluator.wanted(place, judged) if member.partial else fit_all
                for place, member in enumerate(evaluator.members)
            ]
    ready = [
        key
        for key in fit
        if all(
            (member, *key) in journal.done or key not in of_member
            for member, of_member in zip(job.entry.members, asked, strict=True)
        )
    ]
    if not _is_cascade(evaluator):
        read = ready
    if any((job.signature, *key) not in journal.done for key in (*unfit, *ready)):
        journal.drop(job.entry)
        try:
            _write(evaluator, job, members, read, ready, journal)
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
    evaluator: DerivedEvaluator,
    job: Job,
    members: Sequence[JudgeEntry],
    read: Sequence[ItemKey],
    ready: Sequence[ItemKey],
    journal: Journal,
) -> None:
    silent = dict.fromkeys(ready)
    with _judged(read, members, journal.folder) as judged:
        rows = evaluator.derive(judged, job.signature)
        for key, judgments in groupby(rows, key=lambda row: row.target.item):
            if read is not ready and key not in silent:
                continue  # a judge that it is waiting for failed
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


@contextmanager
def _judged(items: Sequence[ItemKey], members: Sequence[JudgeEntry], folder: Path) -> Iterator[_JudgedItems]:
    """What the members have judged of the items, read while the files are open."""
    files = [folder / "judgments" / f"{judge.file}.jsonl" for judge in members]
    with ExitStack() as stack:
        # A member that has judged nothing has no file.
        lines = [stack.enter_context(file.open("rb")) if file.exists() else BytesIO() for file in files]
        yield _JudgedItems(items, [_MemberFile(own) for own in lines])


class _Nothing:
    """A member that has judged nothing yet."""

    def of(self, key: ItemKey) -> tuple[Judgment, ...]:
        del key
        return ()


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

    def __init__(self, items: Sequence[ItemKey], files: Sequence[_MemberFile | _Nothing]) -> None:
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
