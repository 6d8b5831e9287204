"""The OpenAI-compatible provider with a stub server: requests, replies and failures."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.server import Reply, StubServer, call, fail, json_reply, ok

from summeter.models.base import LLM, Completion, Message, Request
from summeter.models.providers import replies
from summeter.models.providers.openai_compatible import OpenAICompatible
from summeter.models.resolve import resolve
from summeter.records import CapabilityError, ModelError, OutageError, TransientError, UsageError

NEVER_CALLED = resolve("openai-api/host/m", environ={"HOST_BASE_URL": "http://host/v1"})
assert isinstance(NEVER_CALLED, OpenAICompatible)

KEY = "sk-secret-0123456789abcdef"


def ask(text: str = "hello", **fields: Any) -> Request:
    return Request(model="openai-api/stub/tiny", messages=(Message(role="user", content=text),), **fields)


STRICT = ask(format="json_schema", schema_name="a b/verdicts", schema_={"type": "object"})


def connect(server: StubServer, **settings: Any) -> LLM:
    return resolve("openai-api/stub/tiny", base_url=server.url, environ={"STUB_API_KEY": KEY}, **settings)


def answer(reply: Reply, request: Request | None = None, **settings: Any) -> Completion:
    """Return the outcome of one reply of the server."""
    with StubServer(lambda _: reply) as server:
        return call(connect(server, **settings), request or ask())[0]


# What is sent


def test_the_request_body_contains_only_the_request() -> None:
    with StubServer(lambda _: ok()) as server:
        call(
            connect(server),
            ask("häl\ud800lo"),
            ask(temperature=None, seed=3, draw=2, max_tokens=50, format="json_object"),
            STRICT,
        )
    plain, small, strict = (one.body for one in server.calls)
    assert plain == {"model": "tiny", "messages": [{"role": "user", "content": "häl\ud800lo"}], "temperature": 0.0}
    assert small == {
        "model": "tiny", "messages": [{"role": "user", "content": "hello"}],
        "seed": 3, "max_tokens": 50, "response_format": {"type": "json_object"},
    }  # fmt: skip
    assert strict["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "a_b_verdicts", "strict": True, "schema": {"type": "object"}},
    }
    assert server.calls[0].headers["Authorization"] == f"Bearer {KEY}"
    assert server.calls[0].headers["Content-Type"] == "application/json"


def test_without_a_key_there_is_no_header() -> None:
    with StubServer(lambda _: ok()) as server:
        call(resolve("vllm/tiny", base_url=server.url, environ={}), ask())
    assert "Authorization" not in server.calls[0].headers


def test_openai_uses_max_completion_tokens() -> None:
    llm: Any = resolve("openai/gpt-4o", environ={"OPENAI_API_KEY": KEY})
    assert llm.payload(ask(max_tokens=9))["max_completion_tokens"] == 9
    assert llm.address == "https://api.openai.com/v1"


def test_a_query_of_the_base_url_is_kept_and_not_shown() -> None:
    llm: Any = resolve("openai-api/az/m", base_url="https://host/v1?api-version=7", environ={"AZ_API_KEY": KEY})
    assert str(llm._url) == "https://host/v1/chat/completions?api-version=7"
    assert llm.address == "https://host/v1"


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(lambda _: ok()) as server, StubServer(lambda _: ok("by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "inner.example")
        away = resolve("openai-api/stub/tiny", base_url="http://model.example/v1", environ={"STUB_API_KEY": KEY})
        assert call(away, ask())[0].text == "by proxy"
        assert call(connect(server), ask())[0].text == "fine"
        inner: Any = resolve("openai-api/stub/tiny", base_url="http://inner.example/v1", environ={})
        assert inner._proxy is None
    assert proxy.calls[0].headers["Host"] == "model.example"


# What is read


@pytest.mark.parametrize(
    ("reply", "text", "refusal"),
    [
        (ok(None), "", None),
        (ok(None, refusal="I will not."), "", "I will not."),
        (ok([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]), "one two", None),
        (ok([{"type": "refusal", "refusal": "No."}]), "", "No."),
        (ok([{"type": "text", "text": None}, "odd", {"type": "image"}]), "", None),
        (ok("half a \ud83d pair"), "half a \ufffd pair", None),
        (Reply(content=ok("typed wrongly").content, headers={"Content-Type": "text/html"}), "typed wrongly", None),
        (json_reply({"choices": [{"message": {"content": "bare"}}], "usage": None}), "bare", None),
        (json_reply({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "12"}}), "x", None),
    ],
)
def test_odd_contents(reply: Reply, text: str, refusal: str | None) -> None:
    read = answer(reply)
    assert (read.text, read.refusal) == (text, refusal)


@given(st.binary(max_size=60), st.sampled_from([200, 400, 401, 404, 429, 500, 503, 302, 422]))
def test_any_bytes_are_a_named_failure(body: bytes, status: int) -> None:
    made = replies.Answer("m", "http://host/v1", status, {}, body)
    if status == 200:
        with pytest.raises(ModelError):
            NEVER_CALLED.completion(replies.body(made), made)
    else:
        assert isinstance(replies.failure(made), ModelError)


def test_json_nested_without_end_is_a_failure() -> None:
    made = replies.Answer("m", "http://host/v1", 200, {}, b"[" * 100_000)
    with pytest.raises(TransientError, match="invalid JSON"):
        replies.body(made)


# What failures become


@pytest.mark.parametrize(
    ("error", "message"),
    [({"message": "upstream down", "code": 503}, "answered 503: upstream down"), ("odd", "answered 502: odd")],
)
def test_an_error_of_a_server_behind_a_gateway_is_retried(error: Any, message: str) -> None:
    with pytest.raises(TransientError, match=message):
        answer(json_reply({"error": error}))


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "STUB_API_KEY"), (403, "STUB_API_KEY"), (404, "model's name and the base URL"), (402, "budget"),
        (413, "larger"), (307, "Redirects are not followed"), (405, "refuse it again"), (400, "refuses the request"),
        (422, "refuses the request"),
    ],
)  # fmt: skip
def test_errors_that_are_not_retried(status: int, advice: str) -> None:
    with pytest.raises(ModelError, match=advice) as caught:
        answer(fail(status, "bad thing"))
    assert not isinstance(caught.value, TransientError)
    assert "bad thing" in str(caught.value)


@pytest.mark.parametrize(
    ("request_", "reply", "lacks"),
    [
        (STRICT, fail(400, "response_format json_schema is not supported"), "json_schema"),
        (STRICT, fail(422, "extra fields not permitted"), "json_schema"),
        (STRICT, Reply(400, b"computer says no"), "json_schema"),
        (STRICT, fail(500, "unknown response_format"), "json_schema"),
        (ask(format="json_object"), fail(400, "nope"), "json_object"),
        (ask(), fail(400, "Unsupported value: 'temperature' does not support 0.0 with this model."), "temperature"),
        (STRICT, fail(400, "Unsupported value: 'temperature' does not support 0.0 with this model."), "temperature"),
        (ask(seed=1), fail(400, "unknown parameter: seed"), "seed"),
        (ask(max_tokens=5), fail(400, "Unsupported parameter: 'max_tokens'"), "max_tokens"),
    ],
)
def test_unsupported_features_are_reported(request_: Request, reply: Reply, lacks: str) -> None:
    with pytest.raises(CapabilityError) as caught:
        answer(reply, request_)
    assert caught.value.lacks == lacks


def test_a_parameter_that_was_not_sent_is_not_reported() -> None:
    with pytest.raises(ModelError) as caught:
        answer(fail(400, "the seed of this is a bad prompt"))
    assert not isinstance(caught.value, CapabilityError)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
        # 1 January 2026, 00:00:30 GMT, read at 00:00:00 and long after.
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:30 GMT"}, 30.0),
        ({"Retry-After": "Mon, 01 Jan 2024 00:00:30 GMT"}, 0.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert replies.retry_after(headers, now=lambda: now) == seconds


# Keys


def test_a_key_in_a_reply_is_redacted() -> None:
    got = answer(ok(f"You sent {KEY}.", finish=f"stop {KEY}", refusal=f"Bearer {KEY}"))
    assert (got.text, got.finish_reason, got.refusal) == ("You sent [key].", "stop [key]", "Bearer [key]")
    with pytest.raises(TransientError) as caught:
        answer(Reply(content=b"<html>", headers={"Content-Type": f"text/{KEY}"}))
    assert KEY not in str(caught.value)


def test_a_short_key_is_not_redacted_in_replies() -> None:
    with StubServer(lambda _: ok("An EMPTY house.")) as server:
        llm = resolve("openai-api/stub/tiny", base_url=server.url, environ={"STUB_API_KEY": "EMPTY"})
        assert call(llm, ask())[0].text == "An EMPTY house."


# Addresses and keys, before any call


@pytest.mark.parametrize(
    ("model", "base_url", "environ", "message"),
    [
        ("openai/gpt-4o", None, {}, "OPENAI_API_KEY"),
        ("openai/gpt-4o", None, {"OPENAI_API_KEY": " "}, "OPENAI_API_KEY"),
        ("openrouter/a/b", None, {}, "OPENROUTER_API_KEY"),
        ("openai-api/my-lab/m", None, {}, "MY_LAB_BASE_URL"),
        ("openai-api/my-lab/m", "https://lab.example/v1", {}, "MY_LAB_API_KEY"),
        ("openai-api/m", "http://h/v1", {}, "openai-api/NAME/MODEL"),
        ("openai-api//m", "http://h/v1", {}, "openai-api/NAME/MODEL"),
        ("vllm/m", "localhost:8000", {}, "http:// or https://"),
        ("vllm/m", "http://", {}, "http://"),
        ("vllm/m", "http://user:hunter2@host/v1", {}, "user name or password"),
        ("vllm/m", None, {"VLLM_API_KEY": "two words"}, "VLLM_API_KEY"),
    ],
)
def test_invalid_settings_are_refused_before_any_call(
    model: str, base_url: str | None, environ: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(model, base_url=base_url, environ=environ)
    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "two words" not in str(caught.value)


def test_the_option_goes_before_the_environment_and_that_before_the_default() -> None:
    environ = {"OLLAMA_BASE_URL": "http://there:1/v1/"}
    assert resolve("ollama/m", environ={}).address == "http://localhost:11434/v1"  # type: ignore[attr-defined]
    assert resolve("ollama/m", environ=environ).address == "http://there:1/v1"  # type: ignore[attr-defined]
    chosen = resolve("ollama/m", base_url="http://here:2/v1", environ=environ)
    assert chosen.address == "http://here:2/v1"  # type: ignore[attr-defined]
    assert resolve("vllm/m", environ={}).address == "http://localhost:8000/v1"  # type: ignore[attr-defined]


def test_a_server_that_does_not_run_is_reported_at_once() -> None:
    with StubServer(lambda _: ok()) as server:
        llm, late = connect(server), connect(server)
        call(late, ask())
    with pytest.raises(ModelError, match=r"cannot reach .*Start the server.*STUB_BASE_URL") as caught:
        call(llm, ask())
    assert not isinstance(caught.value, TransientError)
    # One that has answered before may come back.
    with pytest.raises(OutageError, match="can no longer be reached"):
        call(late, ask())
