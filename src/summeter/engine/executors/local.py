"""Units of work in this process: `map(work, units) -> results`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

U = TypeVar("U")
R = TypeVar("R")


class LocalExecutor:
    """Up to `width` units at once in this process. Units are drawn as places fall free, so that neither
    tasks nor results pile up. The first error stops everything and is raised."""

    def __init__(self, width: int) -> None:
        self.width = width

    async def run(self, work: Callable[[U], Awaitable[object]], units: Iterable[U]) -> None:
        """Do all units, whose results are not needed."""
        async for _ in self.map(work, units):
            pass

    async def map(self, work: Callable[[U], Awaitable[R]], units: Iterable[U]) -> AsyncIterator[R]:
        source = iter(units)
        running: set[asyncio.Task[R]] = set()
        try:
            while True:
                while len(running) < self.width and (unit := next(source, None)) is not None:
                    running.add(asyncio.ensure_future(work(unit)))
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                errors = [error for task in done if (error := task.exception()) is not None]
                if errors:
                    raise errors[0]  # the others, if any, say the same of other units
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
