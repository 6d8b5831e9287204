"""How long an item may take, all its calls and their retries and its work on this processor together.

Waiting for a place before an endpoint is no fault of the item's, and not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from summeter.interrupt import checked, raise_if_stopped
from summeter.records import ModelError

T = TypeVar("T")

_RUNNING: ContextVar[ItemTimeout | None] = ContextVar("summeter_item_timeout", default=None)


class Allowance(NamedTuple):
    """Seconds that an item has left, of those it had."""

    left: float
    seconds: float


class ItemTimeout:
    """A timeout that pauses while any call of its work waits for a place."""

    def __init__(self, timeout: asyncio.Timeout, allowance: Allowance) -> None:
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._left, self._seconds = allowance
        self._since = self._loop.time()
        self._waiting = 0
        self._charged = self._since
        self.over = False

    def pause(self) -> None:
        if not self._waiting and not self.over:
            self._charged = self._loop.time()
            self._left -= self._charged - self._since
            self._timeout.reschedule(None)
        self._waiting += 1

    @property
    def allowance(self) -> Allowance:
        """What is left now."""
        running = 0.0 if self._waiting else self._loop.time() - self._since
        return Allowance(self._left - running, self._seconds)

    def charge(self, seconds: float) -> None:
        """Count so many seconds of the pause after all; what calls at the same time took counts once."""
        now = self._loop.time()
        self._left -= min(seconds, now - self._charged)
        self._charged = now

    def resume(self) -> None:
        self._waiting -= 1
        if not self._waiting and not self.over:
            self._since = self._loop.time()
            self._timeout.reschedule(self._since + max(0.0, self._left))

    def check(self) -> None:
        """For work that lets no timeout run: ModelError once the time is up, CancelledError once the run is to stop."""
        raise_if_stopped()
        if not self._waiting and not self.over and self.allowance.left < 0:
            raise overdue(self._seconds)


def overdue(seconds: float) -> ModelError:
    """What an item ends with that took longer than so many seconds."""
    return ModelError(f"took longer than the {seconds:g} s an item may, calls and retries together")


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await `work`; ModelError once it has taken `seconds` beside its waits for a place. None is no limit."""
    if seconds is None:
        with checked(raise_if_stopped):
            return await work
    return (await _timed(Allowance(seconds, seconds), work))[0]


async def counted(allowance: Allowance | None, work: Awaitable[T]) -> tuple[T, float]:
    """Await work of an item whose time is kept elsewhere (`handed_over`); also the seconds to charge it with."""
    return (await work, 0.0) if allowance is None else await _timed(allowance, work)


async def _timed(allowance: Allowance, work: Awaitable[T]) -> tuple[T, float]:
    """Await work within what is left; also the seconds that it took beside its waits for a place."""
    timeout = asyncio.timeout(max(0.0, allowance.left))
    try:
        async with timeout:
            clock = ItemTimeout(timeout, allowance)
            token = _RUNNING.set(clock)
            try:
                with checked(clock.check):
                    result = await work
                return result, allowance.left - clock.allowance.left
            finally:
                # A call of its may outlive it, where another item waits for the same reply.
                clock.over = True
                _RUNNING.reset(token)
    except TimeoutError as error:
        if not timeout.expired():
            raise
        raise overdue(allowance.seconds) from error


class HandedOver:
    """Work that another process does for an item, and whose time it counts. `allowance` is None where there is no
    limit; `took` is set to the seconds that the work is to be charged with."""

    def __init__(self, allowance: Allowance | None) -> None:
        self.allowance = allowance
        self.took = 0.0


@contextmanager
def handed_over() -> Iterator[HandedOver]:
    """Around a wait for work that another process does: pauses the item's timeout, and charges it with what it took."""
    clock = _RUNNING.get()
    if clock is None:
        yield HandedOver(None)
        return
    clock.pause()
    handed = HandedOver(clock.allowance)
    try:
        yield handed
    finally:
        clock.charge(handed.took)
        clock.resume()


@contextmanager
def waiting() -> Iterator[None]:
    """Around a wait for a place: pauses the timeout of the item that the call is for."""
    clock = _RUNNING.get()
    if clock is None:
        yield
        return
    clock.pause()
    try:
        yield
    finally:
        clock.resume()
