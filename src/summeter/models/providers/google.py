"""Google's Gemini API, `google/MODEL`: GOOGLE_API_KEY (or GEMINI_API_KEY), GOOGLE_BASE_URL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.providers import replies
from summeter.models.providers.http import HttpLLM

if TYPE_CHECKING:
    from yarl import URL

_FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
# The reasons why Google ends a reply that the model would have gone on with, or shows none.
_BLOCKED = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION", "MODEL_ARMOR"}
)


class Google(HttpLLM):
    """One model of the Gemini API."""

    def url(self) -> URL:
        base, name = self.endpoint.base_url, self.name
        version = () if re.search(r"/v\d+(alpha|beta)?$", base.partition("?")[0]) else ("v1beta",)
        path = name if "/" in name else f"models/{name}"
        return self.beside(*version, *f"{path}:generateContent".split("/"))

    def headers(self) -> dict[str, str]:
        key = self.endpoint.key
        return {} if key is None else {"x-goog-api-key": key.get_secret_value()}

    def payload(self, request: Request) -> dict[str, Any]:
        system = [turn for turn in request.messages if turn.role == "system"]
        body: dict[str, Any] = {
            "contents": [
                {"role": "model" if turn.role == "assistant" else "user", "parts": [{"text": turn.content}]}
                for turn in request.messages
                if turn.role != "system"
            ],
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": turn.content} for turn in system]}
        if config := _config(request):
            body["generationConfig"] = config
        return body

    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        first = next(iter(replies.dicts(body.get("candidates"))), {})
        blocked = replies.string(replies.mapping(body.get("promptFeedback")).get("blockReason"))
        if not first and not blocked:
            raise replies.without(answer, "candidates")
        reason = replies.string(first.get("finishReason"))
        finish = None if reason is None else _FINISH.get(reason, reason.lower())
        parts = replies.dicts(replies.mapping(first.get("content")).get("parts"))
        return Completion(
            text=replies.text([part for part in parts if not part.get("thought")]),
            finish_reason="content_filter" if blocked or reason in _BLOCKED else finish,
            refusal=_refusal(blocked, reason, first, body),
            model=replies.string(body.get("modelVersion")),
            logprobs=None if answer.request.top_logprobs is None else _logprobs(first.get("logprobsResult")),
            **replies.tokens(
                body.get("usageMetadata"),
                tokens_in=("promptTokenCount",),
                tokens_out=("candidatesTokenCount", "thoughtsTokenCount"),  # thoughts are paid for as output
                tokens_cached=("cachedContentTokenCount",),
            ),
        )


def _config(request: Request) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.seed is not None:
        config["seed"] = request.seed
    if request.max_tokens is not None:
        config["maxOutputTokens"] = request.max_tokens
    if request.top_logprobs is not None:
        config |= {"responseLogprobs": True, "logprobs": request.top_logprobs}
    if request.format != "text":
        config["responseMimeType"] = "application/json"
    if request.format == "json_schema":
        config["responseJsonSchema"] = request.schema_ or {}
    return config


def _refusal(blocked: str | None, reason: str | None, first: dict[str, Any], body: dict[str, Any]) -> str | None:
    if blocked:
        message = replies.string(replies.mapping(body.get("promptFeedback")).get("blockReasonMessage"))
        return f"the prompt was blocked: {blocked}{f' ({message})' if message else ''}"
    if reason not in _BLOCKED:
        return None
    message = replies.string(first.get("finishMessage"))
    return f"the reply was blocked: {reason}{f' ({message})' if message else ''}"


def _logprobs(value: Any) -> tuple[TokenLogprobs, ...] | None:
    """One list for the chosen tokens, one, beside it, for the likeliest of each place."""
    result = replies.mapping(value)
    chosen, tops = replies.dicts(result.get("chosenCandidates")), replies.dicts(result.get("topCandidates"))
    tokens = []
    for place, entry in enumerate(chosen):
        at = replies.logprob(entry.get("logProbability"))
        if at is None:
            return None
        top = _pairs(tops[place].get("candidates")) if place < len(tops) else ()
        tokens.append(TokenLogprobs(token=replies.text(entry.get("token")), logprob=at, top=top))
    return tuple(tokens) or None


def _pairs(candidates: Any) -> tuple[tuple[str, float], ...]:
    pairs = [
        (replies.text(candidate.get("token")), replies.logprob(candidate.get("logProbability")))
        for candidate in replies.dicts(candidates)
    ]
    return tuple((token, at) for token, at in pairs if at is not None)
