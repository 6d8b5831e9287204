"""The contract of all hosted providers: the same outcomes for the same kinds of answers."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.server import HANG, RESET, Call, Reply, StubServer, call, json_reply
from models.vendors import DOCUMENT, KEY, SCHEMA, STRICT, SUMMARY, TOKENS, VENDORS, Vendor, ask
from together import together

from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.providers import http, replies
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.provider import PROVIDERS
from summeter.models.resolve import resolve, stack
from summeter.records import AccessError, CapabilityError, ModelError, TransientError

EVERY = pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS.keys())
# One of each client: rows of one client differ in names, which the other tests read.
CLIENTS = {vendor.model.partition("/")[0]: name for name, vendor in VENDORS.items()}
ONE_OF_EACH = {PROVIDERS[provider].client: name for provider, name in CLIENTS.items()}
EACH_CLIENT = pytest.mark.parametrize(
    "vendor", [VENDORS[name] for name in ONE_OF_EACH.values()], ids=ONE_OF_EACH.values()
)


def test_every_hosted_provider_is_under_contract() -> None:
    assert {vendor.model.partition("/")[0] for vendor in VENDORS.values()} == set(PROVIDERS) - {"scripted"}


@EVERY
def test_a_reply_under_a_schema(vendor: Vendor) -> None:
    reply, seen = vendor.answer(vendor.plain('{"n": 1}'), STRICT)
    assert (reply.text, reply.finish_reason, reply.refusal, reply.format) == ('{"n": 1}', "stop", None, "json_schema")
    # Anthropic and Bedrock: 5 fresh + 2 written to the cache + 4 read from it; Google: 4 of the reply + 3 thoughts.
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (11, 7, 4)
    assert reply.tokens_written == (2 if vendor.model.startswith(("anthropic", "bedrock")) else None)
    assert reply.model == (None if vendor.model.startswith("bedrock") else "served-1")
    assert reply.seconds is not None
    assert reply.logprobs is None
    assert seen.path == vendor.path
    assert seen.headers[vendor.header[0]].startswith(vendor.header[1])
    asked = vendor.schema(seen.body)
    assert (json.loads(asked) if isinstance(asked, str) else asked) == SCHEMA
    # What is sent is what was asked, in order, and nothing of it is lost where it is cut for a cache.
    whole = json.dumps(seen.body)
    assert "You judge." in whole
    assert json.dumps(DOCUMENT)[1:-1] in whole
    assert json.dumps(SUMMARY)[1:-1] in whole


@EACH_CLIENT
def test_refusals_and_truncated_replies(vendor: Vendor) -> None:
    refused, cut = (vendor.answer(reply, STRICT)[0] for reply in (vendor.refused, vendor.cut))
    assert (bool(refused.refusal), refused.text) == (True, "")
    assert (cut.text, cut.finish_reason, cut.refusal) == ("half", "length", None)


@EACH_CLIENT
def test_slow_down(vendor: Vendor) -> None:
    caught = vendor.failure(vendor.error(429, "busy", Retry_After="7"))
    assert isinstance(caught, TransientError)
    assert caught.retry_after == 7.0
    assert caught.throttled
    assert "busy" in str(caught)
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    caught = vendor.failure(vendor.error(429, "busy", Retry_After=date))
    assert isinstance(caught, TransientError)
    assert 30 < (caught.retry_after or 0) <= 40


@EACH_CLIENT
@together("status", [401, 403, 404, 408, 500, 503, 529])
def test_the_status_says_whether_a_call_is_retried(vendor: Vendor, status: int) -> None:
    caught = vendor.failure(vendor.error(status, "the sky fell"), STRICT)
    assert isinstance(caught, AccessError if status < 408 else TransientError)
    assert f"answered {status}: the sky fell" in str(caught)
    assert getattr(caught, "throttled", False) == (status in {503, 529})
    assert status not in {401, 403} or vendor.variable.split("_")[0] in str(caught)


@EACH_CLIENT
def test_a_prompt_too_long(vendor: Vendor) -> None:
    for said in (
        "prompt is too long: 215000 tokens > 200000 maximum", "Input is too long for requested model.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "the request exceeds the available context size, try increasing it",
        "This model's maximum context length is 8192 tokens",
    ):  # fmt: skip
        caught = vendor.failure(vendor.error(400, said), STRICT)
        assert "longer than the model's context" in str(caught)
        assert not isinstance(caught, CapabilityError | TransientError | AccessError)


@EACH_CLIENT
@pytest.mark.parametrize(
    "reply",
    [
        Reply(content=b'{"half'), Reply(content=b"<html>", headers={"Content-Type": "text/html"}), Reply(),
        json_reply([]), json_reply({}), json_reply({"choices": [], "content": 1, "candidates": [], "output": None}),
        RESET, Reply(content=b'{"a": "' + b"x" * 500 + b'"}', cut=True),
    ],
    ids=["half", "html", "empty", "list", "nothing", "hollow", "reset", "cut"],
)  # fmt: skip
def test_an_invalid_reply_is_retried(vendor: Vendor, reply: Reply) -> None:
    assert isinstance(vendor.failure(reply), TransientError)


@EACH_CLIENT
def test_no_call_outlives_its_timeout(vendor: Vendor) -> None:
    start = time.monotonic()
    caught = vendor.failure(HANG, timeout=0.3)
    assert isinstance(caught, TransientError)
    assert "within 0.3 s" in str(caught)
    assert time.monotonic() - start < 10


@EACH_CLIENT
def test_a_reply_that_is_too_long_is_not_read(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_REPLY_BYTES", 2**20)
    body = b'{"a": "' + b"x" * 2**21 + b'"}'
    small = zlib.compress(body)  # a small body that grows is no smaller
    for reply in (Reply(content=body), Reply(content=small, headers={"Content-Encoding": "deflate"})):
        caught = vendor.failure(reply)
        assert "sent more than 1 MiB" in str(caught)
        assert not isinstance(caught, TransientError)


@EACH_CLIENT
def test_log_probabilities_or_a_capability_error(vendor: Vendor) -> None:
    request = ask(top_logprobs=2)
    if vendor.with_logprobs is None:
        _refused_before_sending(vendor, request, "logprobs")
        return
    reply, seen = vendor.answer(vendor.with_logprobs, request)
    assert reply.text == " yes."
    assert reply.logprobs == tuple(TokenLogprobs(token=token, logprob=at, top=top) for token, at, top in TOKENS)
    assert "2" in json.dumps(seen.body)
    # A server that leaves them out without a word, and one that says no.
    for bad in (vendor.plain("yes"), vendor.error(400, "Logprobs is not enabled for this model")):
        caught = vendor.failure(bad, request)
        assert isinstance(caught, CapabilityError)
        assert caught.lacks == "logprobs"
        assert "samples" in str(caught)
    # They are not read where nobody asked.
    assert vendor.answer(vendor.with_logprobs)[0].logprobs is None
    # A refusal has none, and stays a refusal.
    assert vendor.answer(vendor.refused, request)[0].refusal


@EVERY
def test_a_seed_and_a_json_object_are_sent_or_capability_errors(vendor: Vendor) -> None:
    seeded, object_ = ask(seed=3, draw=2), ask(format="json_object")
    if "seed" in vendor.lacks:
        _refused_before_sending(vendor, seeded, "seed")
    else:
        assert vendor.seed(vendor.answer(vendor.plain("x"), seeded)[1].body) == 3  # the draw is in the seed already
    if "json_object" in vendor.lacks:
        _refused_before_sending(vendor, object_, "json_object")
    else:
        assert vendor.answer(vendor.plain("{}"), object_)[0].format == "json_object"


def _refused_before_sending(vendor: Vendor, request: Request, lacks: str) -> None:
    with StubServer(lambda _: vendor.plain("x")) as server:
        with pytest.raises(CapabilityError) as caught:
            call(vendor.connect(server), request)
        assert server.calls == []
    assert caught.value.lacks == lacks
    assert vendor.model in str(caught.value)


@EACH_CLIENT
def test_a_schema_refused_is_asked_for_more_weakly(vendor: Vendor) -> None:
    def behave(call: Call) -> Reply:
        return (
            vendor.plain("{}")
            if "additionalProperties" not in call.raw.decode()
            else vendor.error(400, "no such schema")
        )

    with StubServer(behave) as server:
        meter = stack(vendor.connect(server))
        replies_ = call(meter, STRICT, STRICT.model_copy(update={"draw": 1}))
    assert {reply.format for reply in replies_} == {"text" if "json_object" in vendor.lacks else "json_object"}
    assert len(server.calls) == 3  # the lack is remembered


@EACH_CLIENT
def test_a_refused_temperature_says_what_to_do(vendor: Vendor) -> None:
    caught = vendor.failure(vendor.error(400, vendor.temperature), STRICT)
    assert isinstance(caught, CapabilityError)
    assert caught.lacks == "temperature"
    assert "temperature=None" in str(caught)
    _, seen = vendor.answer(vendor.plain("x"), ask(temperature=None))
    assert "temperature" not in json.dumps(seen.body)


@EACH_CLIENT
def test_the_key_appears_nowhere(vendor: Vendor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = f"Incorrect key {KEY} given; it begins {KEY[:14]}***"
    failures = [vendor.error(status, said) for status in (400, 401, 429, 500)]
    for reply in (*failures, Reply(content=said.encode()), RESET, HANG):
        with StubServer(lambda _, reply=reply: reply) as server:
            llm = vendor.connect(server, timeout=0.3)
            with pytest.raises(ModelError) as caught:
                call(llm, STRICT)
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(vars(llm))
        assert KEY not in shown
        assert KEY[:14] not in shown
    assert KEY not in caplog.text


@EACH_CLIENT
def test_one_event_loop_after_another_and_a_cancelled_call(vendor: Vendor) -> None:
    with StubServer(lambda call: HANG if "wait" in json.dumps(call.body) else vendor.plain("x")) as server:
        llm = vendor.connect(server)

        async def main() -> None:
            task = asyncio.create_task(llm.complete(ask("wait")))
            assert (await llm.complete(ask())).text == "x"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await llm.close()

        for _ in range(2):
            asyncio.run(main())


NAMES = """
    choices message content usage error code refusal finish_reason text model logprobs token logprob top_logprobs
    stop_reason stop_details type metadata details violations candidates parts finishReason promptFeedback blockReason
    usageMetadata logprobsResult chosenCandidates topCandidates logProbability output stopReason
""".split()  # noqa: SIM905
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("text"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=14,
)


@pytest.mark.parametrize("body", [
    {"error": {"type": []}}, {"error": {"code": {}, "type": [], "innererror": {"code": [[]]}}},
    {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"token": "x", "logprob": 10**400}]}}]},
    {"usage": {"prompt_tokens": 10**400}, "choices": [{"message": {"content": "x"}}]},
])  # fmt: skip
def test_values_of_wrong_types_are_ignored(body: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        llm = resolve("openai/m")
    assert isinstance(llm, HttpLLM)
    for status in (200, 400):
        made = replies.Answer("m", "http://host", status, {}, json.dumps(body).encode(), request=ask(top_logprobs=2))
        try:
            read = llm.read(made, made.request)
        except ModelError:
            continue
        assert (read.text, read.tokens_in, read.logprobs) == ("x", None, None)


@pytest.mark.parametrize("value", [0.5, 1e308, 10**400, float("inf"), float("nan"), True, "-1"])
@pytest.mark.parametrize("name", ["openai", "google"])
def test_an_invalid_log_probability_fails_its_call(name: str, value: Any) -> None:
    openai = {"logprobs": {"content": [{"token": "x", "logprob": value}]}, "message": {"content": "x"}}
    google = {"logprobsResult": {"chosenCandidates": [{"token": "x", "logProbability": value}]},
              "content": {"parts": [{"text": "x"}]}}  # fmt: skip
    body = {"choices": [openai]} if name == "openai" else {"candidates": [google]}
    caught = VENDORS[name].failure(json_reply(body), ask(top_logprobs=2))
    assert isinstance(caught, CapabilityError)
    assert caught.lacks == "logprobs"


def test_google_omits_empty_tokens() -> None:
    chosen = [{"token": "x", "logProbability": -1}, {"logProbability": -2}]
    first = {"logprobsResult": {"chosenCandidates": chosen}, "content": {"parts": [{"text": "x"}]}}
    reply, _ = VENDORS["google"].answer(json_reply({"candidates": [first]}), ask(top_logprobs=2))
    assert [(token.token, token.logprob) for token in reply.logprobs or ()] == [("x", -1), ("", -2)]


@pytest.mark.parametrize(("value", "wanted"), [(0, 0.0), (1e-7, 0.0), (-0.25, -0.25), (-(10**400), -9999.0)])
def test_log_probabilities_above_zero_by_rounding_are_zero(value: Any, wanted: float) -> None:
    assert replies.logprob(value) == wanted


@pytest.mark.parametrize("count", [-1, 2**63, 10**400, 1.5, True, "12", None, 10**9 + 1])
def test_an_invalid_token_count_is_unknown(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 7}
    body = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    reply, _ = VENDORS["openai"].answer(json_reply(body))
    assert (reply.tokens_in, reply.tokens_out) == (None, 7)


@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "bedrock"])
@given(
    body=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=5), status=st.sampled_from([200, 400, 403, 404, 429])
)
@settings(max_examples=100)
def test_any_json_is_a_completion_or_a_model_error(name: str, body: dict[str, Any], status: int) -> None:
    vendor = VENDORS[name]
    environ = {vendor.variable: KEY, **vendor.environ}
    llm = resolve(vendor.model, base_url="http://127.0.0.1:9", environ=environ)
    assert isinstance(llm, HttpLLM)
    for request in (STRICT, ask(top_logprobs=2)):
        made = replies.Answer("m", "http://host", status, {}, json.dumps(body).encode(), request=request)
        try:
            read = llm.completion(body, made) if status == 200 else llm.failed(made)
        except ModelError:
            continue
        assert Completion.model_validate_json(read.model_dump_json()) == read  # it can be stored and replayed
