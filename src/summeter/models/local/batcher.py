"""Batches of a local model's inputs.

The batcher collects concurrent calls, looks up what is stored, joins what is under way, and has the rest computed
together. `plan` puts so many tokens at a time into a batch, over inputs sorted by length; `halving` is what happens
where memory ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Generic, TypeVar

from summeter.interrupt import checked, raise_if_stopped
from summeter.models.compute_time import ComputeTime, computing_for
from summeter.models.per_loop import PerLoop
from summeter.records import ModelError, ReplayMiss
from summeter.runs.results import Results, result_key

MOST = 8192
"""Inputs that go to the model together: enough to sort well, and memory stays flat."""

Texts = tuple[str, ...]
T = TypeVar("T")
WASTE = 0.05
"""The share of a batch that may be padding."""

Lengths = Sequence[tuple[int, ...]]


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

    def add(self, other: LocalUsage) -> None:
        """Count what was done elsewhere too."""
        for name, number in asdict(other).items():
            setattr(self, name, getattr(self, name) + number)

    def take(self) -> LocalUsage:
        """The counts, which begin again at zero here."""
        taken = replace(self)
        for name in asdict(taken):
            setattr(self, name, 0)
        return taken


@dataclass(frozen=True)
class Codec(Generic[T]):
    """How results of one task become bytes in the store, and come back."""

    task: str
    pack: Callable[[T], bytes]
    unpack: Callable[[bytes], T]


@dataclass
class _Queue(Generic[T]):
    """What waits for the model in one event loop."""

    waiting: dict[bytes, Texts] = field(default_factory=dict)
    flights: dict[bytes, asyncio.Future[T]] = field(default_factory=dict)
    asked_by: dict[bytes, ComputeTime | None] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None


class Batcher(Generic[T]):
    """Collects inputs for `compute`, which is called in a thread, one call at a time for each event loop.

    A result is in the store before anyone sees it. With `compute` None the store answers alone (ReplayMiss).
    """

    def __init__(
        self, model: str, codec: Codec[T], compute: Callable[[Sequence[Texts]], Sequence[T]] | None,
        *, store: Results | None = None, usage: LocalUsage | None = None, most: int = MOST,
    ) -> None:  # fmt: skip
        self.model = model
        self.usage = usage or LocalUsage()
        self._codec = codec
        self._compute = compute
        self._store = store
        self._most = most
        self._queues: PerLoop[_Queue[T]] = PerLoop(_Queue)

    async def ask(self, inputs: Sequence[Texts]) -> list[T]:
        """A result for each input, in their order; equal inputs are computed once."""
        keys = [result_key(self.model, self._codec.task, texts) for texts in inputs]
        self.usage.asked += len(keys)
        wanted = dict(zip(keys, inputs, strict=True))
        stored = {} if self._store is None else self._store.get(wanted)
        results = {key: self._codec.unpack(value) for key, value in stored.items()}
        pending = {key: self._flight(key, texts) for key, texts in wanted.items() if key not in results}
        self.usage.stored += sum(key in results for key in keys)
        if pending:
            # Each waiter leaves on its own: the others still want the results.
            await asyncio.wait(pending.values())
            results |= {key: flight.result() for key, flight in pending.items()}
        return [results[key] for key in keys]

    def _flight(self, key: bytes, texts: Texts) -> asyncio.Future[T]:
        if self._compute is None:
            text = " / ".join(part[:40] for part in texts)
            raise ReplayMiss(f"the replayed run holds no {self._codec.task} result of {self.model} for {text!r}")
        queue = self._queues.get()
        if key not in queue.flights:
            flight: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            # Looked at, so that asyncio does not report an error when everyone who waited has left.
            flight.add_done_callback(lambda done: done.cancelled() or done.exception())
            queue.flights[key] = flight
            queue.waiting[key] = texts
            queue.asked_by[key] = computing_for()
            if queue.task is None or queue.task.done():
                queue.task = asyncio.get_running_loop().create_task(self._serve(queue))
        return queue.flights[key]

    async def _serve(self, queue: _Queue[T]) -> None:
        with checked(raise_if_stopped):  # it works for all who wait, not for the item that began it
            await self._serve_all(queue)

    async def _serve_all(self, queue: _Queue[T]) -> None:
        while queue.waiting:
            await _settled(queue.waiting)
            keys = list(queue.waiting)[: self._most]
            inputs = [queue.waiting.pop(key) for key in keys]
            asked_by = [queue.asked_by.pop(key) for key in keys]
            began = time.perf_counter()
            try:
                results = await asyncio.to_thread(self._work, keys, inputs)
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

    def _work(self, keys: Sequence[bytes], inputs: Sequence[Texts]) -> Sequence[T]:
        assert self._compute is not None  # noqa: S101 - nothing gets here without
        results = self._compute(inputs)
        self.usage.computed += len(keys)
        if self._store is not None:
            pack = self._codec.pack
            self._store.put(self.model, {key: pack(result) for key, result in zip(keys, results, strict=True)})
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


def plan(lengths: Lengths, budget: int, *, waste: float = WASTE, most: int | None = None) -> list[list[int]]:
    """Places of inputs, batch by batch, the longest first.

    An input's lengths are those of its parts (an encoder has one, an encoder-decoder two); every part is padded to
    the longest of its batch. A batch holds at most `budget` tokens and `most` inputs, and at most the share `waste` of
    it is padding; an input over the budget has a batch to itself.

    >>> plan([(3,), (10,), (3,), (9,)], 20, waste=0.1)
    [[1, 3], [0, 2]]
    """
    order = sorted(range(len(lengths)), key=lambda place: (tuple(-length for length in lengths[place]), place))
    batches: list[list[int]] = []
    longest: tuple[int, ...] = ()
    real = 0
    for place in order:
        own = lengths[place]
        if batches and len(batches[-1]) < (most or len(order)):
            wider = tuple(map(max, longest, own))
            size = (len(batches[-1]) + 1) * sum(wider)
            if size <= budget and size - real - sum(own) <= waste * size:
                batches[-1].append(place)
                longest, real = wider, real + sum(own)
                continue
        batches.append([place])
        longest, real = own, sum(own)
    return batches


def padding(lengths: Lengths, batches: Sequence[Sequence[int]]) -> tuple[int, int]:
    """(padding tokens, tokens with padding) of batches.

    >>> padding([(3,), (10,), (3,), (9,)], [[1, 3], [0, 2]])
    (1, 26)
    """
    real = full = 0
    for batch in batches:
        parts = zip(*(lengths[place] for place in batch), strict=True)
        full += len(batch) * sum(max(part) for part in parts)
        real += sum(sum(lengths[place]) for place in batch)
    return full - real, full


def halving(
    batch: Sequence[int], compute: Callable[[Sequence[int]], Sequence[T]], ended: Callable[[BaseException], bool]
) -> list[T]:
    """What `compute` gives for a batch; where memory ends (`ended` knows the error) for its halves, and theirs.

    ModelError where memory does not even hold one input.
    """
    try:
        return list(compute(batch))
    except Exception as error:
        if not ended(error):
            raise
        if len(batch) == 1:
            raise ModelError(
                f"memory does not hold one input ({error}); set max_tokens lower, or device=cpu, behind the model's "
                "name: local/FOLDER[max_tokens=512]"
            ) from error
    # Outside the handler: the failed pass keeps its memory for as long as its error is being handled.
    middle = len(batch) // 2
    return halving(batch[:middle], compute, ended) + halving(batch[middle:], compute, ended)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ended: Python's own, torch's on any device, ONNX Runtime's."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        sign in words for sign in ("out of memory", "can't allocate memory", "failed to allocate memory", "bad_alloc")
    )
