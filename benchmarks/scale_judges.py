"""Evaluators of scale.py, in a separate module that workers import.

The value of a judgment is its start time in seconds, and the reason its end time, so that start-up can be separated.
"""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.records import Item, Judgment

_TURNS: dict[str, asyncio.Lock] = {}


class Spinning(Evaluator):
    """Uses the processor for a number of seconds per summary."""

    name: ClassVar[str] = "spinning"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "uses processor time"
    aspects: ClassVar[tuple[str, ...]] = ("coherence",)

    seconds: float = 0.2

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return a judgment with its start and end time."""
        begun, until = time.time(), time.thread_time() + self.seconds
        while time.thread_time() < until:
            sum(range(1_000))
        return [JudgmentBuilder(self, item, tools.signature).ok("coherence", value=begun, reason=str(time.time()))]


class Sleeping(Evaluator):
    """Sleeps for a number of seconds per summary, one summary of a document at a time, like sequential model calls."""

    name: ClassVar[str] = "sleeping"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "sleeps"
    aspects: ClassVar[tuple[str, ...]] = ("coherence",)

    seconds: float = 0.05

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return a judgment with its start and end time."""
        async with _TURNS.setdefault(item.document.id, asyncio.Lock()):
            begun = time.time()
            await asyncio.sleep(self.seconds)
            ended = time.time()
        return [JudgmentBuilder(self, item, tools.signature).ok("coherence", value=begun, reason=str(ended))]
