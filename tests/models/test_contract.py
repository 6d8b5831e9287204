"""The contract of layers and providers: they are LLMs, keep the id, and forward cancellation and closing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from summeter.models.base import LLM, Completion, Message, Request
from summeter.models.layers.cache import Cache
from summeter.models.layers.formats import FormatFallback
from summeter.models.layers.rate_limit import RateLimited, RateLimiter
from summeter.models.layers.retry import Retry
from summeter.models.providers.scripted import Scripted
from summeter.models.resolve import stack
from summeter.runs.calls import CallStore

LAYERS: dict[str, Callable[[LLM], LLM]] = {
    "cache": lambda llm: Cache(llm, CallStore()),
    "cache without store": Cache,
    "retry": lambda llm: Retry(llm, rng=random.Random(0)),
    "limit": lambda llm: RateLimited(llm, RateLimiter(1)),
    "formats": FormatFallback,
    "stack": lambda llm: stack(llm, CallStore()),
}

REQUEST = Request(model="probe/one", messages=(Message(role="user", content="hello"),))


class Probe:
    """An LLM that never replies and records its calls."""

    id = "probe/one"

    def __init__(self) -> None:
        self.events: list[str] = []

    async def complete(self, request: Request) -> Completion:
        self.events.append("asked")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.events.append("cancelled")
            raise
        return Completion(text="late")

    async def close(self) -> None:
        self.events.append("closed")


@pytest.mark.parametrize("name", LAYERS)
def test_passes_cancellation_and_closing_through(name: str) -> None:
    probe = Probe()

    async def main() -> None:
        layer = LAYERS[name](probe)
        task = asyncio.create_task(layer.complete(REQUEST))
        while not probe.events:  # noqa: ASYNC110 - the probe knows of no events of asyncio
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        await layer.close()

    asyncio.run(main())
    assert probe.events == ["asked", "cancelled", "closed"]


@pytest.mark.parametrize("name", LAYERS)
def test_serves_one_event_loop_after_another(name: str) -> None:
    layer = LAYERS[name](Scripted({"hello": "hi"}, id="probe/one"))

    async def many() -> list[Completion]:
        return await asyncio.gather(*(layer.complete(REQUEST.model_copy(update={"draw": n})) for n in range(5)))

    for _ in range(3):
        assert [reply.text for reply in asyncio.run(many())] == ["hi"] * 5
