"""Call endpoints with OpenAI's chat completions API: those of OpenAI, other vendors and local servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from summeter.models.base import Completion, Request
from summeter.models.providers import replies
from summeter.models.providers.batches import BatchAPI
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.openai_batches import OpenAIBatches
from summeter.models.providers.payload import cached_blocks, with_prefixes
from summeter.models.providers.provider import Options, Provider
from summeter.records import ModelError, TransientError

if TYPE_CHECKING:
    from yarl import URL

# Mistral's finish reason for a reply that filled the model's context.
_FINISH = {"model_length": "length"}
# Error codes of prompts that a filter rejected (Azure, OpenAI, OpenRouter).
_FILTERED = frozenset({"content_filter", "invalid_prompt", "content_policy_violation", "refusal"})
# OpenRouter's message with status 404 if no server of the model supports all parameters.
_NO_SERVER = re.compile(r"No endpoints found that (support|can handle)", re.IGNORECASE)


class OpenAICompatible(HttpLLM):
    """A model at an OpenAI-compatible endpoint.

    `provider.dialect` holds the parameter names that the server uses.
    """

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> Self:
        """Return the client of the model, whose name is `NAME/MODEL` at a server that the user names."""
        if not provider.named:
            return super().open(provider, name, options)
        server, _, model = name.partition("/")
        named = Provider(server, provider.address)
        return cls(provider, name, named.endpoint(options), options, name=model)

    def url(self) -> URL:
        return self.beside("chat", "completions")

    def batches(self) -> BatchAPI | None:
        return OpenAIBatches(self) if self.provider.dialect.batches else None

    def payload(self, request: Request) -> dict[str, Any]:
        dialect = self.provider.dialect
        if not dialect.extra_body:
            replies.refuse(request, self.id, "extra_body")
        marks = dialect.cache_marks is not None and self.name.startswith(dialect.cache_marks)
        messages: list[dict[str, Any]] = [
            {"role": turn.role, "content": cached_blocks(turn.content, prefix if marks else "")}
            for turn, prefix in with_prefixes(request.messages)
        ]
        body: dict[str, Any] = {"model": self.name, "messages": messages, **dialect.extra, **(request.extra_body or {})}
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body[dialect.seed] = request.seed
        if request.max_tokens is not None:
            body[self._max_tokens] = request.max_tokens
        if request.top_logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif request.format == "json_schema":
            schema = {"name": schema_name(request.schema_name), "strict": True, "schema": request.schema_ or {}}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    @property
    def _max_tokens(self) -> str:
        """The name of the parameter that limits new tokens.

        It is `max_tokens`, except at the provider's default address, where the provider's dialect defines it.
        """
        default = self.endpoint.base_url == self.provider.address
        return self.provider.dialect.max_tokens if default else "max_tokens"

    def completion(self, body: dict[str, Any], answer: replies.Answer) -> Completion:
        choices = body.get("choices")
        first = replies.mapping(choices[0]) if isinstance(choices, list) and choices else {}
        # Gateways return errors of the server behind them with status 200.
        if (error := first.get("error") or (None if choices else body.get("error"))) is not None:
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            return self.failed(answer._replace(status=status, content=json.dumps({"error": error}).encode()))
        message = first.get("message")
        if not isinstance(message, dict):
            raise replies.without(answer, "choices")
        finish = replies.string(first.get("finish_reason"))
        if finish == "error":
            raise TransientError(f"{answer.model}: {answer.address} interrupted its reply (finish_reason error)")
        usage = replies.mapping(body.get("usage"))
        details = replies.mapping(usage.get("prompt_tokens_details"))
        content, logprobs = message.get("content"), replies.mapping(first.get("logprobs"))
        refusals = (part.get("refusal") for part in (message, *replies.dicts(content)))
        return Completion(
            text=replies.text(content),
            finish_reason=_FINISH.get(finish or "", finish),
            refusal=next((refusal for value in refusals if (refusal := replies.string(value))), None),
            model=replies.string(body.get("model")),
            tokens_in=replies.count(usage.get("prompt_tokens")),
            tokens_out=replies.count(usage.get("completion_tokens")),
            tokens_cached=replies.count(details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
            tokens_written=replies.count(details.get("cache_write_tokens")),
            logprobs=replies.token_logprobs(
                ((entry, entry.get("top_logprobs")) for entry in replies.dicts(logprobs.get("content"))),
                "logprob",
                answer.request,
            ),
        )

    def failed(self, answer: replies.Answer) -> Completion:
        """Raise the error for an answer, or return a refusal if a filter rejected the prompt."""
        error = replies.mapping(replies.error_of(answer))
        metadata = replies.mapping(error.get("metadata"))
        codes = (error.get("code"), error.get("type"), replies.mapping(error.get("innererror")).get("code"))
        kinds = {str(code) for code in (*codes, metadata.get("error_type"))}
        if answer.status in {400, 403} and (kinds & _FILTERED or metadata.get("reasons")):
            message = replies.shorten(answer.clean(str(error.get("message") or "the prompt was filtered")))
            return Completion(text="", finish_reason="content_filter", refusal=message)
        raise _unsupported(answer, error) or replies.failure(answer)


def _unsupported(answer: replies.Answer, error: Mapping[str, Any]) -> ModelError | None:
    """Return the error for a parameter that OpenRouter does not support, or None for other errors.

    OpenRouter does not say which parameter is unsupported, so the least commonly supported one in the request is
    reported.
    """
    message = replies.shorten(answer.clean(str(error.get("message"))))
    if answer.status != 404 or not _NO_SERVER.search(message):
        return None
    request = answer.request
    wanted = {
        "logprobs": request.top_logprobs is not None,
        request.format: request.format != "text",
        "seed": request.seed is not None,
        "temperature": request.temperature is not None,
    }
    lacks = next((name for name, requested in wanted.items() if requested), None)
    if lacks is None:
        return None
    return replies.capability_error(answer.model, lacks, f"{answer.model}: {answer.address} answered 404: {message}")


def schema_name(name: str | None) -> str:
    """Return a schema name that OpenAI accepts: at most 64 characters, which are letters, digits, _ and -."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name or "reply")[:64]


class Azure(OpenAICompatible):
    """A deployment on Azure, with the v1 API or the API version in AZURE_OPENAI_API_VERSION."""

    def url(self) -> URL:
        base = self.endpoint.base_url
        if base.partition("?")[0].endswith("/v1"):
            return self.beside("chat", "completions")
        if not self._version or self._version == "v1":
            return self.beside("openai", "v1", "chat", "completions")
        versioned = self.beside("openai", "deployments", self.name, "chat", "completions")
        return versioned.update_query({"api-version": self._version})

    @property
    def _version(self) -> str:
        return self.options.environ.get("AZURE_OPENAI_API_VERSION", "").strip()

    @property
    def _max_tokens(self) -> str:
        # Versions since September 2024 accept max_completion_tokens.
        old = self._version[:1].isdigit() and self._version < "2024-09"
        return "max_tokens" if old else self.provider.dialect.max_tokens
