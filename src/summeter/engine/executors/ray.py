"""Workers as actors of a Ray cluster: on this machine, or on many that share the run's folder."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import pickle
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from summeter.records import InstallError, Record, UsageError

if TYPE_CHECKING:
    from summeter.engine.executors.member import Member

log = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds without a worker that is ready after which the log says what is waited for."""


class RayExecutor(Record):
    """Judge by `workers` actors of a Ray cluster, each with so many CPUs and GPUs (which may be fractions).

    `address` is the cluster's; without one RAY_ADDRESS counts, and without that Ray is begun on this machine for the
    run. Without `workers` there are as many as the cluster has room for when the run begins. A machine that does not
    see the run's folder hands its work to the command that began the run.

    >>> import summeter as sm
    >>> sm.RayExecutor(workers=8, gpus_per_worker=1).threads
    1
    """

    address: str | None = None
    workers: int | None = Field(default=None, ge=1)
    cpus_per_worker: float = Field(default=1.0, gt=0)
    gpus_per_worker: float = Field(default=0.0, ge=0)

    @property
    def threads(self) -> int:
        """Threads of a worker: its CPUs."""
        return max(1, math.floor(self.cpus_per_worker))

    def check(self) -> None:
        """InstallError where Ray is not installed."""
        if find_spec("ray") is None:
            raise InstallError.missing("Ray", "ray")

    def fleet(self) -> RayFleet:
        """The actors, not yet begun."""
        return RayFleet(self)


class RayFleet:
    """Actors, and one more that carries the workers' questions to the driver. All end with the driver."""

    def __init__(self, settings: RayExecutor) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self._settings = settings
        self._workers = settings.workers
        self._actors: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ours = False
        self._ready: set[str] = set()  # workers that have begun

    @property
    def workers(self) -> int:
        if self._workers is None:  # known once it is open
            self._workers = max(1, self._room())
        return self._workers

    async def open(self, setup: Setup, answer: Answer) -> None:
        import ray

        # Ray's own way to pickle takes along what the driver's main module defines.
        self._packed, self._slots, self._answer = packed(setup, ray.cloudpickle.dumps), setup.slots, answer
        self._environment = setup.environment
        if not ray.is_initialized():
            self._connect()
            self._ours = True
            if self._on_this_machine and not self._room():
                cpus, gpus = self._settings.cpus_per_worker, self._settings.gpus_per_worker
                raise UsageError(f"this machine has no room for a worker with {cpus:g} CPUs and {gpus:g} GPUs")
        elif self._settings.address not in (None, "auto", ray.get_runtime_context().gcs_address):
            raise UsageError(
                f"this process is connected to Ray at {ray.get_runtime_context().gcs_address}, not at "
                f"{self._settings.address}: call ray.shutdown() first"
            )
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # With the driver, so that no other machine can take it along.
        self._desk = ray.remote(Desk).options(num_cpus=0, scheduling_strategy=here, max_concurrency=10_000).remote()
        self._keep(self._serve())
        self._keep(self._tell_of_waiting())

    @property
    def _address(self) -> str | None:
        return self._settings.address or os.environ.get("RAY_ADDRESS")

    @property
    def _on_this_machine(self) -> bool:
        # A cluster may grow.
        return self._ours and self._address is None

    def _connect(self) -> None:
        import ray

        address = self._address
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.WARNING}
        with _handlers_kept():
            try:
                if address is not None:
                    _knock(address)
                    ray.init(address=address, **quiet)
                    return
                workers = self._settings.workers or len(os.sched_getaffinity(0))
                cpus = math.ceil(workers * self._settings.cpus_per_worker)
                ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)
            except (OSError, ValueError, RuntimeError) as error:
                where = "on this machine" if address is None else f"at {address}"
                raise UsageError(f"Ray cannot be reached {where}: {error}") from error

    def _room(self) -> int:
        """How many workers the nodes have room for."""
        import ray

        wanted = {"CPU": self._settings.cpus_per_worker, "GPU": self._settings.gpus_per_worker}
        return sum(
            min(math.floor(node["Resources"].get(name, 0) / number + 1e-6) for name, number in wanted.items() if number)
            for node in ray.nodes()
            if node["Alive"]
        )

    def _keep(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_of_waiting(self) -> None:
        """Say so where workers find no room, again as long as none has any: Ray itself waits without a word."""
        while not self._ready:
            await asyncio.sleep(PATIENCE)
            if waiting := self._actors.keys() - self._ready:
                cpus, gpus = self._settings.cpus_per_worker, self._settings.gpus_per_worker
                log.warning(
                    "%d of %d workers wait for room: Ray has room for %d with %g CPUs and %g GPUs each",
                    len(waiting), len(self._actors), self._room(), cpus, gpus,
                )  # fmt: skip

    async def start(self, worker: str) -> None:
        import ray

        kind = ray.remote(Actor).options(
            num_cpus=self._settings.cpus_per_worker, num_gpus=self._settings.gpus_per_worker, max_restarts=0,
            max_task_retries=0, max_concurrency=2 * self._slots + 100, runtime_env={"env_vars": self._environment},
        )  # fmt: skip
        self._actors[worker] = actor = kind.remote(self._desk)
        self._keep(self._begin(worker, actor))

    async def _begin(self, worker: str, actor: Any) -> None:
        begun = await self._of(worker, actor, actor.begin.remote(self._packed, _own_path()))
        if isinstance(begun, Trouble):
            self._gone(worker, actor, "it could not begin", begun)
        elif begun is not None:
            self._ready.add(worker)
            self._say(worker, actor, Ready(worker, begun))

    async def send(self, worker: str, assignment: Assignment) -> None:
        if worker in self._actors:
            actor = self._actors[worker]
            self._keep(self._judge(worker, actor, actor.judge.remote(assignment)))

    async def _judge(self, worker: str, actor: Any, result: Any) -> None:
        outcome: Outcome | None = await self._of(worker, actor, result)
        if outcome is not None:
            self._say(worker, actor, Ended(worker, outcome))

    async def _of(self, worker: str, actor: Any, result: Any) -> Any:
        """What an actor gives; None where it is gone, which is told."""
        from ray.exceptions import RayError

        try:
            return await result
        except RayError as error:
            text = " ".join(str(error).split())
            self._gone(worker, actor, text, None, blame="because its node" not in text)
            return None

    def _say(self, worker: str, actor: Any, event: Event) -> None:
        if self._actors.get(worker) is actor:
            self.events.put_nowait(event)

    def _gone(self, worker: str, actor: Any, why: str, trouble: Trouble | None, *, blame: bool = True) -> None:
        self._say(worker, actor, Died(worker, why, trouble, blame))
        if self._actors.get(worker) is actor:
            del self._actors[worker]
            self._kill(actor)

    @staticmethod
    def _kill(actor: Any) -> None:
        import ray

        with suppress(Exception):  # it is dead already, or the cluster is
            ray.kill(actor)

    async def _serve(self) -> None:
        """Answer what the workers ask."""
        while True:
            for number, question in await self._desk.take.remote():
                self._keep(self._reply(number, question))

    async def _reply(self, number: int, question: Any) -> None:
        await self._desk.answer.remote(number, await answered(self._answer, question))

    async def stop(self, worker: str) -> None:
        actor = self._actors.pop(worker, None)
        if actor is not None:
            self._kill(actor)

    async def close(self, grace: float) -> None:
        import ray

        actors = list(self._actors.values())
        self._actors.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not ray.is_initialized():
            return
        with suppress(Exception):  # who does not put its work down in time is killed all the same
            await asyncio.wait_for(asyncio.gather(*(actor.stop.remote(grace) for actor in actors)), grace + 1)
        for actor in [*actors, getattr(self, "_desk", None)]:
            if actor is not None:
                self._kill(actor)
        if self._ours:
            with _handlers_kept():
                ray.shutdown()


def _knock(address: str) -> None:
    """OSError where nobody listens at HOST:PORT: Ray itself tries for many minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray takes the place of the handler of SIGTERM; ours stays."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with suppress(ValueError):  # signals belong to the main thread
            signal.signal(signal.SIGTERM, before)


def _own_path() -> list[str]:
    """Where this process finds modules, but for those of its installation."""
    installed = (sys.prefix, sys.base_prefix)
    return [str(Path(place).resolve()) for place in sys.path if not place.startswith(installed)]


# ---- actors ----


class Desk:
    """Where workers leave their questions and the driver its answers."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[tuple[int, Any]] = asyncio.Queue()
        self._answers: dict[int, asyncio.Future[Answered]] = {}
        self._count = 0

    async def ask(self, question: Any) -> Answered:
        """The driver's answer."""
        self._count += 1
        number = self._count
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((number, question))
        return await self._answers[number]

    async def take(self) -> list[tuple[int, Any]]:
        """All questions that wait; at least one."""
        questions = [await self._asked.get()]
        while not self._asked.empty():
            questions.append(self._asked.get_nowait())
        return questions

    async def answer(self, number: int, answer: Answered) -> None:
        """Give an answer to who waits for it."""
        self._answers.pop(number).set_result(answer)


class Actor:
    """A worker."""

    def __init__(self, desk: Any) -> None:
        self._desk = desk
        self._member: Member | None = None

    async def begin(self, setup: bytes, path: list[str]) -> str | Trouble:
        """Open the models; returns where this is, or why it could not be. `path` is where the driver finds modules."""
        import ray

        from summeter.engine.executors.member import Member

        sys.path.extend(place for place in path if place not in sys.path)
        try:
            self._member = await asyncio.to_thread(lambda: Member(pickle.loads(setup), self._ask))  # noqa: S301 - of our own driver
        except BaseException as error:  # noqa: BLE001 - the driver says it
            return Trouble.of(error)
        context = ray.get_runtime_context()
        return f"process {os.getpid()} on node {ray.util.get_node_ip_address()} ({context.get_node_id()[:8]})"

    def _ask(self, question: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def resolve(done: Future[Any]) -> None:
            if (error := done.exception()) is None:
                done.result().resolve(future)
            elif future.set_running_or_notify_cancel():
                future.set_exception(error)

        self._desk.ask.remote(question).future().add_done_callback(resolve)
        return future

    async def judge(self, assignment: Assignment) -> Outcome:
        """Judge a bundle, and write its part."""
        assert self._member is not None  # noqa: S101 - it is sent nothing before it has begun
        return await asyncio.wrap_future(self._member.judge(assignment))

    async def stop(self, grace: float) -> None:
        """Put down what is finished."""
        if self._member is not None:
            await asyncio.to_thread(self._member.stop, grace)
