"""The OpenAI-compatible provider with a stub server: what is sent, keys and addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.server import Reply, StubServer, asked, call, ok
from models.vendors import KEY, VENDORS
from together import together

from summeter.models.providers import replies
from summeter.models.providers.openai_compatible import OpenAICompatible
from summeter.models.resolve import resolve
from summeter.records import ModelError, OutageError, TransientError, UsageError

NEVER_CALLED = resolve("openai-api/host/m", environ={"HOST_BASE_URL": "http://host/v1"})
assert isinstance(NEVER_CALLED, OpenAICompatible)
STUB = VENDORS["openai-api"]


def test_the_request_body_contains_only_the_request() -> None:
    with StubServer(lambda _: ok()) as server:
        call(
            STUB.connect(server),
            asked("häl\ud800lo"),
            asked(temperature=None, seed=3, draw=2, max_tokens=50, format="json_object"),
            asked(format="json_schema", schema_name="a b/verdicts", schema_={"type": "object"}),
        )
        call(resolve("vllm/tiny", base_url=server.url, environ={}), asked())
    plain, small, strict, _ = (one.body for one in server.calls)
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
    assert "Authorization" not in server.calls[3].headers


def test_openai_uses_max_completion_tokens() -> None:
    llm: Any = resolve("openai/gpt-4o", environ={"OPENAI_API_KEY": KEY})
    assert llm.payload(asked(max_tokens=9))["max_completion_tokens"] == 9
    assert llm.address == "https://api.openai.com/v1"


def test_a_query_of_the_base_url_is_kept_and_not_shown() -> None:
    llm: Any = resolve("openai-api/az/m", base_url="https://host/v1?api-version=7", environ={"AZ_API_KEY": KEY})
    assert str(llm._url) == "https://host/v1/chat/completions?api-version=7"
    assert llm.address == "https://host/v1"


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(lambda _: ok()) as server, StubServer(lambda _: ok("by proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.root)
        monkeypatch.setenv("no_proxy", "inner.example")
        away = resolve("openai-api/stub/tiny", base_url="http://model.example/v1", environ={"STUB_API_KEY": KEY})
        assert call(away, asked())[0].text == "by proxy"
        assert call(STUB.connect(server), asked())[0].text == "fine"
        inner: Any = resolve("openai-api/stub/tiny", base_url="http://inner.example/v1", environ={})
        assert inner._proxy is None
    assert proxy.calls[0].headers["Host"] == "model.example"


@given(st.binary(max_size=60) | st.just(b"[" * 100_000), st.sampled_from([200, 400, 401, 404, 429, 500, 302, 422]))
def test_any_bytes_are_a_named_failure(body: bytes, status: int) -> None:
    made = replies.Answer("m", "http://host/v1", status, {}, body)
    if status == 200:
        with pytest.raises(ModelError):
            NEVER_CALLED.completion(replies.body(made), made)
    else:
        assert isinstance(replies.failure(made), ModelError)


@together(
    "headers, seconds",
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
    got, _ = STUB.answer(ok(f"You sent {KEY}.", finish=f"stop {KEY}", refusal=f"Bearer {KEY}"))
    assert (got.text, got.finish_reason, got.refusal) == ("You sent [key].", "stop [key]", "Bearer [key]")
    caught = STUB.failure(Reply(content=b"<html>", headers={"Content-Type": f"text/{KEY}"}))
    assert isinstance(caught, TransientError)
    assert KEY not in str(caught)


def test_a_short_key_is_not_redacted_in_replies() -> None:
    with StubServer(lambda _: ok("An EMPTY house.")) as server:
        llm = resolve("openai-api/stub/tiny", base_url=server.url, environ={"STUB_API_KEY": "EMPTY"})
        assert call(llm, asked())[0].text == "An EMPTY house."


# Addresses and keys, before any call


@together(
    "model, base_url, environ, message",
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


@together(
    "model, base_url, address",
    [
        ("vllm/m", None, "http://localhost:8000/v1"),
        ("ollama/m", None, "http://there:1/v1"),
        ("ollama/m", "http://here:2/v1", "http://here:2/v1"),
    ],
)
def test_the_option_goes_before_the_environment_and_that_before_the_default(
    model: str, base_url: str | None, address: str
) -> None:
    llm: Any = resolve(model, base_url=base_url, environ={"OLLAMA_BASE_URL": "http://there:1/v1/"})
    assert llm.address == address


def test_a_server_that_does_not_run_is_reported_at_once() -> None:
    with StubServer(lambda _: ok()) as server:
        llm, late = STUB.connect(server), STUB.connect(server)
        call(late, asked())
    with pytest.raises(ModelError, match=r"cannot reach .*Start the server.*STUB_BASE_URL") as caught:
        call(llm, asked())
    assert not isinstance(caught.value, TransientError)
    # One that has answered before may come back.
    with pytest.raises(OutageError, match="can no longer be reached"):
        call(late, asked())
