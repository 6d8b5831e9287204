"""Limit the time of an item: the total time of its calls, their retries and its computations.

Waits for the rate limit of an endpoint are not included.
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
    """A timeout that is paused while a call of the item waits for a rate limit."""

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
        """Raise ModelError after the timeout, and CancelledError if the run is to stop.

        This is called by work that does not await.
        """
        raise_if_stopped()
        if not self._waiting and not self.over and self._loop.time() - self._since > self._left:
            raise overdue(self._seconds)


def overdue(seconds: float) -> ModelError:
    """Return the error for an item that exceeded its timeout of `seconds`."""
    return ModelError(f"exceeded the timeout of {seconds:g} s per item, including calls and retries")


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await `work` and return its result, or raise ModelError if it takes more than `seconds`.

    Waits for rate limits are not included. If `seconds` is None, there is no limit.
    """
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
                # A call may outlive its item if another item waits for the same reply.
                clock.over = True
                _RUNNING.reset(token)
    except TimeoutError as error:
        if not timeout.expired():
            raise
        raise overdue(seconds) from error


@contextmanager
def waiting() -> Iterator[None]:
    """Pause the timeout of the current item during a wait for a rate limit."""
    clock = _RUNNING.get()
    if clock is None:
        yield
        return
    clock.pause()
    try:
        yield
    finally:
        clock.resume()
