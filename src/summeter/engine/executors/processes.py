"""Workers in processes of this machine, by the standard library alone."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from summeter.engine.executors.fleet import (
    Answer,
    Answered,
    Assignment,
    Died,
    Ended,
    Event,
    Outcome,
    Ready,
    Setup,
    Trouble,
    answered,
    packed,
)
from summeter.records import Record, UsageError

if TYPE_CHECKING:
    from summeter.engine.executors.member import Member

PREFIX = "summeter-"
_MAIN = b"__main__"


class ProcessExecutor(Record):
    """Judge in `workers` processes of this machine, each with `threads` threads for its networks.

    >>> import summeter as sm
    >>> sm.ProcessExecutor(workers=2)
    ProcessExecutor(workers=2, threads=1)
    """

    workers: int = Field(default_factory=lambda: len(os.sched_getaffinity(0)), ge=1)
    threads: int = Field(default=1, ge=1)

    def check(self) -> None:
        """UsageError where no processes can be begun."""
        if current_process().name.startswith(PREFIX):
            # The main module judges when it is imported, and defines what its workers need: they import it.
            raise UsageError(
                "a script that defines judges, and judges with workers, must do so under `if __name__ == '__main__':`"
            )

    def fleet(self) -> ProcessFleet:
        """The processes, not yet begun."""
        return ProcessFleet(self.workers)


class _Question(NamedTuple):
    number: int
    question: Any


class _Reply(NamedTuple):
    number: int
    answer: Answered


class _Stop(NamedTuple):
    grace: float


class _Begun(NamedTuple):
    trouble: Trouble | None


class ProcessFleet:
    """Spawned processes, each at one end of a pipe. They end with their driver, however that ends."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self._members: dict[str, _Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # held, so that they come to their end

    async def open(self, setup: Setup, answer: Answer) -> None:
        self._setup, self._packed, self._answer = setup, packed(setup), answer
        if _MAIN in self._packed and not _main_is_a_file():
            raise UsageError(
                "judges that are defined in a notebook, at a prompt or in a script on stdin cannot be sent to "
                "processes: put them in a module of their own, and import it"
            )

    async def start(self, worker: str) -> None:
        ours, theirs = get_context("spawn").Pipe()
        process = get_context("spawn").Process(
            target=work, args=(theirs, self._packed), name=f"{PREFIX}{worker.replace(' ', '-')}", daemon=True
        )  # fmt: skip
        with _environment(self._setup.environment), _without_interrupts(), _main_module(self._packed):
            process.start()
        theirs.close()
        self._members[worker] = _Process(worker, process, ours, self)

    async def send(self, worker: str, assignment: Assignment) -> None:
        if worker in self._members:
            self._members[worker].send(assignment)

    async def stop(self, worker: str) -> None:
        member = self._members.pop(worker, None)
        if member is not None:
            await asyncio.to_thread(member.end, 0.0)

    async def close(self, grace: float) -> None:
        members = list(self._members.values())
        self._members.clear()
        for task in self._tasks:  # no call is made for a run that has ended
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for member in members:
            member.send(_Stop(grace))
        for member in members:
            await asyncio.to_thread(member.end, grace)

    def heard(self, member: _Process, message: Any) -> None:
        """In the event loop: what a worker says; None once it is gone."""
        if self._members.get(member.name) is not member:
            return
        match message:
            case None:
                del self._members[member.name]
                self.events.put_nowait(Died(member.name, member.ending()))
            case _Begun(None):
                self.events.put_nowait(Ready(member.name, f"process {member.process.pid}"))
            case _Begun(trouble):
                del self._members[member.name]
                self.events.put_nowait(Died(member.name, "it could not begin", trouble))
            case _Question():
                self._tasks.add(task := asyncio.ensure_future(self._reply(member, message)))
                task.add_done_callback(self._tasks.discard)
            case Outcome():
                self.events.put_nowait(Ended(member.name, message))

    async def _reply(self, member: _Process, question: _Question) -> None:
        member.send(_Reply(question.number, await answered(self._answer, question.question)))


class _Process:
    """The driver's end: one thread listens, one sends, so that a worker that stands still stops nobody else."""

    def __init__(self, name: str, process: BaseProcess, pipe: Connection, fleet: ProcessFleet) -> None:
        self.name, self.process = name, process
        self._pipe, self._fleet = pipe, fleet
        self._loop = asyncio.get_running_loop()
        self._sender = ThreadPoolExecutor(1)
        threading.Thread(target=self._listen, name=f"summeter-{name}", daemon=True).start()

    def send(self, message: Any) -> None:
        with suppress(RuntimeError):  # it was ended
            self._sender.submit(self._send, message)

    def _send(self, message: Any) -> None:
        with suppress(OSError):  # it is gone, which the listener says
            self._pipe.send(message)

    def _listen(self) -> None:
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                message = None
                self.process.join(5)
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._fleet.heard, self, message)
            if message is None:
                return

    def ending(self) -> str:
        """How it ended."""
        code = self.process.exitcode
        if code is not None and code < 0:
            return f"process {self.process.pid} was killed by signal {-code} ({signal.Signals(-code).name})"
        return f"process {self.process.pid} ended with code {code}"

    def end(self, grace: float) -> None:
        """Wait so long for its end, then bring it about."""
        self.process.join(grace)
        for means in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                means()
                self.process.join(2)
        self._sender.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _environment(names: Mapping[str, str]) -> Iterator[None]:
    """What a process that is begun within finds in its environment."""
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _main_module(setup: bytes) -> Iterator[None]:
    """A process that is begun within runs the main module once more only where what it is sent was defined there."""
    main = sys.modules["__main__"]
    if _MAIN not in setup:
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _main_is_a_file() -> bool:
    """Whether another process can run the main module, too."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    return getattr(main, "__spec__", None) is not None or (file is not None and Path(file).exists())


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that is begun within does not hear Ctrl-C, which a terminal sends to all: its driver ends it."""
    ensure_running()  # which would let interrupts through where it begins a process of its own
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- in the worker ----


def work(pipe: Connection, setup: bytes) -> None:
    """The life of a worker process, which a pickled `Setup` describes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lock = threading.Lock()

    def say(message: Any) -> None:
        with lock, suppress(OSError):  # where the driver is gone, the listener ends this process
            pipe.send(message)

    asked: dict[int, Future[Any]] = {}
    numbers = count()

    def ask(question: Any) -> Future[Any]:
        number = next(numbers)
        future = asked[number] = Future()
        say(_Question(number, question))  # which may be answered at once
        return future

    try:
        from summeter.engine.executors.member import Member

        member = Member(pickle.loads(setup), ask)  # noqa: S301 - of our own driver
    except BaseException as error:  # noqa: BLE001 - the driver says it
        say(_Begun(Trouble.of(error)))
        return
    say(_Begun(None))
    _listen(pipe, member, asked, say)


def _listen(pipe: Connection, member: Member, asked: dict[int, Future[Any]], say: Any) -> None:
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)  # the driver is gone; whatever runs here is nobody's
        match message:
            case Assignment():
                member.judge(message).add_done_callback(lambda done: done.cancelled() or say(done.result()))
            case _Reply(number, answer):
                answer.resolve(asked.pop(number))
            case _Stop(grace):
                member.stop(grace)
                sys.stdout.flush()
                os._exit(0)
