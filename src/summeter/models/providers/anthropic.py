"""Call Claude models through Anthropic's Messages API (`anthropic/MODEL`).

The environment variables are ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL. The API enforces JSON schemas
(`output_config.format`) but not arbitrary JSON, and has neither seeds nor log-probabilities. The document in a prompt
is marked for the prefix cache. A message batch is sent as one request body, and its results are lines of JSON.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, to_bytes
from summeter.models.providers import replies
from summeter.models.providers.batches import BatchAPI, BatchStatus
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.payload import cached_blocks, split_system, without_bounds
from summeter.runs.batches import Submission

if TYPE_CHECKING:
    from yarl import URL

VERSION = "2023-06-01"
"""The version of the API. The next version (2026-10-21) refuses temperatures for all models; in this version, only some
models refuse them."""

MAX_TOKENS = 16_000
"""The default limit on new tokens, which the API requires."""

_FINISH = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}  # fmt: skip
# A result of a batch contains the type of an error, not its status code.
_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip
# Maximum difference in seconds between our time of a submission and the vendor's, before and after.
_BEFORE, _AFTER = 120.0, 900.0


class Anthropic(HttpLLM):
    """A Claude model."""

    key_header = "x-api-key"

    def url(self) -> URL:
        # In Anthropic's clients, the base URL has no version.
        base = self.endpoint.base_url
        version = () if base.partition("?")[0].endswith("/v1") else ("v1",)
        return self.beside(*version, "messages")

    def batches(self) -> BatchAPI | None:
        return AnthropicBatches(self)

    def headers(self) -> dict[str, str]:
        return {"anthropic-version": VERSION, **super().headers()}

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the body of the call, in which the end of the document is marked for the prefix cache."""
        replies.refuse(request, self.id, "json_object", "logprobs", "seed", "extra_body")
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
                # The input tokens do not include those read from or written to the cache.
                tokens_in=("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
                tokens_out=("output_tokens",),
                tokens_cached=("cache_read_input_tokens",),
                tokens_written=("cache_creation_input_tokens",),
            ),
        )


class AnthropicBatches(BatchAPI):
    """The batches of one model.

    A cancelled batch has the status `canceling` until its requests in progress have ended.
    """

    most = 100_000
    has_nonce = False

    def batches_url(self, *segments: str) -> URL:
        url = self.llm.url()
        return url.joinpath("batches", *segments).with_query(url.query)

    def entry(self, request: Request) -> bytes:
        return to_bytes({"custom_id": request.key, "params": self.llm.payload(request)})

    async def create(self, entries: Sequence[bytes], submission: Submission) -> str:
        del submission
        separators = [b'{"requests":[', *(b"," for _ in entries[1:])]
        # A single join, since the body may be large.
        body = b"".join((*(part for pair in zip(separators, entries, strict=True) for part in pair), b"]}"))
        return self.id_of(await self.llm.parsed("POST", self.batches_url(), body))

    def status_of(self, batch: Mapping[str, Any]) -> BatchStatus:
        counts, state = _counts(batch), str(batch.get("processing_status"))
        total = sum(counts.values())
        words = f"{state}, {total - counts.get('processing', 0)} of {total} done" if total else state
        return BatchStatus(words, state == "ended")

    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        del status
        # The URL is made from that of the batch, since a key must not be sent to a URL from a reply.
        return self.lines(self.batches_url(batch, "results"))

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

    async def find(self, submission: Submission, known: frozenset[str]) -> str | None:
        """Return the id of the batch that matches the submission by its time and number of requests, or None.

        Batches have no metadata. If another user's batch matches, its results contain none of our keys.
        """
        page = await self.llm.parsed("GET", self.batches_url().update_query({"limit": "1000"}))
        near: dict[str, float] = {}
        for batch in replies.dicts(page.get("data")):
            batch_id = replies.string(batch.get("id"))
            try:
                delay = datetime.fromisoformat(str(batch.get("created_at"))).timestamp() - submission.at
            except (ValueError, OverflowError):
                continue
            matches = sum(_counts(batch).values()) == len(submission.keys) and -_BEFORE <= delay <= _AFTER
            if batch_id is not None and batch_id not in known and matches:
                near[batch_id] = abs(delay)
        return min(near, key=lambda batch_id: near[batch_id], default=None)


def _counts(batch: Mapping[str, Any]) -> dict[str, int]:
    counts = replies.mapping(batch.get("request_counts"))
    return {name: number for name, value in counts.items() if (number := replies.count(value)) is not None}
