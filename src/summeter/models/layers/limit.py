"""At most so many calls at one time."""

from __future__ import annotations

import asyncio

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.loops import PerLoop
from summeter.records import UsageError


class Gate:
    """Lets `size` calls through at one time, first come, first served. Models of one endpoint share one."""

    def __init__(self, size: int) -> None:
        if size < 1:
            raise UsageError(f"the number of connections must be at least 1, not {size}")
        self.size = size
        self._semaphores: PerLoop[asyncio.Semaphore] = PerLoop(lambda: asyncio.Semaphore(size))

    def open(self) -> asyncio.Semaphore:
        """The running loop's semaphore."""
        return self._semaphores.get()


class Limit:
    """Holds a place at the gate for as long as a call takes."""

    def __init__(self, llm: LLM, gate: Gate) -> None:
        self.llm = llm
        self._gate = gate

    @property
    def id(self) -> str:
        """The model string."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """The reply of the layer below, once there is a place."""
        async with self._gate.open():
            return await self.llm.complete(request)

    async def close(self) -> None:
        """Close what is below."""
        await self.llm.close()
