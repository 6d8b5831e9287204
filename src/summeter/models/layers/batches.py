"""Send calls through a vendor's batch API in rounds.

Such calls cost half the price and are answered within a day. In each round, judges use models that reply from the call
store. A call that is not stored is recorded and raises `PendingCall`, and its item is judged again in the next round.
After the round, `fetch` submits the recorded calls, waits for the batches and stores the replies. Each batch is written
to the run's log before it is submitted, so that a later session waits for the batch instead of submitting it again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import count
from typing import NamedTuple, TypeVar
from uuid import uuid4

from summeter.models.base import LLM, Completion, Request, paid_reply
from summeter.models.layers.budget import CallBudget
from summeter.models.layers.cache import count_reply
from summeter.models.layers.formats import FORMATS, KnownFormats, refused_format, with_format
from summeter.models.providers.batches import MAX_BYTES, BatchAPI, BatchStatus, QueueFull
from summeter.models.tokens import expected
from summeter.records import (
    AccessError,
    BudgetError,
    CapabilityError,
    ModelError,
    PendingCall,
    TransientError,
    UsageError,
)
from summeter.runs.batches import BatchLog, Submission
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

MAX_SEARCHES = 6
SEARCH_PERIOD = 300.0
"""Maximum number of searches for a batch whose id was not received, and the number of seconds after its submission
during which it is searched for."""


FIRST_WAIT, GROWTH, MAX_WAIT = 30.0, 1.5, 600.0
"""Seconds before the first poll of a batch, the factor by which each wait grows, and the maximum wait in seconds."""
MAX_FAULTS = 24
"""Number of consecutive failed requests after which waiting ends."""


def wait(polls: int) -> float:
    """Return the seconds to wait after `polls` polls."""
    return min(MAX_WAIT, FIRST_WAIT * GROWTH ** min(polls - 1, 99))


class _Call(NamedTuple):
    """A pending call: the request, the request as submitted, and the reserved usage.

    The submitted request may have a weaker reply format.
    """

    request: Request
    sent: Request
    reserved: Usage


class Batches:
    """The pending calls of one model and its unfinished batches."""

    def __init__(
        self,
        llm: LLM,
        api: BatchAPI,
        store: CallStore,
        log: BatchLog | None = None,
        *,
        usage: Usage | None = None,
        budget: CallBudget | None = None,
        max_retries: int = 8,
        sleep: Sleep = asyncio.sleep,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.llm, self.api, self.store, self.log = llm, api, store, log or BatchLog()
        self.address = getattr(llm, "address", llm.id)
        check_address(self.log, llm.id, self.address)
        self._usage, self._budget = usage or Usage(), budget
        self._max_retries, self._sleep, self._tell = max_retries, sleep, tell
        self._pending: dict[str, Request] = {}
        self._tries = Counter[str]()
        self._failures: dict[str, ModelError] = {}
        self._formats = KnownFormats()
        # After a batch that exceeds the account's queue, batches are smaller and are submitted one at a time.
        self._max_calls, self._one_by_one = api.most, False
        self._in_flight = 0

    def missing(self, request: Request) -> Completion:
        """Record a call that is not stored, and raise PendingCall.

        If there will be no reply to the call, its failure is raised instead. Raises BudgetError if the budget is
        exhausted.
        """
        if (failure := self._failures.get(request.key)) is not None:
            raise failure.with_traceback(None)
        if self._budget is not None and self._budget.budget.reached is not None:
            raise BudgetError(self._budget.budget.reached)
        self._pending.setdefault(request.key, request)
        raise PendingCall(f"{self.llm.id}: the call is waiting for a batch")

    async def fetch(self) -> None:
        """Submit the pending calls, wait until their batches have ended, and store the replies.

        Replies to calls in a batch of an earlier session are read from that batch. A call without a reply is recorded
        and submitted again in the next round; it may have expired, its reply format may have been refused, or the
        budget may be reserved for other calls. If a call has no retries left, `missing` raises its failure.
        """
        pending, self._pending = self._pending, {}
        held, refused = self.log.held(self.llm.id), self.log.refused(self.llm.id)
        earlier: dict[str, list[_Call]] = defaultdict(list)
        new: list[Request] = []
        for request in pending.values():
            forms = [with_format(request, name) for name in FORMATS[FORMATS.index(request.format) :]]
            sent = next((form for form in forms if form.key in held), None)
            if sent is None:
                new.append(request)
            else:
                earlier[held[sent.key].nonce].append(_Call(request, sent, Usage()))
        async with asyncio.TaskGroup() as group:
            for calls in earlier.values():
                group.create_task(self._collect(held[calls[0].sent.key], calls))
            for calls, entries in self._cut(new, refused):
                submission = await self._submit(calls, entries)
                if submission is not None:
                    reading = group.create_task(self._collect(submission, calls))
                    if self._one_by_one:
                        await reading

    async def close(self) -> None:
        """Close the model's connections; submitted batches continue at the vendor."""
        await self.llm.close()

    # Submitting

    def _cut(self, requests: Iterable[Request], refused: dict[str, str]) -> Iterator[tuple[list[_Call], list[bytes]]]:
        """Yield the calls of each batch and their lines in the batch, within the limits of batches and the budget."""
        calls: list[_Call] = []
        entries: list[bytes] = []
        size = 0
        for request in requests:
            try:
                sent, entry = self._entry(request, refused)
            except ModelError as error:
                self._give_up(request, error)
                continue
            reserved = Usage() if self._budget is None else self._budget.estimate(expected(request))
            if self._budget is not None and not self._budget.budget.admit(reserved):
                break  # waits until the cost of submitted calls is known
            if calls and (size + len(entry) > MAX_BYTES or len(calls) >= self._max_calls):
                yield calls, entries
                calls, entries, size = [], [], 0
            calls.append(_Call(request, sent, reserved))
            entries.append(entry)
            size += len(entry)
        if calls:
            yield calls, entries

    def _entry(self, request: Request, refused: dict[str, str]) -> tuple[Request, bytes]:
        """Return the request in the strictest reply format that was not refused, and its line in a batch."""
        lacks = request.format
        for name in FORMATS[self._formats.strictest(request) :]:
            sent = with_format(request, name)
            if sent.key not in refused:
                try:
                    return sent, self.api.entry(sent)
                except CapabilityError as error:
                    if error.lacks not in FORMATS or name == FORMATS[-1]:
                        raise
            lacks = name
        raise CapabilityError(f"{self.llm.id} refused the reply format {lacks} in an earlier batch", lacks=lacks)

    async def _submit(self, calls: list[_Call], entries: list[bytes]) -> Submission | None:
        """Submit a batch and return its submission, or None if the vendor refuses it."""
        keys = tuple(call.sent.key for call in calls)
        submission = Submission(uuid4().hex, self.llm.id, self.address, time.time(), keys)
        self.log.submitting(submission)
        self._usage.sent += len(calls)
        self._tell(f"submitting {len(calls)} calls to {self.llm.id}")

        async def create(tries: int) -> str:
            # The request may have arrived even though its answer was not received.
            arrived = await self.api.find(submission, self.log.ids) if tries > 1 else None
            if arrived is not None:
                return arrived
            try:
                return await self.api.create(entries, submission)
            except TransientError:
                raise
            except ModelError:
                self.log.withdrawn(submission.nonce)
                raise

        try:
            submission.id = await self._persist("a batch that may have arrived", create)
        except ModelError as error:
            for call in calls:
                self._settle(call, None)
                self._give_up(call.request, error)
            return None
        self.log.submitted(submission.nonce, submission.id)
        return submission

    # Waiting and reading

    async def _collect(self, batch: Submission, calls: list[_Call]) -> None:
        """Wait until a batch has ended, and store the replies to these calls."""
        waiting = {call.sent.key: call for call in calls}
        self._in_flight += 1
        try:
            while batch.id is not None or await self._find(batch):
                status = await self._ended(batch)
                if isinstance(status.failure, QueueFull):
                    self.log.ended(batch.nonce, dict.fromkeys(batch.keys))
                    self._one_by_one = True
                    if self._in_flight == 1:
                        self._max_calls = max(1, len(batch.keys) // 2)
                    if len(batch.keys) == 1:
                        self._fail(waiting.pop(batch.keys[0]), status.failure)
                    return
                if status.failure is not None:
                    self.log.ended(batch.nonce, dict.fromkeys(batch.keys))
                    raise status.failure
                if await self._read(batch, status, waiting):
                    return
        except ModelError as error:
            for call in waiting.values():
                self._give_up(call.request, error)
        finally:
            self._in_flight -= 1
            for call in waiting.values():
                self._settle(call, None)

    async def _persist(self, what: str, work: Callable[[int], Awaitable[T]]) -> T:
        """Return the result of `work`, which is called with the number of the attempt and retried if it fails.

        Only transient failures are retried.
        """
        for tries in count(1):
            try:
                return await work(tries)
            except TransientError as error:
                if tries > MAX_FAULTS:
                    raise ModelError(
                        f"{error}. Gave up waiting for {what}; nothing is lost, and the same command resumes waiting"
                    ) from error
                self._tell(f"waiting for {what}: {error}")
                await self._sleep(max(error.retry_after or 0.0, wait(tries)))
        raise AssertionError("unreachable")

    async def _find(self, batch: Submission) -> bool:
        """Find a batch whose id an earlier session did not receive, and return whether it was found.

        If the batch is not found, its calls are submitted again.
        """
        for searches in count(1):
            found = await self._persist("a batch that may have arrived", lambda _: self.api.find(batch, self.log.ids))
            # A new batch may not be listed yet; submitting it again would cost twice.
            if found is not None or searches > MAX_SEARCHES or time.time() - batch.at > SEARCH_PERIOD:
                break
            self._tell(f"searching for a batch of {len(batch.keys)} calls that may have been submitted")
            await self._sleep(wait(searches))
        if found is None:
            self.log.withdrawn(batch.nonce)
            return False
        self.log.submitted(batch.nonce, found, found=True)
        batch.id, batch.found = found, True
        return True

    async def _ended(self, batch: Submission) -> BatchStatus:
        """Wait until a batch has ended, and return its status."""
        for polls in count(1):
            try:
                status = await self._persist(f"batch {batch.name}", lambda _: self.api.status(batch.name))
            except AccessError as error:
                raise AccessError(f"{error}. (This was batch {batch.name}, submitted {batch.since})") from error
            if status.ended:
                return status
            self._tell(f"{len(batch.keys)} calls in batch {batch.name}: {status.words}; since {batch.since}")
            await self._sleep(wait(polls))
        raise AssertionError("unreachable")

    async def _read(self, batch: Submission, status: BatchStatus, waiting: dict[str, _Call]) -> bool:
        """Store the replies of a batch that has ended and remove their calls from `waiting`.

        Returns False if the results show that the batch belongs to another user.
        """
        failed: dict[str, ModelError] = {}
        keys = frozenset(batch.keys)

        async def stream(_: int) -> bool:
            results = ours = 0
            async for key, result in self.api.results(batch.name, status):
                results, ours = results + 1, ours + (key in keys)
                if results % 256 == 0:
                    await asyncio.sleep(0)
                call = waiting.get(key)
                if call is None or key in failed:
                    continue  # already stored, not requested now, or a second line for one call
                try:
                    completion = self._of_batch(batch, self.api.read(result, call.sent))
                except ModelError as error:
                    if (reply := paid_reply(error)) is not None:
                        error.reply = self._of_batch(batch, reply)
                    failed[key] = error
                    continue
                request = call.request
                self.store.put(request.key, request.canonical, completion.model_dump_json(), request.model)
                self._formats.learn(request, call.sent.format)
                self._settle(waiting.pop(key), completion)
            return ours > 0 or not results

        if (
            not await self._persist(f"the results of batch {batch.name}", stream)
            and batch.found
            and not self.api.has_nonce
        ):
            # The batch has the same time and size as ours; the next such batch may be ours.
            self.log.mistaken(batch.nonce, batch.name)
            batch.id, batch.found = None, False
            return False
        for key in waiting:
            lost = f"{self.llm.id}: the results of batch {batch.name} have no usable line for this call"
            failed.setdefault(key, TransientError(lost))
        self.log.ended(batch.nonce, {key: refused_format(error) for key, error in failed.items()})
        for key, error in failed.items():
            self._fail(waiting.pop(key), error)
        return True

    def _of_batch(self, batch: Submission, completion: Completion) -> Completion:
        # The time of the reply would be that of the whole batch.
        return completion.model_copy(update={"batch": batch.id, "seconds": None})

    # Accounts

    def _settle(self, call: _Call, reply: Completion | None) -> None:
        """Count the usage of a call with this reply, or with none, and release the usage reserved for the call."""
        if reply is not None:
            count_reply(self._usage, reply)
        if self._budget is not None:
            actual = Usage() if reply is None else self._budget.record(reply, expected(call.request))
            self._budget.budget.settle(call.reserved, actual)

    def _fail(self, call: _Call, error: ModelError) -> None:
        """Leave a call to the next round if a retry or a weaker reply format may help.

        Otherwise, the failure of the call is recorded.
        """
        reply = paid_reply(error)
        self._settle(call, reply)
        if reply is not None:
            request = call.request
            self.store.turn_away(request.key, request.canonical, reply.model_dump_json(), request.model)
        if refused_format(error) is not None and call.sent.format != FORMATS[-1]:
            return
        if isinstance(error, TransientError):
            self._tries[call.request.key] += 1
            tries = self._tries[call.request.key]
            if tries <= self._max_retries:
                self._usage.retries += 1
                return
            error = TransientError(f"{error} (gave up after {tries} {'try' if tries == 1 else 'tries'})")
        self._give_up(call.request, error)

    def _give_up(self, request: Request, error: ModelError) -> None:
        self._usage.failures += 1
        self._failures[request.key] = error


def check_address(log: BatchLog, model: str, address: str) -> None:
    """Raise UsageError if a batch that has not been read was submitted to an endpoint other than `address`."""
    for submission in log.of(model):
        if not submission.ended and submission.address != address:
            raise UsageError(
                f"batch {submission.name} of this run was submitted to {submission.address}, but the address of "
                f"{model} is now {address}; give the former base URL, so that the batch can be fetched"
            )
