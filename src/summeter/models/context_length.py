"""How many tokens the models of a run read and write together: by the table of hosted models, or as servers say.

Servers say it each in its own way: vLLM, OpenRouter, Mistral and others in the list of their models; llama.cpp's server
in its properties; LM Studio and Ollama of a model that is loaded. Before that both have only what a model was trained
for: what it is loaded with is often far less, and longer prompts are cut without a word. It is asked once a run, and is
never a reason to fail.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from summeter.models.base import to_bytes
from summeter.models.contexts import known_context
from summeter.models.providers import replies
from summeter.models.providers.http import Exchange, HttpLLM
from summeter.models.providers.provider import Options, Provider, base_urls, find_provider, join
from summeter.models.resolve import resolve
from summeter.records import ModelError, UsageError
from summeter.runs.manifest import ModelContext

PATIENCE = 5.0
"""Seconds for an answer; a model that has to be loaded first has a whole call's time."""

# The first that is there counts: what the server was started with goes before what the model could do.
_FIELDS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")


async def context_lengths(
    models: Iterable[str], options: Options | None = None, *, load: bool = True
) -> dict[str, ModelContext]:
    """How much each model reads: hosted ones by the table, others as their servers say. Nothing of the data is sent.

    With `load` a server may load its model to know, for which it has the options' `timeout`.
    What went wrong (a server that is down, a missing key) is told in `said` and raises nothing; so is it told of a
    model that the table does not know and nobody can be asked about. Only scripted ones, which read whatever they are
    shown, are left out.
    """
    wanted = [model for model in dict.fromkeys(models) if not model.startswith("scripted/")]
    lengths = await asyncio.gather(*(_context_length(model, options or Options(), load) for model in wanted))
    return dict(zip(wanted, lengths, strict=True))


async def _context_length(model: str, options: Options, load: bool) -> ModelContext:  # noqa: FBT001 - private
    provider = find_provider(model.partition("/")[0])
    known = known_context(model)
    if known is not None and not (provider and provider.gateway):
        return ModelContext(tokens=known, said="its vendor")
    try:
        urls = base_urls(options.base_url)
    except UsageError as error:
        return ModelContext(said=str(error))
    answers = [_from_server(model, provider, replace(options, base_url=url), load=load) for url in urls]
    # Of several servers the one that reads least counts.
    answer = min(await asyncio.gather(*answers), key=lambda read: read.tokens or sys.maxsize)
    return ModelContext(tokens=known, said="its vendor") if known is not None and answer.tokens is None else answer


async def _from_server(model: str, provider: Provider | None, options: Options, *, load: bool) -> ModelContext:
    try:
        llm = resolve(model, base_url=options.base_url, timeout=options.timeout, environ=options.environ)
    except UsageError as error:
        return ModelContext(said=str(error))
    way = provider.context_lookup if provider is not None else None
    if way is None or not isinstance(llm, HttpLLM):
        await llm.close()
        return ModelContext(said=f"it is in no table of summeter's, and {model.partition('/')[0]} cannot be asked")
    patience = options.timeout if load and way == "ollama" else min(PATIENCE, options.timeout)
    try:
        async with asyncio.timeout(patience):
            tokens = await LOOKUPS[way](_Server(llm, load))
    except TimeoutError:
        return ModelContext(said=f"{llm.address} did not answer in time")
    except (ModelError, UsageError) as error:
        return ModelContext(said=str(error))
    finally:
        await llm.close()
    if tokens is not None:
        return ModelContext(tokens=tokens, said=f"the server at {llm.address}")
    waits = " before the model is loaded" if way == "lmstudio" or (way == "ollama" and not load) else ""
    return ModelContext(said=f"the server at {llm.address} does not say{waits}")


class _Server(NamedTuple):
    """Whom to ask of which model; with `load`, a server may load the model to know."""

    llm: HttpLLM
    load: bool = False

    @property
    def base(self) -> str:
        """The base URL of the calls."""
        return self.llm.endpoint.base_url

    @property
    def name(self) -> str:
        """What the server calls the model."""
        return self.llm.name

    @property
    def root(self) -> str:
        """The server's own address, beside which `/v1` is one of its interfaces."""
        bare, mark, query = self.base.partition("?")
        return bare.removesuffix("/v1") + mark + query

    async def get(self, base: str, *parts: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The object that is there; ModelError for any other answer."""
        return await self._parsed(Exchange("GET", join(base, *parts).update_query(query or {})))

    async def post(self, base: str, *parts: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The object that comes back."""
        return await self._parsed(Exchange("POST", join(base, *parts), to_bytes(body)))

    async def _parsed(self, sent: Exchange) -> dict[str, Any]:
        answer = await self.llm.exchange(sent)
        if answer.status != 200:
            raise ModelError(f"{self.llm.address} answered {answer.status} to {sent.url.path}")
        return replies.body(answer)


async def _listed(server: _Server) -> int | None:
    """By the server's list of models: vLLM's `max_model_len`, OpenRouter's `context_length`, Mistral's
    `max_context_length`, llama.cpp's `meta.n_ctx`."""
    return _of(await server.get(server.base, "models"), server.name)


async def _llamacpp(server: _Server) -> int | None:
    """By the properties: what one slot has of the server's context; else by the list."""
    try:
        props = await server.get(server.root, "props", query={"model": server.name})
    except ModelError:
        return await _listed(server)
    size = _size(replies.mapping(props.get("default_generation_settings")).get("n_ctx"))
    return size if size is not None else await _listed(server)


async def _lmstudio(server: _Server) -> int | None:
    """By its own list, which tells what a loaded model was loaded with; of others nobody knows what they will be."""
    models = replies.dicts((await server.get(server.root, "api", "v0", "models")).get("data"))
    return next((_size(model.get("loaded_context_length")) for model in models if model.get("id") == server.name), None)


async def _ollama(server: _Server) -> int | None:
    """What the model is loaded with; what its Modelfile sets where it is not loaded (or may not be)."""
    loaded = await _loaded(server)
    if loaded is None and server.load:
        # Without a prompt it only loads the model, as the first call would.
        await server.post(server.root, "api", "generate", body={"model": server.name, "stream": False})
        loaded = await _loaded(server)
    if loaded is not None:
        return loaded
    shown = await server.post(server.root, "api", "show", body={"model": server.name})
    chosen = [line.split() for line in str(shown.get("parameters") or "").splitlines()]
    sizes = [int(words[1]) for words in chosen if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal()]
    card = replies.mapping(shown.get("model_info"))
    trained = [size for name, value in card.items() if name.endswith(".context_length") and (size := _size(value))]
    return min([*sizes, *trained]) if sizes else None


async def _loaded(server: _Server) -> int | None:
    running = replies.dicts((await server.get(server.root, "api", "ps")).get("models"))
    names = (server.name, server.name if ":" in server.name.rpartition("/")[2] else f"{server.name}:latest")
    loaded = (model for model in running if model.get("name") in names or model.get("model") in names)
    return next((_size(model.get("context_length")) for model in loaded), None)


def _of(answer: Mapping[str, Any], name: str) -> int | None:
    """The context of the model in a list; a list of one is of that one, whatever it is called."""
    models = replies.dicts(answer.get("data"))
    # OpenRouter's :nitro and :floor are ways to serve a model and stand in no list.
    named = (
        model
        for wanted in (name, name.partition(":")[0])
        for model in models
        if wanted == model.get("id") or (isinstance(model.get("aliases"), list) and wanted in model["aliases"])
    )
    model = next(named, models[0] if len(models) == 1 else None)
    if model is None:
        return None
    served = _size(replies.mapping(model.get("meta")).get("n_ctx"))
    if served is not None:
        return served
    length = next((size for field in _FIELDS if (size := _size(model.get(field))) is not None), None)
    top = _size(replies.mapping(model.get("top_provider")).get("context_length"))
    if length is None and model.get("parent"):
        # vLLM lists adapters beside the model they are laid upon.
        parents = (other for other in models if other.get("id") == model["parent"])
        length = next((_size(parent.get("max_model_len")) for parent in parents), None)
    return min((size for size in (length, top) if size is not None), default=None)


def _size(value: Any) -> int | None:
    return replies.count(value) or None


LOOKUPS: dict[str, Callable[[_Server], Awaitable[int | None]]] = {
    "listed": _listed, "llamacpp": _llamacpp, "lmstudio": _lmstudio, "ollama": _ollama,
}  # fmt: skip
"""How a server is asked, by the name that a provider's row gives (`context_lookup`)."""
