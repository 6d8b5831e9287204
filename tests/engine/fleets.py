"""A fleet without processes: workers in threads of this one, which die as they are told to."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from summeter.engine.executors.fleet import Answer, Assignment, Died, Ended, Event, Ready, Setup, Trouble
from summeter.engine.executors.member import Member
from summeter.runs.worker_parts import Part


@dataclass
class ThreadExecutor:
    """`deadly`: how many workers die of a document (its id). `full`: the names of workers whose disk is full.
    `elsewhere`: the names of workers that do not see the run's folder. `lost`: bundles whose worker dies once their
    part is written, before it says so. `broken`: none can begin."""

    workers: int = 2
    deadly: Mapping[str, int] = field(default_factory=dict)
    full: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    lost: tuple[int, ...] = ()
    broken: bool = False
    threads: int = 1
    sent: dict[int, list[str]] = field(default_factory=dict)
    """The documents of each bundle."""

    def check(self) -> None:
        pass

    def fleet(self) -> ThreadFleet:
        return ThreadFleet(self)


def unasked(question: Any) -> Future[Any]:
    raise AssertionError(question)


class FullDisk(Member):
    """A worker whose parts do not fit on its disk."""

    async def _write(self, bundle: int, part: Part) -> Trouble | None:
        return Trouble.of(OSError(28, "No space left on device"), "unwritten")


class ThreadFleet:
    def __init__(self, executor: ThreadExecutor) -> None:
        self.workers = executor.workers
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self._executor = executor
        self._deaths = dict(executor.deadly)
        self._members: dict[str, Member] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, setup: Setup, answer: Answer) -> None:
        self._setup, self._answer, self._loop = setup, answer, asyncio.get_running_loop()

    def _seen_by(self, worker: str) -> Setup:
        elsewhere = worker in self._executor.elsewhere
        return replace(self._setup, parts="/nowhere/parts") if elsewhere else self._setup

    def _ask(self, question: Any) -> Future[Any]:
        """As over a pipe: what is asked and answered is a copy."""

        async def answered() -> Any:
            return pickle.loads(pickle.dumps(await self._answer(pickle.loads(pickle.dumps(question)))))

        return asyncio.run_coroutine_threadsafe(answered(), self._loop)

    async def start(self, worker: str) -> None:
        if self._executor.broken:
            self.events.put_nowait(Died(worker, "no room"))
            return
        kind = FullDisk if worker in self._executor.full else Member
        self._members[worker] = kind(self._seen_by(worker), self._ask, alone=False)
        self.events.put_nowait(Ready(worker, "a thread"))

    async def send(self, worker: str, assignment: Assignment) -> None:
        self._executor.sent[assignment.bundle] = [unit.document.id for unit in assignment.units]
        if worker in self._members:
            task = asyncio.ensure_future(self._judge(worker, assignment))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _judge(self, worker: str, assignment: Assignment) -> None:
        if worker not in self._members:
            return
        for unit in assignment.units:
            if self._deaths.get(unit.document.id, 0) > 0:
                self._deaths[unit.document.id] -= 1
                self._die(worker)
                return
        outcome = await asyncio.wrap_future(self._members[worker].judge(assignment))
        if assignment.bundle in self._executor.lost:
            self._die(worker)
        else:
            self._say(worker, Ended(worker, outcome))

    def _say(self, worker: str, event: Event) -> None:
        if worker in self._members:
            self.events.put_nowait(event)

    def _die(self, worker: str) -> None:
        self._say(worker, Died(worker, "killed by signal 9"))
        self._members.pop(worker, None)

    async def stop(self, worker: str) -> None:
        self._members.pop(worker, None)

    async def close(self, grace: float) -> None:
        self._members.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)
