"""How long an item may take, all its calls and their retries and its work on this processor together.

Waiting for a place before an endpoint is no fault of the item's, and not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from summeter.interrupt import checked, raise_if_stopped
from summeter.records import ModelError

T = TypeVar("T")

_RUNNING: ContextVar[ItemTimeout | None] = ContextVar("summeter_item_timeout", default=None)


class ItemTimeout:
    """A timeout that pauses while any call of its work waits for a place."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float) -> None:
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._seconds = self._left = seconds
        self._since = self._loop.time()
        self._waiting = 0
        self.over = False

    def pause(self) -> None:
        if not self._waiting and not self.over:
            self._left -= self._loop.time() - self._since
            self._timeout.reschedule(None)
        self._waiting += 1

    def resume(self) -> None:
        self._waiting -= 1
        if not self._waiting and not self.over:
            self._since = self._loop.time()
            self._timeout.reschedule(self._since + max(0.0, self._left))

    def check(self) -> None:
        """For work that lets no timeout run: ModelError once the time is up, CancelledError once the run is to stop."""
        raise_if_stopped()
        if not self._waiting and not self.over and self._loop.time() - self._since > self._left:
            raise overdue(self._seconds)


def overdue(seconds: float) -> ModelError:
    """What an item ends with that took longer than so many seconds."""
    return ModelError(f"took longer than the {seconds:g} s an item may, calls and retries together")


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await `work`; ModelError once it has taken `seconds` beside its waits for a place. None is no limit."""
    if seconds is None:
        with checked(raise_if_stopped):
            return await work
    timeout = asyncio.timeout(max(0.0, seconds))
    try:
        async with timeout:
            clock = ItemTimeout(timeout, seconds)
            token = _RUNNING.set(clock)
            try:
                with checked(clock.check):
                    return await work
            finally:
                # A call of its may outlive it, where another item waits for the same reply.
                clock.over = True
                _RUNNING.reset(token)
    except TimeoutError as error:
        if not timeout.expired():
            raise
        raise overdue(seconds) from error


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
