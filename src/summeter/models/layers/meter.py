"""Counts what is asked and what it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.base import Layer


@dataclass
class Usage:
    """Running totals of one model.

    `asked` = `hits` (answered by the store) + `joined` (shared another's call) + `sent` (answered or
    failed afresh) once nothing is under way. `failures` are calls that came to nothing, each once, however many joined
    it; `retries` the tries beyond each call's first. Tokens and `seconds` (of fresh replies, as the provider tells
    them) are sums, those of replies that came and could not be used among them; a reply without them adds nothing and
    counts in `untold`. `tokens_cached` is that part of `tokens_in` which the provider's own cache served.
    """

    asked: int = 0
    hits: int = 0
    joined: int = 0
    sent: int = 0
    retries: int = 0
    failures: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    untold: int = 0
    seconds: float = 0.0
    waited: float = 0.0

    def fresh(self, completion: Completion) -> None:
        """A reply that was not stored before."""
        self.seconds += completion.seconds or 0.0
        if completion.tokens_in is None or completion.tokens_out is None:
            self.untold += 1
        self.tokens_in += completion.tokens_in or 0
        self.tokens_out += completion.tokens_out or 0
        self.tokens_cached += completion.tokens_cached or 0

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


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
