"""All layers with a misbehaving server: no item is lost, no value is invented, and every wait ends."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.server import CUT_BODY, RESET, Call, Reply, StubServer, fail, ok

from summeter.models.base import LLM, Message
from summeter.models.layers.cache import Cache, replay
from summeter.models.layers.rate_limit import RateLimited, RateLimiter
from summeter.models.layers.retry import Retry, RetryPolicy
from summeter.models.prompts import Prompt
from summeter.models.resolve import Bound, CallSettings, bind, resolve, stack
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import ReplyError
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


def connect(server: StubServer, store: CallStore | None = None, policy: RetryPolicy = FAST) -> Cache:
    llm = resolve("openai-api/stub/tiny", base_url=server.url, environ={})
    return stack(llm, store, retry=policy, rng=random.Random(7))


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


@settings(max_examples=15)
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
