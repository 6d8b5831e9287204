"""Anthropic's Messages API, `anthropic/MODEL`: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL.

Replies can be bound to a JSON schema (`output_config.format`), not to "any JSON"; there are no seeds and no
log-probabilities. The document's part of a prompt is marked for the prefix cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request
from summeter.models.batch import BatchAPI
from summeter.models.providers import replies
from summeter.models.providers.bounds import without_bounds
from summeter.models.providers.endpoint import find, join, named
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.options import Options
from summeter.models.providers.prefix import blocks, parted

if TYPE_CHECKING:
    from yarl import URL

VERSION = "2023-06-01"
"""The API's version. Its next one (2026-10-21) takes no temperature for any model; this one leaves it to the model."""

MAX_TOKENS = 16_000
"""The limit on new tokens where none is given: the API wants one."""

_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}  # fmt: skip


class Anthropic(HttpLLM):
    """One Claude model."""

    def _where(self) -> URL:
        # Anthropic's own clients name the address without the version.
        base = self._endpoint.base_url
        return join(base, "messages") if base.partition("?")[0].endswith("/v1") else join(base, "v1", "messages")

    def under(self, *parts: str) -> URL:
        """An address below that of the calls."""
        return self._where().joinpath(*parts).with_query(self._where().query)

    def batches(self) -> BatchAPI | None:
        """Message Batches."""
        from summeter.models.providers.anthropic_batches import AnthropicBatches

        return AnthropicBatches(self)

    def _headers(self) -> dict[str, str]:
        key = self._endpoint.key
        return {"anthropic-version": VERSION, **({} if key is None else {"x-api-key": key.reveal()})}

    def _payload(self, request: Request) -> dict[str, Any]:
        replies.refuse(request, self.id, "json_object", "logprobs", "seed")
        system, turns = parted(request.messages)
        body: dict[str, Any] = {
            "model": self._name,
            "max_tokens": request.max_tokens or MAX_TOKENS,
            "messages": [{"role": turn.role, "content": blocks(turn.content, prefix)} for turn, prefix in turns],
        }
        if system:
            body["system"] = system
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.format == "json_schema":
            schema = without_bounds(request.schema_ or {})
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def _completion(self, body: dict[str, Any], answer: replies.Answer, request: Request) -> Completion:
        content, reason = body.get("content"), replies.string(body.get("stop_reason"))
        if not isinstance(content, list):
            raise replies.without(answer, "content")
        usage = replies.mapping(body.get("usage"))
        cached = usage.get("cache_read_input_tokens")
        return Completion(
            text=replies.text([part for part in replies.dicts(content) if part.get("type") == "text"]),
            finish_reason=_FINISH.get(reason or "", reason),
            refusal=_refusal(body) if reason == "refusal" else None,
            model=replies.string(body.get("model")),
            # What was read from the cache or written to it is not among the input tokens.
            tokens_in=replies.total(usage.get("input_tokens"), usage.get("cache_creation_input_tokens"), cached),
            tokens_out=replies.count(usage.get("output_tokens")),
            tokens_cached=replies.count(cached),
            tokens_written=replies.count(usage.get("cache_creation_input_tokens")),
            seconds=answer.seconds,
            format=request.format,
        )


def _refusal(body: dict[str, Any]) -> str:
    details = replies.mapping(body.get("stop_details"))
    said = [replies.string(details.get(name)) for name in ("explanation", "category")]
    return " / ".join(one for one in said if one) or "stopped by the provider's safety classifiers"


def anthropic(name: str, options: Options) -> Anthropic:
    """The factory behind `anthropic/MODEL`."""
    return Anthropic(f"anthropic/{name}", name, find(named("ANTHROPIC"), options, "https://api.anthropic.com"), options)
