"""Each layer separately: cache, retries, rate limit, formats, accounting, replay. No network, no real waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.server import asked
from together import together

from summeter.models.base import LLM, Completion, Message, Request
from summeter.models.layers.cache import Cache, replay
from summeter.models.layers.checks import Checked
from summeter.models.layers.formats import FormatFallback
from summeter.models.layers.rate_limit import RateLimited, RateLimiter
from summeter.models.layers.retry import Retry, RetryPolicy
from summeter.models.providers.scripted import Rule, Scripted
from summeter.models.resolve import stack
from summeter.records import CapabilityError, ModelError, ReplayMiss, TransientError, UsageError, WriteError
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


class Waits:
    """A sleep that only records its duration."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


# The contract: layers are LLMs, keep the id, and forward cancellation and closing

LAYERS: dict[str, Callable[[LLM], LLM]] = {
    "cache": lambda llm: Cache(llm, CallStore()),
    "cache without store": Cache,
    "retry": lambda llm: Retry(llm, rng=random.Random(0)),
    "limit": lambda llm: RateLimited(llm, RateLimiter(1)),
    "formats": FormatFallback,
    "stack": lambda llm: stack(llm, CallStore()),
}


class Probe:
    """An LLM that never replies and records its calls."""

    id = "scripted/rules"

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
        task = asyncio.create_task(layer.complete(asked()))
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
    layer = LAYERS[name](Scripted({"hello": "hi"}))

    async def many() -> list[Completion]:
        return await asyncio.gather(*(layer.complete(asked(draw=n)) for n in range(5)))

    for _ in range(3):
        assert [reply.text for reply in asyncio.run(many())] == ["hi"] * 5


# Cache


def test_a_reply_is_stored_before_it_is_returned(tmp_path: Path) -> None:
    with CallStore(tmp_path / "calls.sqlite") as store, CallStore(tmp_path / "calls.sqlite") as other:
        request = asked()
        reply = run(Cache(Scripted({"hello": "hi"}), store).complete(request))
        stored = other.get(request.key)
        assert stored is not None
        assert Completion.model_validate_json(stored) == reply
        (call,) = other.tokens()
        assert Request.model_validate_json(other.request(call.key)) == request
        assert call.model == "m"


def test_a_failure_reaches_every_waiter_is_counted_once_and_not_stored() -> None:
    # Tried three times: tries beyond the first and failures together are what the server saw.
    llm = Scripted([Rule(error="transient", times=3), Rule(reply="better")], latency=0.01)

    async def main() -> Usage:
        cache = stack(llm, CallStore(), retry=RetryPolicy(2, first=0.0))
        failed = await asyncio.gather(*(cache.complete(asked()) for _ in range(6)), return_exceptions=True)
        assert all(isinstance(one, ModelError) for one in failed)
        assert (await cache.complete(asked())).text == "better"
        return cache.usage

    usage = run(main())
    assert (usage.sent, usage.joined, usage.retries, usage.failures) == (2, 5, 2, 1)


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_a_cancelled_waiter_does_not_cancel_the_call(leave: list[bool]) -> None:
    """A cancelled waiter does not cancel the call of the others; the call is cancelled with its last waiter."""
    ended: list[str] = []
    go = asyncio.Event()

    class Slow:
        id = "slow/one"

        async def complete(self, request: Request) -> Completion:
            try:
                await go.wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise
            ended.append("answered")
            return Completion(text="hi")

        async def close(self) -> None: ...

    async def main() -> None:
        cache = Cache(Slow())
        tasks = [asyncio.create_task(cache.complete(asked())) for _ in leave]
        await asyncio.sleep(0.001)
        for task, leaves in zip(tasks, leave, strict=True):
            if leaves:
                task.cancel()
        await asyncio.sleep(0.001)
        go.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end, leaves in zip(ends, leave, strict=True):
            assert isinstance(end, asyncio.CancelledError) if leaves else end.text == "hi"
        assert len(asyncio.all_tasks()) == 1  # nothing goes on behind our backs

    run(main())
    assert ended == ["cancelled" if all(leave) else "answered"]


def test_the_first_of_two_processes_wins(tmp_path: Path) -> None:
    with CallStore(tmp_path / "calls.sqlite") as mine, CallStore(tmp_path / "calls.sqlite") as theirs:

        def reply(request: Request) -> str:
            # While we wait, another process stores its own reply.
            theirs.put(request.key, request.canonical, Completion(text="theirs").model_dump_json())
            return "mine"

        assert run(Cache(Scripted(reply), mine).complete(asked())).text == "theirs"


def test_a_write_error_is_raised_for_all_waiters() -> None:
    store = CallStore()

    def reply(request: Request) -> str:
        store.close()
        return "never seen"

    async def main() -> None:
        cache = Cache(Scripted(reply), store)
        ends = await asyncio.gather(*(cache.complete(asked()) for _ in range(2)), return_exceptions=True)
        assert [type(end) for end in ends] == [UsageError] * 2  # as the result store says it
        assert "closed" in str(ends[0])

    run(main())


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_many_at_once_are_all_stored_each_once(numbers: list[int]) -> None:
    store, llm = CallStore(), Scripted(lambda request: request.prompt)

    async def main() -> list[Completion]:
        cache = Cache(llm, store)
        return await asyncio.gather(*(cache.complete(asked(str(number))) for number in numbers))

    assert [reply.text for reply in run(main())] == [str(number) for number in numbers]
    assert llm.calls == len(store) == len(set(numbers))


# Retry


def test_tries_again_until_it_answers() -> None:
    llm, waits, usage = Scripted([Rule(error="transient", times=3), Rule(reply="hi")]), Waits(), Usage()
    retry = Retry(llm, RetryPolicy(max_retries=3), rng=random.Random(1), sleep=waits, usage=usage)
    assert run(retry.complete(asked())).text == "hi"
    assert llm.calls == 4
    assert usage.retries == 3
    draws = random.Random(1)
    # Full jitter: uniform from 0 to 0.5, 1, 2 seconds.
    assert waits.seconds == [draws.uniform(0, 0.5), draws.uniform(0, 1.0), draws.uniform(0, 2.0)]


def test_gives_up_with_the_last_error_and_the_count() -> None:
    waits = Waits()
    retry = Retry(Scripted([Rule(error="transient")]), RetryPolicy(max_retries=2), rng=random.Random(1), sleep=waits)
    with pytest.raises(TransientError, match=r"a scripted failure \(gave up after 3 tries\)"):
        run(retry.complete(asked()))
    assert len(waits.seconds) == 2


@pytest.mark.parametrize("error", ["model", "temperature", "json_schema"])
def test_permanent_failures_are_not_retried(error: str) -> None:
    llm = Scripted([{"error": error}])
    with pytest.raises(ModelError):
        run(Retry(llm, rng=random.Random(1), sleep=Waits()).complete(asked()))
    assert llm.calls == 1


@given(
    st.integers(1, 12),
    st.one_of(st.none(), st.floats(0, 200)),
    st.integers(0, 2**32),
    st.floats(0.01, 5),
    st.floats(1, 60),
)
def test_waits_are_in_range(tries: int, asked: float | None, seed: int, first: float, longest: float) -> None:
    wait = RetryPolicy(first=first, longest=longest).wait(tries, asked, random.Random(seed))
    if asked is None:
        assert 0 <= wait <= min(longest, first * 2 ** (tries - 1))
    else:
        assert asked <= wait <= asked + first


def test_waits_are_short_again_once_others_are_answered() -> None:
    """Waits grow over eight consecutive failures, unless another call is answered in between."""

    def most(beside: bool) -> float:
        llm = Scripted([Rule(match="bad", error="transient", times=8), Rule(reply="fine")])
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)
            if beside:
                await retry.complete(asked("good"))

        retry = Retry(llm, RetryPolicy(max_retries=8, first=1.0), rng=random.Random(3), sleep=sleep)
        run(retry.complete(asked("bad")))
        assert len(waits) == 8
        return max(waits)

    assert most(beside=False) > 8
    assert most(beside=True) <= 1.0


def test_a_retry_after_beyond_the_patience_ends_the_call() -> None:
    waits = Waits()
    llm = Scripted([Rule(error="transient", retry_after=3600.0)])
    with pytest.raises(TransientError, match="asks to wait 3600 s, this run waits at most 300 s; gave up after 1 try"):
        run(Retry(llm, rng=random.Random(1), sleep=waits).complete(asked()))
    assert waits.seconds == []


# Formats


def knows(*formats: str) -> Callable[[Request], str]:
    """Return a server that supports these reply formats and records the requested one."""

    def reply(request: Request) -> str:
        if request.format not in formats:
            if request.format == "text":
                raise ModelError("refused whatever the format")
            raise CapabilityError("refused", lacks=request.format)
        return request.format

    return reply


STRICT = asked(format="json_schema", schema_name="verdicts", schema_={"type": "object"})


@together(
    "formats, asked",
    [
        (("json_schema", "json_object", "text"), ["json_schema", "json_schema"]),
        (("json_object", "text"), ["json_schema", "json_object", "json_object"]),
        (("text",), ["json_schema", "json_object", "text", "text"]),
    ],
)
def test_falls_back_once_and_remembers(formats: tuple[str, ...], asked: list[str]) -> None:
    llm = Scripted(knows(*formats))
    layer = FormatFallback(llm)
    assert [run(layer.complete(STRICT)).text for _ in range(2)] == [formats[0]] * 2
    assert [request.format for request in llm.requests] == asked


@together(
    "formats, calls",
    [
        # A refusal of all formats, and a refusal after a success, are not remembered; the others are, by schema.
        ({"bad": ()}, [("bad", "verdicts", None), ("good", "verdicts", "json_schema")]),
        (
            {"odd": ("json_object",)},
            [
                ("good", "verdicts", "json_schema"),
                ("odd", "verdicts", "json_object"),
                ("good", "verdicts", "json_schema"),
            ],
        ),
        (
            {"odd": ("json_object",)},
            [("odd", "verdicts", "json_object"), ("good", "verdicts", "json_object"), ("good", "facts", "json_schema")],
        ),
    ],
)
def test_refusals_are_remembered_by_schema_if_they_are_about_the_format(
    formats: dict[str, tuple[str, ...]], calls: list[tuple[str, str, str | None]]
) -> None:
    """`formats` holds the formats of prompts that are refused in others; `calls` (prompt, schema, format of reply)."""
    layer = FormatFallback(Scripted(lambda request: knows(*formats.get(request.prompt, (request.format,)))(request)))
    for text, schema, answered in calls:
        turn = (Message(role="user", content=text),)
        request = STRICT.model_copy(update={"messages": turn, "schema_name": schema})
        if answered is None:
            with pytest.raises(ModelError, match="whatever the format"):
                run(layer.complete(request))
        else:
            assert run(layer.complete(request)).text == answered


def test_a_refused_temperature_does_not_change_the_format() -> None:
    llm = Scripted([Rule(error="temperature")])
    with pytest.raises(CapabilityError) as caught:
        run(FormatFallback(llm).complete(STRICT))
    assert caught.value.lacks == "temperature"
    assert llm.calls == 1


# Meter and replay


def test_usage_is_counted_once() -> None:
    rules = [
        Rule(match="bad", error="model"),
        Rule(match="slow", error="transient", times=2),
        Rule(reply="hi", tokens_in=10, tokens_out=3),
    ]

    async def main() -> Usage:
        llm = Scripted(rules)
        meter = stack(llm, CallStore(), retry=RetryPolicy(first=0.0), rng=random.Random(0))
        await asyncio.gather(meter.complete(asked("a")), meter.complete(asked("a")), meter.complete(asked("slow")))
        await meter.complete(asked("a"))
        with pytest.raises(ModelError):
            await meter.complete(asked("bad"))
        await meter.close()
        assert llm.closed
        return meter.usage

    usage = run(main())
    # Five questions: "a" sent, joined, hit; "slow" sent with two retries; "bad" sent and failed.
    assert (usage.sent, usage.joined, usage.hits) == (3, 1, 1)
    assert (usage.retries, usage.failures) == (2, 1)
    assert (usage.tokens_in, usage.tokens_out, usage.without_tokens) == (20, 6, 0)


def test_replay_gives_the_recorded_reply_and_names_a_missing_one() -> None:
    store = CallStore()
    recorded = run(stack(Scripted({"hello": "hi"}), store).complete(asked()))
    again = replay("scripted/rules", store)
    assert run(again.complete(asked())) == recorded
    other = asked("something else entirely")
    with pytest.raises(ReplayMiss, match="something else entirely") as caught:
        run(again.complete(other))
    assert "scripted/rules" in str(caught.value)
    assert other.key[:12] in str(caught.value)
    assert "without replay" in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device", "run/judgments/rts.jsonl"),
        OSError("gone"),
        WriteError.of("run/calls.sqlite", "the call store", OSError("gone")),
    ],
)
def test_nothing_is_sent_after_a_failed_write_of_any_kind(error: Exception) -> None:
    llm = Scripted({"hello": "hi"})
    meter = stack(Checked(llm, held={}, broken=lambda: error), CallStore())
    with pytest.raises(WriteError, match=r"cannot be written: .*to resume"):
        run(meter.complete(asked()))
    assert (len(llm.requests), meter.usage.failures) == (0, 0)


def test_a_failure_releases_its_permit() -> None:
    limit = RateLimited(Scripted([Rule(error="model")]), RateLimiter(1))

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(ModelError):
                await limit.complete(asked())

    run(main())
