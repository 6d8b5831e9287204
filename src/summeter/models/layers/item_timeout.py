"""How long an item may take, all its calls and their retries together.

Waiting for a place before an endpoint is no fault of the item's, and not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from summeter.records import ModelError

T = TypeVar("T")

_RUNNING: ContextVar[ItemTimeout | None] = ContextVar("summeter_item_timeout", default=None)


class ItemTimeout:
    """A timeout that pauses while any call of its work waits for a place."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float) -> None:
        self._timeout = timeout
        self._left = seconds
        self._since = asyncio.get_running_loop().time()
        self._waiting = 0
        self.over = False

    def pause(self) -> None:
        if not self._waiting and not self.over:
            self._left -= asyncio.get_running_loop().time() - self._since
            self._timeout.reschedule(None)
        self._waiting += 1

    def resume(self) -> None:
        self._waiting -= 1
        if not self._waiting and not self.over:
            self._since = asyncio.get_running_loop().time()
            self._timeout.reschedule(self._since + max(0.0, self._left))


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await `work`; ModelError once it has taken `seconds` beside its waits for a place. None is no limit."""
    if seconds is None:
        return await work
    timeout = asyncio.timeout(seconds)
    try:
        async with timeout:
            clock = ItemTimeout(timeout, seconds)
            token = _RUNNING.set(clock)
            try:
                return await work
            finally:
                # A call of its may outlive it, where another item waits for the same reply.
                clock.over = True
                _RUNNING.reset(token)
    except TimeoutError as error:
        if not timeout.expired():
            raise
        raise ModelError(f"took longer than the {seconds:g} s an item may, calls and retries together") from error


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
