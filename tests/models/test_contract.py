"""Every layer and provider is an LLM, keeps its id, passes cancellation through, and closes what is below."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from summeter.models.base import LLM, Completion, Message, Request
from summeter.models.layers.cache import Cache, replay
from summeter.models.layers.formats import FormatFallback
from summeter.models.layers.rate_limit import RateLimited, RateLimiter
from summeter.models.layers.retry import Retry
from summeter.models.providers.provider import PROVIDERS, providers
from summeter.models.providers.scripted import Scripted
from summeter.models.resolve import resolve, stack
from summeter.records import ModelError
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
    """An LLM that never answers, and notes what happens to it."""

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
def test_is_an_llm_and_keeps_the_id(name: str) -> None:
    layer = LAYERS[name](Probe())
    assert isinstance(layer, LLM)
    assert layer.id == "probe/one"


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
def test_passes_replies_and_failures_through(name: str) -> None:
    layer = LAYERS[name](Scripted({"hello": "hi"}, id="probe/one"))
    assert asyncio.run(layer.complete(REQUEST)).text == "hi"
    unknown = REQUEST.model_copy(update={"messages": (Message(role="user", content="?"),)})
    with pytest.raises(ModelError, match="no rule fits"):
        asyncio.run(layer.complete(unknown))


@pytest.mark.parametrize("name", LAYERS)
def test_serves_one_event_loop_after_another(name: str) -> None:
    layer = LAYERS[name](Scripted({"hello": "hi"}, id="probe/one"))

    async def many() -> list[Completion]:
        return await asyncio.gather(*(layer.complete(REQUEST.model_copy(update={"draw": n})) for n in range(5)))

    for _ in range(3):
        assert [reply.text for reply in asyncio.run(many())] == ["hi"] * 5


def test_replay_is_an_llm() -> None:
    recorded = replay("a/b", CallStore())
    assert isinstance(recorded, LLM)
    asyncio.run(recorded.close())


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_every_provider_of_the_registry_makes_an_llm(name: str, tmp_path) -> None:
    rules = tmp_path / "rules.jsonl"
    rules.write_text('{"reply": "hi"}\n')
    rest = {"scripted": str(rules), "openai-api": "mine/model"}.get(name, "model")
    variables = {name: "k" for row in PROVIDERS.values() for names in row.variables for name in names}
    own = {"MINE_BASE_URL": "http://127.0.0.1:9/v1", "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com"}
    environ = {**variables, **own}
    llm = resolve(f"{name}/{rest}", environ=environ)
    assert isinstance(llm, LLM)
    assert llm.id == f"{name}/{rest}"
    assert providers()[name] == PROVIDERS[name]
