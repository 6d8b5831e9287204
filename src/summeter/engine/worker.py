"""One unit of work: prepare a document once for each evaluator, then judge each of its summaries."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from summeter.engine.plan import Job, WorkItem, item_key
from summeter.engine.progress import Progress
from summeter.evaluators.base import Prepared, Tools
from summeter.interrupt import STOP
from summeter.models.compute_time import timed
from summeter.models.layers.item_timeout import within
from summeter.records import (
    AccessError,
    BudgetError,
    CapabilityError,
    Document,
    Item,
    Judgment,
    PendingCall,
    ReplayMiss,
    Status,
    SummeterError,
    UnreachableError,
    UsageError,
    WriteError,
)
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import ItemKey
from summeter.runs.run import Failure, prepared_rows
from summeter.runs.usage import Usage

T = TypeVar("T")

log = logging.getLogger(__name__)

# Every later item would meet these too: the run stops and says why.
FATAL = (UsageError, AccessError, UnreachableError, CapabilityError, ReplayMiss, WriteError)


class Sink(Protocol):
    """Where a worker puts facts: the run's journal, or a worker's own part of it."""

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """The judgments of an item."""

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """What an evaluator derived for a document."""

    def failed(self, failure: Failure) -> None:
        """An item that could not be judged."""


@dataclass(frozen=True)
class Worker:
    """Carries out units. `tools(job)` gives an evaluator its tools; `known` holds what was prepared before; `seconds`
    is how long one item, or preparing one document, may take; `compute` is given how long was computed, by
    signature, and `pending` what waits for calls of the next batch."""

    jobs: Sequence[Job]
    sink: Sink
    tools: Callable[[Job], Tools]
    known: Mapping[tuple[str, str], Prepared]
    progress: Progress
    seconds: float | None = None
    compute: dict[str, Usage] = field(default_factory=dict)
    pending: list[WorkItem] = field(default_factory=list)

    async def __call__(self, unit: WorkItem) -> None:
        """Do all that is left of a document; jobs and summaries go side by side."""
        pending: dict[int, list[Item]] = {place: [] for place in unit.todo}
        async with asyncio.TaskGroup() as group:
            for place, items in unit.todo.items():
                group.create_task(self._job(self.jobs[place], unit.document, items, pending[place]))
        if todo := {place: tuple(items) for place, items in pending.items() if items}:
            self.pending.append(replace(unit, todo=todo))

    async def _job(self, job: Job, document: Document, items: Sequence[Item], pending: list[Item]) -> None:
        tools = self.tools(job)
        fit = []
        for item in items:
            skipped = job.evaluator.unjudged(item, job.signature)
            if skipped is None:
                fit.append(item)
            else:
                self._write(job, item, skipped)
        if not fit:
            return
        prepared = await self._attempt(job, fit, pending, self._prepare(job, document, tools))
        if prepared is not None:
            if (job.signature, document.id) not in self.known and (prepared.data or prepared.status != "ok"):
                row = {"id": prepared.id, "signature": job.signature, **prepared.model_dump(mode="json")}
                self.sink.prepared(job.entry, row)
            if job.evaluator.prepares_only and prepared.status != "ok":
                # No judgment will say so: the failure is noted once, at the document's first summary.
                self.sink.failed(failure(job.entry, item_key(fit[0]), prepared.status, prepared.reason or "", ()))
            async with asyncio.TaskGroup() as group:
                for item in fit:
                    group.create_task(self._judge(job, item, prepared, tools, pending))

    async def _attempt(self, job: Job, concerned: Sequence[Item], pending: list[Item], doing: Awaitable[T]) -> T | None:
        """Await; an error that is not fatal to the run becomes a failure of the items concerned, and None.

        Where the budget allows no further call, the items stay undone; where a call waits for the next batch, they are
        `pending`. A CancelledError of the judge's own is a failure like any other.
        """
        try:
            return await within(self.seconds, doing)
        except (Exception, asyncio.CancelledError) as raised:
            if isinstance(raised, asyncio.CancelledError):
                task = asyncio.current_task()
                if STOP.is_set() or (task is not None and task.cancelling()):
                    raise  # the run ends
                raised = RuntimeError("the judge was cancelled (CancelledError), although the run goes on")
            error = _gravest(raised)
            systems = ", ".join(item.summary.system for item in concerned)
            where = f"{job.evaluator.name} on document {concerned[0].document.id}, {systems}"
            if isinstance(error, FATAL):
                error.add_note(where)
                raise error from None
            if isinstance(error, PendingCall):
                pending += concerned
            if isinstance(error, (BudgetError, PendingCall)):
                return None
            if not isinstance(error, SummeterError | ValidationError):
                log.exception("failed: %s", where)
            for item in concerned:
                self.sink.failed(failure(job.entry, item_key(item), "error", reason_of(error), ()))
                self.progress.advance(ok=False)
            return None

    async def _prepare(self, job: Job, document: Document, tools: Tools) -> Prepared:
        key = (job.signature, document.id)
        if key in self.known:
            return await asyncio.to_thread(self.known.__getitem__, key)  # it is read from a file
        return await timed(self._spent(job), job.evaluator.prepare(document, tools))

    async def _judge(self, job: Job, item: Item, prepared: Prepared, tools: Tools, pending: list[Item]) -> None:
        failed = job.evaluator.unjudged(item, job.signature, prepared)
        if failed is not None:
            self._write(job, item, failed)
            return
        spent = self._spent(job)
        judging = timed(spent, job.evaluator.judge(item, prepared, tools))
        judgments = await self._attempt(job, [item], pending, judging)
        if judgments is not None:
            spent.items += 1
            self._write(job, item, judgments)

    def _spent(self, job: Job) -> Usage:
        return self.compute.setdefault(job.signature, Usage())

    def _write(self, job: Job, item: Item, judgments: Sequence[Judgment]) -> None:
        if job.entry.model is not None:  # an evaluator with several roles may name the model of one of them
            judgments = [row.model_copy(update={"model": job.entry.model}) for row in judgments]
        self.progress.advance(ok=record(self.sink, job.entry, item_key(item), judgments))


def record(sink: Sink, judge: JudgeEntry, key: ItemKey, judgments: Sequence[Judgment]) -> bool:
    """Write an item's judgments, and the failure where replies could not be used; returns whether all could."""
    sink.judged(judge, key, judgments)
    bad = [row for row in judgments if row.status in {"unparsed", "refused"}]
    if bad:
        sink.failed(failure(judge, key, bad[0].status, bad[0].reason or "", bad))
    return not bad


def reason_of(error: Exception) -> str:
    """An error in words; one that is no error of ours with its kind."""
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"])) or "it"
        return f"computed a {error.title} that cannot be: {field} is {str(fault['input'])[:80]}: {fault['msg']}"
    kind = "" if isinstance(error, SummeterError) else f"{type(error).__name__}: "
    return f"{kind}{error}" or type(error).__name__


def _gravest(error: Exception) -> Exception:
    """What to make of an error, or of a group of errors: one that ends the run goes first, then those that leave the
    item undone."""
    if not isinstance(error, ExceptionGroup):
        return error
    order: tuple[Any, ...] = (FATAL, BudgetError, PendingCall, Exception)
    inner = [_gravest(each) for each in error.exceptions]
    return min(inner, key=lambda each: next(place for place, kind in enumerate(order) if isinstance(each, kind)))


def failure(judge: JudgeEntry, key: ItemKey, status: Status, reason: str, bad: Sequence[Judgment]) -> Failure:
    """What went wrong with an item; `bad` are the judgments that could not be had (none where nothing came)."""
    document_id, system, rival = key
    return Failure(
        document_id=document_id,
        system=system,
        rival=rival,
        judge=judge.name,
        signature=judge.signature,
        aspects=tuple(dict.fromkeys(row.aspect for row in bad)) or judge.aspects,
        status=status,
        reason=reason,
        units=len(bad) or 1,
        calls=tuple(dict.fromkeys(key for row in bad for key in row.calls)),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


class PreparedIndex(Mapping[tuple[str, str], Prepared]):
    """What earlier sessions prepared, by signature and document: where each row stands, read when it is asked for. Of
    two rows the later one counts.

    Making one and asking it read files: neither is for the thread of an event loop. InputError where a line is damaged.
    """

    def __init__(self, folder: Path, work: Sequence[Job]) -> None:
        self._places: dict[tuple[str, str], tuple[Path, int]] = {}
        for job in work:
            file = folder / "prepared" / f"{job.entry.file}.jsonl"
            for start, row in prepared_rows(file):
                self._places[job.signature, row["document_id"]] = file, start

    def __getitem__(self, key: tuple[str, str]) -> Prepared:
        file, start = self._places[key]
        with file.open("rb") as lines:
            lines.seek(start)
            row = json.loads(lines.readline())
        del row["id"], row["signature"]
        return Prepared.model_validate(row)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
