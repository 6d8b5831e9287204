"""Rate limits of an endpoint: calls at a time, requests and tokens a minute; fewer while it turns calls away.

Each endpoint has one limiter, which all its models share. The number of calls at a time (the window) starts small and
doubles with every round of answers, up to the limit (slow start; Jacobson, 1988). When an endpoint turns away more than
a third of a round (429, 503, 529), no call is sent until the time it names, and the window falls back to the largest
that was answered before, or to half. It then grows again, in steps that double (compare AIMD; Chiu and Jain, 1989).
Each time that growth beyond the same window fails, the next attempt waits for twice as many rounds. Fewer refusals
delay only the calls that were refused.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.base import Layer
from summeter.models.layers.item_timeout import waiting
from summeter.models.per_loop import PerLoop
from summeter.models.tokens import expected
from summeter.records import TransientError, UsageError

MINUTE = 60.0
ROUNDING = 1e-9  # what rounding alone leaves short
START = 8
"""Calls at a time until the endpoint has answered so many."""
OVERLOAD = 1 / 3
"""Share of the calls of a round above which refusals mean that the window is too large."""
MOST_ROUNDS = 256
"""Rounds of answers at most before a window that failed is tried again."""
# Seconds without calls where the server names no time: doubled until a call is answered.
FIRST, LONGEST = 1.0, 30.0

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Limits(NamedTuple):
    """Calls at a time; requests and tokens a minute, where None is no limit."""

    connections: int
    requests: float | None = None
    tokens: float | None = None

    def check(self) -> None:
        """Raises UsageError for a limit that lets nothing through."""
        if self.connections < 1:
            raise UsageError(f"the number of connections must be at least 1, not {self.connections}")
        for name, limit in (("requests", self.requests), ("tokens", self.tokens)):
            if limit is not None and not limit >= 1:
                raise UsageError(f"the {name} a minute must be at least 1, not {limit:g}")


class TokenBucket:
    """Lets `a_minute` units pass in any minute, evenly: a second's worth at once, the rest as it flows in.

    The level may fall below nothing, since the size of a call is only known afterwards; who comes next waits until
    the debt is paid. Times are seconds of any steady clock.

    >>> bucket = TokenBucket(60, now=0.0)
    >>> bucket.take(1, now=0.0)
    >>> round(bucket.wait(1, now=0.0), 3)
    1.017
    """

    def __init__(self, a_minute: float, now: float) -> None:
        self._most = max(1.0, a_minute / MINUTE)
        # With what is there at the start, a minute brings `a_minute` and no more.
        self._flow = max(a_minute - self._most, 1.0) / MINUTE
        self._level = self._most
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may pass; more than the bucket holds passes when it is full."""
        self._fill(now)
        short = min(amount, self._most) - self._level
        # What only rounding has left short would be waited for in steps too small for the clock.
        return short / self._flow if short > ROUNDING else 0.0

    def take(self, amount: float, now: float) -> None:
        """Let `amount` pass; a negative one gives back what turned out not to be needed."""
        self._fill(now)
        self._level = min(self._most, self._level - amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._most, self._level + max(0.0, now - self._at) * self._flow)
        self._at = now


class RateLimiter:
    """Lets calls through within the limits, first come, first served. Models of one endpoint share one."""

    def __init__(self, limits: Limits | int, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self.limits = limits if isinstance(limits, Limits) else Limits(limits)
        self.limits.check()
        self._queues: PerLoop[Queue] = PerLoop(lambda: Queue(self.limits, clock, sleep))

    def queue(self) -> Queue:
        return self._queues.get()


class Queue:
    """The calls that wait for an endpoint, how many are under way, and how many may be."""

    def __init__(self, limits: Limits, clock: Clock, sleep: Sleep) -> None:
        self._size = limits.connections
        self._clock = clock
        self._sleep = sleep
        now = clock()
        self._requests = None if limits.requests is None else TokenBucket(limits.requests, now)
        self._tokens = None if limits.tokens is None else TokenBucket(limits.tokens, now)
        self._waiting: deque[Waiter] = deque()
        self._visitors: deque[Waiter] = deque()
        self._wakeup: asyncio.Task[None] | None = None
        self._closings = 0
        # Of this round, which has as many calls as the window: the outcomes so far, and how many were refusals.
        self._outcomes = self._refusals = 0
        # The largest window that was answered; rounds before a larger one is tried, now and after the next failure.
        self._proven = self._rest = 0
        self._next_rest = 1
        self._due = now
        self.allowed = self._step = min(START, self._size)
        self.inside = 0
        self.opens = now
        self.epoch = 0

    async def enter(self, tokens: float, *others: Queue) -> Place:
        """Wait for a place for a call of about so many tokens, here or, where none is free, in one of `others`."""
        queues = (self, *others)
        for queue in queues:
            if queue._next() is None and queue._room() and queue._pause(tokens) == 0.0:
                return queue._take(tokens)
        waiter = Waiter(asyncio.get_running_loop().create_future(), tokens)
        self._waiting.append(waiter)
        for queue in others:
            queue._visitors.append(waiter)
        for queue in queues:
            queue._admit()
        try:
            with waiting():
                return await waiter.place
        except asyncio.CancelledError:
            if waiter.place.done() and not waiter.place.cancelled():
                waiter.place.result().queue.leave()
            raise

    def leave(self) -> None:
        self.inside -= 1
        self._admit()

    @property
    def closed(self) -> bool:
        """Whether no call is sent until the time that the endpoint named."""
        return self.opens > self._clock()

    def answered(self, epoch: int, surplus: float) -> None:
        """Count a call that entered in `epoch` and was answered; it took `surplus` more tokens than estimated."""
        if self._tokens is not None and surplus:
            self._tokens.take(surplus, self._clock())
        self._closings = 0
        if epoch == self.epoch:
            self._count()

    def refused(self, epoch: int, wait: float | None) -> None:
        """Count a call that entered in `epoch` and was turned away; the endpoint asks for a pause of `wait` seconds."""
        if epoch == self.epoch:
            self._refusals += 1
            if self._refusals > OVERLOAD * self.allowed:
                self._shrink(wait)
            else:
                self._count()
        elif wait is not None:
            # It was under way when the window shrank, and says nothing about the new one.
            self.opens = max(self.opens, self._clock() + wait)

    def _count(self) -> None:
        """Count an outcome; the last of a round may widen the window."""
        self._outcomes += 1
        if self._outcomes < self.allowed:
            return
        self._outcomes = self._refusals = 0
        if self.allowed > self._proven:
            self._proven, self._next_rest = self.allowed, 1
        if self._rest:
            self._rest -= 1
        elif self.allowed < self._size:
            self.allowed = min(self._size, self.allowed + self._step)
            self._step *= 2

    def _shrink(self, wait: float | None) -> None:
        """Close the endpoint for a while and narrow the window."""
        self.opens = self._clock() + (min(LONGEST, FIRST * 2.0**self._closings) if wait is None else wait)
        self._closings += 1
        if 0 < self._proven < self.allowed:
            self._rest, self._next_rest = self._next_rest, min(MOST_ROUNDS, 2 * self._next_rest)
            self.allowed = self._proven
        else:
            self.allowed = max(1, self.allowed // 2)
            self._proven, self._rest, self._next_rest = 0, 0, 1
        self._step = 1
        self._outcomes = self._refusals = 0
        self.epoch += 1

    def _room(self) -> bool:
        return self.inside < self.allowed

    def _pause(self, tokens: float) -> float:
        """Seconds until the next call may go, were there room."""
        now = self._clock()
        pause = max(0.0, self.opens - now)
        if self._requests is not None:
            pause = max(pause, self._requests.wait(1, now))
        if self._tokens is not None:
            pause = max(pause, self._tokens.wait(tokens, now))
        return pause

    def _take(self, tokens: float) -> Place:
        self.inside += 1
        if self._requests is not None:
            self._requests.take(1, self._clock())
        if self._tokens is not None:
            self._tokens.take(tokens, self._clock())
        return Place(self, self.epoch, tokens)

    def _next(self) -> Waiter | None:
        """Who is next; visitors come last."""
        for line in (self._waiting, self._visitors):
            while line and line[0].place.done():
                line.popleft()
            if line:
                return line[0]
        return None

    def _admit(self) -> None:
        """Let in all that may; where that is a matter of time, have the wake-up admit it later."""
        while (waiter := self._next()) is not None and self._room():
            if (pause := self._pause(waiter.tokens)) > 0.0:
                due = self._clock() + pause
                if self._wakeup is None or due < self._due:
                    if self._wakeup is not None:
                        self._wakeup.cancel()  # tokens were given back: it is shorter now
                    self._due = due
                    self._wakeup = asyncio.create_task(self._wake_after(pause))
                return
            waiter.place.set_result(self._take(waiter.tokens))

    async def _wake_after(self, pause: float) -> None:
        await self._sleep(pause)
        self._wakeup = None
        self._admit()


class Waiter(NamedTuple):
    """A call that waits for a place."""

    place: asyncio.Future[Place]
    tokens: float


class Place(NamedTuple):
    """The place of one call in a queue: when it entered, and how many tokens it was estimated to take."""

    queue: Queue
    epoch: int
    tokens: float

    async def send(self, llm: LLM, request: Request) -> Completion:
        """The reply to the call, which then gives up its place; the queue counts whether it was turned away."""
        try:
            completion = await llm.complete(request)
        except TransientError as error:
            if error.throttled:
                self.queue.refused(self.epoch, error.retry_after)
            raise
        else:
            counted = completion.tokens_in is not None and completion.tokens_out is not None
            used = (completion.tokens_in or 0) + (completion.tokens_out or 0)
            self.queue.answered(self.epoch, used - self.tokens if counted else 0)
            return completion
        finally:
            self.queue.leave()


class RateLimited(Layer):
    """Holds a place with the limiter for as long as a call takes."""

    def __init__(self, llm: LLM, limiter: RateLimiter) -> None:
        super().__init__(llm)
        self._limiter = limiter

    async def complete(self, request: Request) -> Completion:
        tokens = 0 if self._limiter.limits.tokens is None else expected(request).total_tokens
        place = await self._limiter.queue().enter(tokens)
        return await place.send(self.llm, request)
