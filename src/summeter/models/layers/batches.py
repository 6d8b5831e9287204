"""Calls gathered into batches: half the price, and up to a day's wait.

The layer stands where a single call would be sent. It gathers what is asked until nothing more comes for a moment,
hands it in, asks from time to time how it stands, and gives every caller its reply. What is asked on the strength of
these replies is the next batch. Everything that is handed in stands in the run's log first, so that whoever carries the
run on waits for the same batch instead of handing it in again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple
from uuid import uuid4

from summeter.models.base import LLM, Completion, Request
from summeter.models.batch import MOST_BYTES, BatchAPI, BatchStatus, Tag, TooMuch
from summeter.models.layers.formats import FORMATS
from summeter.models.layers.guard import same_address
from summeter.models.layers.loops import PerLoop
from summeter.records import AccessError, CapabilityError, ModelError, SummeterError, TransientError
from summeter.runs.batches import BatchLog, Submission

Sleep = Callable[[float], Awaitable[None]]

LOOKS = 6
SETTLED = 300.0
"""How often a batch of which no answer came is looked for, until so many seconds after it was handed in."""


class Pace(NamedTuple):
    """Seconds: a batch is handed in after `looks` looks, `look` apart, at which nothing new was asked (a busy process
    misses looks, and so does not mistake its own work for silence); the first wait for results, how the next ones
    grow, and the longest; how many requests in a row may fail before the wait is given up."""

    look: float = 0.25
    looks: int = 8
    first: float = 30.0
    growth: float = 1.5
    longest: float = 600.0
    faults: int = 24


class Means(NamedTuple):
    """What time and chance are, and who is told how it stands; for tests, others than these."""

    sleep: Sleep = asyncio.sleep
    clock: Callable[[], float] = time.time
    nonce: Callable[[], str] = lambda: uuid4().hex
    tell: Callable[[str], None] = lambda _: None


@dataclass(eq=False)
class _Place:
    """A call that waits for its reply, `entry` as it is handed in."""

    request: Request
    entry: bytes
    done: asyncio.Future[Completion]
    waiters: int = 0

    def fail(self, error: SummeterError) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # looked at, should nobody wait any more

    def give(self, completion: Completion) -> None:
        if not self.done.done():
            self.done.set_result(completion)


@dataclass(eq=False)
class _Batch:
    """A batch and the calls that wait for it; `known` to the log, or yet to be handed in."""

    made: Submission
    places: dict[str, _Place] = field(default_factory=dict)
    known: bool = True
    task: asyncio.Task[None] | None = None


class Batches:
    """Answers through the batch API of the model below."""

    def __init__(
        self, llm: LLM, api: BatchAPI, log: BatchLog, *, pace: Pace | None = None, means: Means | None = None
    ) -> None:  # fmt: skip
        self.llm = llm
        address = getattr(llm, "address", llm.id)
        same_address(log, llm.id, address)
        self._desks = PerLoop(lambda: Desk(llm.id, address, api, log, pace or Pace(), means or Means()))

    @property
    def id(self) -> str:
        """The model string."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """The reply, once the batch with the request is done."""
        return await self._desks.get().ask(request)

    async def close(self) -> None:
        """Wait for no batch any longer; those that were handed in go on."""
        desk = self._desks.pop()
        if desk is not None:
            await desk.close()
        await self.llm.close()


class Desk:
    """What is gathered, and what was handed in, in one event loop."""

    def __init__(self, model: str, address: str, api: BatchAPI, log: BatchLog, pace: Pace, means: Means) -> None:
        self._model, self._address = model, address
        self._api, self._log, self._pace, self._means = api, log, pace, means
        self._places: dict[str, _Place] = {}
        self._queue: dict[str, _Place] = {}
        self._bytes = self._asked = 0
        self._most, self._width = api.most, 0
        self._running: dict[asyncio.Task[None], _Batch] = {}
        self._collector: asyncio.Task[None] | None = None
        # What earlier sessions handed in.
        self._refused = log.refused(model)
        held, batches = log.held(model), {made.nonce: _Batch(made) for made in log.of(model)}
        self._earlier = {key: batches[made.nonce] for key, made in held.items()}

    async def ask(self, request: Request) -> Completion:
        """The reply to one request."""
        if (lacks := self._refused.get(request.key)) is not None:
            raise CapabilityError(f"{self._model} refused the reply format {lacks} in an earlier batch", lacks=lacks)
        place = self._places.get(request.key)
        fresh = place is None or place.done.done()
        if place is None or fresh:
            place = _Place(request, b"", asyncio.get_running_loop().create_future())
        place.waiters += 1
        try:
            if fresh:
                self._take(request.key, place)
            return await asyncio.shield(place.done)
        finally:
            place.waiters -= 1

    async def close(self) -> None:
        """Stop waiting."""
        for batch in self._running.values():
            if batch.known and not batch.places:  # all was given out, and only the end of the results is left to read
                self._log.ended(batch.made.nonce, {})
        tasks = [*self._running, *([self._collector] if self._collector else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Gathering

    def _take(self, key: str, place: _Place) -> None:
        earlier = self._earlier.pop(key, None)
        if earlier is None:
            place.entry = self._api.entry(place.request)
        self._places[key] = place
        if earlier is None:
            self._enqueue(place)
            return
        earlier.places[key] = place
        if earlier.task is None:
            self._start(earlier)

    def _enqueue(self, place: _Place) -> None:
        self._asked += 1
        if self._queue and self._bytes + len(place.entry) > MOST_BYTES:
            self._hand_in()
        self._queue[place.request.key] = place
        self._bytes += len(place.entry)
        if len(self._queue) >= self._most:
            self._hand_in()
        if self._queue and (self._collector is None or self._collector.done()):
            self._collector = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        quiet, before = 0, -1
        while self._queue:
            quiet = quiet + 1 if before == self._asked else 0
            before = self._asked
            if quiet >= self._pace.looks:
                self._hand_in()
            await self._means.sleep(self._pace.look)

    def _hand_in(self) -> None:
        """Start a batch of what was gathered, as many as it may have; with `_width`, only while fewer are under way."""
        if self._width and len(self._running) >= self._width:
            return
        places: dict[str, _Place] = {}
        for key in list(self._queue):
            if len(places) == self._most:
                break
            place = self._queue.pop(key)
            self._bytes -= len(place.entry)
            if place.waiters:
                places[key] = place
            else:
                self._places.pop(key, None)
        if places:
            nonce = self._means.nonce()
            made = Submission(nonce, self._model, self._address, self._means.clock(), tuple(places))
            self._start(_Batch(made, places, known=False))

    def _start(self, batch: _Batch) -> None:
        task = batch.task = asyncio.create_task(self._carry(batch))
        self._running[task] = batch
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        batch = self._running.pop(task)
        batch.task = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            told = error if isinstance(error, SummeterError) else ModelError(f"{self._model}: {error}")
            for key in list(batch.places):
                self._settle(batch, key).fail(told)
        elif batch.places and not task.cancelled():  # asked for when the work was just over
            self._start(batch)

    def _settle(self, batch: _Batch, key: str) -> _Place:
        place = batch.places.pop(key)
        if self._places.get(key) is place:
            del self._places[key]
        return place

    # A batch's life

    async def _carry(self, batch: _Batch) -> None:
        if not batch.known:
            await self._submit(batch)
        while batch.places:
            if batch.made.id is None and not await self._found(batch):
                return
            status = await self._ended(batch)
            if status.failure is not None:
                self._log.ended(batch.made.nonce, dict.fromkeys(batch.made.keys))
                self._shrink(status.failure, len(batch.made.keys))
                raise status.failure
            await self._read(batch, status)

    async def _submit(self, batch: _Batch) -> None:
        made, api = batch.made, self._api
        self._log.submitting(made)
        batch.known = True
        tag = Tag(made.nonce, made.at, frozenset(made.keys))
        entries = [place.entry for place in batch.places.values()]
        self._means.tell(f"handing in {len(entries)} calls to {self._model}")
        for tries in count(1):
            try:
                # An answer that did not come says nothing about the request.
                made.id = await api.find(tag, self._log.ids) if tries > 1 else None
                made.id = made.id or await self._create(entries, tag)
                break
            except TransientError as error:
                if tries > self._pace.faults:
                    raise _unheard(error, "a batch that may have arrived") from error
                await self._means.sleep(max(error.retry_after or 0.0, self._wait(tries)))
        self._log.submitted(made.nonce, made.id or "")
        for place in batch.places.values():
            place.entry = b""

    async def _create(self, entries: list[bytes], tag: Tag) -> str:
        try:
            return await self._api.create(entries, tag)
        except TransientError:
            raise
        except ModelError:
            self._log.withdrawn(tag.nonce)
            raise

    async def _found(self, batch: _Batch) -> bool:
        """Whether a batch that an earlier session heard nothing of is there; if not, its calls queue."""
        made = batch.made
        tag = Tag(made.nonce, made.at, frozenset(made.keys))
        for tries in count(1):
            try:
                found = await self._api.find(tag, self._log.ids)
                # What has only just been handed in may not be listed yet; handed in again, it would be paid for twice.
                if found is not None or tries > LOOKS or self._means.clock() - made.at > SETTLED:
                    break
                self._means.tell(f"looking for {len(made.keys)} calls that may have been handed in")
                await self._means.sleep(self._wait(tries))
            except TransientError as error:
                if tries > self._pace.faults:
                    raise _unheard(error, "a batch that may have arrived") from error
                await self._means.sleep(self._wait(tries))
        if found is not None:
            self._log.submitted(made.nonce, found, found=True)
            made.id, made.found = found, True
            return True
        self._log.withdrawn(made.nonce)
        self._earlier = {key: one for key, one in self._earlier.items() if one is not batch}
        for place in batch.places.values():
            place.entry = self._api.entry(place.request)
            self._enqueue(place)
        batch.places.clear()
        return False

    async def _ended(self, batch: _Batch) -> BatchStatus:
        """How it stands once it has ended."""
        made, faults = batch.made, 0
        for looks in count(1):
            try:
                status = await self._api.status(made.name)
                faults, said = 0, status.words
            except TransientError as error:
                faults, said = faults + 1, f"no answer: {error}"
                if faults > self._pace.faults:
                    raise _unheard(error, f"batch {made.name}") from error
            except AccessError as error:
                raise AccessError(f"{error}. (It was asked for batch {made.name}, handed in {made.since})") from error
            else:
                if status.ended:
                    return status
            self._means.tell(f"{len(made.keys)} calls in batch {made.name}: {said}; since {made.since}")
            await self._means.sleep(self._wait(looks))
        raise AssertionError("counting does not end")

    async def _read(self, batch: _Batch, status: BatchStatus) -> None:
        """Give each call its reply as it is read; failures at the end, when it is on record what failed."""
        failed: dict[str, ModelError] = {}
        for tries in count(1):
            try:
                strange = await self._stream(batch, status, failed)
                break
            except TransientError as error:
                if tries > self._pace.faults:
                    raise _unheard(error, f"the results of batch {batch.made.name}") from error
                await self._means.sleep(self._wait(tries))
        if strange and batch.made.found and not self._api.marks:
            # It was alike in time and size, and another's. Ours may be the next that is.
            self._log.mistaken(batch.made.nonce, batch.made.id or "")
            batch.made.id, batch.made.found = None, False
            return
        for key in batch.places:
            failed.setdefault(key, TransientError(
                f"{self._model}: the results of batch {batch.made.name} hold no usable line for this call"
            ))  # fmt: skip
        self._log.ended(batch.made.nonce, {key: _format(error) for key, error in failed.items()})
        for key, why in failed.items():
            if key in batch.places:
                self._settle(batch, key).fail(why)

    async def _stream(self, batch: _Batch, status: BatchStatus, failed: dict[str, ModelError]) -> bool:
        """Whether there were results, and none of them of a call of this batch."""
        read, ours, others, strange = 0, frozenset(batch.made.keys), False, True
        async for key, result in self._api.results(batch.made.name, status):
            others, strange = True, strange and key not in ours
            place = batch.places.get(key)
            if place is None or key in failed:
                continue  # stored before, or not ours, or a second line for one call: the first counts
            try:
                completion = self._api.read(result, place.request)
            except ModelError as error:
                failed[key] = error
                continue
            # Seconds would be those of the batch, which are nobody's.
            self._settle(batch, key).give(completion.model_copy(update={"batch": batch.made.id, "seconds": None}))
            read += 1
            if read % 256 == 0:
                await asyncio.sleep(0)
        return others and strange

    def _shrink(self, failure: ModelError, calls: int) -> None:
        """After a batch that was too much: one at a time from now on, and where it was alone, half as large."""
        if isinstance(failure, TooMuch):
            if len(self._running) == 1:
                self._most = max(1, calls // 2)
            self._width = 1

    def _wait(self, looks: int) -> float:
        return min(self._pace.longest, self._pace.first * self._pace.growth ** min(looks - 1, 99))


def _unheard(error: TransientError, what: str) -> ModelError:
    return ModelError(f"{error}. Gave up waiting for {what}; nothing is lost, the same command goes on waiting")


def _format(error: ModelError) -> str | None:
    lacks: Mapping[str, str] = {name: name for name in FORMATS}
    return lacks.get(error.lacks) if isinstance(error, CapabilityError) else None
