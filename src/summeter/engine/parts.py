"""Judging in workers: a run's documents are cut into parts, a worker judges a part, and the journal takes its result.

Only judges that compute are spread over workers. A judge that asks an LLM runs in the command's own process, which
has one rate limit, one budget, one store of calls, and the keys.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from typing import Any, NamedTuple
from uuid import uuid4

from summeter._version import __version__
from summeter.engine.executors.base import Executor, RemoteError, WorkerDied
from summeter.engine.executors.local import LocalExecutor
from summeter.engine.plan import Job, WorkItem, item_key
from summeter.engine.progress import Progress
from summeter.engine.tools import toolbox
from summeter.engine.worker import Worker, failure
from summeter.evaluators.base import Prepared
from summeter.models.networks import ModelTask
from summeter.records import Judgment, UsageError, WorkerError, first_error
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry
from summeter.runs.progress import ItemKey
from summeter.runs.results import ResultStore
from summeter.runs.run import Failure
from summeter.runs.usage import Usage

log = logging.getLogger(__name__)

PARTS = 64
"""Parts that a run is cut into at least, if it has so many documents: enough for every worker to end at one time."""

MOST_DOCUMENTS = 100
"""Documents of a part at most: what a worker's death costs, and what a part and its result need in memory."""

DEATHS = 8
"""Parts in a row on which workers die before the run ends with WorkerError."""


def documents_per_part(documents: int) -> int:
    """The default size of a part.

    >>> [documents_per_part(number) for number in (3, 640, 1_000_000)]
    [1, 10, 100]
    """
    return min(MOST_DOCUMENTS, max(1, math.ceil(documents / PARTS)))


class NetworkName(NamedTuple):
    """A local model in a role, as a worker finds it again: by its model string and its id."""

    role: str
    task: ModelTask
    name: str
    id: str


@dataclass(frozen=True)
class Setup:
    """What all parts of a session have in common: judges, their local models, `slots` documents at a time, the seconds
    that an item may take, and the folder in which relative paths of models begin."""

    jobs: tuple[Job, ...]
    networks: tuple[NetworkName, ...]
    slots: int
    item_timeout: float | None = None
    offline: bool = False
    folder: str = field(default_factory=os.getcwd)
    version: str = __version__
    id: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Part:
    """Some documents with their summaries, and what was prepared for them before, by signature and document."""

    units: tuple[WorkItem, ...]
    known: Mapping[tuple[str, str], Prepared]


@dataclass
class PartResult(Progress):
    """What a worker judged, prepared and computed in a part; `error` ended it. A `Sink` while the worker judges."""

    judgments: list[tuple[str, ItemKey, list[bytes]]] = field(default_factory=list)
    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    results: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    compute: dict[str, Usage] = field(default_factory=dict)
    warnings: list[tuple[int, str]] = field(default_factory=list)
    ok: int = 0
    failed_items: int = 0
    error: RemoteError | None = None

    def judged(self, judge: JudgeEntry, item: ItemKey, judgments: Sequence[Judgment]) -> None:
        """Keep the judgments of an item."""
        self.judgments.append((judge.signature, item, [f"{row.line}\n".encode() for row in judgments]))

    def prepared(self, judge: JudgeEntry, row: Mapping[str, Any]) -> None:
        """Keep what an evaluator derived for a document."""
        self.rows.append((judge.signature, dict(row)))

    def failed(self, failure: Failure) -> None:
        """Keep the failure of an item."""
        self.failures.append(failure)

    def advance(self, *, ok: bool) -> None:
        """Count an item that has ended."""
        self.ok += ok
        self.failed_items += not ok


# ---- in the command ----


@dataclass
class Session:
    """Spreads units over the workers of an executor and writes their results into the journal.

    `known` is what was prepared before; `usage` (by model) and `compute` (by signature) are added up.
    """

    executor: Executor
    setup: Setup
    journal: Journal
    known: Mapping[tuple[str, str], Prepared]
    progress: Progress
    store: ResultStore | None
    usage: dict[str, Usage]
    compute: dict[str, Usage]

    async def judge(self, units: Iterable[WorkItem], size: int) -> None:
        """Judge the units in parts of `size` documents. A part that two workers died on is judged document by document;
        a document that two workers died on alone ends as an error.

        Raises what a judge raised, with the worker's traceback as its cause, and WorkerError where workers keep dying.
        """
        # Groups by where documents stand in the data: a resumed run has the same parts.
        groups = (tuple(group) for _, group in groupby(units, key=lambda unit: unit.place // size))
        died = await self._map(map(self._part, groups))
        alone = (Part((unit,), part.known) for part, _ in died for unit in part.units)
        for part, why in await self._map(alone):
            (unit,) = part.units
            reason = f"two workers died while they judged only this document (the last: {why})"
            for place, items in unit.todo.items():
                for item in items:
                    entry = self.setup.jobs[place].entry
                    self.journal.failed(failure(entry, item_key(item), "error", reason, ()))
                    self.progress.advance(ok=False)

    async def _map(self, parts: Iterator[Part]) -> list[tuple[Part, str]]:
        """Judge parts; returns those that workers died on, and how."""
        died: list[tuple[Part, str]] = []
        in_a_row = 0
        first = next(parts, None)
        if first is None:
            return died
        async with aclosing(self.executor.map(partial(judge_part, self.setup), chain([first], parts))) as results:
            async for part, result in results:
                if isinstance(result, WorkerDied):
                    documents = ", ".join(unit.document.id for unit in part.units[:3])
                    log.warning(
                        "two workers died on a part of %d documents (%s ...): %s",
                        len(part.units),
                        documents,
                        result.why,
                    )
                    died.append((part, result.why))
                    in_a_row += 1
                    if in_a_row == DEATHS:
                        raise WorkerError(
                            f"workers died on {DEATHS} parts in a row (the last: {result.why}); what is finished is "
                            "kept, and the same command carries on"
                        )
                    continue
                in_a_row = 0
                self._take(result)
                if result.error is not None:
                    raise result.error.error
        return died

    def _take(self, result: PartResult) -> None:
        """Write a part's result into the run: what local models gave first, for judgments rest on it."""
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
        for model, usage in result.usage.items():
            self.usage[model] = self.usage.get(model, Usage()) + usage
        for signature, spent in result.compute.items():
            self.compute[signature] = self.compute.get(signature, Usage()) + spent
        for _ in range(result.ok):
            self.progress.advance(ok=True)
        for _ in range(result.failed_items):
            self.progress.advance(ok=False)

    def _part(self, units: tuple[WorkItem, ...]) -> Part:
        keys = [(job.signature, unit.document.id) for unit in units for job in self.setup.jobs]
        return Part(units, {key: self.known[key] for key in keys if key in self.known})


# ---- in a worker ----


def judge_part(setup: Setup, part: Part) -> PartResult:
    """Judge all that is left of some documents. An error that ends the run is in the result."""
    result = PartResult()
    try:
        if setup.id not in _OPENED:
            _OPENED.clear()
            _OPENED[setup.id] = _Opened(setup)
    except BaseException as error:  # noqa: BLE001 - the command raises it
        result.error = RemoteError.of(error)
        return result
    _OPENED[setup.id].judge(part, result)
    return result


_OPENED: dict[str, _Opened] = {}
"""The session that this process works for, by its id: networks are loaded once a worker."""


class _Opened:
    """The local models of a worker, which live as long as the process."""

    def __init__(self, setup: Setup) -> None:
        if setup.version != __version__:
            raise UsageError(
                f"this worker has summeter {__version__}, its command {setup.version}: install the same version"
            )
        with suppress(OSError):  # another machine need not have the folder
            os.chdir(setup.folder)
        self._setup = setup
        self._warnings = _Warnings()
        logging.getLogger("summeter").addHandler(self._warnings)
        self._results = _NewResults()
        self._usage: dict[str, Usage] = {}
        networks: dict[str, Any] = {}
        if setup.networks:
            from summeter.models.local.load import build, identify

            found = []
            for wanted in setup.networks:
                network = identify(wanted.role, wanted.name, wanted.task, offline=setup.offline)
                if network.id != wanted.id:
                    raise UsageError(
                        f"the model in the role {wanted.role!r} is {network.id} on this worker and {wanted.id} in the "
                        f"command: use the same weights, and name the precision ({wanted.name}[precision=...])"
                    )
                found.append(network)
            networks = build(found, self._results, self._usage)
        self._tools = toolbox({}, networks)

    def judge(self, part: Part, result: PartResult) -> None:
        """Judge a part into its result."""
        worker = Worker(
            self._setup.jobs, result, self._tools, part.known, result, self._setup.item_timeout, result.compute
        )
        try:
            asyncio.run(LocalExecutor(self._setup.slots).run(worker, part.units))
        except BaseException as error:  # noqa: BLE001 - the command raises it; what is finished is kept
            result.error = RemoteError.of(first_error(error))
        result.results = self._results.take()
        result.usage = {model: usage.take() for model, usage in self._usage.items()}
        result.warnings = self._warnings.take()


class _NewResults:
    """Results of local models that wait for the end of the part."""

    def __init__(self) -> None:
        self._new: dict[str, dict[bytes, bytes]] = {}
        self._lock = threading.Lock()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""
        with self._lock:
            return {key: rows[key] for key in keys for rows in self._new.values() if key in rows}

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Keep the values of a model."""
        with self._lock:
            self._new.setdefault(model, {}).update(values)

    def take(self) -> dict[str, dict[bytes, bytes]]:
        """All values, which are removed here."""
        with self._lock:
            new, self._new = self._new, {}
        return new


class _Warnings(logging.Handler):
    """Keeps warnings until the end of the part."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._kept: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append((record.levelno, self.format(record)))

    def take(self) -> list[tuple[int, str]]:
        """All warnings, which are removed here."""
        kept, self._kept = self._kept, []
        return kept
