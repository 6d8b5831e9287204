"""Compute derived judges from the judgments of their members."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import overload

from summeter.data.dataset import Dataset
from summeter.engine.plan import ItemFilter, Job, RunPlan, item_key, work_items
from summeter.engine.worker import FATAL, failure, reason_of, record
from summeter.evaluators.cascade import Cascade, CascadePlan
from summeter.evaluators.derived import DerivedEvaluator, ItemKey, MemberJudgments
from summeter.records import Judgment, read_lines
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import DoneKey
from summeter.runs.readers import SummaryReader
from summeter.runs.run import FAILURES, CascadeSample, Failure, RunFolder
from summeter.scoring import dedupe
from summeter.scoring.table import JudgmentTable

log = logging.getLogger(__name__)


def undecided(plan: RunPlan, journal: Journal, *, judged: bool) -> dict[str, set[ItemKey]]:
    """Return the items that each partial judge must judge, by signature.

    If `judged` is False, these are the items that are known before any judgment; if it is True, they also depend on the
    judgments in the journal.
    """
    items_of: dict[str, set[ItemKey]] = {job.signature: set() for job in plan.jobs if job.entry.partial}
    entries = {job.signature: job.entry for job in plan.jobs}
    for job in plan.jobs:
        if isinstance(job.evaluator, DerivedEvaluator) and not items_of.keys().isdisjoint(job.entry.members):
            items, _ = _items(job, plan.data, journal.done, plan.options.limit)
            members = [entries[signature] for signature in job.entry.members]
            undecided_items = job.evaluator.undecided(_judged(items, members, journal.folder if judged else None))
            for signature in items_of.keys() & job.entry.members:
                items_of[signature].update(item for item in items if item in undecided_items)
    return items_of


def drop_outdated(plan: RunPlan, jobs: Sequence[Job], journal: Journal, only: ItemFilter) -> None:
    """Remove the judgments of derived judges that have a member among `jobs` with items left to judge."""
    for job in plan.jobs:
        members = [other for other in jobs if other.signature in job.entry.members]
        if members and any(True for _ in work_items(plan.data, members, journal.done, plan.options.limit, only)):
            journal.drop(job.entry)


def derive(
    jobs: Sequence[Job], judges: Sequence[JudgeEntry], data: Dataset, journal: Journal, limit: int | None = None
) -> bool:
    """Compute the derived judges among the jobs from the judgments in the journal.

    They are computed in their order, unless all their items are finished. `judges` are the judges of the run, and
    `limit` is the maximum number of documents, or None for all documents. An item on which a member failed is an error
    of the derived judge too. Returns whether any item waits for a partial member.
    """
    entries = {judge.signature: judge for judge in judges}
    waits = False
    for job in jobs:
        if isinstance(job.evaluator, DerivedEvaluator):
            members = [entries[signature] for signature in job.entry.members]
            remaining = _derive(job.evaluator, job, members, data, journal, limit)
            waits |= _record_errors(job, remaining, journal)
    return waits


def cascades(run: RunFolder) -> Iterator[tuple[JudgeEntry, Cascade, CascadePlan, Sequence[MemberJudgments]]]:
    """Yield (entry, cascade, plan, judgments of the members) for each cascade of a run."""
    entries = {judge.signature: judge for judge in run.manifest.judges}
    for entry in entries.values():
        if entry.name == Cascade.name and not entry.imported:
            cascade = Cascade(**entry.settings)
            items, _ = _items(Job(cascade, entry), run.data, run.done(), run.manifest.options.get("limit"))
            members = [entries[signature] for signature in entry.members]
            judged = _judged(items, members, run.folder)
            yield entry, cascade, cascade.plan(judged), judged


def cascade_samples(run: RunFolder) -> list[CascadeSample]:
    """Return the random samples of the run's cascades that have been judged by the last judge."""
    samples = []
    for entry, cascade, plan, judged in cascades(run):
        if plan.sampled:
            first = plan.first - plan.passed_on
            machine = JudgmentTable.of(cascade.judgments(judged, entry.signature, plan, first, plan.passed_on))
            second = cascade.judgments(judged, entry.members[1], plan, (), plan.sampled)
            name = cascade.members[1].name
            last = JudgmentTable.of(row.model_copy(update={"judge": name}) for row in second)
            samples.append(CascadeSample(entry, machine, last))
    return samples


def _items(
    job: Job, data: Dataset, done: Container[DoneKey], limit: int | None
) -> tuple[list[ItemKey], dict[ItemKey, list[Judgment]]]:
    """Return the items of a derived judge, and the judgments for items that cannot be judged.

    The items are those of the first `limit` documents and those that a member has finished.
    """
    items: list[ItemKey] = []
    unjudged: dict[ItemKey, list[Judgment]] = {}
    for index, (document, summaries) in enumerate(data.items()):
        for item in job.evaluator.items(document, summaries):
            key = item_key(item)
            if limit is not None and index >= limit and not any((name, *key) in done for name in job.entry.members):
                continue
            skipped = job.evaluator.unjudged(item, job.signature)
            if skipped is None:
                items.append(key)
            else:
                unjudged[key] = [row.model_copy(update={"model": job.entry.model}) for row in skipped]
    return items, unjudged


def _derive(
    evaluator: DerivedEvaluator,
    job: Job,
    members: Sequence[JudgeEntry],
    data: Dataset,
    journal: Journal,
    limit: int | None,
) -> list[ItemKey]:
    """Judge all items that every member has finished, and return the remaining items.

    Nothing is computed if all finished items have already been judged.
    """
    items, unjudged = _items(job, data, journal.done, limit)
    partial = any(member.partial for member in evaluator.members)
    complete = [entry.signature for member, entry in zip(evaluator.members, members, strict=True) if not member.partial]
    ready = {key: None for key in items if all((signature, *key) in journal.done for signature in complete)}
    remaining = [key for key in items if key not in ready]
    if all((job.signature, *key) in journal.done for key in (*unjudged, *ready)):
        return remaining
    journal.drop(job.entry)
    try:
        judged = _judged(items if partial else list(ready), members, journal.folder)
        for key, rows in groupby(evaluator.derive(judged, job.signature), key=lambda row: row.target.item):
            del ready[key]  # raises KeyError for an unexpected or repeated item
            record(journal, job.entry, key, list(rows))
    except FATAL:
        raise
    except Exception as error:
        log.exception("%s could not be computed", evaluator.name)
        journal.drop(job.entry)
        for key in items:
            if key not in remaining:
                journal.failed(failure(job.entry, key, "error", reason_of(error), ()))
    else:
        for key in ready:
            if all((member.signature, *key) in journal.done for member in members):
                journal.judged(job.entry, key, [])
            else:  # a partial member could not judge it
                remaining.append(key)
    for key, judgments in unjudged.items():
        record(journal, job.entry, key, judgments)
    return remaining


def _record_errors(job: Job, remaining: Sequence[ItemKey], journal: Journal) -> bool:
    """Record a failure for each remaining item on which a member failed.

    Items that a member has not judged, for example because the budget was exhausted, are no failures. Returns whether
    the first member has judged a remaining item on which no member failed.
    """
    if not remaining:
        return False
    waits = False
    errors: dict[DoneKey, str] = {
        (entry.signature, entry.document_id, entry.system, entry.rival): entry.reason
        for entry in read_lines(journal.folder / FAILURES, Failure)
        if entry.status == "error"
    }
    for key in remaining:
        undone = [(member, *key) for member in job.entry.members if (member, *key) not in journal.done]
        why = next((errors[of_member] for of_member in undone if of_member in errors), None)
        if why is None:
            waits |= (job.entry.members[0], *key) in journal.done
        elif errors.get((job.signature, *key)) != why:
            journal.failed(failure(job.entry, key, "error", why, ()))
    return waits


def _judged(items: Sequence[ItemKey], members: Sequence[JudgeEntry], folder: Path | None) -> _JudgedItems:
    """Return the members' judgments of the items in the folder of a run, or no judgments without a folder."""
    files = [[] if folder is None else [judge.judgments_in(folder)] for judge in members]
    return _JudgedItems(items, [SummaryReader(files=each) for each in files])


class _JudgedItems(Sequence[MemberJudgments]):
    """The judgments of all members by item, read on demand."""

    def __init__(self, items: Sequence[ItemKey], members: Sequence[SummaryReader]) -> None:
        self._items, self._members = items, members

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> MemberJudgments: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[MemberJudgments]: ...
    def __getitem__(self, index: int | slice) -> MemberJudgments | Sequence[MemberJudgments]:
        if isinstance(index, slice):
            return _JudgedItems(self._items[index], self._members)
        item = self._items[index]
        of_members = (
            dedupe(row for row in member.read(*item[:2]) if row.target.item == item) for member in self._members
        )
        return MemberJudgments(item, tuple(map(tuple, of_members)))
