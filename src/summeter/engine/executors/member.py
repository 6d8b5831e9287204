"""What runs inside a worker: it opens models once, judges the bundles it is sent, and writes each one's part."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from summeter._version import __version__
from summeter.engine.executors.fleet import (
    Ask,
    Assignment,
    Called,
    CallWanted,
    NetworkName,
    Note,
    Outcome,
    PartHanded,
    ResultsWanted,
    Setup,
    Trouble,
)
from summeter.engine.plan import Unit
from summeter.engine.progress import Progress
from summeter.engine.tools import toolbox
from summeter.engine.worker import Worker
from summeter.interrupt import STOP
from summeter.models.base import Completion, Request
from summeter.models.layers.item_timeout import handed_over
from summeter.models.local.batcher import LocalUsage
from summeter.models.structured import BoundLLM
from summeter.records import UsageError, first_error
from summeter.runs.worker_parts import Part, part_file, write_part


class Member:
    """A worker. It has an event loop in a thread of its own; `judge` may be called from any thread, also while other
    bundles are being judged: their units share its slots. `alone`: the process is its own, with the folder it is in and
    what is logged.

    It puts its parts into the run's folder where it sees that, else into the driver's hands.

    Raises UsageError where this machine cannot do what the driver wants: another version, no such model.
    """

    def __init__(self, setup: Setup, ask: Ask, *, alone: bool = True) -> None:
        if setup.version != __version__:
            raise UsageError(f"this worker has summeter {__version__}, its driver {setup.version}: install the same")
        self._setup = setup
        self._ask = ask
        self._parts = Path(setup.parts)
        self._sees_run = (self._parts / setup.session).exists()
        self._results = WorkerResults(ask, stored=setup.stored or setup.replay)
        self._usage: dict[str, LocalUsage] = {}
        self._reported: dict[str, LocalUsage] = {}
        self._reported_processor = 0.0
        self._notes = _Notes()
        if alone:
            logging.getLogger("summeter").addHandler(self._notes)
            with suppress(OSError):
                os.chdir(setup.folder)  # where relative paths of models and settings begin
        llms = {own.role: BoundLLM(DriverLLM(own.model, ask), own.settings) for own in setup.llms}
        self._tools = toolbox(llms, self._networks())
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(setup.slots)
        self._ended = 0.0  # when the latest bundle was
        threading.Thread(target=self._loop.run_forever, name="summeter-judging", daemon=True).start()

    def _networks(self) -> Mapping[str, object]:
        if not self._setup.networks:
            return {}
        from summeter.models.local.bind import Network, build, identify

        def find(wanted: NetworkName) -> Network:
            if self._setup.replay and not wanted.name:
                return Network(wanted.role, wanted.kind, wanted.id)
            network = identify(
                wanted.role, wanted.name, wanted.kind, offline=self._setup.offline,
                recorded=[wanted.id] if self._setup.replay else (),
            )  # fmt: skip
            if network.id != wanted.id:
                raise UsageError(
                    f"the model in the role {wanted.role!r} is {network.id} on this worker and {wanted.id} at its "
                    f"driver: use the same weights, and write the precision behind the name ({wanted.name}"
                    "[precision=...])"
                )
            return network

        networks = [find(wanted) for wanted in self._setup.networks]
        return build(networks, self._results, self._usage, replay=self._setup.replay)

    def judge(self, assignment: Assignment) -> Future[Outcome]:
        """Judge a bundle and write its part; the future never has an error: the outcome tells it."""
        return asyncio.run_coroutine_threadsafe(self._judge(assignment), self._loop)

    def stop(self, seconds: float) -> None:
        """Break off, and put down what is finished, in so many seconds."""
        STOP.set()  # heard by work on this processor, which stops the loop
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result(seconds)

    async def _cancel(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _judge(self, assignment: Assignment) -> Outcome:
        began = time.monotonic()
        part, count = Part(), _Count()
        seconds = self._setup.item_timeout
        worker = Worker(self._setup.jobs, part, self._tools, assignment.known, count, seconds)
        trouble: Trouble | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for unit in assignment.units:
                    group.create_task(self._unit(worker, unit))
        except BaseException as error:  # noqa: BLE001 - also where it is cancelled, what is finished is put down
            trouble = Trouble.of(first_error(error))
        if STOP.is_set() and trouble is None:  # work that was broken off may end without an error
            trouble = Trouble.of(asyncio.CancelledError())
        unwritten = await self._write(assignment.bundle, part)
        ended = time.monotonic()
        took, self._ended = ended - max(began, self._ended), ended
        return Outcome(
            assignment.bundle, count.ok, count.failed, took, self._new_processor(),
            self._new_usage(), worker.compute, self._notes.take(), unwritten or trouble,
        )  # fmt: skip

    async def _unit(self, worker: Worker, unit: Unit) -> None:
        async with self._slots:
            await worker(unit)

    async def _write(self, bundle: int, part: Part) -> Trouble | None:
        part.results(self._results.fresh())
        if not part:
            return None
        text = await asyncio.to_thread(part.text)
        try:
            if self._sees_run:
                file = part_file(self._parts, self._setup.session, bundle)
                await asyncio.to_thread(write_part, file, text)
            else:
                await asyncio.wrap_future(self._ask(PartHanded(bundle, text)))
        except OSError as error:
            return Trouble.of(error, "unwritten")
        return None

    def _new_processor(self) -> float:
        before, self._reported_processor = self._reported_processor, time.process_time()
        return self._reported_processor - before

    def _new_usage(self) -> dict[str, LocalUsage]:
        """What local models did since this was last asked."""
        new: dict[str, LocalUsage] = {}
        for model, usage in self._usage.items():
            now, before = asdict(usage), asdict(self._reported.get(model, LocalUsage()))
            new[model] = LocalUsage(**{name: now[name] - before[name] for name in now})
            self._reported[model] = LocalUsage(**now)
        return new


class DriverLLM:
    """A model as a worker reaches it: its driver makes the call, so that a run has one account of requests, tokens and
    money, one store of replies, and keys on one machine, however many workers it has."""

    def __init__(self, model: str, ask: Ask) -> None:
        self.id = model
        self._ask = ask

    async def complete(self, request: Request) -> Completion:
        """The reply; raises what the call raised at the driver."""
        with handed_over() as handed:
            wanted = CallWanted(self.id, request, handed.allowance)
            called: Called = await asyncio.wrap_future(self._ask(wanted))
            handed.took = called.seconds
        return called.completion

    async def close(self) -> None:
        """Nothing to let go of: connections are the driver's."""


class WorkerResults:
    """The results of local models in a worker: new ones wait for the next part; those of earlier sessions (if there are
    any `stored`) are with the driver."""

    def __init__(self, ask: Ask, *, stored: bool) -> None:
        self._ask = ask
        self._stored = stored
        self._new: dict[str, dict[bytes, bytes]] = {}
        self._lock = threading.Lock()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""
        wanted = tuple(dict.fromkeys(keys))
        with self._lock:
            known = {key: rows[key] for rows in self._new.values() for key in wanted if key in rows}
        left = tuple(key for key in wanted if key not in known)
        if left and self._stored:
            known |= self._ask(ResultsWanted(left)).result()
        return known

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Keep the values of a model for the next part."""
        with self._lock:
            rows = self._new.setdefault(model, {})
            for key, value in values.items():
                rows.setdefault(key, value)

    def fresh(self) -> dict[str, dict[bytes, bytes]]:
        """What was put since this was last asked."""
        with self._lock:
            new, self._new = self._new, {}
        return new


class _Count(Progress):
    """How many items have ended, well and not."""

    def __init__(self) -> None:
        self.ok = self.failed = 0

    def advance(self, *, ok: bool) -> None:
        self.ok += ok
        self.failed += not ok


class _Notes(logging.Handler):
    """Keeps what is logged until it is taken along."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._notes: list[Note] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._notes.append(Note(record.levelno, self.format(record)))

    def take(self) -> tuple[Note, ...]:
        """What was logged since this was last asked."""
        notes, self._notes = self._notes, []
        return tuple(notes)
