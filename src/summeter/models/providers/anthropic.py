"""Anthropic's Messages API, `anthropic/MODEL`: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL.

Replies can be bound to a JSON schema (`output_config.format`), not to "any JSON"; there are no seeds and no
log-probabilities. The document's part of a prompt is marked for the prefix cache. Of Message Batches the requests go
up in one body, and the results come down as lines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, to_bytes
from summeter.models.providers import replies
from summeter.models.providers.batches import BatchAPI, BatchStatus, Tag
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.payload import cached_blocks, split_system, without_bounds

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
# A result names the kind of its error, not the status that the error has alone.
_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip
# How far the clocks of both sides, and the time a request takes, may set apart what is one moment.
_BEFORE, _AFTER = 120.0, 900.0


class Anthropic(HttpLLM):
    """One Claude model."""

    def url(self) -> URL:
        # Anthropic's own clients name the address without the version.
        base = self.endpoint.base_url
        version = () if base.partition("?")[0].endswith("/v1") else ("v1",)
        return self.beside(*version, "messages")

    def batches(self) -> BatchAPI | None:
        return AnthropicBatches(self)

    def headers(self) -> dict[str, str]:
        key = self.endpoint.key
        return {"anthropic-version": VERSION, **({} if key is None else {"x-api-key": key.get_secret_value()})}

    def payload(self, request: Request) -> dict[str, Any]:
        """The body of the call; the end of the document is marked for the prefix cache."""
        replies.refuse(request, self.id, "json_object", "logprobs", "seed")
        system, turns = split_system(request.messages)
        body: dict[str, Any] = {
            "model": self.name,
            "max_tokens": request.max_tokens or MAX_TOKENS,
            "messages": [{"role": turn.role, "content": cached_blocks(turn.content, prefix)} for turn, prefix in turns],
        }
        if system:
            body["system"] = system
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.format == "json_schema":
            schema = without_bounds(request.schema_ or {})
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        content, reason = body.get("content"), replies.string(body.get("stop_reason"))
        if not isinstance(content, list):
            raise replies.without(answer, "content")
        details = replies.mapping(body.get("stop_details"))
        refusal = " / ".join(filter(None, (replies.string(details.get(name)) for name in ("explanation", "category"))))
        return Completion(
            text=replies.text([part for part in replies.dicts(content) if part.get("type") == "text"]),
            finish_reason=_FINISH.get(reason or "", reason),
            refusal=(refusal or "stopped by the provider's safety classifiers") if reason == "refusal" else None,
            model=replies.string(body.get("model")),
            **replies.tokens(
                body.get("usage"),
                # What was read from the cache or written to it is not among the input tokens.
                tokens_in=("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
                tokens_out=("output_tokens",),
                tokens_cached=("cache_read_input_tokens",),
                tokens_written=("cache_creation_input_tokens",),
            ),
        )


class AnthropicBatches(BatchAPI):
    """The batches of one model. One that was called off is `canceling` until what is under way has ended."""

    most = 100_000
    marks = False

    def at(self, *parts: str) -> URL:
        url = self.llm.url()
        return url.joinpath("batches", *parts).with_query(url.query)

    def entry(self, request: Request) -> bytes:
        return to_bytes({"custom_id": request.key, "params": self.llm.payload(request)})

    async def create(self, entries: Sequence[bytes], tag: Tag) -> str:
        del tag
        commas = [b'{"requests":[', *(b"," for _ in entries[1:])]
        # One copy of what may be large.
        body = b"".join((*(part for pair in zip(commas, entries, strict=True) for part in pair), b"]}"))
        return self.id_of(await self.post(self.at(), body))

    def status_of(self, batch: Mapping[str, Any]) -> BatchStatus:
        counts, state = _counts(batch), str(batch.get("processing_status"))
        total = sum(counts.values())
        words = f"{state}, {total - counts.get('processing', 0)} of {total} done" if total else state
        return BatchStatus(words, state == "ended")

    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        del status
        # From the batch's own address: a key goes to no other that a reply may name.
        return self.lines(self.at(batch, "results"))

    def read(self, result: dict[str, Any], request: Request) -> Completion:
        outcome = replies.mapping(result.get("result"))
        kind = outcome.get("type")
        if kind == "succeeded":
            return self.reply(200, outcome.get("message"), request)
        if kind == "errored":
            error = replies.mapping(outcome.get("error"))
            error = replies.mapping(error.get("error")) or error
            return self.reply(_STATUS.get(str(error.get("type")), 500), {"type": "error", "error": error}, request)
        raise self.absent(str(kind or "no result in it"), cancelled=kind == "canceled")

    async def find(self, tag: Tag, known: frozenset[str]) -> str | None:
        """By the time and the number of requests, since a batch carries no word of ours. Another's batch that is alike
        shows itself when its results hold none of our keys."""
        page = await self.get(self.at().update_query({"limit": "1000"}))
        near: dict[str, float] = {}
        for batch in replies.dicts(page.get("data")):
            batch_id, late = replies.string(batch.get("id")), _seconds(batch.get("created_at")) - tag.at
            alike = sum(_counts(batch).values()) == len(tag.keys) and -_BEFORE <= late <= _AFTER
            if batch_id is not None and batch_id not in known and alike:
                near[batch_id] = abs(late)
        return min(near, key=lambda batch_id: near[batch_id], default=None)


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    counts = replies.mapping(batch.get("request_counts"))
    return {name: number for name, value in counts.items() if (number := replies.count(value)) is not None}


def _seconds(value: Any) -> float:
    """Seconds since 1970 of an RFC 3339 date; minus infinity where it is none."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return float("-inf")
