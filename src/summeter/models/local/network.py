"""Define the network that combines concurrent requests and stores their results."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from summeter.interrupt import checked, raise_if_stopped
from summeter.models.compute_time import current_usage
from summeter.models.networks import NetworkRequest, TokenLogits, TokenStates
from summeter.models.per_loop import PerLoop
from summeter.records import ModelError, ReplayMiss
from summeter.runs.results import Results, result_key
from summeter.runs.usage import Usage

T = TypeVar("T")

AnyRequest = NetworkRequest[Any]
Compute = Callable[[Sequence[AnyRequest]], Sequence[Any]]
"""A function that computes requests of one class and returns the results in the order of the requests."""


@dataclass
class _Queue:
    """The requests of one class in one event loop; those that wait have the usage to which their time is added."""

    waiting: dict[bytes, tuple[AnyRequest, Usage | None]] = field(default_factory=dict)
    flights: dict[bytes, asyncio.Future[Any]] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None


class LocalNetwork:
    """Collects requests for `compute` and stores the results.

    `compute` runs in a thread, with one call at a time per event loop and class of requests, and each distinct request
    is computed once. A result is stored before it is returned. If `compute` is None or `replay` is True, results are
    read only from the store, except for those that are never stored; a missing result raises ReplayMiss.
    """

    def __init__(
        self,
        id_: str,
        compute: Compute | None,
        store: Results | None = None,
        usage: Usage | None = None,
        *,
        replay: bool = False,
    ) -> None:
        self.id = id_
        self.usage = usage or Usage()
        self._compute = compute
        self._store = store
        self._replay = replay
        self._queues: PerLoop[dict[type[AnyRequest], _Queue]] = PerLoop(lambda: defaultdict(_Queue))

    async def ask(self, requests: Sequence[NetworkRequest[T]]) -> list[T]:
        """Return the results in the order of the requests.

        Raises ModelError if a result contains NaN, since comparisons with NaN are always False.
        """
        keys = [result_key(self.id, type(request).__name__, request.key) for request in requests]
        counted = [key for key, request in zip(keys, requests, strict=True) if request.counted]
        self.usage.asked += len(counted)
        unique = dict(zip(keys, requests, strict=True))
        results: dict[bytes, T] = {}
        if self._store is not None:
            codecs = {key: request.codec for key, request in unique.items() if request.codec is not None}
            results = {key: codecs[key].unpack(value) for key, value in self._store.get(codecs).items()}
        pending = {key: self._flight(key, request) for key, request in unique.items() if key not in results}
        self.usage.stored += sum(key in results for key in counted)
        if pending:
            # Not gather: a cancelled waiter must not cancel the results of the others.
            await asyncio.wait(pending.values())
            results |= {key: flight.result() for key, flight in pending.items()}
        if any(map(_is_nan, results.values())):
            raise ModelError(
                f"{self.id} computed NaN for this input: its weights are damaged, or its precision is too low (set "
                "precision=fp32)"
            )
        return [results[key] for key in keys]

    def _flight(self, key: bytes, request: NetworkRequest[T]) -> asyncio.Future[T]:
        if self._compute is None or (self._replay and request.codec is not None):
            raise ReplayMiss(
                f"the replayed run does not contain this result of {self.id}, and the model is not available: "
                f"{type(request).__name__} {request.key:.100}"
            )
        queue = self._queues.get()[type(request)]
        if key not in queue.flights:
            flight: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            # Retrieves the error, so that asyncio does not report it if there are no waiters.
            flight.add_done_callback(lambda done: done.cancelled() or done.exception())
            queue.flights[key] = flight
            queue.waiting[key] = request, current_usage()
            if queue.task is None or queue.task.done():
                queue.task = asyncio.get_running_loop().create_task(self._serve(queue, request.at_once))
        return queue.flights[key]

    async def _serve(self, queue: _Queue, at_once: int) -> None:
        with checked(raise_if_stopped):  # it works for all waiters, without the timeout of a single item
            while queue.waiting:
                # Wait until no requests are added: tasks that were started together send theirs together.
                size, unchanged = len(queue.waiting), 0
                while unchanged < 3 and size < at_once:
                    await asyncio.sleep(0)
                    unchanged = unchanged + 1 if len(queue.waiting) == size else 0
                    size = len(queue.waiting)
                keys = list(queue.waiting)[:at_once]
                requests, asked_by = zip(*(queue.waiting.pop(key) for key in keys), strict=True)
                began = time.perf_counter()
                try:
                    results = await asyncio.to_thread(self._work, keys, requests)
                except BaseException as error:
                    _fail([queue.flights.pop(key) for key in keys], error)
                    if not isinstance(error, Exception):
                        _fail([queue.flights.pop(key) for key in queue.waiting], error)
                        raise
                    continue
                each = (time.perf_counter() - began) / len(keys)
                for spent in asked_by:
                    if spent is not None:
                        spent.seconds += each
                for key, result in zip(keys, results, strict=True):
                    flight = queue.flights.pop(key)
                    if not flight.done():
                        flight.set_result(result)

    def _work(self, keys: Sequence[bytes], requests: Sequence[AnyRequest]) -> Sequence[Any]:
        assert self._compute is not None  # noqa: S101 - checked in `_flight`
        results, codec = self._compute(requests), requests[0].codec
        self.usage.computed += len(keys) if requests[0].counted else 0
        if self._store is not None and codec is not None:
            self._store.put(self.id, {key: codec.pack(result) for key, result in zip(keys, results, strict=True)})
        return results


def _is_nan(result: object) -> bool:
    """Return whether a result contains NaN."""
    if isinstance(result, TokenLogits):
        result = result.logits
    elif isinstance(result, TokenStates):
        result = result.states
    if isinstance(result, float):
        return math.isnan(result)
    return isinstance(result, np.ndarray) and bool(np.isnan(result).any())


def _fail(flights: Iterable[asyncio.Future[Any]], error: BaseException) -> None:
    for flight in flights:
        if flight.done():
            continue
        if isinstance(error, Exception):
            flight.set_exception(error)
        else:
            flight.cancel()
