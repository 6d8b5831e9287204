"""The call store as a layer: stored replies are used again (`Cache`), or answer alone (`Stored`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from summeter.models.base import LLM, Completion, Request, paid_reply
from summeter.models.layers.base import Layer
from summeter.models.per_loop import PerLoop
from summeter.records import BudgetError, Parameter, ReplayMiss, SummeterError, UsageError, WriteError
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

CROWD = 16
GATHER = 0.002

_Row = tuple[str, str, str, str]


def count_reply(usage: Usage, completion: Completion) -> None:
    """Count a reply that was not stored before."""
    usage.seconds += completion.seconds or 0.0
    if completion.tokens_in is None or completion.tokens_out is None:
        usage.untold += 1
    usage.tokens_in += completion.tokens_in or 0
    usage.tokens_out += completion.tokens_out or 0
    usage.tokens_cached += completion.tokens_cached or 0


class _Flight:
    """A call under way, and how many wait for it."""

    __slots__ = ("task", "waiters")

    def __init__(self, task: asyncio.Task[Completion]) -> None:
        self.task = task
        self.waiters = 0


class Cache(Layer):
    """Asks the layer below only for what the store has not got.

    A reply is in the store before anyone sees it. Failures are never stored, but replies that were paid for and cannot
    be used are, apart. The call ends when the last of those who wait for it has been cancelled, not before. `usage`
    is live; the layers below count in it, too.
    """

    def __init__(self, llm: LLM, store: CallStore | None = None, *, usage: Usage | None = None) -> None:
        super().__init__(llm)
        self._store = store
        self.usage = usage or Usage()
        self._writers = None if store is None else PerLoop(lambda: _BatchWriter(store))
        self._flights: PerLoop[dict[str, _Flight]] = PerLoop(dict)

    async def complete(self, request: Request) -> Completion:
        key = request.key
        if self._store is not None and (stored := self._store.get(key)) is not None:
            self.usage.hits += 1
            return Completion.model_validate_json(stored)
        flights = self._flights.get()
        flight = flights.get(key)
        if flight is None:
            self.usage.sent += 1
            flight = flights[key] = _Flight(asyncio.create_task(self._fly(request)))
            flight.task.add_done_callback(lambda task: _land(flights, key, task))
        else:
            self.usage.joined += 1
        return await _wait(flights, key, flight)

    async def _fly(self, request: Request) -> Completion:
        try:
            completion = await self.llm.complete(request)
        except (BudgetError, UsageError, WriteError):
            raise  # not sent, hence no failure
        except Exception as error:
            self.usage.failures += 1
            if (reply := paid_reply(error)) is not None:
                count_reply(self.usage, reply)
                if self._store is not None:
                    self._store.turn_away(request.key, request.canonical, reply.model_dump_json(), request.model)
            raise
        count_reply(self.usage, completion)
        if self._writers is None:
            return completion
        stored = completion.model_dump_json()
        row = (request.key, request.canonical, stored, request.model)
        kept = await self._writers.get().put(row, crowded=len(self._flights.get()) > CROWD)
        # Another process may have been first; then its reply is the one both go on with.
        return completion if kept == stored else Completion.model_validate_json(kept)


class WriteGuard(Layer):
    """Sends nothing once what comes back could not be kept. `broken` gives the write that failed, if one did.

    It stands where calls are sent, so that none leaves that waited for its turn or its next try meanwhile.
    """

    def __init__(self, llm: LLM, broken: Callable[[], Exception | None]) -> None:
        super().__init__(llm)
        self._broken = broken

    async def complete(self, request: Request) -> Completion:
        if (error := self._broken()) is not None:
            if isinstance(error, WriteError):
                raise WriteError(str(error)) from error
            raise WriteError.of(getattr(error, "filename", None) or "the run", "what was judged", error) from error
        return await self.llm.complete(request)


class Stored:
    """An LLM that answers from a call store alone. `missing` is given every other request: it replies, or raises."""

    def __init__(
        self, model: str, store: CallStore, missing: Callable[[Request], Completion], *, usage: Usage | None = None
    ) -> None:
        self.id = model
        self._store = store
        self._missing = missing
        self.usage = usage or Usage()

    async def complete(self, request: Request) -> Completion:
        if (stored := self._store.get(request.key)) is None:
            return self._missing(request)
        self.usage.hits += 1
        return Completion.model_validate_json(stored)

    async def close(self) -> None:
        """Nothing to let go of; the store belongs to the run."""


def replay(model: str, store: CallStore, *, usage: Usage | None = None) -> Stored:
    """An LLM that answers as a recorded run was answered; a call that was not recorded raises ReplayMiss."""
    usage = usage or Usage()

    def missing(request: Request) -> Completion:
        usage.failures += 1
        raise ReplayMiss(
            f"{model}: the recorded run holds no such call (key {request.key[:12]}, prompt begins"
            f" {request.prompt[:60]!r}). Text, prompt template, model or settings differ from the recorded run;"
            " replay with the same ones, or run without ",
            Parameter("replay"),
            " to make the call",
        )

    return Stored(model, store, missing, usage=usage)


class _BatchWriter:
    """Collects the replies that arrive together, and stores them in one commit."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._waiting: list[tuple[_Row, asyncio.Future[str]]] = []

    def put(self, row: _Row, *, crowded: bool) -> asyncio.Future[str]:
        """Done once the row is committed; its result is the completion that counts."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            # Among many calls a moment's wait gathers several replies; alone it would only be a wait.
            loop.call_later(GATHER, self._flush) if crowded else loop.call_soon(self._flush)
        done: asyncio.Future[str] = loop.create_future()
        self._waiting.append((row, done))
        return done

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            kept = self._store.put_many([row for row, _ in waiting])
        except SummeterError as error:
            for _, done in waiting:
                if not done.cancelled():
                    done.set_exception(error)
            return
        for (_, done), completion in zip(waiting, kept, strict=True):
            if not done.cancelled():
                done.set_result(completion)


async def _wait(flights: dict[str, _Flight], key: str, flight: _Flight) -> Completion:
    flight.waiters += 1
    try:
        return await asyncio.shield(flight.task)
    except asyncio.CancelledError:
        if flight.waiters == 1 and not flight.task.done():
            # Nobody else wants it. Whoever asks from now on starts afresh.
            if flights.get(key) is flight:
                del flights[key]
            flight.task.cancel()
            await asyncio.wait([flight.task])
        raise
    finally:
        flight.waiters -= 1


def _land(flights: dict[str, _Flight], key: str, task: asyncio.Task[Completion]) -> None:
    flight = flights.get(key)
    if flight is not None and flight.task is task:
        del flights[key]
    if not task.cancelled():
        task.exception()  # looked at, so that asyncio does not report it when every waiter had left
