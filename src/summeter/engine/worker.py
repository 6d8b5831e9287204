"""Process a work item: prepare a document once for each evaluator, then judge each of its summaries."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
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
from summeter.models.structured import BoundLLM
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
R = TypeVar("R")

log = logging.getLogger(__name__)

# Errors that would occur for all later items too, so the run stops.
FATAL = (UsageError, AccessError, UnreachableError, CapabilityError, ReplayMiss, WriteError)


class Sink(Protocol):
    """An object that receives the results of a worker: the journal of the run, or the result of a part."""

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Receive the judgments of an item."""

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Receive data prepared for a document."""

    def failed(self, failure: Failure) -> None:
        """Receive the failure of an item."""


@dataclass(frozen=True)
class Worker:
    """Processes work items.

    `tools(job)` returns the tools of a job. `known` holds the data prepared by earlier sessions, by (signature,
    document id). `timeout` is the maximum time for judging an item or preparing a document, in seconds, or None for no
    limit. `compute` receives the computing time by signature, and `pending` receives the work items that wait for the
    calls of the next batch.
    """

    jobs: Sequence[Job]
    sink: Sink
    tools: Callable[[Job], Tools]
    known: Mapping[tuple[str, str], Prepared]
    progress: Progress
    timeout: float | None = None
    compute: dict[str, Usage] = field(default_factory=dict)
    pending: list[WorkItem] = field(default_factory=list)

    async def run(self, work_items: Iterable[WorkItem], width: int) -> None:
        """Process up to `width` work items concurrently."""
        async for _ in concurrently(self._process, work_items, width):
            pass

    async def _process(self, work_item: WorkItem) -> None:
        """Judge the remaining items of a document; jobs and summaries run concurrently."""
        pending: dict[int, list[Item]] = {index: [] for index in work_item.todo}
        async with asyncio.TaskGroup() as group:
            for index, items in work_item.todo.items():
                group.create_task(self._run_job(self.jobs[index], work_item.document, items, pending[index]))
        if todo := {index: tuple(items) for index, items in pending.items() if items}:
            self.pending.append(replace(work_item, todo=todo))

    async def _run_job(self, job: Job, document: Document, items: Sequence[Item], pending: list[Item]) -> None:
        tools = self.tools(job)
        judgeable = []
        for item in items:
            skipped = job.evaluator.unjudged(item, job.signature)
            if skipped is None:
                judgeable.append(item)
            else:
                self._write(job, item, skipped)
        if not judgeable:
            return
        key = (job.signature, document.id)

        async def prepare() -> Prepared:
            if key in self.known:
                return await asyncio.to_thread(self.known.__getitem__, key)  # reads a file
            return await timed(self._usage(job), job.evaluator.prepare(document, tools))

        prepared = await self._attempt(job, judgeable, pending, prepare())
        if prepared is not None:
            if key not in self.known and (prepared.data or prepared.status != "ok"):
                row = {"id": prepared.id, "signature": job.signature, **prepared.model_dump(mode="json")}
                self.sink.prepared(job.entry, row)
            if job.evaluator.prepares_only and prepared.status != "ok":
                # There are no judgments with a status, so the failure is recorded once, for the first summary.
                first = item_key(judgeable[0])
                self.sink.failed(failure(job.entry, first, prepared.status, prepared.reason or "", ()))
            async with asyncio.TaskGroup() as group:
                for item in judgeable:
                    group.create_task(self._judge(job, item, prepared, tools, pending))

    async def _attempt(self, job: Job, items: Sequence[Item], pending: list[Item], work: Awaitable[T]) -> T | None:
        """Await the work and return its result, or None if it failed.

        An error that is not fatal is recorded as a failure of the items. If the budget is exhausted, the items remain
        open instead; if a call waits for the next batch, they are added to `pending`. A CancelledError raised by the
        judge itself is a failure too.
        """
        try:
            return await within(self.timeout, work)
        except (Exception, asyncio.CancelledError) as raised:
            if isinstance(raised, asyncio.CancelledError):
                task = asyncio.current_task()
                if STOP.is_set() or (task is not None and task.cancelling()):
                    raise  # the run ends
                raised = RuntimeError("the judge raised CancelledError, but the run was not cancelled")
            error = _most_severe(raised)
            systems = ", ".join(item.summary.system for item in items)
            where = f"{job.evaluator.name} on document {items[0].document.id}, {systems}"
            if isinstance(error, FATAL):
                error.add_note(where)
                raise error from None
            if isinstance(error, PendingCall):
                pending += items
            if isinstance(error, (BudgetError, PendingCall)):
                return None
            if not isinstance(error, SummeterError | ValidationError):
                log.exception("failed: %s", where)
            for item in items:
                self.sink.failed(failure(job.entry, item_key(item), "error", reason_of(error), ()))
                self.progress.advance(ok=False)
            return None

    async def _judge(self, job: Job, item: Item, prepared: Prepared, tools: Tools, pending: list[Item]) -> None:
        failed = job.evaluator.unjudged(item, job.signature, prepared)
        if failed is not None:
            self._write(job, item, failed)
            return
        usage = self._usage(job)
        judgments = await self._attempt(job, [item], pending, timed(usage, job.evaluator.judge(item, prepared, tools)))
        if judgments is not None:
            usage.items += 1
            self._write(job, item, judgments)

    def _usage(self, job: Job) -> Usage:
        return self.compute.setdefault(job.signature, Usage())

    def _write(self, job: Job, item: Item, judgments: Sequence[Judgment]) -> None:
        if job.entry.model is not None:  # an evaluator with several roles may record only one of the models
            judgments = [row.model_copy(update={"model": job.entry.model}) for row in judgments]
        self.progress.advance(ok=record(self.sink, job.entry, item_key(item), judgments))


async def concurrently(work: Callable[[T], Awaitable[R]], items: Iterable[T], width: int) -> AsyncIterator[R]:
    """Process up to `width` items concurrently, and yield the results in the order in which they are finished.

    Items are drawn one by one, so that neither tasks nor results accumulate. The first error cancels all other tasks
    and is raised.
    """
    source = iter(items)
    running: set[asyncio.Future[R]] = set()
    try:
        while True:
            while len(running) < width and (item := next(source, None)) is not None:
                running.add(asyncio.ensure_future(work(item)))
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            errors = [error for task in done if (error := task.exception()) is not None]
            if errors:
                raise errors[0]
            for task in done:
                yield task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def toolbox(llms: Mapping[str, BoundLLM], networks: Mapping[str, Any] | None = None) -> Callable[[Job], Tools]:
    """Return a function that makes the tools of a job.

    The tools are the job's LLMs, which draw independent samples for each repeat, and its local models.
    """

    def tools(job: Job) -> Tools:
        bound = {role: llms[name] for role, name in job.roles.items() if name in llms}
        if job.repeat > 1:
            bound = {
                role: BoundLLM(model.llm, model.settings._replace(repeat=job.repeat)) for role, model in bound.items()
            }
        local = {
            role: networks[job.roles.get(role, role)]
            for role, definition in job.evaluator.roles.items()
            if definition.kind != "llm" and networks and job.roles.get(role, role) in networks
        }
        return Tools(signature=job.signature, llms=bound, networks=local)

    return tools


def record(sink: Sink, judge: JudgeEntry, key: ItemKey, judgments: Sequence[Judgment]) -> bool:
    """Write the judgments of an item, and return whether all of them are usable.

    If some are not, a failure is written too.
    """
    sink.judged(judge, key, judgments)
    unusable = [row for row in judgments if row.status in {"unparsed", "refused"}]
    if unusable:
        sink.failed(failure(judge, key, unusable[0].status, unusable[0].reason or "", unusable))
    return not unusable


def reason_of(error: Exception) -> str:
    """Return the message of an error, prefixed with the class of the error unless summeter defines it."""
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False)[0]
        field = ".".join(map(str, fault["loc"])) or "the value"
        return f"computed an invalid {error.title}: {field} is {str(fault['input'])[:80]}: {fault['msg']}"
    prefix = "" if isinstance(error, SummeterError) else f"{type(error).__name__}: "
    return f"{prefix}{error}" or type(error).__name__


def _most_severe(error: Exception) -> Exception:
    """Return the most severe error of a group: fatal errors come first, then those that leave items open.

    An error that is not a group is returned unchanged.
    """
    if not isinstance(error, ExceptionGroup):
        return error
    order: tuple[Any, ...] = (FATAL, BudgetError, PendingCall, Exception)
    errors = [_most_severe(each) for each in error.exceptions]
    return min(errors, key=lambda each: next(rank for rank, group in enumerate(order) if isinstance(each, group)))


def failure(judge: JudgeEntry, key: ItemKey, status: Status, reason: str, unusable: Sequence[Judgment]) -> Failure:
    """Return the failure of an item.

    `unusable` holds the item's judgments with unusable replies.
    """
    document_id, system, rival = key
    return Failure(
        document_id=document_id,
        system=system,
        rival=rival,
        judge=judge.name,
        signature=judge.signature,
        aspects=tuple(dict.fromkeys(row.aspect for row in unusable)) or judge.aspects,
        status=status,
        reason=reason,
        units=len(unusable) or 1,
        calls=tuple(dict.fromkeys(key for row in unusable for key in row.calls)),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


class PreparedIndex(Mapping[tuple[str, str], Prepared]):
    """The data that earlier sessions prepared, by (signature, document id).

    They are read on demand; if a document has several rows, the last one is used. Creating and using an index reads
    files, so do neither in the thread of an event loop. Raises InputError if a line is damaged.
    """

    def __init__(self, folder: Path, jobs: Sequence[Job]) -> None:
        self._offsets: dict[tuple[str, str], tuple[Path, int]] = {}
        for job in jobs:
            file = job.entry.prepared_in(folder)
            for start, row in prepared_rows(file):
                self._offsets[job.signature, row["document_id"]] = file, start

    def __getitem__(self, key: tuple[str, str]) -> Prepared:
        file, start = self._offsets[key]
        with file.open("rb") as lines:
            lines.seek(start)
            row = json.loads(lines.readline())
        del row["id"], row["signature"]
        return Prepared.model_validate(row)

    def __contains__(self, key: object) -> bool:
        return key in self._offsets

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)
