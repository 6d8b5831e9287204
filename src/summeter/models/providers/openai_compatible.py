"""Any endpoint that speaks OpenAI's POST /chat/completions: OpenAI's own, hosted others, local servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.batch import BatchAPI
from summeter.models.providers import replies
from summeter.models.providers.endpoint import Endpoint, Variables, find, join, named
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.options import Options
from summeter.models.providers.prefix import blocks, marked
from summeter.records import ModelError, TransientError, UsageError

if TYPE_CHECKING:
    from yarl import URL

OPENAI = "https://api.openai.com/v1"

# Mistral's name for a reply that filled the model's context.
_FINISH = {"model_length": "length"}
# A prompt that a filter before the model turns away comes as an error: Azure's, OpenAI's, OpenRouter's.
_FILTERED = frozenset({"content_filter", "invalid_prompt", "content_policy_violation", "refusal"})
# OpenRouter's 404 where no server of the model knows all that was asked.
_NO_SERVER = re.compile(r"No endpoints found that (support|can handle)", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """What an OpenAI-compatible server calls things: the limit on new tokens, the seed, the header of the key
    (None: `Authorization: Bearer`); `extra` goes into every body; `marks`: documents are marked for the prefix cache,
    as Anthropic has it; `batches`: there is a Batch API; `reads`: how the server is asked how much it reads."""

    length: str = "max_tokens"
    seed: str = "seed"
    key_header: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    marks: bool = False
    batches: bool = False
    reads: str | None = None


class OpenAICompatible(HttpLLM):
    """One model at one OpenAI-compatible endpoint."""

    def __init__(
        self, id: str, name: str, endpoint: Endpoint, options: Options, dialect: Dialect | None = None,  # noqa: A002
    ) -> None:  # fmt: skip
        self._dialect = dialect or Dialect()
        super().__init__(id, name, endpoint, options)

    def _where(self) -> URL:
        return join(self._endpoint.base_url, "chat", "completions")

    def under(self, *parts: str) -> URL:
        """An address beside that of the calls."""
        return join(self._endpoint.base_url, *parts)

    def batches(self) -> BatchAPI | None:
        """OpenAI's own, or one of its form."""
        from summeter.models.providers.openai_batches import OpenAIBatches

        return OpenAIBatches(self) if self._dialect.batches else None

    def asks(self) -> str | None:
        """How the server is asked how much it reads (see `reads`)."""
        return self._dialect.reads

    async def reads(self, *, load: bool) -> int | None:
        """Tokens of prompt and reply together, as the server has it; None where it does not say."""
        from summeter.models.providers.reads import READERS, Place

        way = self._dialect.reads
        return None if way is None else await READERS[way](Place(self, self._endpoint.base_url, self._name, load))

    def _headers(self) -> dict[str, str]:
        header, key = self._dialect.key_header, self._endpoint.key
        return super()._headers() if header is None or key is None else {header: key.reveal()}

    def _payload(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._name,
            "messages": _messages(request, marks=self._dialect.marks),
            **self._dialect.extra,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body[self._dialect.seed] = request.seed
        if request.max_tokens is not None:
            body[self._dialect.length] = request.max_tokens
        if request.top_logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif request.format == "json_schema":
            schema = {"name": schema_name(request.schema_name), "strict": True, "schema": request.schema_ or {}}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _completion(self, body: dict[str, Any], answer: replies.Answer, request: Request) -> Completion:
        return completion(body, answer, request)

    def _failed(self, answer: replies.Answer, request: Request) -> Completion:
        return failed(answer, request, self._endpoint.key_variable)


def _messages(request: Request, *, marks: bool) -> list[dict[str, Any]]:
    if not marks:
        return [{"role": turn.role, "content": turn.content} for turn in request.messages]
    return [{"role": turn.role, "content": blocks(turn.content, prefix)} for turn, prefix in marked(request.messages)]


def completion(body: dict[str, Any], answer: replies.Answer, request: Request) -> Completion:
    """The Completion in the body of a 200."""
    choices = body.get("choices")
    first = replies.mapping(choices[0]) if isinstance(choices, list) and choices else {}
    # Gateways pass on a failure of the server behind them under their own 200.
    if (error := first.get("error") or (None if choices else body.get("error"))) is not None:
        return failed(_behind(answer, error), request, "of this endpoint")
    message = first.get("message")
    if not isinstance(message, dict):
        raise replies.without(answer, "choices")
    finish = replies.string(first.get("finish_reason"))
    if finish == "error":
        raise TransientError(f"{answer.model}: {answer.address} broke off its reply (finish_reason error)")
    usage = replies.mapping(body.get("usage"))
    details = replies.mapping(usage.get("prompt_tokens_details"))
    content = message.get("content")
    refusals = (part.get("refusal") for part in (message, *replies.dicts(content)))
    return Completion(
        text=replies.text(content),
        finish_reason=_FINISH.get(finish or "", finish),
        refusal=next((said for one in refusals if (said := replies.string(one))), None),
        model=replies.string(body.get("model")),
        tokens_in=replies.count(usage.get("prompt_tokens")),
        tokens_out=replies.count(usage.get("completion_tokens")),
        tokens_cached=replies.count(details.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
        tokens_written=replies.count(details.get("cache_write_tokens")),
        logprobs=None if request.top_logprobs is None else _logprobs(first.get("logprobs")),
        seconds=answer.seconds,
        format=request.format,
    )


def failed(answer: replies.Answer, request: Request, key_variable: str) -> Completion:
    """Raises what the error stands for; a prompt that a filter turned away is a refusal, which is a reply."""
    error = replies.mapping(replies.error_of(answer))
    metadata = replies.mapping(error.get("metadata"))
    codes = {error.get("code"), error.get("type"), replies.mapping(error.get("innererror")).get("code")}
    kinds = {str(code) for code in codes} | {str(metadata.get("error_type"))}
    if answer.status in {400, 403} and (kinds & _FILTERED or metadata.get("reasons")):
        said = replies.shorten(answer.clean(str(error.get("message") or "the prompt was filtered")))
        return Completion(
            text="", finish_reason="content_filter", refusal=said, seconds=answer.seconds, format=request.format
        )
    raise _unmet(answer, request, error) or replies.failure(answer, request, key_variable)


def _unmet(answer: replies.Answer, request: Request, error: Mapping[str, Any]) -> ModelError | None:
    """What OpenRouter's servers lack: it names no parameter, so the rarest that was asked for is blamed."""
    said = replies.shorten(answer.clean(str(error.get("message"))))
    if answer.status != 404 or not _NO_SERVER.search(said):
        return None
    asked = {
        "logprobs": request.top_logprobs is not None,
        request.format: request.format != "text",
        "seed": request.seed is not None,
        "temperature": request.temperature is not None,
    }
    lacks = next((name for name, there in asked.items() if there), None)
    if lacks is None:
        return None
    return replies.lacking(answer.model, lacks, f"{answer.model}: {answer.address} answered 404: {said}")


def _behind(answer: replies.Answer, error: Any) -> replies.Answer:
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 502
    return answer._replace(status=status, content=json.dumps({"error": error}).encode())


def _logprobs(value: Any) -> tuple[TokenLogprobs, ...] | None:
    """OpenAI's `logprobs.content`; None where it is absent or unreadable."""
    content = replies.mapping(value).get("content")
    made = [_token(one) for one in replies.dicts(content)]
    return tuple(one for one in made if one is not None) if made and all(made) else None


def _token(entry: dict[str, Any]) -> TokenLogprobs | None:
    chosen = replies.logprob(entry.get("logprob"))
    if chosen is None or not isinstance(entry.get("token"), str):
        return None
    top = [
        (replies.text(one.get("token")), at)
        for one in replies.dicts(entry.get("top_logprobs"))
        if (at := replies.logprob(one.get("logprob"))) is not None
    ]
    return TokenLogprobs(token=replies.text(entry["token"]), logprob=chosen, top=tuple(top))


def schema_name(name: str | None) -> str:
    """The name of a schema as OpenAI takes it: letters, digits, _ and -, at most 64."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name or "reply")[:64]


# Who speaks it


def openai(name: str, options: Options) -> OpenAICompatible:
    """`openai/MODEL`: OPENAI_API_KEY, OPENAI_BASE_URL."""
    found = find(named("OPENAI"), options, OPENAI)
    # OpenAI's own models refuse or deprecate max_tokens; other servers know nothing else.
    dialect = Dialect(length="max_completion_tokens" if found.base_url == OPENAI else "max_tokens", batches=True)
    return OpenAICompatible(f"openai/{name}", name, found, options, dialect)


def openai_api(name: str, options: Options) -> OpenAICompatible:
    """`openai-api/NAME/MODEL`: NAME_API_KEY, NAME_BASE_URL, the name in capitals."""
    server, slash, model = name.partition("/")
    prefix = re.sub(r"[^A-Za-z0-9]+", "_", server).strip("_").upper()
    if not slash or not model or not prefix:
        raise UsageError(f"model 'openai-api/{name}' is not openai-api/NAME/MODEL (NAME is a name you give the server)")
    endpoint = find(named(prefix), options)
    return OpenAICompatible(f"openai-api/{name}", model, endpoint, options, Dialect(batches=True, reads="listed"))


def ollama(name: str, options: Options) -> OpenAICompatible:
    """`ollama/MODEL`: OLLAMA_BASE_URL, else this machine's port 11434."""
    found = find(named("OLLAMA"), options, "http://localhost:11434/v1")
    return OpenAICompatible(f"ollama/{name}", name, found, options, Dialect(reads="ollama"))


def vllm(name: str, options: Options) -> OpenAICompatible:
    """`vllm/MODEL`: VLLM_BASE_URL, else this machine's port 8000."""
    found = find(named("VLLM"), options, "http://localhost:8000/v1")
    return OpenAICompatible(f"vllm/{name}", name, found, options, Dialect(reads="listed"))


def lmstudio(name: str, options: Options) -> OpenAICompatible:
    """`lmstudio/MODEL`: LMSTUDIO_BASE_URL, else this machine's port 1234."""
    found = find(named("LMSTUDIO"), options, "http://localhost:1234/v1")
    return OpenAICompatible(f"lmstudio/{name}", name, found, options, Dialect(reads="lmstudio"))


def llamacpp(name: str, options: Options) -> OpenAICompatible:
    """`llamacpp/NAME`: LLAMACPP_BASE_URL, else this machine's port 8080. The server has one model, whatever NAME is."""
    found = find(named("LLAMACPP"), options, "http://localhost:8080/v1")
    return OpenAICompatible(f"llamacpp/{name}", name, found, options, Dialect(reads="llamacpp"))


def openrouter(name: str, options: Options) -> OpenAICompatible:
    """`openrouter/VENDOR/MODEL`: OPENROUTER_API_KEY. Only servers that know all that is asked may answer:
    the others would leave out the schema, the seed or the log-probabilities without a word."""
    found = find(named("OPENROUTER"), options, "https://openrouter.ai/api/v1")
    # The other vendors' models behind it find shared prefixes themselves.
    dialect = Dialect(
        extra={"provider": {"require_parameters": True}}, marks=name.startswith("anthropic/"), reads="listed"
    )  # fmt: skip
    return OpenAICompatible(f"openrouter/{name}", name, found, options, dialect)


def mistral(name: str, options: Options) -> OpenAICompatible:
    """`mistral/MODEL`: MISTRAL_API_KEY, MISTRAL_BASE_URL."""
    found = find(named("MISTRAL"), options, "https://api.mistral.ai/v1")
    return OpenAICompatible(f"mistral/{name}", name, found, options, Dialect(seed="random_seed", reads="listed"))


class Azure(OpenAICompatible):
    """A deployment on Azure: the v1 surface, or the dated one where an API version is named."""

    def __init__(self, name: str, endpoint: Endpoint, options: Options) -> None:
        self._version = options.environ.get("AZURE_OPENAI_API_VERSION", "").strip()
        # The dated surface took max_completion_tokens up in September 2024.
        old = self._version[:1].isdigit() and self._version < "2024-09"
        dialect = Dialect(length="max_tokens" if old else "max_completion_tokens", key_header="api-key")
        super().__init__(f"azure/{name}", name, endpoint, options, dialect)

    def _where(self) -> URL:
        base = self._endpoint.base_url
        if base.partition("?")[0].endswith("/v1"):
            return join(base, "chat", "completions")
        if not self._version or self._version == "v1":
            return join(base, "openai", "v1", "chat", "completions")
        return join(base, "openai", "deployments", self._name, "chat", "completions").update_query(
            {"api-version": self._version}
        )


def azure(name: str, options: Options) -> Azure:
    """`azure/DEPLOYMENT`: AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY, AZURE_OPENAI_API_VERSION (the dated API)."""
    example = "https://RESOURCE.openai.azure.com"
    return Azure(name, find(Variables(("AZURE_OPENAI_API_KEY",), "AZURE_OPENAI_ENDPOINT", example), options), options)
