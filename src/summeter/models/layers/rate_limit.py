"""What one endpoint is asked at most: calls at a time, requests and tokens a minute; less while it says it is too much.

Every endpoint has one limiter, which all its models share. A server that turns many calls away (429, 503) stops all
calls until the time it names, and halves the calls at a time; each round of answers then adds to them again (AIMD: Chiu
and Jain, 1989), the more the longer no call is turned away. One refusal among many answers concerns that call alone.
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
MEMORY = 16.0  # outcomes that the share of refusals looks back on
MANY = 1 / 3  # the share of refusals from which the endpoint, not a call, is what is too much
# Seconds without calls where the server names no time: doubled as long as no answer comes in between.
FIRST, LONGEST = 0.5, 30.0

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
        self._size = float(limits.connections)
        self._clock = clock
        self._sleep = sleep
        now = clock()
        self._requests = None if limits.requests is None else TokenBucket(limits.requests, now)
        self._tokens = None if limits.tokens is None else TokenBucket(limits.tokens, now)
        self._waiting: deque[tuple[asyncio.Future[int], float]] = deque()
        self._wakeup: asyncio.Task[None] | None = None
        self._refused = self._heard = 0.0
        self._closings = 0
        self._round, self._step = 0.0, 1.0
        self._due = now
        self.allowed = self._size
        self.inside = 0
        self.opens = now
        self.epoch = 0

    async def enter(self, tokens: float) -> int:
        """Wait for a place for a call of about so many tokens. Returns the epoch, to be shown on leaving."""
        if not self._waiting and self._pause(tokens) == 0.0 and self._room():
            self._take(tokens)
            return self.epoch
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((place, tokens))
        self._admit()
        try:
            with waiting():
                return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        self.inside -= 1
        self._admit()

    def answered(self, surplus: float) -> None:
        """A call was answered; it took `surplus` tokens more than was thought."""
        if self._tokens is not None and surplus:
            self._tokens.take(surplus, self._clock())
        self._refused -= self._refused / MEMORY
        self._heard += 1 - self._heard / MEMORY
        self._closings = 0
        if self.allowed < self._size:
            self._round += 1 / self.allowed
            self.allowed = min(self._size, self.allowed + self._step / self.allowed)
            if self._round >= 1:
                self._round, self._step = 0.0, self._step * 2

    def refused(self, epoch: int, wait: float | None) -> None:
        """The server turned a call away that entered in `epoch`, and wishes a wait of `asked` seconds."""
        self._refused += 1 - self._refused / MEMORY
        self._heard += 1 - self._heard / MEMORY
        if self._refused <= MANY * self._heard:
            return
        now = self._clock()
        if epoch == self.epoch:
            # What was under way when the gate closed says nothing new: one halving a round.
            self.allowed = max(1.0, self.allowed / 2)
            self.opens = now + min(LONGEST, FIRST * 2.0**self._closings)
            if wait is not None:
                self.opens = now + wait
            self.epoch += 1
            self._closings += 1
            self._round, self._step = 0.0, 1.0
        elif wait is not None:
            self.opens = max(self.opens, now + wait)

    def _room(self) -> bool:
        return self.inside < int(self.allowed)

    def _pause(self, tokens: float) -> float:
        """Seconds until the next call may go, were there room."""
        now = self._clock()
        pause = max(0.0, self.opens - now)
        if self._requests is not None:
            pause = max(pause, self._requests.wait(1, now))
        if self._tokens is not None:
            pause = max(pause, self._tokens.wait(tokens, now))
        return pause

    def _take(self, tokens: float) -> None:
        self.inside += 1
        if self._requests is not None:
            self._requests.take(1, self._clock())
        if self._tokens is not None:
            self._tokens.take(tokens, self._clock())

    def _admit(self) -> None:
        """Let in all that may; where that is a matter of time, have the wake-up admit it later."""
        while self._waiting and self._room():
            place, tokens = self._waiting[0]
            if not place.done():
                if (pause := self._pause(tokens)) > 0.0:
                    self._schedule_wakeup(pause)
                    return
                self._take(tokens)
                place.set_result(self.epoch)
            self._waiting.popleft()

    def _schedule_wakeup(self, pause: float) -> None:
        """Admit again after `pause`, unless a wake-up is due as soon."""
        due = self._clock() + pause
        if self._wakeup is not None:
            if self._due <= due:
                return
            self._wakeup.cancel()  # tokens were given back: it is shorter now
        self._due = due
        self._wakeup = asyncio.create_task(self._wake_after(pause))

    async def _wake_after(self, pause: float) -> None:
        await self._sleep(pause)
        self._wakeup = None
        self._admit()


class RateLimited(Layer):
    """Holds a place with the limiter for as long as a call takes."""

    def __init__(self, llm: LLM, limiter: RateLimiter) -> None:
        super().__init__(llm)
        self._limiter = limiter

    async def complete(self, request: Request) -> Completion:
        queue = self._limiter.queue()
        tokens = 0 if self._limiter.limits.tokens is None else expected(request).total
        epoch = await queue.enter(tokens)
        try:
            completion = await self.llm.complete(request)
        except TransientError as error:
            if error.throttled:
                queue.refused(epoch, error.retry_after)
            raise
        else:
            counted = completion.tokens_in is not None and completion.tokens_out is not None
            queue.answered((completion.tokens_in or 0) + (completion.tokens_out or 0) - tokens if counted else 0)
            return completion
        finally:
            queue.leave()
