"""Counts what is asked and what it takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.base import Layer
from summeter.runs.usage import Usage


class Meter(Layer):
    """The outermost layer: every question passes here. `usage` is live; the layers below count in it, too."""

    def __init__(self, llm: LLM, usage: Usage | None = None, *, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(llm)
        self.usage = usage or Usage()
        self._clock = clock

    async def complete(self, request: Request) -> Completion:
        self.usage.asked += 1
        start = self._clock()
        try:
            return await self.llm.complete(request)
        finally:
            self.usage.waited += self._clock() - start


def count_reply(usage: Usage, completion: Completion) -> None:
    """Count a reply that was not stored before."""
    usage.seconds += completion.seconds or 0.0
    if completion.tokens_in is None or completion.tokens_out is None:
        usage.untold += 1
    usage.tokens_in += completion.tokens_in or 0
    usage.tokens_out += completion.tokens_out or 0
    usage.tokens_cached += completion.tokens_cached or 0
