"""The protocol that LLMs implement, with the requests they receive and the completions they return.

A layer (cache, rate limit, retry, ...) wraps an LLM and is itself an LLM. Local networks have a protocol of their own:
`summeter.models.networks.Network`.
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

Role = Literal["system", "user", "assistant", "context"]
Format = Literal["json_schema", "json_object", "text"]


# The encoder of `records.canonical`, which creates a new one for each call.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Message(Record):
    """One turn of a conversation; the role "context" exists only in some chat templates of local servers."""

    role: Role
    content: str


def to_json(value: Any) -> str:
    """Return plain data as compact JSON with non-ASCII characters unescaped.

    This is faster than the module `json` for long texts.
    """
    try:
        return pydantic_core.to_json(value).decode()
    except pydantic_core.PydanticSerializationError:
        # A lone surrogate cannot be encoded in UTF-8.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_bytes(value: Any) -> bytes:
    """Return plain data as JSON encoded in UTF-8, with lone surrogates escaped."""
    return to_json(value).encode("utf-8", "backslashreplace")


class TokenLogprobs(Record):
    """A token of a reply with its log-probability.

    `top` holds the most likely tokens at this position with their log-probabilities.
    """

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    @property
    def alternatives(self) -> tuple[tuple[str, float], ...]:
        """The most likely tokens, and the chosen token if it is not among them.

        Raises ReplyError if a log-probability is above 0 or not finite.
        """
        chosen = ((self.token, self.logprob),)
        candidates = self.top if any(text == self.token for text, _ in self.top) else self.top + chosen
        if invalid := [logprob for _, logprob in candidates + chosen if not -math.inf < logprob <= 0]:
            raise ReplyError(f"the reply has the log-probability {invalid[0]}; it must be finite and at most 0")
        return candidates


_ASIDE = frozenset({"messages", "unkeyed", "example"})


class Request(Record):
    """Everything that determines an LLM's reply.

    Equal requests have the same key and therefore share one stored call.

    `draw` numbers independent samples of one prompt. `top_logprobs` is the number of alternatives requested for each
    token of the reply. `format` is the strictest format that the server is asked to enforce; a server that does not
    support this format is asked for the next weaker one, which is recorded in `Completion.format`. `schema_` is the
    JSON schema of the reply. `unkeyed` holds the messages with unkeyed fence codes if `messages` contain keyed ones;
    the key and the stored request are computed from the unkeyed messages. `example` is the reply of a dry run.
    `extra_body` holds fields for the server's chat template, as vLLM names them: `documents`, `chat_template_kwargs`.
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
    extra_body: dict[str, Any] | None = None
    unkeyed: tuple[Message, ...] | None = Field(default=None, exclude=True, repr=False)
    example: str | None = Field(default=None, exclude=True, repr=False)

    # Prompts are long, and the key is used several times per call: text and hash are cached.
    @cached_property
    def canonical(self) -> str:
        """The request as canonical JSON."""
        # Equal to canonical(self.model_dump()) at a third of its cost: the long texts are encoded separately.
        rest = {name: getattr(self, name) for name in type(self).model_fields if name not in _ASIDE}
        for name in ("top_logprobs", "extra_body"):
            if rest[name] is None:
                del rest[name]  # keeps the keys of calls stored before this field existed
        before, after = _CANONICAL.encode({**rest, "messages": None}).split('"messages":null', 1)
        turns = to_json([{"content": turn.content, "role": turn.role} for turn in self.unkeyed or self.messages])
        return f'{before}"messages":{turns}{after}'

    @cached_property
    def key(self) -> str:
        """The SHA-256 hash of the canonical JSON, as hexadecimal digits."""
        return hashlib.sha256(self.canonical.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def prompt(self) -> str:
        """The texts of all turns and the fields for the chat template, separated by blank lines."""
        extra = [] if self.extra_body is None else [to_json(self.extra_body)]
        return "\n\n".join([*(message.content for message in self.messages), *extra])

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy like pydantic's `model_copy`; the key of the copy is recomputed."""
        copied = super().model_copy(update=update, deep=deep)
        for cached in ("canonical", "key"):
            copied.__dict__.pop(cached, None)
        return copied


class Completion(Record):
    """The reply to a request.

    `finish_reason` is the reason that the server gives ("stop", "length", "content_filter", ...). `model` is the model
    name in the reply. `format` is the reply format that was enforced, or None if it is unknown. `seconds` is the time
    from sending the request to receiving the last byte. `tokens_cached` and `tokens_written` count the prompt tokens
    read from and written to the provider's prefix cache. `logprobs` has one entry per token of the reply if
    log-probabilities were requested. `batch` is the id of the batch that contained the reply.
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
def attach_reply(completion: Completion) -> Iterator[None]:
    """Attach the completion to a ModelError raised in this context, so that its tokens are counted."""
    try:
        yield
    except ModelError as error:
        error.reply = completion
        raise


def paid_reply(error: Exception) -> Completion | None:
    """Return the rejected reply that is attached to the error, or None if there is none."""
    reply = error.reply if isinstance(error, ModelError) else None
    return reply if isinstance(reply, Completion) else None


@runtime_checkable
class LLM(Protocol):
    """A language model that completes requests; `id` is the model string used in signatures."""

    @property
    def id(self) -> str: ...

    async def complete(self, request: Request) -> Completion:
        """Return the reply.

        Raises TransientError if the call may be retried, and otherwise CapabilityError or another ModelError.
        """
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...


class Layer:
    """An LLM that forwards requests to another LLM.

    Subclasses override `complete`, and also `close` if they hold resources.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm

    @property
    def id(self) -> str:
        """The model string of the LLM."""
        return self.llm.id

    async def complete(self, request: Request) -> Completion:
        """Return the reply of the layer below."""
        return await self.llm.complete(request)

    async def close(self) -> None:
        """Close the layer below."""
        await self.llm.close()
