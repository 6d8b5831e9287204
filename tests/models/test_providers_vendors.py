"""Vendor-specific behaviour: addresses, request bodies, replies, errors, caches, signatures."""

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
from models.server import Call, Reply, StubServer, asked, call, fail, json_reply, ok
from models.vendors import (
    DOCUMENT,
    KEY,
    SCHEMA,
    STRICT,
    SUMMARY,
    VENDORS,
    anthropic_error,
    anthropic_reply,
    ask,
    bedrock_error,
    bedrock_reply,
    google_error,
    google_reply,
)  # fmt: skip
from together import together

from summeter.models.base import Message, Request
from summeter.models.providers import bedrock as room
from summeter.models.providers.anthropic import MAX_TOKENS
from summeter.models.providers.payload import split_prefix, split_system, without_bounds
from summeter.models.resolve import resolve
from summeter.records import AccessError, CapabilityError, InstallError, ModelError, TransientError, UsageError

BEDROCK, SIGNED = VENDORS["bedrock"], VENDORS["bedrock, signed"]


def where(model: str, **environ: str) -> str:
    llm: Any = resolve(model, environ=environ)
    return str(llm._url)


# Addresses

DEPLOYMENT = "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21"


@together(
    "model, base, version, url",
    [
        ("azure/mine", "https://r.openai.azure.com/", "", "https://r.openai.azure.com/openai/v1/chat/completions"),
        ("azure/mine", "https://r.openai.azure.com", "v1", "https://r.openai.azure.com/openai/v1/chat/completions"),
        ("azure/mine", "https://r.example/openai/v1/", "", "https://r.example/openai/v1/chat/completions"),
        ("azure/mine", "https://r.openai.azure.com", "2024-10-21", DEPLOYMENT),
        ("anthropic/c", "https://a.example", "", "https://a.example/v1/messages"),
        ("anthropic/c", "https://a.example/v1/", "", "https://a.example/v1/messages"),
        ("google/g", "https://h", "", "https://h/v1beta/models/g:generateContent"),
        ("google/g", "https://h/v1", "", "https://h/v1/models/g:generateContent"),
        ("google/tunedModels/x", "https://h/v1beta/", "", "https://h/v1beta/tunedModels/x:generateContent"),
        ("bedrock/m", "", "", "https://bedrock-runtime.eu-west-3.amazonaws.com/model/m/converse"),
        ("bedrock/m", "https://inner.example/bedrock/", "", "https://inner.example/bedrock/model/m/converse"),
    ],
)
def test_addresses(model: str, base: str, version: str, url: str) -> None:
    addresses = ("AZURE_OPENAI_ENDPOINT", "ANTHROPIC_BASE_URL", "GOOGLE_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
    keys = ("AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")
    environ = {**dict.fromkeys(addresses, base), **dict.fromkeys(keys, KEY)}
    assert where(model, AZURE_OPENAI_API_VERSION=version, AWS_DEFAULT_REGION="eu-west-3", **environ) == url


def test_azure_without_an_endpoint() -> None:
    with pytest.raises(UsageError, match=r"AZURE_OPENAI_ENDPOINT \(as in https://RESOURCE\.openai"):
        resolve("azure/mine", environ={"AZURE_OPENAI_API_KEY": KEY})


# Request bodies

MARKED = [{"type": "text", "text": DOCUMENT, "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": SUMMARY}]
AGAIN = ask().model_copy(update={"messages": (
    *ask().messages, Message(role="assistant", content="{"), Message(role="user", content="Again."),
)})  # fmt: skip
BARE = asked("x", temperature=None)


@together(
    "model, request_, body",
    [
        # The document is marked for the cache, and nothing else.
        ("anthropic/claude", AGAIN, {
            "model": "claude", "max_tokens": MAX_TOKENS, "temperature": 0.0, "system": "You judge.",
            "messages": [
                {"role": "user", "content": MARKED}, {"role": "assistant", "content": "{"},
                {"role": "user", "content": "Again."},
            ],
        }),
        ("openrouter/anthropic/claude-sonnet-5", ask(), {
            "model": "anthropic/claude-sonnet-5", "temperature": 0.0, "provider": {"require_parameters": True},
            "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": MARKED}],
        }),
        ("openrouter/a/b", ask(max_tokens=9), {
            "model": "a/b", "temperature": 0.0, "max_tokens": 9, "provider": {"require_parameters": True},
            "messages": [
                {"role": "system", "content": "You judge."}, {"role": "user", "content": DOCUMENT + SUMMARY},
            ],
        }),
        ("google/g", AGAIN.model_copy(update={
            "format": "json_schema", "schema_": SCHEMA, "max_tokens": 50, "seed": 1, "top_logprobs": 3,
        }), {
            "systemInstruction": {"parts": [{"text": "You judge."}]},
            "contents": [
                {"role": "user", "parts": [{"text": DOCUMENT + SUMMARY}]}, {"role": "model", "parts": [{"text": "{"}]},
                {"role": "user", "parts": [{"text": "Again."}]},
            ],
            "generationConfig": {
                "temperature": 0.0, "seed": 1, "maxOutputTokens": 50, "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA, "responseLogprobs": True, "logprobs": 3,
            },
        }),
        ("google/g", BARE, {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}),
        ("bedrock/anthropic.claude-sonnet-4-6", STRICT.model_copy(update={"max_tokens": 9}), {
            "messages": [{"role": "user", "content": [
                {"text": DOCUMENT}, {"cachePoint": {"type": "default"}}, {"text": SUMMARY},
            ]}],
            "system": [{"text": "You judge."}],
            "inferenceConfig": {"temperature": 0.0, "maxTokens": 9},
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {
                "name": "a_b_number", "schema": json.dumps(SCHEMA, separators=(",", ":")),
            }}}},
        }),
    ],
)  # fmt: skip
def test_request_bodies(model: str, request_: Request, body: dict[str, Any]) -> None:
    environ = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GOOGLE_API_KEY"), KEY)
    llm: Any = resolve(model, environ={**environ, "AWS_BEARER_TOKEN_BEDROCK": KEY, "AWS_REGION": "r"})
    assert llm.payload(request_) == body


@together(
    "model, marked",
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


@together(
    "version, name",
    [("", "max_completion_tokens"), ("2024-10-21", "max_completion_tokens"), ("2024-06-01", "max_tokens")],
)
def test_azures_name_for_the_limit(version: str, name: str) -> None:
    azure = dataclasses.replace(VENDORS["azure"], environ={"AZURE_OPENAI_API_VERSION": version})
    _, seen = azure.answer(ok(), ask(max_tokens=9))
    assert seen.body[name] == 9
    assert "Authorization" not in seen.headers


def test_anthropic_is_sent_no_bounds_and_the_request_keeps_them() -> None:
    def schema(**bounds: Any) -> dict[str, Any]:
        text = {key: bounds[key] for key in ("maxLength",) if key in bounds}
        rows = {key: bounds[key] for key in ("minItems", "maxItems") if key in bounds}
        return {
            "type": "object",
            "properties": {
                "minItems": {"$ref": "#/$defs/maximum"},  # a name, not a keyword
                "list": {"type": "array", "items": {"type": "string", **text}, **rows},
                "or": {"anyOf": [{"type": "string", **text}, {"type": "null"}]},
            },
            "required": ["minItems", "list", "or"],
            "$defs": {"maximum": {"type": "string", **text, "enum": ["maxLength"]}},
        }

    bounded = schema(maxLength=3, minItems=1, maxItems=9)
    request = ask(format="json_schema", schema_name="x", schema_=bounded)
    _, seen = VENDORS["anthropic"].answer(anthropic_reply("x"), request)
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.body["output_config"]["format"]["schema"] == schema()
    assert request.schema_ == bounded
    assert list(without_bounds(bounded)) == list(bounded)  # the order of a reply


# Replies


def _openai(text: Any = "x", usage: Any = None, **choice: Any) -> Reply:
    return json_reply({"choices": [{"message": {"content": text}, **choice}], "usage": usage})


THOUGHT = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
CACHED = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 5}}
FLAGGED = {"message": "flagged", "type": "invalid_request_error", "code": "invalid_prompt"}
EXPLAINED = {"type": "refusal", "category": "cyber", "explanation": "Looks like an exploit."}
BLOCKED = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}}


@together(
    "name, reply, fields",
    [
        ("openai", json_reply({"error": FLAGGED}, 400),
         {"text": "", "finish_reason": "content_filter", "refusal": "flagged"}),
        ("openai", _openai(usage=CACHED), {"tokens_in": 9, "tokens_cached": 2, "tokens_written": 5}),
        # DeepSeek counts cached tokens under a name of its own.
        ("openai-api", _openai(usage={"prompt_tokens": 9, "prompt_cache_hit_tokens": 6}), {"tokens_cached": 6}),
        ("openai-api", ok(None), {"text": "", "refusal": None}),
        ("openai-api", ok([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]), {"text": "one two"}),
        ("openai-api", ok([{"type": "refusal", "refusal": "No."}]), {"text": "", "refusal": "No."}),
        ("openai-api", ok([{"type": "text", "text": None}, "odd", {"type": "image"}]), {"text": "", "refusal": None}),
        ("openai-api", ok("half a \ud83d pair"), {"text": "half a \ufffd pair"}),
        ("openai-api", Reply(content=ok("mistyped").content, headers={"Content-Type": "text/html"}),
         {"text": "mistyped"}),
        ("openai-api", json_reply({"choices": [{"message": {"content": "bare"}}], "usage": None}), {"text": "bare"}),
        ("mistral", ok("half", finish="model_length"), {"finish_reason": "length"}),
        ("mistral", ok(THOUGHT), {"text": "yes"}),
        ("openrouter", json_reply({"error": {"message": "flagged", "metadata": {"reasons": ["violence"]}}}, 403),
         {"refusal": "flagged"}),
        ("openrouter", json_reply({"error": {"message": "declined", "metadata": {"error_type": "refusal"}}}, 403),
         {"refusal": "declined"}),
        ("anthropic", anthropic_reply("x", "stop_sequence"), {"finish_reason": "stop"}),
        ("anthropic", anthropic_reply("x", "model_context_window_exceeded"), {"finish_reason": "length"}),
        ("anthropic", anthropic_reply("x", "pause_turn"), {"finish_reason": "pause_turn"}),
        ("anthropic", anthropic_reply("I", "refusal"),
         {"text": "I", "refusal": "stopped by the provider's safety classifiers"}),
        ("anthropic", anthropic_reply("", "refusal", stop_details=EXPLAINED),
         {"refusal": "Looks like an exploit. / cyber"}),
        ("google", json_reply(BLOCKED), {
            "finish_reason": "content_filter", "tokens_in": 3,
            "refusal": "the prompt was blocked: PROHIBITED_CONTENT",
        }),
        ("google", google_reply(None, "SAFETY", finishMessage="no such talk"),
         {"refusal": "the reply was blocked: SAFETY (no such talk)"}),
        ("google", google_reply("x", "MALFORMED_RESPONSE"), {"finish_reason": "malformed_response", "refusal": None}),
    ],
)  # fmt: skip
def test_replies(name: str, reply: Reply, fields: dict[str, Any]) -> None:
    found, _ = VENDORS[name].answer(reply)
    assert {field: getattr(found, field) for field in fields} == fields


def test_a_log_probability_of_minus_infinity_is_a_number() -> None:
    entry = {"token": "x", "logprob": float("-inf"), "top_logprobs": [{"token": "y", "logprob": None}, "odd"]}
    reply, _ = VENDORS["vllm"].answer(_openai(logprobs={"content": [entry]}), ask(top_logprobs=1))
    assert reply.logprobs is not None
    assert (reply.logprobs[0].logprob, reply.logprobs[0].top) == (-9999.0, ())


# Errors

FAULTS = [{"loc": ["body", "temperature"], "msg": "Input should be less than or equal to 1.5"}]
NO_SERVER = "No endpoints found that can handle the requested parameters."
HOT = "Unsupported value: 'temperature' does not support 0.0 with this model."


@together(
    "name, reply, request_, lacks",
    [
        ("openai", fail(403, "You are not allowed to request logprobs"), ask(top_logprobs=5), "logprobs"),
        ("mistral", json_reply({"detail": FAULTS}, 422), ask(), "temperature"),
        ("mistral", json_reply({"message": {"detail": FAULTS}, "type": "invalid"}, 422), ask(), "temperature"),
        ("openrouter", fail(404, NO_SERVER), STRICT, "json_schema"),
        ("openrouter", fail(404, NO_SERVER), ask(), "temperature"),
        ("openrouter", fail(404, NO_SERVER), ask(seed=1, temperature=None), "seed"),
        ("openrouter", fail(404, NO_SERVER), STRICT.model_copy(update={"top_logprobs": 3}), "logprobs"),
        ("openai-api", fail(400, "response_format json_schema is not supported"), STRICT, "json_schema"),
        ("openai-api", fail(422, "extra fields not permitted"), STRICT, "json_schema"),
        ("openai-api", Reply(400, b"computer says no"), STRICT, "json_schema"),
        ("openai-api", fail(500, "unknown response_format"), STRICT, "json_schema"),
        ("openai-api", fail(400, "nope"), ask(format="json_object"), "json_object"),
        ("openai-api", fail(400, HOT), ask(), "temperature"),
        ("openai-api", fail(400, HOT), STRICT, "temperature"),
        ("openai-api", fail(400, "unknown parameter: seed"), ask(seed=1), "seed"),
        ("openai-api", fail(400, "Unsupported parameter: 'max_tokens'"), ask(max_tokens=5), "max_tokens"),
        *(
            ("vllm", _openai(logprobs={"content": [{"token": "x", "logprob": -1.0}, entry]}), ask(top_logprobs=1),
             "logprobs")
            for entry in ({"token": "x"}, {"logprob": -1.0}, {"token": "x", "logprob": "NaN"})
        ),
    ],
)  # fmt: skip
def test_capability_errors_name_what_is_lacking(name: str, reply: Reply, request_: Request, lacks: str) -> None:
    caught = VENDORS[name].failure(reply, request_)
    assert isinstance(caught, CapabilityError)
    assert caught.lacks == lacks


DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
MINUTE = {"violations": [{"quotaId": "RequestsPerMinute-Free"}]}
DELAY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}
DOWN = {"code": 502, "message": "down"}


@together(
    "name, reply, kind, said",
    [
        # Errors that end the run.
        ("openai", fail(403, "no logprobs for you"), AccessError, "OPENAI_API_KEY"),  # nobody asked for them
        ("openrouter", fail(404, "No endpoints found for a/b."), AccessError, "model's name"),
        ("bedrock", bedrock_error(400, "The provided model identifier is invalid."), AccessError, "model's name"),
        ("bedrock", bedrock_error(400, "Invocation with on-demand throughput isn't supported."), AccessError,
         "model's name"),
        ("mistral", json_reply({"message": "Invalid model: x", "type": "invalid_model"}, 400), AccessError,
         "model's name"),
        ("openrouter", fail(400, "a/b is not a valid model ID"), AccessError, "model's name"),
        ("anthropic", anthropic_error(400, "Your credit balance is too low to access the API."), AccessError,
         "exhausted"),
        ("openai", json_reply({"error": {"message": "no", "code": "insufficient_quota"}}, 429), AccessError,
         "exhausted"),
        ("google", google_error(429, "x" * 400, DAY), AccessError, "exhausted"),
        ("google", google_error(400, "API key not valid.", {"reason": "API_KEY_INVALID"}), AccessError,
         "GOOGLE_API_KEY"),
        ("openai-api", fail(404, "bad"), AccessError, "model's name and the base URL"),
        ("openai-api", fail(402, "bad"), AccessError, "budget"),
        ("openai-api", fail(307, "bad"), AccessError, "Redirects are not followed"),
        # Errors of one call.
        ("openai-api", fail(413, "bad"), ModelError, "larger"),
        ("openai-api", fail(405, "bad"), ModelError, "refuse it again"),
        ("openai-api", fail(400, "bad"), ModelError, "refuses the request"),
        ("openai-api", fail(422, "the seed of this is a bad prompt"), ModelError, "refuses the request"),  # none sent
        # Errors that are retried; gateways return those of the server behind them with status 200.
        ("bedrock", bedrock_error(424, "Model is not ready"), TransientError, "Model is not ready"),
        ("mistral", ok("ha", finish="error"), TransientError, "interrupted its reply"),
        ("openrouter", json_reply({"choices": [{"error": DOWN}]}), TransientError, "answered 502: down"),
        ("openai-api", json_reply({"error": {"message": "down", "code": 503}}), TransientError, "answered 503: down"),
        ("openai-api", json_reply({"error": "odd"}), TransientError, "answered 502: odd"),
    ],
)  # fmt: skip
def test_errors_by_kind(name: str, reply: Reply, kind: type[ModelError], said: str) -> None:
    caught = VENDORS[name].failure(reply)
    assert type(caught) is kind
    assert said in str(caught)


@together(
    "reply, seconds",
    [
        (google_error(429, "You exceeded your quota, please check your billing details.", MINUTE, DELAY), 34.07),
        (google_error(503, "busy", DELAY), 34.07),
        (google_error(429, "You exceeded your quota.", DELAY, Retry_After="2"), 2.0),
    ],
)
def test_googles_retry_delay_is_in_the_body(reply: Reply, seconds: float) -> None:
    caught = VENDORS["google"].failure(reply)
    assert isinstance(caught, TransientError)
    assert caught.retry_after == seconds


# Bedrock


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
    caught = SIGNED.failure(bedrock_error(403, said))
    assert isinstance(caught, AccessError)
    assert "session-token-1234" not in str(caught)
    assert KEY not in str(caught)
    assert "StubException" in str(caught)


def test_credentials_of_the_provider_chain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def send(url: str) -> None:
        call(resolve("bedrock/m", base_url=url, environ={"AWS_REGION": "here-1"}), ask())

    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, file in (("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")):
        monkeypatch.setenv(name, str(tmp_path / file))
    with pytest.raises(AccessError, match=r"no AWS credentials.*AWS_PROFILE"):
        send("http://127.0.0.1:9")
    with pytest.raises(UsageError, match="AWS_REGION"):
        resolve("bedrock/m", environ={})
    (tmp_path / "config").write_text("[default]\nregion = from-file-1\nsso_session = none\n[profile lab]\n")
    assert "from-file-1" in where("bedrock/m")
    (tmp_path / "credentials").write_text(f"[lab]\naws_access_key_id = AKIDLAB\naws_secret_access_key = {KEY}\n")
    monkeypatch.setenv("AWS_PROFILE", "lab")
    with StubServer(lambda _: bedrock_reply("x")) as server:
        send(server.root)
        assert "Credential=AKIDLAB/" in server.calls[0].headers["Authorization"]
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(AccessError, match="nobody"):
        send("http://127.0.0.1:9")
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


# The part of a prompt that summaries share


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40), st.from_regex(r"\A[0-9a-f]{4}\Z"))
def test_a_prompt_is_split_after_its_document(before: str, document: str, after: str, code: str) -> None:
    fenced = f"{before}<<<document {code}>>>\n{document}\n<<<end of document {code}>>>\n"
    prefix, rest = split_prefix(fenced + after)
    assert prefix + rest == fenced + after
    if f"of document {code}" not in before + document:
        assert prefix == (fenced if after.strip() else "")


@together(
    "text, rest",
    [
        ("<<<document 1f>>>\n<<<end of document 1f>>>\nx", "x"),
        *((text, text) for text in ("<<<document 1f>>>\nA\n<<<end of document 1f>>>", "<<<document 1f>>>\nA")),
        # A document cannot move the end of the prefix.
        ("<<<document 1f>>>\nA\n<<<end of document 99>>>\nB\n<<<end of document 1f>>>\nx", "x"),
    ],
)
def test_empty_and_odd_prefixes(text: str, rest: str) -> None:
    assert split_prefix(text)[1] == rest


def test_only_the_first_users_turn_has_a_prefix() -> None:
    turns = [Message(role="user", content="Hello."), Message(role="user", content=DOCUMENT + SUMMARY)]
    assert [prefix for _, prefix in split_system(turns)[1]] == ["", ""]
    assert [prefix for _, prefix in split_system(turns[1:])[1]] == [DOCUMENT]
