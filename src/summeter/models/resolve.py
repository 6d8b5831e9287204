"""Create LLMs from model strings, and add layers for caching, retries, rate limits and accounting."""

from __future__ import annotations

import asyncio
import difflib
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from summeter.models.base import LLM, Message, Request
from summeter.models.layers.balance import Balanced, Server
from summeter.models.layers.batches import Batches
from summeter.models.layers.budget import Budget, BudgetGuard, CallBudget
from summeter.models.layers.cache import Cache, Stored, replay
from summeter.models.layers.checks import Checked
from summeter.models.layers.formats import FormatFallback
from summeter.models.layers.rate_limit import Limits, RateLimited, RateLimiter
from summeter.models.layers.retry import Retry, RetryPolicy
from summeter.models.prices import Prices
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.provider import (
    MAX_CONNECTIONS,
    TIMEOUT,
    Options,
    Provider,
    base_urls,
    find_provider,
    provider_names,
)
from summeter.models.structured import BoundLLM, Settings
from summeter.records import CapabilityError, Parameter, SummeterError, UsageError
from summeter.runs.batches import BatchLog
from summeter.runs.calls import CallStore
from summeter.runs.usage import Usage

DEFAULT_ROLE = "judge"

_BINDING = re.compile(r"(?P<role>[A-Za-z_][\w-]*)=(?P<model>.*)", re.DOTALL)


def resolve(
    model: str, *, base_url: str | None = None, timeout: float = TIMEOUT,
    max_connections: int = MAX_CONNECTIONS, environ: Mapping[str, str] | None = None,
) -> LLM:  # fmt: skip
    """Return the LLM of the model string `PROVIDER/MODEL`, without layers; no request is sent.

    `base_url` overrides the address given by the environment. `timeout` is in seconds. `environ` replaces the
    environment of the process, for tests. Raises UsageError for a missing key or an unknown provider.
    """
    provider, name = provider_of(model)
    if not timeout > 0:
        raise UsageError(f"the timeout must be above 0 seconds, not {timeout:g}")
    overrides = {} if environ is None else {"environ": environ}
    return provider.open(name, Options(base_url, timeout, max_connections, **overrides))


def provider_of(model: str) -> tuple[Provider, str]:
    """Return the provider of a model string and the name of the model there.

    Raises UsageError if the string is malformed or the provider unknown.
    """
    if model.startswith(("hf/", "local/")):
        raise UsageError(
            f"model {model!r} is a local network (NLI, encoder, encoder-decoder), but an LLM is needed; serve a "
            "local LLM with ollama/, vllm/ or llamacpp/"
        )
    prefix, slash, name = model.partition("/")
    if not slash or not name.strip() or not prefix:
        known = ", ".join(sorted(provider_names()))
        raise UsageError(f"model {model!r} is not PROVIDER/MODEL (for example openai/MODEL); providers: {known}")
    provider = find_provider(prefix)
    if provider is None:
        names = sorted(provider_names())
        close = difflib.get_close_matches(prefix, names, n=1)
        hint = f"did you mean {close[0]}/{name}; " if close else ""
        raise UsageError(
            f"model {model!r}: unknown provider {prefix!r}; {hint}known: {', '.join(names)}. "
            "For any other OpenAI-compatible server, write openai-api/NAME/MODEL and set NAME_BASE_URL."
        )
    if provider.named and not re.match(r"[^/]*[A-Za-z0-9][^/]*/.", name):
        raise UsageError(f"model {model!r} is not {prefix}/NAME/MODEL (NAME is a name you give the server)")
    return provider, name


async def lacks_logprobs(model: str, options: Options, temperature: float | None, *, send: bool = True) -> bool:
    """Return whether a model is known to give no log-probabilities.

    One short request is sent, unless the vendor is known not to support them. Without `send`, no request is sent. Any
    other error, such as a missing key, says nothing about log-probabilities; it is reported when the run begins.
    Scripted models are not asked.
    """
    if model.startswith("scripted/"):
        return False
    question = Message(role="user", content="Answer with the number 1.")
    request = Request(model=model, messages=(question,), temperature=temperature, max_tokens=16, top_logprobs=20)
    try:
        url = base_urls(options.base_url)[0]
        llm = resolve(model, base_url=url, timeout=options.timeout, environ=options.environ)
    except UsageError:
        return False
    try:
        if send:
            await llm.complete(request)
        elif isinstance(llm, HttpLLM):
            llm.payload(request)
    except CapabilityError as error:
        return error.lacks == "logprobs"
    except SummeterError:
        return False
    finally:
        await llm.close()
    return False


def parse_binding(text: str) -> tuple[str, str]:
    """Return (role, model string) of the argument `ROLE=PROVIDER/MODEL`; the default role is `judge`.

    >>> parse_binding("extractor=ollama/llama3.1")
    ('extractor', 'ollama/llama3.1')
    >>> parse_binding("openai/gpt-4o")
    ('judge', 'openai/gpt-4o')
    """
    text = text.strip()
    match = _BINDING.fullmatch(text)
    role, model = (match["role"], match["model"].strip()) if match else (DEFAULT_ROLE, text)
    if not model:
        raise UsageError(f"{text!r} does not bind a model to a role; write ROLE=PROVIDER/MODEL")
    return role, model


def parse_bindings(texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Return the model strings by role.

    Raises UsageError if a role is assigned two models.
    """
    bound: dict[str, str] = {}
    for text in texts:
        role, model = parse_binding(text)
        if bound.setdefault(role, model) != model:
            raise UsageError(f"the role {role!r} is bound twice, to {bound[role]} and to {model}")
    return bound


def stack(
    llm: LLM,
    store: CallStore | None = None,
    *,
    retry: RetryPolicy | None = None,
    limiter: RateLimiter | None = None,
    rng: random.Random | None = None,
    budget: CallBudget | None = None,
) -> Cache:
    """Return the LLM with its layers.

    From the innermost, these are reply formats, rate limit, retries, budget and call store. Retries are outside the
    rate limit, so that a waiting retry holds no connection. The cache is outside the retries and the budget, so that
    only the final reply is stored and a stored reply costs nothing. Models at one endpoint share a `limiter`.
    """
    usage = Usage()
    if isinstance(llm, Balanced):  # each of its servers has its own formats and limits
        llm.usage = usage
    else:
        llm = RateLimited(FormatFallback(llm), limiter or RateLimiter(MAX_CONNECTIONS))
    llm = Retry(llm, retry or RetryPolicy(), rng=rng or random.Random(), usage=usage)
    if budget is not None:
        llm = BudgetGuard(llm, budget)
    return Cache(llm, store, usage=usage)


@dataclass(frozen=True)
class CallSettings:
    """How a run calls its models.

    `settings` returns the sampling settings of a role. `requests` and `tokens` are limits per minute and endpoint, and
    `budget` limits what all models together may spend, at the prices in `prices`. `contexts` holds the context lengths
    reported by servers, in tokens by model string. With `batch`, all calls use the vendors' batch APIs; `batches` is
    the run's log of batches, whose progress is passed to `tell`. `broken` returns the write error of another file of
    the run, or None; after a write error nothing is sent.
    """

    settings: Callable[[str], Settings] = lambda _: Settings()
    base_url: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    max_connections: int = MAX_CONNECTIONS
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    replay: bool = False
    requests: float | None = None
    tokens: float | None = None
    budget: Budget | None = None
    prices: Prices | None = None
    contexts: Mapping[str, int] = field(default_factory=dict)
    batch: bool = False
    batches: BatchLog | None = None
    tell: Callable[[str], None] = lambda _: None
    broken: Callable[[], Exception | None] = lambda: None


class Bound(NamedTuple):
    """The models of a run.

    `llms` holds them by role and `models` by model string; `batches` holds the batches of each batched model.
    """

    llms: dict[str, BoundLLM]
    models: dict[str, Cache | Stored]
    batches: tuple[Batches, ...] = ()

    async def fetch(self) -> None:
        """Submit the pending calls of all batched models and store the replies (see `Batches.fetch`)."""
        async with asyncio.TaskGroup() as group:
            for batches in self.batches:
                group.create_task(batches.fetch())

    async def close(self) -> None:
        for each in (*self.models.values(), *self.batches):
            await each.close()


def bind(
    models: Mapping[str, str],
    store: CallStore | None = None,
    calls: CallSettings | None = None,
    *,
    rng: random.Random | None = None,
) -> Bound:
    """Return the LLMs of all roles.

    `models` holds model strings by role. Roles with the same model string share its connections, counts and known
    capabilities, and models at the same address share its rate limits. With `calls.replay`, replies are read only from
    the store.
    """
    calls = calls or CallSettings()
    rates = Limits(calls.max_connections, calls.requests, calls.tokens)
    answering: dict[str, Cache | Stored] = {}
    limiters: dict[str, RateLimiter] = {}
    batches: list[Batches] = []
    for model in dict.fromkeys(models.values()):
        if calls.replay:
            if store is None:
                raise UsageError("a replay needs the stored calls of a run")
            answering[model] = replay(model, store)
            continue
        price = calls.prices.of(model, batched=calls.batch) if calls.prices is not None else None
        budget = None if calls.budget is None else CallBudget(calls.budget, price)
        servers = [
            resolve(model, base_url=url, timeout=calls.timeout, max_connections=calls.max_connections)
            for url in base_urls(calls.base_url)
        ]
        if len(servers) > 1 and (calls.batch or not all(isinstance(llm, HttpLLM) for llm in servers)):
            raise UsageError(
                f"{model}: several servers are supported only for unbatched calls over HTTP; give a single ",
                Parameter("base_url"),
            )
        if calls.batch:
            (llm,) = servers
            api = llm.batches() if isinstance(llm, HttpLLM) else None
            if api is None:
                raise UsageError(
                    f"{llm.id} has no batch API that summeter supports; run without ",
                    Parameter("batch"),
                    ", or choose an openai/, anthropic/ or openai-api/ model",
                )
            usage, call_store = Usage(), CallStore() if store is None else store
            model_batches = Batches(
                llm, api, call_store, calls.batches, usage=usage, budget=budget, max_retries=calls.retry.max_retries,
                tell=calls.tell,
            )  # fmt: skip
            batches.append(model_batches)
            answering[model] = Stored(model, call_store, model_batches.missing, usage=usage)
            continue
        limits = [limiters.setdefault(getattr(llm, "address", llm.id), RateLimiter(rates)) for llm in servers]
        provider, _ = provider_of(model)
        checked = [
            Checked(
                llm,
                held={} if calls.batches is None else calls.batches.held(llm.id),
                broken=lambda: (None if store is None else store.broken) or calls.broken(),
                truncates=provider.truncates,
                context=calls.contexts.get(llm.id),
            )
            for llm in servers
        ]
        if len(servers) > 1:
            llm = Balanced(
                [
                    Server(FormatFallback(llm), bare.address, bare.healthy, limiter)
                    for llm, bare, limiter in zip(checked, servers, limits, strict=True)
                    if isinstance(bare, HttpLLM)
                ]
            )
        else:
            (llm,) = checked
        answering[model] = stack(llm, store, retry=calls.retry, limiter=limits[0], rng=rng, budget=budget)
    fence = None if store is None else store.fence_secret()
    llms = {
        role: BoundLLM(answering[model], calls.settings(role)._replace(fence=fence)) for role, model in models.items()
    }
    return Bound(llms, answering, tuple(batches))
