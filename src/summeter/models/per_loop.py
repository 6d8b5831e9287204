"""Things that belong to one event loop (tasks, semaphores, connections), kept apart loop by loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One T for each running event loop, made when first asked for and forgotten with its loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._held: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None:
            held = self._held[loop] = self._make()
        return held

    def pop(self) -> T | None:
        """The running loop's own, forgotten; None where there was none."""
        return self._held.pop(asyncio.get_running_loop(), None)
