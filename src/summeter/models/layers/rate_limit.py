"""Limit the rates of an endpoint: concurrent calls, and requests and tokens per minute.

The number of concurrent calls is reduced while the endpoint rejects calls.

Each endpoint has one limiter, which all its models share. The number of concurrent calls (the window) starts small and
doubles with every round of answers, up to the limit (slow start; Jacobson, 1988). When an endpoint rejects more than a
third of a round (429, 503, 529), no call is sent until the time that the endpoint states, and the window is reduced to
the largest window that was answered before, or to half its size. The window then grows again in steps that double
(compare AIMD; Chiu and Jain, 1989). Each time that growth beyond the same window fails, the next attempt waits for
twice as many rounds. If fewer calls of a round are rejected, only these calls are delayed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from summeter.models.base import LLM, Completion, Layer, Request
from summeter.models.layers.item_timeout import waiting
from summeter.models.per_loop import PerLoop
from summeter.models.tokens import expected
from summeter.records import TransientError, UsageError

MINUTE = 60.0
ROUNDING = 1e-9  # tolerance for rounding
START = 8
"""The initial number of concurrent calls."""
OVERLOAD = 1 / 3
"""The share of rejected calls in a round above which the window is too large."""
MAX_ROUNDS = 256
"""Maximum number of rounds before a window that failed is tried again."""
# Seconds without calls if the server states no time; they are doubled until a call is answered, up to the maximum.
FIRST_PAUSE, MAX_PAUSE = 1.0, 30.0

Clock = Callable[[], float]


class Limits(NamedTuple):
    """The maximum numbers of concurrent calls and of requests and tokens per minute.

    None stands for no limit.
    """

    connections: int
    requests: float | None = None
    tokens: float | None = None


class TokenBucket:
    """A token bucket that admits `per_minute` units in any minute, with bursts of one second's worth.

    The level may become negative, since the size of a call is known only afterwards; the next call then waits until the
    level is positive. Times are in seconds of any monotonic clock.

    >>> bucket = TokenBucket(60, now=0.0)
    >>> bucket.take(1, now=0.0)
    >>> round(bucket.wait(1, now=0.0), 3)
    1.017
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self._capacity = max(1.0, per_minute / MINUTE)
        # The initial level counts towards the first minute.
        self._flow = max(per_minute - self._capacity, 1.0) / MINUTE
        self._level = self._capacity
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` may pass.

        An amount above the capacity of the bucket may pass when the bucket is full.
        """
        self._fill(now)
        deficit = min(amount, self._capacity) - self._level
        # A deficit caused by rounding would lead to waits too short for the clock.
        return deficit / self._flow if deficit > ROUNDING else 0.0

    def take(self, amount: float, now: float) -> None:
        """Let `amount` pass; a negative amount returns unused units."""
        self._fill(now)
        self._level = min(self._capacity, self._level - amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._capacity, self._level + max(0.0, now - self._at) * self._flow)
        self._at = now


class RateLimiter:
    """Admits calls within the limits, first come, first served. Models with the same endpoint share a limiter.

    Raises UsageError if a limit is below 1.
    """

    def __init__(self, limits: Limits | int, *, clock: Clock = time.monotonic) -> None:
        self.limits = limits if isinstance(limits, Limits) else Limits(limits)
        for name, limit in self.limits._asdict().items():
            if limit is not None and not limit >= 1:
                unit = "" if name == "connections" else " per minute"
                raise UsageError(f"the number of {name}{unit} must be at least 1, not {limit:g}")
        self._queues: PerLoop[Queue] = PerLoop(lambda: Queue(self.limits, clock))

    def queue(self) -> Queue:
        return self._queues.get()


class Queue:
    """The calls that wait for an endpoint.

    `in_flight` is the number of calls in flight, and `allowed` the window, which limits this number.
    """

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._size = limits.connections
        self._clock = clock
        now = clock()
        self._requests = None if limits.requests is None else TokenBucket(limits.requests, now)
        self._tokens = None if limits.tokens is None else TokenBucket(limits.tokens, now)
        self._waiting: deque[Waiter] = deque()
        self._visitors: deque[Waiter] = deque()
        self._wakeup: asyncio.Task[None] | None = None
        self._closings = 0
        # Outcomes and rejections in the current round, which has as many calls as the window.
        self._outcomes = self._rejections = 0
        # The largest window that was answered; rounds before a larger one is tried, now and after the next failure.
        self._proven = self._rest = 0
        self._next_rest = 1
        self._due = now
        self.allowed = self._step = min(START, self._size)
        self.in_flight = 0
        self.opens = now
        self.epoch = 0

    async def acquire(self, tokens: float, *others: Queue) -> Permit:
        """Wait until a call of about `tokens` tokens may be sent, from this queue or from one of `others`."""
        queues = (self, *others)
        for queue in queues:
            if queue._next() is None and queue.in_flight < queue.allowed and queue._pause(tokens) == 0.0:
                return queue._admit(tokens)
        waiter = Waiter(asyncio.get_running_loop().create_future(), tokens)
        self._waiting.append(waiter)
        for queue in others:
            queue._visitors.append(waiter)
        for queue in queues:
            queue._admit_waiting()
        try:
            with waiting():
                return await waiter.permit
        except asyncio.CancelledError:
            if waiter.permit.done() and not waiter.permit.cancelled():
                waiter.permit.result().queue.release()
            raise

    def release(self) -> None:
        """End a call and admit waiting calls."""
        self.in_flight -= 1
        self._admit_waiting()

    @property
    def closed(self) -> bool:
        """Whether the endpoint is paused, so that no call is sent at present."""
        return self.opens > self._clock()

    def answered(self, epoch: int, surplus: float) -> None:
        """Count an answered call that was admitted in `epoch` and used `surplus` more tokens than estimated."""
        if self._tokens is not None and surplus:
            self._tokens.take(surplus, self._clock())
        self._closings = 0
        if epoch == self.epoch:
            self._count()

    def rejected(self, epoch: int, wait: float | None) -> None:
        """Count a rejected call that was admitted in `epoch`.

        `wait` is the pause in seconds that the endpoint states, or None if it states none.
        """
        if epoch != self.epoch:
            # The call was in flight when the window was reduced and says nothing about the new window.
            if wait is not None:
                self.opens = max(self.opens, self._clock() + wait)
            return
        self._rejections += 1
        if self._rejections <= OVERLOAD * self.allowed:
            self._count()
            return
        # Pause the endpoint and reduce the window.
        self.opens = self._clock() + (min(MAX_PAUSE, FIRST_PAUSE * 2.0**self._closings) if wait is None else wait)
        self._closings += 1
        if 0 < self._proven < self.allowed:
            self._rest, self._next_rest = self._next_rest, min(MAX_ROUNDS, 2 * self._next_rest)
            self.allowed = self._proven
        else:
            self.allowed = max(1, self.allowed // 2)
            self._proven, self._rest, self._next_rest = 0, 0, 1
        self._step = 1
        self._outcomes = self._rejections = 0
        self.epoch += 1

    def _count(self) -> None:
        """Count an outcome; the last outcome of a round may enlarge the window."""
        self._outcomes += 1
        if self._outcomes < self.allowed:
            return
        self._outcomes = self._rejections = 0
        if self.allowed > self._proven:
            self._proven, self._next_rest = self.allowed, 1
        if self._rest:
            self._rest -= 1
        elif self.allowed < self._size:
            self.allowed = min(self._size, self.allowed + self._step)
            self._step *= 2

    def _pause(self, tokens: float) -> float:
        """Return the seconds until the time and rate limits admit a call of `tokens` tokens."""
        now = self._clock()
        pause = max(0.0, self.opens - now)
        if self._requests is not None:
            pause = max(pause, self._requests.wait(1, now))
        if self._tokens is not None:
            pause = max(pause, self._tokens.wait(tokens, now))
        return pause

    def _admit(self, tokens: float) -> Permit:
        self.in_flight += 1
        if self._requests is not None:
            self._requests.take(1, self._clock())
        if self._tokens is not None:
            self._tokens.take(tokens, self._clock())
        return Permit(self, self.epoch, tokens)

    def _next(self) -> Waiter | None:
        """Return the next waiting call, or None if no call waits; calls of other queues come last."""
        for line in (self._waiting, self._visitors):
            while line and line[0].permit.done():
                line.popleft()
            if line:
                return line[0]
        return None

    def _admit_waiting(self) -> None:
        """Admit waiting calls within the limits, and schedule a wake-up if the next call must wait."""
        while (waiter := self._next()) is not None and self.in_flight < self.allowed:
            if (pause := self._pause(waiter.tokens)) > 0.0:
                due = self._clock() + pause
                if self._wakeup is None or due < self._due:
                    if self._wakeup is not None:
                        self._wakeup.cancel()  # tokens were returned, so the wait is shorter
                    self._due = due
                    self._wakeup = asyncio.create_task(self._wake_after(pause))
                return
            waiter.permit.set_result(self._admit(waiter.tokens))

    async def _wake_after(self, pause: float) -> None:
        await asyncio.sleep(pause)
        self._wakeup = None
        self._admit_waiting()


class Waiter(NamedTuple):
    """A waiting call with its estimated number of tokens."""

    permit: asyncio.Future[Permit]
    tokens: float


class Permit(NamedTuple):
    """The permission to send one call.

    It contains the queue of the call, the epoch of its admission and its estimated number of tokens.
    """

    queue: Queue
    epoch: int
    tokens: float

    async def send(self, llm: LLM, request: Request) -> Completion:
        """Send the call and return the reply; the queue is told whether the call was rejected."""
        try:
            completion = await llm.complete(request)
        except TransientError as error:
            if error.throttled:
                self.queue.rejected(self.epoch, error.retry_after)
            raise
        else:
            counted = completion.tokens_in is not None and completion.tokens_out is not None
            used = (completion.tokens_in or 0) + (completion.tokens_out or 0)
            self.queue.answered(self.epoch, used - self.tokens if counted else 0)
            return completion
        finally:
            self.queue.release()


class RateLimited(Layer):
    """Holds a permit of the rate limiter during each call."""

    def __init__(self, llm: LLM, limiter: RateLimiter) -> None:
        super().__init__(llm)
        self._limiter = limiter

    async def complete(self, request: Request) -> Completion:
        tokens = 0 if self._limiter.limits.tokens is None else expected(request).total_tokens
        permit = await self._limiter.queue().acquire(tokens)
        return await permit.send(self.llm, request)
