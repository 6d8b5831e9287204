"""The batcher: concurrent calls are collected, what is stored is looked up, what is under way is joined, and the rest
goes to the model together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from summeter.models.per_loop import PerLoop
from summeter.records import ReplayMiss
from summeter.runs.results import ResultStore, result_key

MOST = 8192
"""Inputs that go to the model together: enough to sort well, and memory stays flat."""

Texts = tuple[str, ...]
T = TypeVar("T")


@dataclass
class LocalUsage:
    """What a local model did: inputs asked for, found in the store or already under way, and computed; of those
    computed, how many were cut at the model's length or ended before they were done, and their tokens."""

    asked: int = 0
    stored: int = 0
    computed: int = 0
    truncated: int = 0
    tokens: int = 0
    padding: int = 0


@dataclass(frozen=True)
class Codec(Generic[T]):
    """How results of one task become bytes in the store, and come back."""

    task: str
    pack: Callable[[T], bytes]
    unpack: Callable[[bytes], T]


@dataclass
class _Desk(Generic[T]):
    """What waits for the model in one event loop."""

    waiting: dict[bytes, Texts] = field(default_factory=dict)
    flights: dict[bytes, asyncio.Future[T]] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None


class Batcher(Generic[T]):
    """Collects inputs for `compute`, which is called in a thread, one call at a time for each event loop.

    A result is in the store before anyone sees it. With `compute` None the store answers alone (ReplayMiss).
    """

    def __init__(
        self, model: str, codec: Codec[T], compute: Callable[[Sequence[Texts]], Sequence[T]] | None,
        *, store: ResultStore | None = None, usage: LocalUsage | None = None, most: int = MOST,
    ) -> None:  # fmt: skip
        self.model = model
        self.usage = usage or LocalUsage()
        self._codec = codec
        self._compute = compute
        self._store = store
        self._most = most
        self._desks: PerLoop[_Desk[T]] = PerLoop(_Desk)

    async def ask(self, inputs: Sequence[Texts]) -> list[T]:
        """A result for each input, in their order; equal inputs are computed once."""
        keys = [result_key(self.model, self._codec.task, one) for one in inputs]
        self.usage.asked += len(keys)
        wanted = dict(zip(keys, inputs, strict=True))
        stored = {} if self._store is None else self._store.get(wanted)
        found = {key: self._codec.unpack(value) for key, value in stored.items()}
        pending = {key: self._flight(key, one) for key, one in wanted.items() if key not in found}
        self.usage.stored += sum(key in found for key in keys)
        if pending:
            # Each waiter leaves on its own: the others still want the results.
            await asyncio.wait(pending.values())
            found |= {key: flight.result() for key, flight in pending.items()}
        return [found[key] for key in keys]

    def _flight(self, key: bytes, one: Texts) -> asyncio.Future[T]:
        if self._compute is None:
            text = " / ".join(part[:40] for part in one)
            raise ReplayMiss(f"the replayed run holds no {self._codec.task} result of {self.model} for {text!r}")
        desk = self._desks.get()
        if key not in desk.flights:
            flight: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            # Looked at, so that asyncio does not report an error when everyone who waited has left.
            flight.add_done_callback(lambda done: done.cancelled() or done.exception())
            desk.flights[key] = flight
            desk.waiting[key] = one
            if desk.task is None or desk.task.done():
                desk.task = asyncio.get_running_loop().create_task(self._serve(desk))
        return desk.flights[key]

    async def _serve(self, desk: _Desk[T]) -> None:
        while desk.waiting:
            await _settled(desk.waiting)
            keys = list(desk.waiting)[: self._most]
            inputs = [desk.waiting.pop(key) for key in keys]
            try:
                results = await asyncio.to_thread(self._work, keys, inputs)
            except BaseException as error:
                _fail([desk.flights.pop(key) for key in keys], error)
                if not isinstance(error, Exception):
                    _fail([desk.flights.pop(key) for key in desk.waiting], error)
                    raise
                continue
            for key, result in zip(keys, results, strict=True):
                flight = desk.flights.pop(key)
                if not flight.done():
                    flight.set_result(result)

    def _work(self, keys: Sequence[bytes], inputs: Sequence[Texts]) -> Sequence[T]:
        assert self._compute is not None  # noqa: S101 - nothing gets here without
        results = self._compute(inputs)
        self.usage.computed += len(keys)
        if self._store is not None:
            pack = self._codec.pack
            self._store.put(self.model, {key: pack(one) for key, one in zip(keys, results, strict=True)})
        return results


async def _settled(waiting: dict[bytes, Texts]) -> None:
    """Wait until nobody adds to what waits: tasks that were started together then ask together."""
    seen, calm = len(waiting), 0
    while calm < 3 and seen < MOST:
        await asyncio.sleep(0)
        calm = calm + 1 if len(waiting) == seen else 0
        seen = len(waiting)


def _fail(flights: Sequence[asyncio.Future[T]], error: BaseException) -> None:
    for flight in flights:
        if flight.done():
            continue
        if isinstance(error, Exception):
            flight.set_exception(error)
        else:
            flight.cancel()
