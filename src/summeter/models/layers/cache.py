"""Store replies and reuse them.

`Cache` is a cache in front of an LLM, and `Stored` is an LLM that replies only from the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from summeter.models.base import LLM, Completion, Layer, Request, paid_reply
from summeter.models.per_loop import PerLoop
from summeter.records import BudgetError, Parameter, ReplayMiss, SummeterError, UsageError, WriteError
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

CROWDED = 16
"""Number of calls in flight above which commits are delayed, so that several replies share one commit."""
COMMIT_DELAY = 0.002
"""Seconds by which such a commit is delayed."""

_Row = tuple[str, str, str, str]


def count_reply(usage: Usage, completion: Completion) -> None:
    """Add the seconds and tokens of a new reply to `usage`."""
    usage.seconds += completion.seconds or 0.0
    if completion.tokens_in is None or completion.tokens_out is None:
        usage.without_tokens += 1
    usage.tokens_in += completion.tokens_in or 0
    usage.tokens_out += completion.tokens_out or 0
    usage.tokens_cached += completion.tokens_cached or 0


@dataclass(slots=True)
class _Flight:
    """A call in flight, with the number of its waiters."""

    task: asyncio.Task[Completion]
    waiters: int = 0


class Cache(Layer):
    """Forwards only requests whose replies are not stored.

    A reply is stored before it is returned. Failures are not stored, except for rejected replies that were paid for,
    which are stored in a separate table. Equal concurrent requests share one call, which is cancelled when its last
    waiter is cancelled. `usage` is updated during the run by this layer and by the layers below.
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
            flight.task.add_done_callback(lambda task: _discard(flights, key, task))
        else:
            self.usage.joined += 1
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiters == 1 and not flight.task.done():
                # The last waiter has left; later requests start a new call.
                if flights.get(key) is flight:
                    del flights[key]
                flight.task.cancel()
                await asyncio.wait([flight.task])
            raise
        finally:
            flight.waiters -= 1

    async def _fly(self, request: Request) -> Completion:
        try:
            completion = await self.llm.complete(request)
        except (BudgetError, UsageError, WriteError):
            raise  # not sent, so not counted as a failure
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
        committed = await self._writers.get().put(row, crowded=len(self._flights.get()) > CROWDED)
        # If another process stored its reply first, both processes use that reply.
        return completion if committed == stored else Completion.model_validate_json(committed)


class Stored:
    """An LLM that replies from a call store.

    `missing` is called for requests that are not stored; it returns a reply or raises an error.
    """

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
        """Do nothing; the store belongs to the run."""


def replay(model: str, store: CallStore) -> Stored:
    """Return an LLM that replies from the stored calls of a run, and raises ReplayMiss for other calls."""
    usage = Usage()

    def missing(request: Request) -> Completion:
        usage.failures += 1
        raise ReplayMiss(
            f"{model}: the replayed run does not contain this call (key {request.key[:12]}, prompt begins"
            f" {request.prompt[:60]!r}). Text, prompt template, model or settings differ from the replayed run;"
            " replay with the same ones, or run without ",
            Parameter("replay"),
            " to make the call",
        )

    return Stored(model, store, missing, usage=usage)


class _BatchWriter:
    """Stores replies, with one commit for those that arrive together."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._waiting: list[tuple[_Row, asyncio.Future[str]]] = []

    def put(self, row: _Row, *, crowded: bool) -> asyncio.Future[str]:
        """Return a future that is done once the row is committed, with the stored completion as its result."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(COMMIT_DELAY, self._flush) if crowded else loop.call_soon(self._flush)
        done: asyncio.Future[str] = loop.create_future()
        self._waiting.append((row, done))
        return done

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            committed = self._store.put_many([row for row, _ in waiting])
        except SummeterError as error:
            for _, done in waiting:
                if not done.cancelled():
                    done.set_exception(error)
            return
        for (_, done), completion in zip(waiting, committed, strict=True):
            if not done.cancelled():
                done.set_result(completion)


def _discard(flights: dict[str, _Flight], key: str, task: asyncio.Task[Completion]) -> None:
    flight = flights.get(key)
    if flight is not None and flight.task is task:
        del flights[key]
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not report it if there are no waiters
