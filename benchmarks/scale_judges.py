"""The evaluators of scale.py, in a module of their own: workers import it.

A judgment's value is when it was begun, in seconds, and its reason when it was done: what start-up takes is told apart.
"""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.records import Item, Judgment

_TURNS: dict[str, asyncio.Lock] = {}


class Spinning(Evaluator):
    """Keeps a processor busy for so many seconds for each summary."""

    name: ClassVar[str] = "spinning"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "takes seconds of a processor"
    aspects: ClassVar[tuple[str, ...]] = ("coherence",)

    seconds: float = 0.2

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """When it was."""
        begun, until = time.time(), time.thread_time() + self.seconds
        while time.thread_time() < until:
            sum(range(1_000))
        return [JudgmentBuilder(self, item, tools.signature).ok("coherence", value=begun, reason=str(time.time()))]


class Sleeping(Evaluator):
    """Sleeps so many seconds for each summary, those of a document one after another: a model that is asked in turn."""

    name: ClassVar[str] = "sleeping"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "takes seconds of nobody"
    aspects: ClassVar[tuple[str, ...]] = ("coherence",)

    seconds: float = 0.05

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """When it was."""
        async with _TURNS.setdefault(item.document.id, asyncio.Lock()):
            begun = time.time()
            await asyncio.sleep(self.seconds)
            ended = time.time()
        return [JudgmentBuilder(self, item, tools.signature).ok("coherence", value=begun, reason=str(ended))]
