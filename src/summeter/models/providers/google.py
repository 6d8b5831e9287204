"""Call models through Google's Gemini API (`google/MODEL`).

The environment variables are GOOGLE_API_KEY (or GEMINI_API_KEY) and GOOGLE_BASE_URL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.providers import replies
from summeter.models.providers.http import HttpLLM

if TYPE_CHECKING:
    from yarl import URL

_FINISH = {"STOP": "stop", "MAX_TOKENS": "length"}
# Finish reasons of replies that Google blocked or ended early.
_BLOCKED = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION", "MODEL_ARMOR"}
)


class Google(HttpLLM):
    """A model of the Gemini API."""

    key_header = "x-goog-api-key"

    def url(self) -> URL:
        base, name = self.endpoint.base_url, self.name
        version = () if re.search(r"/v\d+(alpha|beta)?$", base.partition("?")[0]) else ("v1beta",)
        path = name if "/" in name else f"models/{name}"
        return self.beside(*version, *f"{path}:generateContent".split("/"))

    def payload(self, request: Request) -> dict[str, Any]:
        replies.refuse(request, self.id, "extra_body")
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
        config: dict[str, Any] = {
            "temperature": request.temperature,
            "seed": request.seed,
            "maxOutputTokens": request.max_tokens,
            "responseLogprobs": None if request.top_logprobs is None else True,
            "logprobs": request.top_logprobs,
            "responseMimeType": None if request.format == "text" else "application/json",
            "responseJsonSchema": (request.schema_ or {}) if request.format == "json_schema" else None,
        }
        if settings := {name: value for name, value in config.items() if value is not None}:
            body["generationConfig"] = settings
        return body

    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        first = next(iter(replies.dicts(body.get("candidates"))), {})
        blocked = replies.string(replies.mapping(body.get("promptFeedback")).get("blockReason"))
        if not first and not blocked:
            raise replies.without(answer, "candidates")
        reason = replies.string(first.get("finishReason"))
        finish = None if reason is None else _FINISH.get(reason, reason.lower())
        refusal = None
        if blocked or reason in _BLOCKED:
            feedback = replies.mapping(body.get("promptFeedback"))
            message = replies.string(feedback.get("blockReasonMessage") if blocked else first.get("finishMessage"))
            why = f"the prompt was blocked: {blocked}" if blocked else f"the reply was blocked: {reason}"
            refusal = f"{why} ({message})" if message else why
        parts = replies.dicts(replies.mapping(first.get("content")).get("parts"))
        return Completion(
            text=replies.text([part for part in parts if not part.get("thought")]),
            finish_reason="content_filter" if blocked or reason in _BLOCKED else finish,
            refusal=refusal,
            model=replies.string(body.get("modelVersion")),
            logprobs=_logprobs(first.get("logprobsResult"), answer.request),
            **replies.tokens(
                body.get("usageMetadata"),
                tokens_in=("promptTokenCount",),
                tokens_out=("candidatesTokenCount", "thoughtsTokenCount"),  # thoughts are charged as output
                tokens_cached=("cachedContentTokenCount",),
            ),
        )


def _logprobs(value: Any, request: Request) -> tuple[TokenLogprobs, ...] | None:
    """Return the log-probabilities of a reply, in which two parallel lists hold the chosen and the likely tokens."""
    result = replies.mapping(value)
    # Google's JSON omits empty strings.
    chosen = [{"token": "", **entry} for entry in replies.dicts(result.get("chosenCandidates"))]
    tops = [top.get("candidates") for top in replies.dicts(result.get("topCandidates"))]
    pairs = zip(chosen, [*tops, *[None] * len(chosen)], strict=False)
    return replies.token_logprobs(pairs, "logProbability", request)
