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
from typing import NamedTuple, TypeVar
from uuid import uuid4

from summeter.models.base import LLM, Completion, Request, paid_reply
from summeter.models.batch import MOST_BYTES, BatchAPI, BatchStatus, Tag, TooMuch
from summeter.models.layers.base import Layer
from summeter.models.layers.formats import FORMATS
from summeter.models.per_loop import PerLoop
from summeter.records import (
    AccessError,
    CapabilityError,
    ModelError,
    Parameter,
    SummeterError,
    TransientError,
    UsageError,
)
from summeter.runs.batches import BatchLog, Submission

T = TypeVar("T")
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


@dataclass(eq=False)
class _Pending:
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

    submission: Submission
    pending: dict[str, _Pending] = field(default_factory=dict)
    known: bool = True
    task: asyncio.Task[None] | None = None


class Batches(Layer):
    """Answers through the batch API of the model below."""

    def __init__(
        self,
        llm: LLM,
        api: BatchAPI,
        log: BatchLog,
        *,
        pace: Pace | None = None,
        sleep: Sleep = asyncio.sleep,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(llm)
        self.api, self.log, self.pace, self.sleep, self.tell = api, log, pace or Pace(), sleep, tell
        self.address = getattr(llm, "address", llm.id)
        same_address(log, llm.id, self.address)
        self._collectors = PerLoop(lambda: _Collector(self))

    async def complete(self, request: Request) -> Completion:
        return await self._collectors.get().ask(request)

    async def close(self) -> None:
        collector = self._collectors.pop()
        if collector is not None:
            await collector.close()
        await self.llm.close()


class PendingBatchGuard(Layer):
    """Sends calls one by one, but none that a batch answers whose replies are not stored: it would be paid for twice.

    It sits below the cache, where only calls arrive that are not stored.
    """

    def __init__(self, llm: LLM, log: BatchLog) -> None:
        super().__init__(llm)
        self._held = log.held(llm.id)

    async def complete(self, request: Request) -> Completion:
        if (submission := self._held.get(request.key)) is not None:
            raise UsageError(
                f"batch {submission.name} of this run ({len(submission.keys)} calls to {submission.model}, since "
                f"{submission.since}) holds calls that would now be made again: give the same command with ",
                Parameter("batch"),
                " to fetch its replies; or call it off with `summeter batches cancel RUN` and fetch what was answered, "
                "and the rest is made anew",
            )
        return await self.llm.complete(request)


def same_address(log: BatchLog, model: str, address: str) -> None:
    """UsageError where a batch that nobody has read lies with another endpoint than the one that is asked now."""
    for submission in log.of(model):
        if not submission.ended and submission.address != address:
            raise UsageError(
                f"batch {submission.name} of this run was handed in at {submission.address}, and {model} is now "
                f"asked at {address}; give the base URL it had, so that it can be fetched"
            )


class _Collector:
    """What is gathered, and what was handed in, in one event loop."""

    def __init__(self, layer: Batches) -> None:
        self._model, self._address, self._api, self._log = layer.id, layer.address, layer.api, layer.log
        self._pace, self._sleep, self._tell = layer.pace, layer.sleep, layer.tell
        self._pending: dict[str, _Pending] = {}
        self._queue: dict[str, _Pending] = {}
        self._bytes = self._asked = 0
        self._most, self._width = self._api.most, 0
        self._running: dict[asyncio.Task[None], _Batch] = {}
        self._gathering: asyncio.Task[None] | None = None
        # What earlier sessions handed in.
        self._refused = self._log.refused(self._model)
        batches = {submission.nonce: _Batch(submission) for submission in self._log.of(self._model)}
        held = self._log.held(self._model)
        self._earlier = {key: batches[submission.nonce] for key, submission in held.items()}

    async def ask(self, request: Request) -> Completion:
        if (lacks := self._refused.get(request.key)) is not None:
            raise CapabilityError(f"{self._model} refused the reply format {lacks} in an earlier batch", lacks=lacks)
        call = self._pending.get(request.key)
        fresh = call is None or call.done.done()
        if call is None or fresh:
            call = _Pending(request, b"", asyncio.get_running_loop().create_future())
        call.waiters += 1
        try:
            if fresh:
                self._take(request.key, call)
            return await asyncio.shield(call.done)
        finally:
            call.waiters -= 1

    async def close(self) -> None:
        for batch in self._running.values():
            if batch.known and not batch.pending:  # all was given out, and only the end of the results is left to read
                self._log.ended(batch.submission.nonce, {})
        tasks = [*self._running, *([self._gathering] if self._gathering else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Gathering

    def _take(self, key: str, call: _Pending) -> None:
        earlier = self._earlier.pop(key, None)
        if earlier is None:
            call.entry = self._api.entry(call.request)
        self._pending[key] = call
        if earlier is None:
            self._enqueue(call)
            return
        earlier.pending[key] = call
        if earlier.task is None:
            self._start(earlier)

    def _enqueue(self, call: _Pending) -> None:
        self._asked += 1
        if self._queue and self._bytes + len(call.entry) > MOST_BYTES:
            self._hand_in()
        self._queue[call.request.key] = call
        self._bytes += len(call.entry)
        if len(self._queue) >= self._most:
            self._hand_in()
        if self._queue and (self._gathering is None or self._gathering.done()):
            self._gathering = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        quiet, before = 0, -1
        while self._queue:
            quiet = quiet + 1 if before == self._asked else 0
            before = self._asked
            if quiet >= self._pace.looks:
                self._hand_in()
            await self._sleep(self._pace.look)

    def _hand_in(self) -> None:
        """Start a batch of what was gathered, as many as it may have; with `_width`, only while fewer are under way."""
        if self._width and len(self._running) >= self._width:
            return
        pending: dict[str, _Pending] = {}
        for key in list(self._queue):
            if len(pending) == self._most:
                break
            call = self._queue.pop(key)
            self._bytes -= len(call.entry)
            if call.waiters:
                pending[key] = call
            else:
                self._pending.pop(key, None)
        if pending:
            submission = Submission(uuid4().hex, self._model, self._address, time.time(), tuple(pending))
            self._start(_Batch(submission, pending, known=False))

    def _start(self, batch: _Batch) -> None:
        task = batch.task = asyncio.create_task(self._carry(batch))
        self._running[task] = batch
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        batch = self._running.pop(task)
        batch.task = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            failure = error if isinstance(error, SummeterError) else ModelError(f"{self._model}: {error}")
            for key in list(batch.pending):
                self._settle(batch, key).fail(failure)
        elif batch.pending and not task.cancelled():  # asked for when the work was just over
            self._start(batch)

    def _settle(self, batch: _Batch, key: str) -> _Pending:
        call = batch.pending.pop(key)
        if self._pending.get(key) is call:
            del self._pending[key]
        return call

    # A batch's life

    async def _carry(self, batch: _Batch) -> None:
        if not batch.known:
            await self._submit(batch)
        while batch.pending:
            if batch.submission.id is None and not await self._found(batch):
                return
            status = await self._ended(batch)
            if status.failure is not None:
                self._log.ended(batch.submission.nonce, dict.fromkeys(batch.submission.keys))
                self._shrink(status.failure, len(batch.submission.keys))
                raise status.failure
            await self._read(batch, status)

    async def _submit(self, batch: _Batch) -> None:
        submission = batch.submission
        self._log.submitting(submission)
        batch.known = True
        tag = Tag(submission.nonce, submission.at, frozenset(submission.keys))
        entries = [call.entry for call in batch.pending.values()]
        self._tell(f"handing in {len(entries)} calls to {self._model}")

        async def create(tries: int) -> str:
            # An answer that did not come says nothing about the request.
            arrived = await self._api.find(tag, self._log.ids) if tries > 1 else None
            return arrived or await self._create(entries, tag)

        submission.id = await self._persist("a batch that may have arrived", create)
        self._log.submitted(submission.nonce, submission.id)
        for call in batch.pending.values():
            call.entry = b""

    async def _create(self, entries: list[bytes], tag: Tag) -> str:
        try:
            return await self._api.create(entries, tag)
        except TransientError:
            raise
        except ModelError:
            self._log.withdrawn(tag.nonce)
            raise

    async def _persist(self, what: str, work: Callable[[int], Awaitable[T]]) -> T:
        """The outcome of `work`, which is told its number of tries; failures that may pass are waited out."""
        for tries in count(1):
            try:
                return await work(tries)
            except TransientError as error:
                if tries > self._pace.faults:
                    raise _unheard(error, what) from error
                await self._sleep(max(error.retry_after or 0.0, self._wait(tries)))
        raise AssertionError("counting does not end")

    async def _found(self, batch: _Batch) -> bool:
        """Whether a batch that an earlier session heard nothing of is there; if not, its calls queue."""
        submission = batch.submission
        tag = Tag(submission.nonce, submission.at, frozenset(submission.keys))
        for looks in count(1):
            batch_id = await self._persist(
                "a batch that may have arrived", lambda _: self._api.find(tag, self._log.ids)
            )
            # What has only just been handed in may not be listed yet; handed in again, it would be paid for twice.
            if batch_id is not None or looks > LOOKS or time.time() - submission.at > SETTLED:
                break
            self._tell(f"looking for {len(submission.keys)} calls that may have been handed in")
            await self._sleep(self._wait(looks))
        if batch_id is not None:
            self._log.submitted(submission.nonce, batch_id, found=True)
            submission.id, submission.found = batch_id, True
            return True
        self._log.withdrawn(submission.nonce)
        self._earlier = {key: earlier for key, earlier in self._earlier.items() if earlier is not batch}
        for call in batch.pending.values():
            call.entry = self._api.entry(call.request)
            self._enqueue(call)
        batch.pending.clear()
        return False

    async def _ended(self, batch: _Batch) -> BatchStatus:
        """How it stands once it has ended."""
        submission, faults = batch.submission, 0
        for looks in count(1):
            try:
                status = await self._api.status(submission.name)
                faults, state = 0, status.words
            except TransientError as error:
                faults, state = faults + 1, f"no answer: {error}"
                if faults > self._pace.faults:
                    raise _unheard(error, f"batch {submission.name}") from error
            except AccessError as error:
                raise AccessError(
                    f"{error}. (It was asked for batch {submission.name}, handed in {submission.since})"
                ) from error
            else:
                if status.ended:
                    return status
            self._tell(f"{len(submission.keys)} calls in batch {submission.name}: {state}; since {submission.since}")
            await self._sleep(self._wait(looks))
        raise AssertionError("counting does not end")

    async def _read(self, batch: _Batch, status: BatchStatus) -> None:
        """Give each call its reply as it is read; failures at the end, when it is on record what failed."""
        failed: dict[str, ModelError] = {}
        what = f"the results of batch {batch.submission.name}"
        strange = await self._persist(what, lambda _: self._stream(batch, status, failed))
        if strange and batch.submission.found and not self._api.marks:
            # It was alike in time and size, and another's. Ours may be the next that is.
            self._log.mistaken(batch.submission.nonce, batch.submission.id or "")
            batch.submission.id, batch.submission.found = None, False
            return
        for key in batch.pending:
            failed.setdefault(key, TransientError(
                f"{self._model}: the results of batch {batch.submission.name} hold no usable line for this call"
            ))  # fmt: skip
        self._log.ended(batch.submission.nonce, {key: _format(error) for key, error in failed.items()})
        for key, why in failed.items():
            if key in batch.pending:
                self._settle(batch, key).fail(why)

    async def _stream(self, batch: _Batch, status: BatchStatus, failed: dict[str, ModelError]) -> bool:
        """Whether there were results, and none of them of a call of this batch."""
        read, own_keys, others, strange = 0, frozenset(batch.submission.keys), False, True
        async for key, result in self._api.results(batch.submission.name, status):
            others, strange = True, strange and key not in own_keys
            call = batch.pending.get(key)
            if call is None or key in failed:
                continue  # stored before, or not ours, or a second line for one call: the first counts
            try:
                completion = self._api.read(result, call.request)
            except ModelError as error:
                if (reply := paid_reply(error)) is not None:
                    error.reply = _of_batch(batch, reply)
                failed[key] = error
                continue
            self._settle(batch, key).give(_of_batch(batch, completion))
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


def _of_batch(batch: _Batch, completion: Completion) -> Completion:
    # Seconds would be those of the batch, which are nobody's.
    return completion.model_copy(update={"batch": batch.submission.id, "seconds": None})


def _unheard(error: TransientError, what: str) -> ModelError:
    return ModelError(f"{error}. Gave up waiting for {what}; nothing is lost, the same command goes on waiting")


def _format(error: ModelError) -> str | None:
    lacks: Mapping[str, str] = {name: name for name in FORMATS}
    return lacks.get(error.lacks) if isinstance(error, CapabilityError) else None
