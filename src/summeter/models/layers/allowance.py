"""How long an item may take, all its calls and their retries together.

Waiting for a place before an endpoint is no fault of the item's, and not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_RUNNING: ContextVar[_Allowance | None] = ContextVar("summeter_allowance", default=None)


class _Allowance:
    """A timeout whose clock stands while any call of its work waits."""

    def __init__(self, timeout: asyncio.Timeout, seconds: float) -> None:
        self._timeout = timeout
        self._left = seconds
        self._since = asyncio.get_running_loop().time()
        self._waiting = 0

    def stop(self) -> None:
        if not self._waiting and not self._timeout.expired():
            self._left -= asyncio.get_running_loop().time() - self._since
            self._timeout.reschedule(None)
        self._waiting += 1

    def go_on(self) -> None:
        self._waiting -= 1
        if not self._waiting and not self._timeout.expired():
            self._since = asyncio.get_running_loop().time()
            self._timeout.reschedule(self._since + max(0.0, self._left))


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await `work`; TimeoutError once it has taken `seconds` beside its waits for a place. None is no limit."""
    if seconds is None:
        return await work
    async with asyncio.timeout(seconds) as timeout:
        token = _RUNNING.set(_Allowance(timeout, seconds))
        try:
            return await work
        finally:
            _RUNNING.reset(token)


@contextmanager
def waiting() -> Iterator[None]:
    """Around a wait for a place: the clock of the item it is for stands meanwhile."""
    allowance = _RUNNING.get()
    if allowance is None:
        yield
        return
    allowance.stop()
    try:
        yield
    finally:
        allowance.go_on()
