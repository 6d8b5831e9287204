"""Hold one object per event loop, for objects that belong to a loop (tasks, semaphores, connections)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One T per event loop, created on first use and discarded with the loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def get(self) -> T:
        """Return the object of the running loop, and create it first if necessary."""
        loop = asyncio.get_running_loop()
        value = self._values.get(loop)
        if value is None:
            value = self._values[loop] = self._make()
        return value

    def pop(self) -> T | None:
        """Remove the object of the running loop and return it, or return None if the loop has none."""
        return self._values.pop(asyncio.get_running_loop(), None)
