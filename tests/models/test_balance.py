"""Load balancing over several servers of one model, and failures of a server."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from models.server import HANG, StubServer, asked, fail, ok
from models.virtual import virtual_loop
from together import together

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.options import Options
from summeter.models.base import Completion, Request
from summeter.models.context_length import context_lengths
from summeter.models.layers.balance import FIRST_PAUSE, Balanced, Server
from summeter.models.layers.rate_limit import RateLimiter
from summeter.models.providers.provider import Options as EndpointOptions
from summeter.models.providers.provider import base_urls
from summeter.models.resolve import CallSettings, bind
from summeter.records import ModelError, TransientError, UnreachableError, UsageError
from summeter.runs.usage import Usage


def asks(text: str, document: str | None = None) -> Request:
    fenced = "" if document is None else f"<<<document 1f>>>\n{document}\n<<<end of document 1f>>>\n"
    return asked(fenced + text)


class Fake:
    """A server that replies after `seconds`, or raises the error that `error` returns; `well` is its health."""

    id = "vllm/m"

    def __init__(self, seconds: float = 1.0, error: Callable[[], Exception | None] = lambda: None) -> None:
        self.seconds, self.error, self.well = seconds, error, True
        self.prompts: list[str] = []
        self.checked: list[float] = []
        self.closed = False

    async def complete(self, request: Request) -> Completion:
        self.prompts.append(request.prompt)
        await asyncio.sleep(self.seconds)
        if (error := self.error()) is not None:
            raise error
        return Completion(text="fine")

    async def healthy(self) -> bool:
        self.checked.append(asyncio.get_running_loop().time())
        return self.well

    async def close(self) -> None:
        self.closed = True


def balanced(*fakes: Fake, usage: Usage | None = None) -> Balanced:
    servers = [Server(fake, f"http://{place}", fake.healthy, RateLimiter(64)) for place, fake in enumerate(fakes)]
    return Balanced(servers, usage=usage)


def in_virtual_time(main: Callable[[], Any]) -> None:
    with virtual_loop() as loop:
        loop.run_until_complete(main())


def test_a_call_goes_to_the_server_with_the_fewest_tokens_in_flight() -> None:
    quick, slow = Fake(1.0), Fake(4.0)
    both = balanced(quick, slow)

    async def main() -> None:
        gate = asyncio.Semaphore(4)

        async def call(number: int) -> None:
            async with gate:
                await both.complete(asks(f"question {number}"))

        await asyncio.gather(*(call(number) for number in range(40)))

    in_virtual_time(main)
    assert len(quick.prompts) + len(slow.prompts) == 40
    assert len(quick.prompts) > 2 * len(slow.prompts) > 0


def test_a_long_prompt_weighs_as_much_as_it_has_tokens() -> None:
    first, second = Fake(), Fake()
    both = balanced(first, second)

    async def main() -> None:
        long = asyncio.create_task(both.complete(asks("word " * 3000)))
        await asyncio.sleep(0)
        await asyncio.gather(*(both.complete(asks(f"short {number}")) for number in range(8)))
        await long

    in_virtual_time(main)
    assert sorted((len(first.prompts), len(second.prompts))) == [1, 8]


def test_a_document_returns_to_the_server_that_read_it() -> None:
    fakes = [Fake(), Fake(), Fake()]
    all_three = balanced(*fakes)

    async def main() -> None:
        for turn in range(5):  # one after another: nothing is under way, and every server is as good
            for name in ("elm", "oak", "ash"):
                await all_three.complete(asks(f"summary {turn}", document=name))

    in_virtual_time(main)
    homes = [{prompt.split("\n")[1] for prompt in fake.prompts} for fake in fakes]
    assert sorted(map(len, homes)) == [1, 1, 1]
    assert set().union(*homes) == {"elm", "oak", "ash"}


def test_many_summaries_of_one_document_are_distributed() -> None:
    first, second = Fake(), Fake()
    both = balanced(first, second)

    async def main() -> None:
        await both.complete(asks("the first", document="elm"))
        await asyncio.gather(*(both.complete(asks(f"summary {number}", document="elm")) for number in range(40)))

    in_virtual_time(main)
    assert min(len(first.prompts), len(second.prompts)) >= 12


def test_a_failing_server_is_excluded_until_it_recovers(caplog: pytest.LogCaptureFixture) -> None:
    down = {"yes": True}
    sick = Fake(0.1, lambda: TransientError("it broke") if down["yes"] else None)
    sick.well = False
    good = Fake(0.1)
    both = balanced(sick, good)

    async def main() -> None:
        for number in range(20):
            assert (await both.complete(asks(f"early {number}"))).text == "fine"
        asked = len(sick.prompts)
        assert asked == 3  # then it was left out
        down["yes"] = False
        await asyncio.sleep(2 * FIRST_PAUSE)
        assert sick.checked  # it is not well yet
        sick.well = True
        await asyncio.sleep(8 * FIRST_PAUSE)
        await asyncio.gather(*(both.complete(asks(f"late {number}")) for number in range(10)))
        assert len(sick.prompts) == asked + 5
        await both.close()

    with caplog.at_level(logging.WARNING):
        in_virtual_time(main)
    pauses = [later - earlier for earlier, later in pairwise(sick.checked)]
    assert pauses == [2 * FIRST_PAUSE, 4 * FIRST_PAUSE][: len(pauses)]
    assert pauses
    assert "http://0 is not used until it answers again (it broke)" in caplog.text
    assert "http://0 answers again" in caplog.text
    assert sick.closed
    assert good.closed


def test_an_unreachable_server_is_excluded_at_once() -> None:
    gone = Fake(0.0, lambda: UnreachableError("nobody there"))
    gone.well = False
    both = balanced(gone, Fake())

    async def main() -> None:
        for number in range(5):
            await both.complete(asks(f"question {number}"))
        assert len(gone.prompts) == 1
        await both.close()  # nothing is left running

    in_virtual_time(main)


def test_an_unreachable_server_does_not_hide_a_transient_failure() -> None:
    outcomes = iter([TransientError("it broke"), None])
    gone, moody = Fake(0.0, lambda: UnreachableError("nobody there")), Fake(0.0, lambda: next(outcomes, None))
    gone.well = False
    usage = Usage()
    both = balanced(gone, moody, usage=usage)

    async def main() -> None:
        with pytest.raises(TransientError, match="it broke"):  # what a retry is for, whichever failed last
            await both.complete(asks("question"))
        assert usage.retries == 1
        assert (await both.complete(asks("question"))).text == "fine"
        await both.close()

    in_virtual_time(main)


def test_single_failures_do_not_exclude_a_server() -> None:
    outcomes = iter([TransientError("once"), None, TransientError("again"), None, TransientError("and again"), None])
    moody = Fake(0.1, lambda: next(outcomes, None))
    both = balanced(moody, Fake(50.0))

    async def main() -> None:
        held = asyncio.create_task(both.complete(asks("word " * 5000)))  # the first server is busy with it, and fails
        await asyncio.sleep(1)
        for number in range(5):
            await both.complete(asks(f"question {number}"))
        assert moody.checked == []
        await held

    in_virtual_time(main)


def test_a_call_fails_if_all_servers_fail_and_other_errors_are_raised_at_once() -> None:
    sick = [Fake(0.0, lambda: TransientError("it broke")) for _ in range(3)]
    strict = [Fake(0.0, lambda: ModelError("the prompt is at fault")) for _ in range(3)]

    async def main() -> None:
        several = balanced(*sick)
        for _ in range(4):
            with pytest.raises(TransientError, match="it broke"):
                await several.complete(asks("question"))
        assert [len(fake.prompts) for fake in sick] == [4, 4, 4]
        await several.close()
        with pytest.raises(ModelError, match="at fault"):
            await balanced(*strict).complete(asks("question"))
        assert [len(fake.prompts) for fake in strict] == [1, 0, 0]

    in_virtual_time(main)


ROWS = [
    {
        "document": f"The bridge {number} is long.",
        "summary": f"Bridge {number} is short, writes {system}.",
        "system": system,
    }
    for number in range(12)
    for system in "ab"
]


def rated(call: Any) -> Any:
    return ok('{"reason": "It is.", "score": 4}') if call.number >= 0 else ok()


def test_a_run_shares_its_calls_among_servers_and_survives_the_loss_of_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    with (
        StubServer(rated) as one,
        StubServer(lambda _: fail(500, "the engine died")) as two,
        StubServer(rated) as three,
    ):
        run = evaluate(
            load(ROWS), ["rts"], models="vllm/m", out=tmp_path / "run", concurrency=4,
            base_url=f"{one.url}, {two.url},{three.url}",
        )  # fmt: skip
        assert Counter(score.status for score in run.scores()) == {"ok": 24}
        assert len(one.calls) + len(three.calls) == 24
        assert min(len(one.calls), len(three.calls)) >= 6
        assert 1 <= len(two.calls) <= 8  # until it was left out
        assert f"{one.url},{two.url},{three.url}" in (tmp_path / "run" / "run.json").read_text()


def test_the_least_context_of_the_servers_counts() -> None:
    with StubServer(rated) as one, StubServer(rated) as two:
        for server, length in ((one, 8192), (two, 4096)):
            server.gets["/v1/models"] = {"data": [{"id": "m", "max_model_len": length}]}
        options = EndpointOptions(base_url=f"{one.url},{two.url}", environ={})
        told = asyncio.run(context_lengths(["vllm/m"], options))["vllm/m"]
    assert told.tokens == 4096
    assert two.url in told.said


def test_the_health_check_of_a_server() -> None:
    async def well(url: str) -> bool:
        bound = bind({"judge": "vllm/m"}, None, CallSettings(base_url=f"{url},http://127.0.0.1:9/v1"))
        servers = bound.models["vllm/m"].llm.llm.servers  # type: ignore[attr-defined]
        answers = [await server.healthy() for server in servers]
        await bound.close()
        assert answers[1] is False
        return answers[0]

    with StubServer(rated) as server:
        assert asyncio.run(well(server.url))
        assert server.got == ["/health"]


@together(
    "base_url, batch, said",
    [
        ("http://a/v1,http://a/v1", False, "contains an address twice"),
        ("http://a/v1,http://b/v1", True, "several servers are supported only for unbatched calls"),
        *((f"http://me:s3cret@a/v1,{second}", False, "address 1 contains a comma")
          for second in ("b:8000/v1", "ftp://b/v1", ",http://b/v1")),
    ],
)  # fmt: skip
def test_invalid_lists_of_servers_are_usage_errors(base_url: str, batch: bool, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        bind({"judge": "openai-api/x/m"}, None, CallSettings(base_url=base_url, batch=batch))
    assert "s3cret" not in str(caught.value)


def test_a_comma_in_the_query_of_an_address_is_kept() -> None:
    assert base_urls("http://a/v1?keep=1,2") == ("http://a/v1?keep=1,2",)


def test_no_secret_of_any_address_is_kept() -> None:
    kept = Options.of(base_url="https://a/v1?key=s3cret,https://b/v1#w0rd").model_dump(mode="json")["base_url"]
    assert kept == "https://a/v1,https://b/v1"


def test_calls_leave_a_server_that_hangs() -> None:
    with StubServer(rated) as good, StubServer(lambda _: HANG) as hung:
        run = evaluate(
            load(ROWS[:6]), ["rts"], models="vllm/m", base_url=f"{hung.url},{good.url}", timeout=0.5, concurrency=2,
        )  # fmt: skip
        assert {score.status for score in run.scores()} == {"ok"}
        assert len(good.calls) >= 6
