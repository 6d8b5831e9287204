"""Process items concurrently in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LocalExecutor:
    """Processes up to `width` items concurrently.

    Items are drawn one by one, so that neither tasks nor results accumulate. The first error cancels all other tasks
    and is raised.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    async def run(self, work: Callable[[T], Awaitable[object]], items: Iterable[T]) -> None:
        """Process all items, and discard the results."""
        async for _ in self.map(work, items):
            pass

    async def map(self, work: Callable[[T], Awaitable[R]], items: Iterable[T]) -> AsyncIterator[R]:
        """Process all items, and yield the results in the order in which they are finished."""
        source = iter(items)
        running: set[asyncio.Task[R]] = set()
        try:
            while True:
                while len(running) < self.width and (item := next(source, None)) is not None:
                    running.add(asyncio.ensure_future(work(item)))
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                errors = [error for task in done if (error := task.exception()) is not None]
                if errors:
                    raise errors[0]
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
