"""Several workers in processes of their own: what goes to them, what comes back, and the protocol of every kind.

A fleet starts workers, sends them bundles of units, and puts what happens into `events`. It knows nothing of runs. A
worker may ask the driver something meanwhile (`Ask`): the fleet carries the question and the answer.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from traceback import format_exception
from typing import Any, Literal, NamedTuple, Protocol

from summeter._version import __version__
from summeter.engine.plan import Job, Unit
from summeter.evaluators.base import Prepared
from summeter.models.base import Completion, Kind, Request
from summeter.models.compute_time import ComputeTime
from summeter.models.layers.item_timeout import Allowance
from summeter.models.local.batcher import LocalUsage
from summeter.models.structured import Settings
from summeter.records import ModelError, SummeterError, UsageError


class NetworkName(NamedTuple):
    """A local model in a role, as a worker finds it again: by what it was asked for, and by its id."""

    role: str
    kind: Kind
    name: str
    id: str


class ModelName(NamedTuple):
    """An LLM in a role, which workers reach by way of their driver: its model string, and how it is asked."""

    role: str
    model: str
    settings: Settings


@dataclass(frozen=True)
class Setup:
    """What a worker is built from: the jobs (at the places that units name), the models, and where its parts go.

    `slots` is how many documents it works on at a time, `item_timeout` the seconds one item may take. With `replay`
    stored results alone answer; `stored` says that the driver holds some.
    """

    jobs: tuple[Job, ...]
    networks: tuple[NetworkName, ...]
    parts: str
    session: str
    slots: int
    threads: int
    llms: tuple[ModelName, ...] = ()
    item_timeout: float | None = None
    offline: bool = False
    replay: bool = False
    stored: bool = False
    folder: str = field(default_factory=lambda: str(Path.cwd()))
    version: str = __version__

    @property
    def environment(self) -> dict[str, str]:
        """How many threads libraries begin, in a worker's environment; read when they are loaded."""
        names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM")
        return {f"{name}_NUM_THREADS": str(self.threads) for name in names}


def packed(setup: Setup, dumps: Callable[[Any], bytes] = pickle.dumps) -> bytes:
    """The setup as it travels. UsageError where an evaluator cannot: its class is not one that can be imported, say."""
    try:
        return dumps(setup)
    except Exception as error:
        raise UsageError(f"what judges cannot be sent to workers: {error}") from error


class Assignment(NamedTuple):
    """Units for one worker, with what was prepared before for their documents, by signature and document."""

    bundle: int
    units: tuple[Unit, ...]
    known: Mapping[tuple[str, str], Prepared]


class Trouble(NamedTuple):
    """Why a bundle did not come to its end: the error of its code, or (`unwritten`) a part that could not be kept."""

    kind: Literal["error", "unwritten"]
    pickled: bytes
    traceback: str

    @classmethod
    def of(cls, error: BaseException, kind: Literal["error", "unwritten"] = "error") -> Trouble:
        """An error as it travels."""
        return cls(kind, _pickled(error), "".join(format_exception(error)))

    @property
    def error(self) -> BaseException:
        """The error, whose cause shows the worker's traceback."""
        error: BaseException = pickle.loads(self.pickled)  # noqa: S301 - of a process of our own
        error.__cause__ = RemoteTraceback(self.traceback)
        return error


class RemoteTraceback(Exception):
    """The traceback of an error where it was raised."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def _pickled(error: BaseException) -> bytes:
    """The error; one that cannot travel as it is, as the nearest of ours that can."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # noqa: S301 - its own constructor may want more than its text
    except Exception:  # noqa: BLE001 - whatever its class does
        if isinstance(error, SummeterError):
            return pickle.dumps(ModelError(str(error)) if isinstance(error, ModelError) else SummeterError(str(error)))
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


class Note(NamedTuple):
    """Something a worker logged."""

    level: int
    text: str


class Outcome(NamedTuple):
    """What became of a bundle. Its facts stand in its part; here are counts: items judged well and not, seconds that it
    took since it was begun, or since the bundle before was done; of the worker since its last outcome, seconds of
    processor and what local models did; and how long it computed for each judge."""

    bundle: int
    ok: int = 0
    failed: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    usage: Mapping[str, LocalUsage] = {}
    compute: Mapping[str, ComputeTime] = {}
    notes: tuple[Note, ...] = ()
    trouble: Trouble | None = None


# ---- what happens ----


class Ready(NamedTuple):
    """A worker can begin; `place` says where it is."""

    worker: str
    place: str


class Ended(NamedTuple):
    """A bundle came to its end, good or bad."""

    worker: str
    outcome: Outcome


class Died(NamedTuple):
    """A worker is gone. `trouble`: it could not even begin. `blame` False: its machine went, or it was taken away."""

    worker: str
    why: str
    trouble: Trouble | None = None
    blame: bool = True


Event = Ready | Ended | Died

# ---- asking the driver ----

Ask = Callable[[Any], "Future[Any]"]
"""What a worker asks its driver with: any question that can be pickled, from any thread; the future has the answer, or
the error that answering it raised."""

Answer = Callable[[Any], Awaitable[Any]]
"""The driver's side: called in its event loop with each question."""


class ResultsWanted(NamedTuple):
    """A question: which results of local models the run holds, of those with these keys."""

    keys: tuple[bytes, ...]


class PartHanded(NamedTuple):
    """A question: whether the driver keeps this part, for a worker that does not see the run's folder. No answer but an
    error: it is on the disk."""

    bundle: int
    text: bytes


class CallWanted(NamedTuple):
    """A question: the reply of a model to a request. `allowance` is the time that the item has left for it."""

    model: str
    request: Request
    allowance: Allowance | None


class Called(NamedTuple):
    """The reply, and the seconds that the item is to be charged with."""

    completion: Completion
    seconds: float


class Answered(NamedTuple):
    """An answer as it travels: a value, or an error."""

    value: Any = None
    trouble: Trouble | None = None

    def resolve(self, future: Future[Any]) -> None:
        """Give it to who asked; nothing where nobody waits for it any more."""
        if not future.set_running_or_notify_cancel():
            return
        if self.trouble is not None:
            future.set_exception(self.trouble.error)
        else:
            future.set_result(self.value)


async def answered(answer: Answer, question: Any) -> Answered:
    """What the driver says to a question."""
    try:
        return Answered(await answer(question))
    except Exception as error:  # noqa: BLE001 - it is raised where the question was asked
        return Answered(trouble=Trouble.of(error))


# ---- the protocol ----


class Fleet(Protocol):
    """Workers of one kind. `events` is filled while it is open; a worker that died has no events after `Died`."""

    events: asyncio.Queue[Event]

    @property
    def workers(self) -> int:
        """How many workers there are to be."""

    async def open(self, setup: Setup, answer: Answer) -> None:
        """Get ready to start workers."""

    async def start(self, worker: str) -> None:
        """Begin a worker of this name; `Ready` or `Died` follows."""

    async def send(self, worker: str, assignment: Assignment) -> None:
        """Hand a worker a bundle; `Ended` or `Died` follows. Nothing where it is gone."""

    async def stop(self, worker: str) -> None:
        """End a worker; no event follows."""

    async def close(self, grace: float) -> None:
        """End all workers: those that are at work may put down, for so many seconds, what they have finished."""


class FleetExecutor(Protocol):
    """Where work is done by a fleet: settings that make one."""

    def check(self) -> None:
        """UsageError where it cannot be: called before anything is written."""

    def fleet(self) -> Fleet:
        """A fleet that is not open yet."""

    @property
    def threads(self) -> int:
        """Threads of one worker."""
