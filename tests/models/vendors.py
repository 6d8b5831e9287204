"""Replies, refusals and errors of each vendor's API, for the tests of the providers.

The formats are those of the vendors' clients of 2026 (anthropic 2.12, google-genai 3.4, mistralai 3.7, openai
3.54) and of botocore's model of Bedrock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from models.server import Call, Reply, StubServer, call, fail, json_reply, ok

from summeter.models.base import LLM, Completion, Message, Request
from summeter.models.providers.provider import PROVIDERS
from summeter.models.resolve import resolve
from summeter.records import ModelError

KEY = "sk-secret-0123456789abcdef"
TOKENS = ((" yes", -0.5, ((" yes", -0.5), (" no", -1.0))), (".", -0.25, ()))
"""Two tokens with their log-probabilities and alternatives, which every vendor that has them sends."""

DOCUMENT = "<<<document 1f>>>\nA cat sat.\n<<<end of document 1f>>>\n"
SUMMARY = "<<<summary 2e>>>\nA dog sat.\n<<<end of summary 2e>>>\nIs it true?"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def ask(text: str = DOCUMENT + SUMMARY, **fields: Any) -> Request:
    """Return a request with a system turn."""
    turns = (Message(role="system", content="You judge."), Message(role="user", content=text))
    return Request(model="some/model", messages=turns, **fields)


STRICT = ask(format="json_schema", schema_name="a b/number", schema_=SCHEMA)


@dataclass(frozen=True)
class Vendor:
    """A provider and the formats of its server: `plain` returns a regular reply, `error` an error of a status."""

    model: str
    variable: str
    path: str
    header: tuple[str, str]
    plain: Callable[[str], Reply]
    cut: Reply
    refused: Reply
    error: Callable[..., Reply]
    temperature: str
    schema: Callable[[dict[str, Any]], Any]
    lacks: frozenset[str] = frozenset()
    with_logprobs: Reply | None = None
    seed: Callable[[dict[str, Any]], Any] = lambda body: body["seed"]
    environ: Mapping[str, str] = field(default_factory=dict)

    def connect(self, server: StubServer, **settings: Any) -> LLM:
        """Return the model at this server, resolved from its model string."""
        return resolve(
            self.model, base_url=server.root, environ={self.variable: KEY, **self.environ}, **settings
        )  # fmt: skip

    def answer(self, reply: Reply, request: Request | None = None, **settings: Any) -> tuple[Completion, Call]:
        """Return the outcome of one reply of the server, and the call that the server received."""
        with StubServer(lambda _: reply) as server:
            return call(self.connect(server, **settings), request or ask())[0], server.calls[0]

    def failure(self, reply: Reply, request: Request | None = None, **settings: Any) -> ModelError:
        """Return the error of one reply, which the provider does not retry."""
        with StubServer(lambda _: reply) as server:
            with pytest.raises(ModelError) as caught:
                call(self.connect(server, **settings), request or ask())
            assert len(server.calls) == 1
        return caught.value


def _openai_logprobs() -> Reply:
    content = [
        {"token": token, "logprob": at, "bytes": [32],
         "top_logprobs": [{"token": other, "logprob": there, "bytes": [32]} for other, there in top]}
        for token, at, top in TOKENS
    ]  # fmt: skip
    return _openai_plain(" yes.", {"content": content, "refusal": None})


def _openai_plain(text: str, logprobs: Any = None) -> Reply:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": logprobs}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "served-1"}
    return json_reply({**body, "choices": [choice], "usage": {**usage, "total_tokens": 18}})


def _openai(model: str, variable: str, path: str = "/chat/completions", **other: Any) -> Vendor:
    given = {
        "header": ("Authorization", f"Bearer {KEY}"), "cut": ok("half", finish="length"),
        "refused": ok(None, refusal="I will not."), "error": fail, "plain": _openai_plain,
        "temperature": "Unsupported value: 'temperature' does not support 0.0 with this model.",
        "schema": lambda body: body["response_format"]["json_schema"]["schema"],
        "with_logprobs": _openai_logprobs(), **other,
    }  # fmt: skip
    return Vendor(model, variable, path, **given)


# Anthropic


def anthropic_reply(text: str | None, reason: str = "end_turn", **other: Any) -> Reply:
    """Return a message of Anthropic, whose input tokens exclude cached ones."""
    usage = {"input_tokens": 5, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 4, "output_tokens": 7}
    content = [] if text is None else [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    return json_reply(
        {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-1", "content": content,
         "stop_reason": reason, "stop_sequence": None, "usage": usage, **other}
    )  # fmt: skip


def anthropic_error(status: int, message: str = "no", **headers: str) -> Reply:
    """Return Anthropic's error object."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"type": "error", "error": {"type": "stub_error", "message": message}, "request_id": "req_1"}
    return json_reply(body, status, **named)


# Google


def google_reply(text: str | None, reason: str | None = "STOP", **other: Any) -> Reply:
    """Return a reply of generateContent with a thought before the text."""
    candidate: dict[str, Any] = {"index": 0, "finishReason": reason, **other}
    if text is not None:
        candidate["content"] = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": text}]}
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "cachedContentTokenCount": 4}
    return json_reply({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "served-1"})


def google_error(status: int, message: str = "no", *details: dict[str, Any], **headers: str) -> Reply:
    """Return Google's error object with its details."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {"code": status, "message": message, "status": "STUB", "details": list(details)}
    return json_reply({"error": error}, status, **named)


def _google_logprobs() -> Reply:
    result = {
        "chosenCandidates": [{"token": token, "tokenId": 1, "logProbability": at} for token, at, _ in TOKENS],
        "topCandidates": [
            {"candidates": [{"token": other, "logProbability": there} for other, there in top]} for _, _, top in TOKENS
        ],
    }
    return google_reply(" yes.", logprobsResult=result)


# Bedrock


def bedrock_reply(text: str, reason: str = "end_turn") -> Reply:
    """Return a reply of Converse with reasoning before the text."""
    content = [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": text}]
    usage = {
        "inputTokens": 5,
        "outputTokens": 7,
        "totalTokens": 18,
        "cacheReadInputTokens": 4,
        "cacheWriteInputTokens": 2,
    }
    return json_reply(
        {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason, "usage": usage,
         "metrics": {"latencyMs": 12}}
    )  # fmt: skip


def bedrock_error(status: int, message: str = "no", **headers: str) -> Reply:
    """Return AWS's error, whose type is in a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kind = {"x-amzn-ErrorType": "StubException:http://internal.amazon.com/coral/"}
    return json_reply({"message": message}, status, **kind, **named)


def _bedrock(model: str, **other: Any) -> Vendor:
    given = {
        "plain": bedrock_reply, "cut": bedrock_reply("half", "max_tokens"),
        "refused": bedrock_reply("", "guardrail_intervened"), "error": bedrock_error,
        "temperature": "The model returned the following errors: `temperature` is deprecated for this model.",
        "schema": lambda body: body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"],
        "lacks": frozenset({"json_object", "seed", "logprobs"}), **other,
    }  # fmt: skip
    return Vendor(model, **given)


VENDORS: dict[str, Vendor] = {
    "openai": _openai("openai/gpt", "OPENAI_API_KEY"),
    "openrouter": _openai("openrouter/a/b", "OPENROUTER_API_KEY"),
    "ollama": _openai("ollama/tiny", "OLLAMA_API_KEY"),
    "vllm": _openai("vllm/tiny", "VLLM_API_KEY"),
    "llamacpp": _openai("llamacpp/tiny", "LLAMACPP_API_KEY"),
    "lmstudio": _openai("lmstudio/tiny", "LMSTUDIO_API_KEY"),
    "openai-api": _openai("openai-api/stub/tiny", "STUB_API_KEY"),
    "mistral": _openai("mistral/small", "MISTRAL_API_KEY", seed=lambda body: body["random_seed"]),
    "azure": _openai(
        "azure/mine", "AZURE_OPENAI_API_KEY", "/openai/v1/chat/completions", header=("api-key", KEY),
        refused=json_reply(
            {"error": {"message": "The response was filtered", "param": "prompt", "code": "content_filter",
                       "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, 400
        ),
    ),
    "anthropic": Vendor(
        "anthropic/claude", "ANTHROPIC_API_KEY", "/v1/messages", ("x-api-key", KEY), anthropic_reply,
        cut=anthropic_reply("half", "max_tokens"), error=anthropic_error,
        refused=anthropic_reply(None, "refusal", stop_details={"type": "refusal", "category": "bio"}),
        temperature="`temperature` is deprecated for this model.",
        schema=lambda body: body["output_config"]["format"]["schema"],
        lacks=frozenset({"json_object", "seed", "logprobs"}),
    ),
    "google": Vendor(
        "google/gemini", "GOOGLE_API_KEY", "/v1beta/models/gemini:generateContent", ("x-goog-api-key", KEY),
        google_reply, cut=google_reply("half", "MAX_TOKENS"), error=google_error,
        refused=google_reply(None, "SAFETY", finishMessage="no such talk"),
        temperature="Unsupported parameter: temperature", with_logprobs=_google_logprobs(),
        schema=lambda body: body["generationConfig"]["responseJsonSchema"],
        seed=lambda body: body["generationConfig"]["seed"],
    ),
    "bedrock": _bedrock(
        "bedrock/us.anthropic.claude-sonnet-4-6:0", variable="AWS_BEARER_TOKEN_BEDROCK",
        path="/model/us.anthropic.claude-sonnet-4-6%3A0/converse", header=("Authorization", f"Bearer {KEY}"),
        environ={"AWS_REGION": "here-1"},
    ),
    "bedrock, signed": _bedrock(
        "bedrock/arn:aws:bedrock:here-1:12:inference-profile/x", variable="AWS_SECRET_ACCESS_KEY",
        path="/model/arn%3Aaws%3Abedrock%3Ahere-1%3A12%3Ainference-profile%2Fx/converse",
        header=("Authorization", "AWS4-HMAC-SHA256"),
        environ={"AWS_REGION": "here-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SESSION_TOKEN": "session-token-1234"},
    ),
}  # fmt: skip

# A row that speaks OpenAI's dialect under its own names is under contract without a line here.
VENDORS |= {
    name: _openai(f"{name}/tiny", row.keys[0])
    for name, row in PROVIDERS.items()
    if name not in VENDORS and name != "scripted"
}
