"""The driver of a fleet: hands out units, takes the parts of finished bundles into the run, replaces who dies.

It holds no judgments: a worker's facts go from its part, a file, into the run's journal.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import assert_never

from summeter.engine.executors.fleet import (
    Assignment,
    Called,
    CallWanted,
    Died,
    Ended,
    Event,
    Fleet,
    Outcome,
    PartHanded,
    Ready,
    ResultsWanted,
    Setup,
    Trouble,
)
from summeter.engine.executors.schedule import Bundle, GivenUp, Scheduler, cost_of
from summeter.engine.plan import Job, Unit, item_key
from summeter.engine.progress import Progress
from summeter.engine.worker import failure
from summeter.evaluators.base import Prepared
from summeter.models.base import LLM
from summeter.models.compute_time import ComputeTime
from summeter.models.layers.item_timeout import counted
from summeter.models.local.batcher import LocalUsage
from summeter.records import InputError, WorkerError, WriteError
from summeter.runs.journal import Journal
from summeter.runs.results import ResultStore
from summeter.runs.worker_parts import PartTaker, part_file, write_part

log = logging.getLogger(__name__)

STARTS = 3
"""Workers that may fail to begin, one after another, before the run ends."""

DEATHS = 8
"""Workers that may die, one after another, with nothing finished in between (for each of the fleet: one more)."""

SETTLE = 32
"""Parts that are taken in between two syncs of the run's files."""

GRACE = 3.0
"""Seconds that workers have to put down what they have finished, where a run is broken off."""


def new_session() -> str:
    """What the parts of one sitting at a run are named by."""
    return secrets.token_hex(6)


@dataclass
class Driver:
    """One sitting of a fleet at a run. `known` is what was prepared before; `usage` is given what local models did,
    `compute` how long was computed for each judge; `llms` are the models, by model string, that the driver asks for its
    workers."""

    fleet: Fleet
    journal: Journal
    jobs: Sequence[Job]
    parts: PartTaker
    known: Mapping[tuple[str, str], Prepared]
    progress: Progress
    results: ResultStore | None = None
    usage: dict[str, LocalUsage] = field(default_factory=dict)
    compute: dict[str, ComputeTime] = field(default_factory=dict)
    llms: Mapping[str, LLM] = field(default_factory=dict)

    async def run(self, setup: Setup, units: Iterable[Unit], total: int) -> None:
        """Have all units judged; `total` is their number.

        The error of code on a worker is raised as it was there, with the worker's traceback for its cause. WorkerError
        where workers keep dying, WriteError where no worker can keep its part.
        """
        self._setup = setup
        self._scheduler = Scheduler(units, cost=cost_of, total=total)
        self._names = (f"worker {number}" for number in count(1))
        self._slots = setup.slots
        self._out: dict[int, str] = {}  # bundle -> worker
        self._present: set[str] = set()  # begun
        self._ready: set[str] = set()  # of these, those that can be handed work
        self._failed_starts = 0
        self.parts.folder.mkdir(exist_ok=True)
        (self.parts.folder / setup.session).touch()  # a worker that sees it writes there itself
        try:
            await self.fleet.open(setup, self._answer)
            self.progress.note("waiting for workers")
            for _ in range(min(self.fleet.workers, total)):
                await self._start()
            while not self._scheduler.finished:
                await self._handle(await self.fleet.events.get())
                for bundle in self._scheduler.assign(self._now()):
                    self._out[bundle.id] = bundle.worker
                    await self.fleet.send(bundle.worker, await self._assignment(bundle))
        except BaseException:
            await self.fleet.close(GRACE)
            with suppress(OSError):  # what ended the run is told of
                self._take_left()
            raise
        await self.fleet.close(GRACE)
        self._take_left()

    def _take_left(self) -> None:
        for text in self.parts.take_left(self._setup.session):
            log.warning("%s; its work is done again when the run is carried on", text)

    async def _start(self) -> None:
        name = next(self._names)
        self._present.add(name)
        await self.fleet.start(name)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _assignment(self, bundle: Bundle[Unit]) -> Assignment:
        wanted = [
            key
            for unit in bundle.units
            for place in unit.todo
            if (key := (self.jobs[place].signature, unit.document.id)) in self.known
        ]
        known = await asyncio.to_thread(lambda: {key: self.known[key] for key in wanted}) if wanted else {}
        return Assignment(bundle.id, bundle.units, known)

    async def _handle(self, event: Event) -> None:
        match event:
            case Ready(worker, place):
                self._ready.add(worker)
                self.progress.note("")
                log.info("%s is ready (%s)", worker, place)
                self._failed_starts = 0
                self._scheduler.join(worker, self._now(), self._slots)
            case Ended(worker, outcome):
                await self._ended(worker, outcome)
            case Died():
                await self._died(event)
            case _:
                assert_never(event)

    async def _ended(self, worker: str, outcome: Outcome) -> None:
        for note in outcome.notes:
            log.log(note.level, "%s: %s", worker, note.text)
        for model, usage in outcome.usage.items():
            before = asdict(self.usage.get(model, LocalUsage()))
            self.usage[model] = LocalUsage(**{name: before[name] + more for name, more in asdict(usage).items()})
        for signature, spent in outcome.compute.items():
            self.compute.setdefault(signature, ComputeTime()).add(spent)
        trouble = outcome.trouble
        if trouble is not None and trouble.kind == "unwritten":
            await self._retire(worker, trouble)
            return
        self._take(outcome.bundle)
        if trouble is not None:
            raise trouble.error
        self._out.pop(outcome.bundle, None)
        if self._scheduler.done(outcome.bundle, self._now(), outcome.seconds):
            self._advance(outcome.ok, outcome.failed)

    def _advance(self, ok: int, failed: int) -> None:
        for _ in range(ok):
            self.progress.advance(ok=True)
        for _ in range(failed):
            self.progress.advance(ok=False)

    def _file(self, bundle: int) -> Path:
        return part_file(self.parts.folder, self._setup.session, bundle)

    def _take(self, bundle: int) -> int | None:
        """Take a bundle's part in, if it is there and whole: how many items were judged in it; None where it is not."""
        file = self._file(bundle)
        if not file.exists():
            return None
        try:
            items = self.parts.take(file)
            self.parts.settle(at_least=SETTLE)
        except InputError as error:
            log.warning("%s; its work is done again", error)
            file.unlink(missing_ok=True)
            return None
        except OSError as error:
            raise WriteError.of(self.journal.folder, "the run", error) from error
        return items

    async def _retire(self, worker: str, trouble: Trouble) -> None:
        """A worker that cannot write is handed nothing more: its work goes to the others."""
        if worker not in self._present:  # let go already, by another of its bundles
            return
        self._present.discard(worker)
        self._scheduler.leave(worker, blame=False)
        for bundle in [bundle for bundle, of in self._out.items() if of == worker]:
            self._take(bundle)  # what it could still write counts
            del self._out[bundle]
        await self.fleet.stop(worker)
        if not self._present:
            raise WriteError.of(self.parts.folder, f"the work of {worker}", _cause(trouble)) from trouble.error
        log.warning("%s cannot write its work and is let go; others do it: %s", worker, _cause(trouble))

    async def _died(self, event: Died) -> None:
        worker, scheduler = event.worker, self._scheduler
        began = worker in self._ready
        self._present.discard(worker)
        if event.trouble is not None:
            raise event.trouble.error
        log.warning("%s died: %s; its unfinished work goes to others", worker, event.why)
        for bundle in [bundle for bundle, of in self._out.items() if of == worker]:
            if (items := self._take(bundle)) is not None:  # written, and never acknowledged
                scheduler.done(bundle, self._now())
                self._advance(items, 0)
            del self._out[bundle]
        for given_up in scheduler.leave(worker, why=event.why, blame=event.blame):
            self._give_up(given_up)
        self._failed_starts += not began
        many = DEATHS + self.fleet.workers
        if self._failed_starts >= STARTS or scheduler.deaths_since_result >= many:
            what = "could not begin" if self._failed_starts else "died with nothing finished in between"
            times = self._failed_starts or scheduler.deaths_since_result
            raise WorkerError(
                f"{times} workers, one after another, {what} (the last: {event.why}); what is finished is kept in "
                f"{self.journal.folder}, and the same again carries on"
            )
        if not scheduler.finished:
            await self._start()

    def _give_up(self, given_up: GivenUp[Unit]) -> None:
        """Note a failure for every item of a document that kills its workers."""
        for place, items in given_up.unit.todo.items():
            for item in items:
                self.journal.failed(failure(self.jobs[place].entry, item_key(item), "error", given_up.reason, ()))
                self.progress.advance(ok=False)

    async def _answer(self, question: object) -> object:
        match question:
            case ResultsWanted(keys):
                return {} if self.results is None else await asyncio.to_thread(self.results.get, keys)
            case PartHanded(bundle, text):
                return await asyncio.to_thread(write_part, self._file(bundle), text)
            case CallWanted(model, request, allowance):
                return Called(*await counted(allowance, self.llms[model].complete(request)))
            case _:
                raise TypeError(f"a worker asks what nobody answers: {question!r}")


def _cause(trouble: Trouble) -> Exception:
    error = trouble.error
    return error if isinstance(error, Exception) else RuntimeError(str(error))
