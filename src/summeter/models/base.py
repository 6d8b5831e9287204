"""Protocols of everything that answers: LLMs, and the local models (NLI, classifier, classifier of tokens, embedder,
encoder, seq2seq, coreference).

A layer (cache, limit, retry, replay...) wraps an LLM and is an LLM. A local model's `id` names its weights. It batches
concurrent calls by itself: hand over as much as is at hand, in any order. What is longer than it reads is cut at the
end and counted; who would rather not be cut asks `count` and `limit` first. An encoder (BERTScore) gives token
states; an embedder (similarity of texts) one unit vector a text. Both give numpy arrays.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, Protocol, Self, runtime_checkable

import pydantic_core
from pydantic import Field

from summeter.records import ModelError, Record, ReplyError

Role = Literal["system", "user", "assistant"]
Format = Literal["json_schema", "json_object", "text"]


# As `records.canonical`, which makes an encoder a call.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Message(Record):
    """One turn of a conversation."""

    role: Role
    content: str


def to_json(value: Any) -> str:
    """Plain data as JSON without spare blanks, non-ASCII as it is: for long texts, faster than `json`."""
    try:
        return pydantic_core.to_json(value).decode()
    except pydantic_core.PydanticSerializationError:
        # A lone surrogate has no UTF-8.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_bytes(value: Any) -> bytes:
    """Plain data as JSON in UTF-8; a lone surrogate, which has none, is its escape."""
    return to_json(value).encode("utf-8", "backslashreplace")


class TokenLogprobs(Record):
    """One token of a reply, its log-probability, and its likeliest alternatives (token, log-probability)."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    @property
    def alternatives(self) -> tuple[tuple[str, float], ...]:
        """The likeliest alternatives, and the token itself where it is not among them. ReplyError for a
        log-probability that is none."""
        drawn = ((self.token, self.logprob),)
        every = self.top if any(text == self.token for text, _ in self.top) else self.top + drawn
        if wrong := [logprob for _, logprob in every + drawn if not -math.inf < logprob <= 0]:
            raise ReplyError(f"the log-probability {wrong[0]} is none: one is finite, and 0 at most")
        return every


_TURNS = frozenset({"messages", "unkeyed"})


class Request(Record):
    """All that decides an LLM's reply. Equal requests share one key, hence one stored call.

    `draw` tells apart independent samples of one prompt. `top_logprobs` asks for so many alternatives with
    every token of the reply. `format` is the strictest format the server is
    asked to enforce (a server that lacks it is asked for the next weaker one; `Completion.format` says
    which it was); `schema_` is the JSON schema of the reply. `unkeyed` are the messages with fences that no secret
    keys, where those that are sent have others: the key and what is stored are made of them.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    format: Format = "text"
    schema_name: str | None = None
    schema_: dict[str, Any] | None = Field(default=None)
    draw: int = 0
    top_logprobs: int | None = Field(default=None, ge=1, le=20)
    unkeyed: tuple[Message, ...] | None = Field(default=None, exclude=True, repr=False)

    # A prompt is long and its key is asked for several times a call: text and hash are made once.
    @cached_property
    def canonical(self) -> str:
        """The request as canonical JSON."""
        # As canonical(self.model_dump()), at a third of its cost: the long texts go another way.
        rest = {name: getattr(self, name) for name in type(self).model_fields if name not in _TURNS}
        if self.top_logprobs is None:
            del rest["top_logprobs"]  # calls stored before there was such a field keep their keys
        before, after = _CANONICAL.encode({**rest, "messages": None}).split('"messages":null', 1)
        turns = to_json([{"content": turn.content, "role": turn.role} for turn in self.unkeyed or self.messages])
        return f'{before}"messages":{turns}{after}'

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON of the request."""
        return hashlib.sha256(self.canonical.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def prompt(self) -> str:
        """The turns' texts, one below the other."""
        return "\n\n".join(message.content for message in self.messages)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; the copy's key is its own."""
        copied = super().model_copy(update=update, deep=deep)
        for cached in ("canonical", "key"):
            copied.__dict__.pop(cached, None)
        return copied


class Completion(Record):
    """What came back. `finish_reason` is the server's ("stop", "length", "content_filter"...).

    `model` is the name the server says it served; `format` what it enforced, where that is known;
    `seconds` from sending to the last byte; `tokens_cached` the prompt tokens that the provider's prefix cache
    served, `tokens_written` those it stored; `logprobs` one entry a token of the reply, where they were asked for;
    `batch` the id of the batch it came in, if it did.
    """

    text: str
    finish_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    format: Format | None = None
    tokens_cached: int | None = None
    tokens_written: int | None = None
    logprobs: tuple[TokenLogprobs, ...] | None = None
    batch: str | None = None


@contextmanager
def turned_away(completion: Completion) -> Iterator[None]:
    """Around the checks of a reply that came: the error of one that cannot be used holds it, so that it is counted."""
    try:
        yield
    except ModelError as error:
        error.reply = completion
        raise


def paid_reply(error: Exception) -> Completion | None:
    """The reply that was turned away with this error, None where none came."""
    reply = error.reply if isinstance(error, ModelError) else None
    return reply if isinstance(reply, Completion) else None


@runtime_checkable
class LLM(Protocol):
    """Anything that completes a request. `id` is the model string that stands in signatures."""

    @property
    def id(self) -> str: ...

    async def complete(self, request: Request) -> Completion:
        """Answer, or raise TransientError (worth a retry), CapabilityError or ModelError."""
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...
