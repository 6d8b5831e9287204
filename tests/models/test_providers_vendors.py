"""Vendor-specific behaviour: addresses, field names, refusals, caches, signatures."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import hmac
import json
import logging
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.server import Call, Reply, StubServer, call, fail, json_reply, ok
from models.vendors import (
    DOCUMENT,
    KEY,
    SCHEMA,
    STRICT,
    SUMMARY,
    VENDORS,
    Vendor,
    anthropic_error,
    anthropic_reply,
    ask,
    bedrock_error,
    bedrock_reply,
    google_error,
    google_reply,
)  # fmt: skip

from summeter.models.base import Completion, Message, Request
from summeter.models.providers import bedrock as room
from summeter.models.providers.anthropic import MAX_TOKENS
from summeter.models.providers.payload import split_prefix, split_system
from summeter.models.resolve import resolve
from summeter.records import AccessError, CapabilityError, InstallError, ModelError, TransientError, UsageError


def send(vendor: Vendor, reply: Reply, request: Request | None = None, **options: Any) -> tuple[Completion, Call]:
    """Return the outcome of one reply, and the request."""
    with StubServer(lambda _: reply) as server:
        return call(vendor.connect(server, **options), request or ask())[0], server.calls[0]


def error(vendor: Vendor, reply: Reply, request: Request | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        send(vendor, reply, request)
    return caught.value


def where(model: str, **environ: str) -> str:
    llm: Any = resolve(model, environ=environ)
    return str(llm._url)


# OpenAI's own and its likes


def test_a_prompt_rejected_by_openai_is_a_refusal() -> None:
    said = {"error": {"message": "Invalid prompt: flagged", "type": "invalid_request_error", "code": "invalid_prompt"}}
    reply, _ = send(VENDORS["openai"], json_reply(said, 400), STRICT)
    assert (reply.text, reply.finish_reason, reply.refusal) == ("", "content_filter", "Invalid prompt: flagged")


def test_logprobs_that_are_not_allowed() -> None:
    caught = error(VENDORS["openai"], fail(403, "You are not allowed to request logprobs"), ask(top_logprobs=5))
    assert isinstance(caught, CapabilityError)
    assert caught.lacks == "logprobs"
    assert isinstance(error(VENDORS["openai"], fail(403, "no logprobs for you")), AccessError)  # nobody asked


def test_a_log_probability_of_minus_infinity_is_a_number() -> None:
    entry = {"token": "x", "logprob": float("-inf"), "top_logprobs": [{"token": "y", "logprob": None}, "odd"]}
    body = {"choices": [{"message": {"content": "x"}, "logprobs": {"content": [entry]}}]}
    reply, _ = send(VENDORS["vllm"], json_reply(body), ask(top_logprobs=1))
    assert reply.logprobs is not None
    assert (reply.logprobs[0].logprob, reply.logprobs[0].top) == (-9999.0, ())


@pytest.mark.parametrize("entry", [{"token": "x"}, {"logprob": -1.0}, {"token": "x", "logprob": "NaN"}])
def test_invalid_log_probabilities_are_none(entry: dict[str, Any]) -> None:
    good = {"token": "x", "logprob": -1.0}
    body = {"choices": [{"message": {"content": "xx"}, "logprobs": {"content": [good, entry]}}]}
    caught = error(VENDORS["vllm"], json_reply(body), ask(top_logprobs=1))
    assert isinstance(caught, CapabilityError)


def test_deepseek_counts_cached_tokens_under_a_name_of_its_own() -> None:
    body = {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 6}}
    assert send(VENDORS["openai-api"], json_reply(body))[0].tokens_cached == 6


def test_openai_counts_what_is_written_into_its_cache() -> None:
    usage = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 5}}
    reply = send(VENDORS["openai"], json_reply({"choices": [{"message": {"content": "x"}}], "usage": usage}))[0]
    assert (reply.tokens_in, reply.tokens_cached, reply.tokens_written) == (9, 2, 5)


# Azure


@pytest.mark.parametrize(
    ("endpoint", "version", "url"),
    [
        ("https://r.openai.azure.com/", "", "https://r.openai.azure.com/openai/v1/chat/completions"),
        ("https://r.openai.azure.com", "v1", "https://r.openai.azure.com/openai/v1/chat/completions"),
        ("https://r.openai.azure.com/openai/v1/", "", "https://r.openai.azure.com/openai/v1/chat/completions"),
        (
            "https://r.openai.azure.com", "2024-10-21",
            "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21",
        ),
    ],
)  # fmt: skip
def test_the_two_apis_of_azure(endpoint: str, version: str, url: str) -> None:
    environ = {"AZURE_OPENAI_ENDPOINT": endpoint, "AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_API_VERSION": version}
    assert where("azure/mine", **environ) == url


@pytest.mark.parametrize(
    ("version", "name"),
    [("", "max_completion_tokens"), ("2024-10-21", "max_completion_tokens"), ("2024-06-01", "max_tokens")],
)
def test_azures_name_for_the_limit(version: str, name: str) -> None:
    azure = dataclasses.replace(VENDORS["azure"], environ={"AZURE_OPENAI_API_VERSION": version})
    _, seen = send(azure, ok(), ask(max_tokens=9))
    assert seen.body[name] == 9
    assert "Authorization" not in seen.headers


def test_azure_without_an_endpoint() -> None:
    with pytest.raises(UsageError, match=r"AZURE_OPENAI_ENDPOINT \(as in https://RESOURCE\.openai"):
        resolve("azure/mine", environ={"AZURE_OPENAI_API_KEY": KEY})


# Mistral


def test_the_request_body_of_mistral() -> None:
    mistral = VENDORS["mistral"]
    assert send(mistral, ok("half", finish="model_length"))[0].finish_reason == "length"
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    assert send(mistral, ok(thinking))[0].text == "yes"
    assert isinstance(error(mistral, ok("ha", finish="error")), TransientError)
    faults = [{"loc": ["body", "temperature"], "msg": "Input should be less than or equal to 1.5"}]
    for body in ({"detail": faults}, {"object": "error", "message": {"detail": faults}, "type": "invalid_request"}):
        caught = error(mistral, json_reply(body, 422))
        assert isinstance(caught, CapabilityError)
        assert caught.lacks == "temperature"


# OpenRouter


def test_openrouter_requires_all_parameters() -> None:
    _, seen = send(VENDORS["openrouter"], ok("{}"), STRICT)
    assert seen.body["provider"] == {"require_parameters": True}
    assert seen.body["messages"][1]["content"] == DOCUMENT + SUMMARY


def test_openrouter_passes_anthropics_marks_on() -> None:
    claude = dataclasses.replace(VENDORS["openrouter"], model="openrouter/anthropic/claude-sonnet-5")
    _, seen = send(claude, ok("{}"))
    assert seen.body["messages"] == [
        {"role": "system", "content": "You judge."},
        {"role": "user", "content": [
            {"type": "text", "text": DOCUMENT, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": SUMMARY},
        ]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("request_", "lacks"),
    [
        (STRICT, "json_schema"), (ask(), "temperature"), (ask(seed=1, temperature=None), "seed"),
        (STRICT.model_copy(update={"top_logprobs": 3}), "logprobs"),
    ],
)  # fmt: skip
def test_openrouter_finds_no_server(request_: Request, lacks: str) -> None:
    said = "No endpoints found that can handle the requested parameters."
    caught = error(VENDORS["openrouter"], fail(404, said), request_)
    assert isinstance(caught, CapabilityError)
    assert caught.lacks == lacks
    assert isinstance(error(VENDORS["openrouter"], fail(404, "No endpoints found for a/b."), request_), AccessError)


def test_openrouter_moderates_and_breaks() -> None:
    flagged = {
        "error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["violence"], "flagged_input": "x"}}
    }
    assert send(VENDORS["openrouter"], json_reply(flagged, 403))[0].refusal == "flagged"
    declined = {"error": {"code": 403, "message": "declined", "metadata": {"error_type": "refusal"}}}
    assert send(VENDORS["openrouter"], json_reply(declined, 403))[0].refusal == "declined"
    for wrapped in ({"choices": [{"error": {"code": 502, "message": "down"}, "finish_reason": "error"}]},
                    {"error": {"code": 502, "message": "down"}}):  # fmt: skip
        caught = error(VENDORS["openrouter"], json_reply(wrapped))
        assert isinstance(caught, TransientError)
        assert "answered 502: down" in str(caught)


# Anthropic


def test_the_document_is_marked_for_the_cache_and_nothing_else() -> None:
    repair = (Message(role="assistant", content="{"), Message(role="user", content="Again."))
    repaired = Request(model="m", messages=(*ask().messages, *repair))
    _, seen = send(VENDORS["anthropic"], anthropic_reply("x"), repaired)
    assert seen.body == {
        "model": "claude", "max_tokens": MAX_TOKENS, "temperature": 0.0, "system": "You judge.",
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": DOCUMENT, "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": SUMMARY},
            ]},
            {"role": "assistant", "content": "{"},
            {"role": "user", "content": "Again."},
        ],
    }  # fmt: skip
    assert seen.headers["anthropic-version"] == "2023-06-01"


def test_anthropics_address_with_and_without_a_version() -> None:
    for base in ("https://a.example", "https://a.example/v1/"):
        assert where("anthropic/c", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=base) == "https://a.example/v1/messages"


@pytest.mark.parametrize(
    ("reason", "read"),
    [("stop_sequence", "stop"), ("model_context_window_exceeded", "length"), ("pause_turn", "pause_turn")],
)
def test_finish_reasons_of_anthropic(reason: str, read: str) -> None:
    assert send(VENDORS["anthropic"], anthropic_reply("x", reason))[0].finish_reason == read


def test_anthropic_refusing() -> None:
    plain = send(VENDORS["anthropic"], anthropic_reply("I", "refusal"))[0]
    assert (plain.text, plain.refusal) == ("I", "stopped by the provider's safety classifiers")
    said = {"type": "refusal", "category": "cyber", "explanation": "Looks like an exploit."}
    assert send(VENDORS["anthropic"], anthropic_reply("", "refusal", stop_details=said))[0].refusal == (
        "Looks like an exploit. / cyber"
    )


# Google


def test_the_request_body_of_google() -> None:
    messages = (*ask().messages, Message(role="assistant", content="no"), Message(role="user", content="Again."))
    request = STRICT.model_copy(update={"messages": messages, "max_tokens": 50, "top_logprobs": 3, "seed": 1})
    with pytest.raises(CapabilityError):
        send(VENDORS["google"], google_reply("x"), request)
    _, seen = send(VENDORS["google"], google_reply("x"), request.model_copy(update={"top_logprobs": None}))
    assert seen.body == {
        "systemInstruction": {"parts": [{"text": "You judge."}]},
        "contents": [
            {"role": "user", "parts": [{"text": DOCUMENT + SUMMARY}]},
            {"role": "model", "parts": [{"text": "no"}]},
            {"role": "user", "parts": [{"text": "Again."}]},
        ],
        "generationConfig": {
            "temperature": 0.0, "seed": 1, "maxOutputTokens": 50, "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }  # fmt: skip
    bare = Request(model="m", messages=(Message(role="user", content="x"),), temperature=None)
    assert send(VENDORS["google"], google_reply("x"), bare)[1].body == {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}]
    }


@pytest.mark.parametrize(
    ("name", "base", "url"),
    [
        ("g", "https://h", "https://h/v1beta/models/g:generateContent"),
        ("g", "https://h/v1", "https://h/v1/models/g:generateContent"),
        ("tunedModels/mine", "https://h/v1beta/", "https://h/v1beta/tunedModels/mine:generateContent"),
    ],
)
def test_googles_address(name: str, base: str, url: str) -> None:
    assert where(f"google/{name}", GEMINI_API_KEY="k", GOOGLE_BASE_URL=base) == url


def test_googles_retry_delay_is_in_the_body() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}
    minute = {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": "RequestsPerMinute-Free"}],
    }
    said = "You exceeded your current quota, please check your plan and billing details."
    for reply in (google_error(429, said, minute, info), google_error(503, "busy", info)):
        caught = error(VENDORS["google"], reply)
        assert isinstance(caught, TransientError)
        assert caught.retry_after == 34.07
    caught = error(VENDORS["google"], google_error(429, said, info, Retry_After="2"))
    assert isinstance(caught, TransientError)
    assert caught.retry_after == 2.0


def test_googles_bad_key_is_a_400() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    caught = error(VENDORS["google"], google_error(400, "API key not valid. Pass a valid one.", detail), STRICT)
    assert isinstance(caught, AccessError)
    assert "GOOGLE_API_KEY" in str(caught)


def test_googles_blocks() -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}}
    reply, _ = send(VENDORS["google"], json_reply(blocked))
    assert (reply.finish_reason, reply.tokens_in) == ("content_filter", 3)
    assert reply.refusal == "the prompt was blocked: PROHIBITED_CONTENT"
    reply, _ = send(VENDORS["google"], google_reply(None, "SAFETY", finishMessage="no such talk"))
    assert reply.refusal == "the reply was blocked: SAFETY (no such talk)"
    reply, _ = send(VENDORS["google"], google_reply("x", "MALFORMED_RESPONSE"))
    assert (reply.finish_reason, reply.refusal) == ("malformed_response", None)


# Bedrock

BEDROCK, SIGNED = VENDORS["bedrock"], VENDORS["bedrock, signed"]


def test_the_request_body_of_bedrock() -> None:
    _, seen = send(BEDROCK, bedrock_reply("x"), STRICT.model_copy(update={"max_tokens": 9}))
    assert seen.body["messages"] == [
        {"role": "user", "content": [{"text": DOCUMENT}, {"cachePoint": {"type": "default"}}, {"text": SUMMARY}]}
    ]
    assert seen.body["system"] == [{"text": "You judge."}]
    assert seen.body["inferenceConfig"] == {"temperature": 0.0, "maxTokens": 9}
    asked = seen.body["outputConfig"]["textFormat"]
    assert (asked["type"], asked["structure"]["jsonSchema"]["name"]) == ("json_schema", "a_b_number")


@pytest.mark.parametrize(
    ("model", "marked"),
    [
        ("us.anthropic.claude-sonnet-4-6", True), ("anthropic.claude-3-7-sonnet-20250219-v1:0", True),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", True), ("amazon.nova-lite-v1:0", True),
        ("anthropic.claude-3-haiku-20240307-v1:0", False), ("anthropic.claude-v2", False),
        ("meta.llama3-70b-instruct-v1:0", False),
    ],
)  # fmt: skip
def test_only_models_with_cache_points_get_one(model: str, marked: bool) -> None:
    llm: Any = resolve(f"bedrock/{model}", environ={"AWS_BEARER_TOKEN_BEDROCK": KEY, "AWS_REGION": "r"})
    assert ("cachePoint" in json.dumps(llm.payload(ask()))) == marked


def test_bedrocks_address() -> None:
    environ = {"AWS_BEARER_TOKEN_BEDROCK": KEY, "AWS_DEFAULT_REGION": "eu-west-3"}
    assert where("bedrock/m", **environ) == "https://bedrock-runtime.eu-west-3.amazonaws.com/model/m/converse"
    environ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = "https://inner.example/bedrock/"
    assert where("bedrock/m", **environ) == "https://inner.example/bedrock/model/m/converse"


def _signature(seen: Call, host: str, headers: str) -> str:
    """Return the Signature Version 4 of a received request, computed step by step from AWS's specification."""
    values = {"content-type": "application/json", "host": host, "x-amz-date": seen.headers["X-Amz-Date"],
              "x-amz-security-token": "session-token-1234"}  # fmt: skip
    signed = "".join(f"{name}:{values[name]}\n" for name in headers.split(";"))
    # The path as it came is escaped once more (but for S3); there is no query.
    path, body = quote(seen.path, safe="/~"), hashlib.sha256(seen.raw).hexdigest()
    canonical = f"POST\n{path}\n\n{signed}\n{headers}\n{body}"
    date = seen.headers["X-Amz-Date"]
    scope = f"{date[:8]}/here-1/bedrock/aws4_request"
    to_sign = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{KEY}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


def test_the_signature_of_bedrock_matches_the_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with StubServer(lambda _: bedrock_reply("x")) as server:
        call(SIGNED.connect(server), ask("häl\ud800lo"))
        seen, host = server.calls[0], server.root.removeprefix("http://")
    assert seen.path == SIGNED.path
    headers = "content-type;host;x-amz-date;x-amz-security-token"
    assert seen.headers["Authorization"] == (
        f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{seen.headers['X-Amz-Date'][:8]}/here-1/bedrock/aws4_request, "
        f"SignedHeaders={headers}, Signature={_signature(seen, host, headers)}"
    )
    assert seen.headers["X-Amz-Security-Token"] == "session-token-1234"
    assert "session-token-1234" not in caplog.text


def test_an_error_about_a_signature_shows_no_token() -> None:
    said = f"The Canonical String should have been x-amz-security-token:session-token-1234 {KEY}"
    caught = error(SIGNED, bedrock_error(403, said))
    assert isinstance(caught, AccessError)
    assert "session-token-1234" not in str(caught)
    assert KEY not in str(caught)
    assert "StubException" in str(caught)


def test_without_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    llm = resolve("bedrock/m", base_url="http://127.0.0.1:9", environ={"AWS_REGION": "r"})
    with pytest.raises(AccessError, match=r"no AWS credentials.*AWS_PROFILE"):
        call(llm, ask())
    with pytest.raises(UsageError, match="AWS_REGION"):
        resolve("bedrock/m", environ={})
    (tmp_path / "config").write_text("[default]\nregion = from-file-1\nsso_session = none\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert "from-file-1" in where("bedrock/m")


def test_credentials_of_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(f"[lab]\naws_access_key_id = AKIDLAB\naws_secret_access_key = {KEY}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_PROFILE", "lab")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    with StubServer(lambda _: bedrock_reply("x")) as server:
        call(resolve("bedrock/m", base_url=server.root, environ={"AWS_REGION": "here-1"}), ask())
        assert "Credential=AKIDLAB/" in server.calls[0].headers["Authorization"]
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(AccessError, match="nobody"):
        call(resolve("bedrock/m", base_url="http://127.0.0.1:9", environ={"AWS_REGION": "here-1"}), ask())
    with pytest.raises(UsageError, match="nobody"):
        resolve("bedrock/m", environ={})


def test_bedrock_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "find_spec", lambda name: None if name == "botocore" else find_spec(name))
    with pytest.raises(InstallError, match=r"pip install 'summeter\[bedrock\]'"):
        resolve("bedrock/m", environ={"AWS_REGION": "here-1"})
    # A key of Bedrock's own needs none.
    assert resolve("bedrock/m", environ={"AWS_REGION": "r", "AWS_BEARER_TOKEN_BEDROCK": KEY}).id == "bedrock/m"


def test_credentials_that_are_never_found_do_not_block_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(room, "_credentials", lambda environ: never.wait(10) and None)

    async def main() -> None:
        llm = resolve("bedrock/m", base_url="http://127.0.0.1:9", environ={"AWS_REGION": "r"}, timeout=0.2)
        with pytest.raises(TransientError, match=r"within 0\.2 s"):
            await llm.complete(ask())
        never.set()
        await llm.close()

    asyncio.run(main())


@pytest.mark.parametrize("status", [424, 429])
def test_a_model_that_failed_or_is_not_ready_is_retried(status: int) -> None:
    assert isinstance(error(BEDROCK, bedrock_error(status, "Model is not ready")), TransientError)


DAILY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}


@pytest.mark.parametrize(
    ("name", "reply", "advice"),
    [
        ("bedrock", bedrock_error(400, "The provided model identifier is invalid."), "model's name"),
        ("bedrock", bedrock_error(400, "Invocation with on-demand throughput isn't supported."), "model's name"),
        ("mistral", json_reply({"message": "Invalid model: x", "type": "invalid_model"}, 400), "model's name"),
        ("openrouter", fail(400, "a/b is not a valid model ID"), "model's name"),
        ("anthropic", anthropic_error(400, "Your credit balance is too low to access the API."), "exhausted"),
        ("openai", json_reply({"error": {"message": "no", "code": "insufficient_quota"}}, 429), "exhausted"),
        ("google", google_error(429, "x" * 400, DAILY), "exhausted"),
    ],
)
def test_an_unknown_model_or_an_exhausted_account_ends_the_run(name: str, reply: Reply, advice: str) -> None:
    caught = error(VENDORS[name], reply, STRICT)
    assert isinstance(caught, AccessError)
    assert advice in str(caught)


# The part of a prompt that summaries share


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40), st.from_regex(r"\A[0-9a-f]{4}\Z"))
def test_a_prompt_is_split_after_its_document(before: str, document: str, after: str, code: str) -> None:
    fenced = f"{before}<<<document {code}>>>\n{document}\n<<<end of document {code}>>>\n"
    prefix, rest = split_prefix(fenced + after)
    assert prefix + rest == fenced + after
    if f"of document {code}" not in before + document:
        assert prefix == (fenced if after.strip() else "")


def test_an_empty_document_and_one_without_an_end() -> None:
    assert split_prefix("<<<document 1f>>>\n<<<end of document 1f>>>\nx")[1] == "x"
    assert split_prefix("<<<document 1f>>>\nA\n<<<end of document 1f>>>") == (
        "",
        "<<<document 1f>>>\nA\n<<<end of document 1f>>>",
    )
    assert split_prefix("<<<document 1f>>>\nA")[0] == ""


def test_a_document_cannot_move_the_end_of_the_prefix() -> None:
    text = f"<<<document 1f>>>\nA\n<<<end of document 99>>>\nB\n<<<end of document 1f>>>\n{SUMMARY}"
    assert split_prefix(text)[1] == SUMMARY


def test_only_the_first_users_turn_has_a_prefix() -> None:
    turns = [Message(role="user", content="Hello."), Message(role="user", content=DOCUMENT + SUMMARY)]
    assert [prefix for _, prefix in split_system(turns)[1]] == ["", ""]
    assert [prefix for _, prefix in split_system(turns[1:])[1]] == [DOCUMENT]
