"""Single-flight cache: a stored reply is used again, and identical calls at one time are one call."""

from __future__ import annotations

import asyncio

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.loops import PerLoop
from summeter.models.layers.meter import Usage
from summeter.store.calls import CallStore


class _Flight:
    """A call under way, and how many wait for it."""

    __slots__ = ("task", "waiters")

    def __init__(self, task: asyncio.Task[Completion]) -> None:
        self.task = task
        self.waiters = 0


class Cache:
    """Asks the layer below only for what the store has not got.

    A reply is in the store before anyone sees it. Failures are never stored. The call ends when the last
    of those who wait for it has been cancelled, not before.
    """

    def __init__(self, llm: LLM, store: CallStore | None = None, *, usage: Usage | None = None) -> None:
        self.llm = llm
        self._store = store
        self._usage = usage or Usage()
        self._flights: PerLoop[dict[str, _Flight]] = PerLoop(dict)

    @property
    def id(self) -> str:
        """The model string."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """The stored reply, else the one under way, else a fresh one."""
        key = request.key
        if self._store is not None and (stored := self._store.get(key)) is not None:
            self._usage.hits += 1
            return Completion.model_validate_json(stored)
        flights = self._flights.get()
        flight = flights.get(key)
        if flight is None:
            self._usage.sent += 1
            flight = flights[key] = _Flight(asyncio.create_task(self._fly(request)))
            flight.task.add_done_callback(lambda task: _land(flights, key, task))
        else:
            self._usage.joined += 1
        return await _wait(flights, key, flight)

    async def close(self) -> None:
        """Close what is below; the store belongs to the run."""
        await self.llm.close()

    async def _fly(self, request: Request) -> Completion:
        completion = await self.llm.complete(request)
        self._usage.fresh(completion)
        if self._store is None:
            return completion
        made = completion.model_dump_json()
        kept = self._store.put(request.key, request.canonical, made, request.model)
        # Another process may have been first; then its reply is the one both go on with.
        return completion if kept == made else Completion.model_validate_json(kept)


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
