"""Judge in workers: the documents of a run are divided into parts, and a worker judges each part.

Only judges that compute locally run in workers. A judge that calls an LLM runs in the main process, which has the rate
limits, the budget, the call store and the API keys.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from logging.handlers import BufferingHandler
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from summeter._version import __version__
from summeter.engine.executors.base import Executor, WorkerDied, portable
from summeter.engine.plan import Job, WorkItem, item_key
from summeter.engine.progress import Progress
from summeter.engine.worker import Worker, failure, toolbox
from summeter.evaluators.base import Prepared
from summeter.records import Judgment, UsageError, WorkerError, first_error
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import ItemKey
from summeter.runs.results import ResultStore
from summeter.runs.run import Failure
from summeter.runs.usage import Usage, add_usage

if TYPE_CHECKING:
    from summeter.models.local.load import BoundNetwork

log = logging.getLogger(__name__)

PARTS = 64
"""Minimum number of parts of a run with at least as many documents, so that all workers end at about the same time."""

MAX_DOCUMENTS = 100
"""Maximum number of documents in a part, which limits its use of memory and the work lost if a worker dies."""

MAX_DEATHS = 8
"""Number of consecutive parts on which workers must die for the run to end with WorkerError."""


def documents_per_part(documents: int) -> int:
    """Return the default number of documents in a part.

    >>> [documents_per_part(number) for number in (3, 640, 1_000_000)]
    [1, 10, 100]
    """
    return min(MAX_DOCUMENTS, max(1, math.ceil(documents / PARTS)))


@dataclass(frozen=True)
class Setup:
    """Settings of all parts of a session.

    `networks` are the local models without their weights, which workers find by name and verify by id. `slots` is the
    number of documents that a worker judges concurrently, `item_timeout` is in seconds, and relative paths of models
    are relative to `folder`.
    """

    jobs: tuple[Job, ...]
    networks: tuple[BoundNetwork, ...]
    slots: int
    item_timeout: float | None = None
    offline: bool = False
    folder: str = field(default_factory=os.getcwd)
    version: str = __version__
    id: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Part:
    """Some documents with the items to judge.

    `prepared` holds the data prepared for these documents by (signature, document id).
    """

    work_items: tuple[WorkItem, ...]
    prepared: Mapping[tuple[str, str], Prepared]


@dataclass
class PartResult(Progress):
    """The results of a part, which a worker uses as its `Sink`.

    `error` is the error that ended the part, or None if there was no error.
    """

    judgments: list[tuple[str, ItemKey, list[bytes]]] = field(default_factory=list)
    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    results: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    compute: dict[str, Usage] = field(default_factory=dict)
    warnings: list[tuple[int, str]] = field(default_factory=list)
    finished: list[bool] = field(default_factory=list)
    error: BaseException | None = None

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Add the judgments of an item."""
        self.judgments.append((judge.signature, item, [f"{row.line}\n".encode() for row in judgments]))

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Add data prepared for a document."""
        self.rows.append((judge.signature, dict(row)))

    def failed(self, failure: Failure) -> None:
        """Add the failure of an item."""
        self.failures.append(failure)

    def advance(self, *, ok: bool) -> None:
        """Count a finished item."""
        self.finished.append(ok)


# ---- in the main process ----


@dataclass
class Session:
    """Distributes work items to the workers of an executor and writes the results to the journal.

    `prepared` holds the data prepared by earlier sessions, by (signature, document id). `usage` (by model) and
    `compute` (by signature) are updated.
    """

    executor: Executor
    setup: Setup
    journal: Journal
    prepared: Mapping[tuple[str, str], Prepared]
    progress: Progress
    store: ResultStore | None
    usage: dict[str, Usage]
    compute: dict[str, Usage]

    async def judge(self, work_items: Iterable[WorkItem], size: int) -> None:
        """Judge the work items in parts of `size` documents.

        If two workers die on a part, the documents in the part are judged one by one; if two workers die on a single
        document, the items of this document are errors. An error of a judge that must end the run is raised with the
        worker's traceback as a note. Raises WorkerError if workers die repeatedly.
        """
        # The groups depend on positions in the data, so that a resumed run has the same parts.
        groups = (tuple(group) for _, group in groupby(work_items, key=lambda item: item.position // size))
        failed = await self._map(map(self._part, groups))
        single = (Part((work_item,), part.prepared) for part, _ in failed for work_item in part.work_items)
        for part, why in await self._map(single):
            (work_item,) = part.work_items
            reason = f"two workers died while judging only this document (the last one: {why})"
            for index, items in work_item.todo.items():
                for item in items:
                    entry = self.setup.jobs[index].entry
                    self.journal.failed(failure(entry, item_key(item), "error", reason, ()))
                    self.progress.advance(ok=False)

    async def _map(self, parts: Iterator[Part]) -> list[tuple[Part, str]]:
        """Judge parts, and return the parts on which workers died with the reasons."""
        failed: list[tuple[Part, str]] = []
        consecutive = 0
        first = next(parts, None)
        if first is None:
            return failed
        async with aclosing(self.executor.map(partial(judge_part, self.setup), chain([first], parts))) as results:
            async for part, result in results:
                if isinstance(result, WorkerDied):
                    documents = ", ".join(work_item.document.id for work_item in part.work_items[:3])
                    log.warning(
                        "two workers died on a part of %d documents (%s ...): %s",
                        len(part.work_items),
                        documents,
                        result.why,
                    )
                    failed.append((part, result.why))
                    consecutive += 1
                    if consecutive == MAX_DEATHS:
                        raise WorkerError(
                            f"workers died on {MAX_DEATHS} consecutive parts (the last one: {result.why}). Finished "
                            "items are stored; run the same command again to resume"
                        )
                    continue
                consecutive = 0
                self._write(result)
                if result.error is not None:
                    raise result.error
        return failed

    def _write(self, result: PartResult) -> None:
        """Write the results of a part to the run.

        The results of local models come first, because judgments depend on them.
        """
        for level, text in result.warnings:
            log.log(level, "worker: %s", text)
        if self.store is not None:
            for model, values in result.results.items():
                self.store.put(model, values)
        entries = {job.signature: job.entry for job in self.setup.jobs}
        for signature, row in result.rows:
            self.journal.prepared(entries[signature], row)
        for signature, item, lines in result.judgments:
            self.journal.judged_lines(entries[signature], item, lines)
        for each in result.failures:
            self.journal.failed(each)
        add_usage(self.usage, result.usage)
        add_usage(self.compute, result.compute)
        for ok in result.finished:
            self.progress.advance(ok=ok)

    def _part(self, work_items: tuple[WorkItem, ...]) -> Part:
        keys = [(job.signature, work_item.document.id) for work_item in work_items for job in self.setup.jobs]
        return Part(work_items, {key: self.prepared[key] for key in keys if key in self.prepared})


# ---- in a worker ----


def judge_part(setup: Setup, part: Part) -> PartResult:
    """Judge the items of a part, and return the results.

    An error that must end the run is not raised but included in the results.
    """
    result = PartResult()
    try:
        if setup.id not in _SESSIONS:
            _SESSIONS.clear()
            _SESSIONS[setup.id] = _WorkerSession(setup)
    except BaseException as error:  # noqa: BLE001 - the main process raises it
        result.error = portable(error)
        return result
    _SESSIONS[setup.id].judge(part, result)
    return result


_SESSIONS: dict[str, _WorkerSession] = {}
"""The current session of this worker process by its id, kept so that networks are loaded once per worker."""


class _WorkerSession:
    """The local models of a worker, which stay loaded until the process ends."""

    def __init__(self, setup: Setup) -> None:
        if setup.version != __version__:
            raise UsageError(
                f"this worker has summeter {__version__}, but the main process has {setup.version}. Install the same "
                "version"
            )
        with suppress(OSError):  # another machine may not have the folder
            os.chdir(setup.folder)
        self._setup = setup
        self._warnings = BufferingHandler(sys.maxsize)
        self._warnings.setLevel(logging.WARNING)
        logging.getLogger("summeter").addHandler(self._warnings)
        self._results = _NewResults()
        self._usage: dict[str, Usage] = {}
        networks: dict[str, Any] = {}
        if setup.networks:
            from summeter.models.local.load import build, identify

            found = []
            for expected in setup.networks:
                network = identify(expected.role, expected.name, expected.task, offline=setup.offline)
                if network.id != expected.id:
                    raise UsageError(
                        f"the model in the role {expected.role!r} is {network.id} on this worker, but {expected.id} in "
                        f"the main process. Use the same weights, and set the precision "
                        f"({expected.name}[precision=...])"
                    )
                found.append(network)
            networks = build(found, self._results, self._usage)
        self._tools = toolbox({}, networks)

    def judge(self, part: Part, result: PartResult) -> None:
        """Judge a part, and add everything that is computed to `result`."""
        worker = Worker(
            self._setup.jobs, result, self._tools, part.prepared, result, self._setup.item_timeout, result.compute
        )
        try:
            asyncio.run(worker.run(part.work_items, self._setup.slots))
        except BaseException as error:  # noqa: BLE001 - the main process raises it; finished items are in the result
            result.error = portable(first_error(error))
        result.results = self._results.take()
        result.usage = {model: usage.take() for model, usage in self._usage.items()}
        result.warnings = [(record.levelno, self._warnings.format(record)) for record in self._warnings.buffer]
        self._warnings.flush()


class _NewResults:
    """The new results of local models, kept until the end of the part."""

    def __init__(self) -> None:
        self._new: dict[str, dict[bytes, bytes]] = {}
        self._lock = threading.Lock()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the values of those keys that are stored."""
        with self._lock:
            return {key: rows[key] for key in keys for rows in self._new.values() if key in rows}

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Store the values of a model."""
        with self._lock:
            self._new.setdefault(model, {}).update(values)

    def take(self) -> dict[str, dict[bytes, bytes]]:
        """Remove all values, and return them by model."""
        with self._lock:
            new, self._new = self._new, {}
        return new
