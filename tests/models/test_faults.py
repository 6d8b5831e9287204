"""All layers with a misbehaving server: no item is lost, no value is invented, and every wait ends."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.server import CUT_BODY, HANG, RESET, Call, Reply, StubServer, fail, ok

from summeter.models.base import LLM, Message
from summeter.models.layers.cache import Cache, replay
from summeter.models.layers.rate_limit import RateLimited, RateLimiter
from summeter.models.layers.retry import Retry, RetryPolicy
from summeter.models.prompts import Prompt
from summeter.models.resolve import Bound, CallSettings, bind, resolve, stack
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import ModelError, ReplyError
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

FAST = RetryPolicy(max_retries=12, first=0.01, longest=0.05)


def read(text: str) -> int:
    """Parse a reply with a single integer."""
    try:
        found = json.loads(text)["n"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReplyError(f"no JSON object with n: {error}") from error
    if not isinstance(found, int):
        raise ReplyError("n is not a whole number")
    return found


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
FORM = Form("number", SCHEMA, read)


def prompt(text: str) -> Prompt:
    return Prompt("p", "0000", (Message(role="user", content=text),))


def connect(server: StubServer, store: CallStore | None = None, policy: RetryPolicy = FAST, **options: Any) -> Cache:
    llm = resolve("openai-api/stub/tiny", base_url=server.url, environ={}, **options)
    return stack(
        llm, store, retry=policy, rng=random.Random(7), limiter=RateLimiter(options.get("max_connections", 32))
    )


async def ask_all(meter: LLM, count: int) -> list[Answer[int] | BaseException]:
    bound = BoundLLM(meter)
    try:
        return await asyncio.gather(
            *(bound.ask(prompt(f"item {n}"), FORM) for n in range(count)), return_exceptions=True
        )
    finally:
        await meter.close()


def number(call: Call) -> int:
    return int(call.body["messages"][0]["content"].split()[1])


def test_nothing_is_lost_when_a_third_of_all_replies_fail() -> None:
    rng = random.Random(3)
    wild = [fail(429, "slow", Retry_After="0.02"), fail(500), fail(503), RESET, CUT_BODY, Reply(content=b"<html>")]

    def behave(call: Call) -> Reply:
        if rng.random() < 0.02:
            return HANG
        return rng.choice(wild) if rng.random() < 0.3 else ok(json.dumps({"n": number(call)}))

    with StubServer(behave) as server, CallStore() as store:
        meter = connect(server, store, timeout=5.0, max_connections=16)
        answers = asyncio.run(ask_all(meter, 200))
        assert [answer.data for answer in answers] == list(range(200))  # type: ignore[union-attr]
        assert len(store) == 200
    assert server.most <= 16
    assert meter.usage.retries == len(server.calls) - 200
    assert meter.usage.failures == 0


def test_missing_capabilities_are_errors() -> None:
    def behave(call: Call) -> Reply:
        return [
            ok('{"n": 1}'), fail(500, "always"), fail(401, "who are you"), ok('{"n": 1', finish="length"),
            ok(None, refusal="I would rather not"), ok('{"n": "many"}'), ok(""), ok("x", finish="content_filter"),
        ][number(call)]  # fmt: skip

    with StubServer(behave) as server:
        meter = connect(server, policy=RetryPolicy(max_retries=2, first=0.001))
        answers = asyncio.run(ask_all(meter, 8))
    good, broken, denied, cut, refused, wrong, empty, filtered = answers
    assert isinstance(good, Answer) and (good.data, good.status) == (1, "ok")  # noqa: PT018
    assert isinstance(broken, ModelError) and "(gave up after 3 tries)" in str(broken)  # noqa: PT018
    assert isinstance(denied, ModelError) and "STUB_API_KEY" in str(denied)  # noqa: PT018
    reasons = [(one.status, one.data, one.reason) for one in (cut, refused, wrong, empty, filtered)]  # type: ignore[union-attr]
    assert reasons == [
        ("unparsed", None, "truncated: the reply was truncated by the length limit after 7 tokens"),
        ("refused", None, "refused: I would rather not"),
        ("unparsed", None, "meaningless: n is not a whole number"),
        ("unparsed", None, reasons[3][2]),
        ("refused", None, "refused: stopped by the provider's content filter"),
    ]
    assert "no JSON object" in str(reasons[3][2])
    # Three tries for the broken one, two calls for the one that is worth a repair, one for each other.
    assert len(server.calls) == 1 + 3 + 1 + 1 + 1 + 2 + 1 + 1


def test_a_wait_holds_no_connection() -> None:
    """With a single connection, an item that waits for a retry does not block the others."""

    def behave(call: Call) -> Reply:
        return fail(500, "oops") if call.number == 0 else ok(json.dumps({"n": number(call)}))

    with StubServer(behave) as server:

        async def others(_: float) -> None:  # the wait lasts until the five others went through, and they do
            async with asyncio.timeout(60):
                while len(server.calls) < 6:  # noqa: ASYNC110 - the server's thread knows nothing of this loop
                    await asyncio.sleep(0.005)

        llm = resolve("openai-api/stub/tiny", base_url=server.url, environ={}, max_connections=1)
        usage = Usage()
        meter = Retry(RateLimited(llm, RateLimiter(1)), FAST, rng=random.Random(7), sleep=others, usage=usage)
        answers = asyncio.run(ask_all(meter, 6))
    assert [answer.data for answer in answers] == list(range(6))  # type: ignore[union-attr]
    assert len(server.calls) == 7
    assert number(server.calls[6]) == number(server.calls[0])
    assert server.most == 1


@pytest.mark.parametrize(
    ("known", "words"),
    [("json_object", "response_format.type must be json_object"), ("text", "Bad request"), ("text", "")],
)
def test_a_server_without_json_schema_is_learnt_once_for_all_roles(known: str, words: str) -> None:
    def behave(call: Call) -> Reply:
        return ok('{"n": 4}') if call.format in {known, "text"} else fail(400, words)

    async def main(bound: Bound) -> None:
        try:
            await bound.llms["judge"].ask(prompt("first"), FORM)
            for role in ("judge", "extractor"):
                for item in range(5):
                    answer = await bound.llms[role].ask(prompt(f"{role} {item}"), FORM)
                    assert (answer.status, answer.data) == ("ok", 4)
        finally:
            await bound.close()

    with StubServer(behave) as server:
        models = {"judge": "vllm/tiny", "extractor": "vllm/tiny"}
        asyncio.run(main(bind(models, None, CallSettings(base_url=server.url, retry=FAST))))
    formats = [call.format for call in server.calls]
    steps = ["json_schema", "json_object", "text"]
    probes = steps[: steps.index(known)]
    assert formats == [*probes, *[known] * 11]


def test_keys_of_calls_do_not_depend_on_the_capabilities_of_a_server() -> None:
    """A run on a server without json_schema can be replayed and resumed."""

    def behave(call: Call) -> Reply:
        return fail(400, "no") if call.format != "text" else ok(json.dumps({"n": number(call)}))

    with StubServer(behave) as server, CallStore() as store:
        first = asyncio.run(ask_all(connect(server, store), 5))
        made = len(server.calls)
        assert asyncio.run(ask_all(connect(server, store), 5)) == first
        assert len(server.calls) == made
        replayed = asyncio.run(ask_all(replay("openai-api/stub/tiny", store), 5))
        assert replayed == first
        assert {json.loads(store.get(call.key) or "")["format"] for call in store.tokens()} == {"text"}


def test_interrupted_and_resumed_asks_nothing_twice(tmp_path: Path) -> None:
    """After a cancellation, stored replies are kept and only the other calls are made."""

    def behave(call: Call) -> Reply:
        return ok(json.dumps({"n": number(call)}))._replace(delay=0.01 * (1 + number(call) % 5))

    async def some(meter: Cache, store: CallStore) -> None:
        task = asyncio.create_task(ask_all(meter, 60))
        while len(store) < 10:  # noqa: ASYNC110 - the store knows of no events
            await asyncio.sleep(0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    path = tmp_path / "calls.sqlite"
    with StubServer(behave) as server:
        with CallStore(path) as store:
            asyncio.run(some(connect(server, store, max_connections=8), store))
            stored = {json.loads(store.request(call.key))["messages"][0]["content"] for call in store.tokens()}
        assert 10 <= len(stored) < 60
        before = len(server.calls)
        with CallStore(path) as store:
            answers = asyncio.run(ask_all(connect(server, store, max_connections=8), 60))
            assert [answer.data for answer in answers] == list(range(60))  # type: ignore[union-attr]
    again = {call.prompt for call in server.calls[before:]}
    assert len(again) == 60 - len(stored)
    assert not again & stored


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["429", "500", "reset", "cut", "html", "empty"]), max_size=4))
def test_any_row_of_failures_shorter_than_the_retries_ends_well(row: list[str]) -> None:
    kinds = {
        "429": fail(429, "slow", retry_after_ms="1"), "500": fail(500), "reset": RESET, "cut": CUT_BODY,
        "html": Reply(content=b"<p>"), "empty": Reply(content=b'{"choices": []}'),
    }  # fmt: skip

    with StubServer(lambda call: kinds[row[call.number]] if call.number < len(row) else ok('{"n": 0}')) as server:
        policy = RetryPolicy(max_retries=4, first=0.001)
        (answer,) = asyncio.run(ask_all(connect(server, policy=policy), 1))
    assert isinstance(answer, Answer)
    assert answer.data == 0
    assert len(server.calls) == len(row) + 1
