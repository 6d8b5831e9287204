"""Look up the context lengths of the models of a run, in the table of hosted models or on their servers.

A context length is the number of tokens of the prompt and the reply together. vLLM, OpenRouter, Mistral and others
report it in their lists of models, llama.cpp's server in its properties, and LM Studio and Ollama for a loaded model.
Before a model is loaded, LM Studio and Ollama report only the context length used in training. It is often far larger
than the context length with which the model will be loaded, and prompts that exceed the latter are truncated silently.
The lookup is made once per run, and a failed lookup is never an error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from summeter.models.base import to_bytes
from summeter.models.contexts import known_context
from summeter.models.providers import replies
from summeter.models.providers.http import HttpLLM
from summeter.models.providers.provider import Options, Provider, base_urls, find_provider
from summeter.models.resolve import resolve
from summeter.records import ModelError, UsageError
from summeter.runs.manifest import ModelContext

if TYPE_CHECKING:
    from yarl import URL

LOOKUP_TIMEOUT = 5.0
"""Seconds to wait for an answer; if a model must be loaded first, the timeout of a call applies instead."""

# The first field present is used: the server's setting comes before the limit of the model.
_FIELDS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")


async def context_lengths(
    models: Iterable[str], options: Options | None = None, *, load: bool = True
) -> dict[str, ModelContext]:
    """Return the context length of each model, from the table of hosted models or else from the model's server.

    No user data are sent.

    With `load`, a server may load its model first, within the `timeout` of the options. Errors, such as a missing key
    or a server that does not answer, are reported in `said` and not raised, and so is the fact that a model's context
    length cannot be looked up. Scripted models are omitted, since they accept prompts of any length.
    """
    names = [model for model in dict.fromkeys(models) if not model.startswith("scripted/")]
    lengths = await asyncio.gather(*(_context_length(model, options or Options(), load) for model in names))
    return dict(zip(names, lengths, strict=True))


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
    # The smallest context length of all servers is used.
    answer = min(await asyncio.gather(*answers), key=lambda context: context.tokens or sys.maxsize)
    return ModelContext(tokens=known, said="its vendor") if known is not None and answer.tokens is None else answer


async def _from_server(model: str, provider: Provider | None, options: Options, *, load: bool) -> ModelContext:
    try:
        llm = resolve(model, base_url=options.base_url, timeout=options.timeout, environ=options.environ)
    except UsageError as error:
        return ModelContext(said=str(error))
    lookup = provider.context_lookup if provider is not None else None
    if lookup is None or not isinstance(llm, HttpLLM):
        await llm.close()
        name = model.partition("/")[0]
        return ModelContext(said=f"it is not in summeter's table of context lengths, and {name} does not report it")
    timeout = options.timeout if load and lookup == "ollama" else min(LOOKUP_TIMEOUT, options.timeout)
    try:
        async with asyncio.timeout(timeout):
            tokens = await (_ollama(llm, load=load) if lookup == "ollama" else LOOKUPS[lookup](llm))
    except TimeoutError:
        return ModelContext(said=f"{llm.address} did not answer in time")
    except (ModelError, UsageError) as error:
        return ModelContext(said=str(error))
    finally:
        await llm.close()
    if tokens is not None:
        return ModelContext(tokens=tokens, said=f"the server at {llm.address}")
    unloaded = " before the model is loaded" if lookup == "lmstudio" or (lookup == "ollama" and not load) else ""
    return ModelContext(said=f"the server at {llm.address} does not report it{unloaded}")


async def _fetch(llm: HttpLLM, url: URL, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON object at a URL, which is sent the `body` if there is one.

    Raises ModelError if the answer is not a JSON object with status 200.
    """
    answer = await (llm.exchange("GET", url) if body is None else llm.exchange("POST", url, to_bytes(body)))
    if answer.status != 200:
        raise ModelError(f"{llm.address} answered {answer.status} to {url.path}")
    return replies.body(answer)


async def _listed(llm: HttpLLM) -> int | None:
    """Return the context length in the server's list of models.

    Returns None if the list does not state one. The fields read include vLLM's `max_model_len`, OpenRouter's
    `context_length`, Mistral's `max_context_length` and llama.cpp's `meta.n_ctx`. If the list has a single entry, that
    entry is used whatever its name.
    """
    models = replies.dicts((await _fetch(llm, llm.beside("models"))).get("data"))
    # The suffixes :nitro and :floor of OpenRouter select a server and are not listed.
    matches = (
        model
        for name in (llm.name, llm.name.partition(":")[0])
        for model in models
        if name == model.get("id") or (isinstance(model.get("aliases"), list) and name in model["aliases"])
    )
    model = next(matches, models[0] if len(models) == 1 else None)
    if model is None:
        return None
    served = _size(replies.mapping(model.get("meta")).get("n_ctx"))
    if served is not None:
        return served
    length = next((size for field in _FIELDS if (size := _size(model.get(field))) is not None), None)
    top = _size(replies.mapping(model.get("top_provider")).get("context_length"))
    if length is None and model.get("parent"):
        # vLLM lists adapters beside their base model.
        parents = (other for other in models if other.get("id") == model["parent"])
        length = next((_size(parent.get("max_model_len")) for parent in parents), None)
    return min((size for size in (length, top) if size is not None), default=None)


async def _llamacpp(llm: HttpLLM) -> int | None:
    """Return the context length of one slot of the server.

    It is read from the server's properties, or else from its list of models.
    """
    try:
        props = await _fetch(llm, llm.above("props").update_query({"model": llm.name}))
    except ModelError:
        return await _listed(llm)
    size = _size(replies.mapping(props.get("default_generation_settings")).get("n_ctx"))
    return size if size is not None else await _listed(llm)


async def _lmstudio(llm: HttpLLM) -> int | None:
    """Return the context length with which the model was loaded, or None if it is not loaded."""
    models = replies.dicts((await _fetch(llm, llm.above("api", "v0", "models"))).get("data"))
    return next((_size(model.get("loaded_context_length")) for model in models if model.get("id") == llm.name), None)


async def _ollama(llm: HttpLLM, *, load: bool = False) -> int | None:
    """Return the context length of the loaded model, or the one that its Modelfile sets if it is not loaded.

    Returns None if the model is not loaded and its Modelfile sets no context length.
    """
    loaded = await _loaded(llm)
    if loaded is None and load:
        # A request without a prompt only loads the model, as the first call would.
        await _fetch(llm, llm.above("api", "generate"), {"model": llm.name, "stream": False})
        loaded = await _loaded(llm)
    if loaded is not None:
        return loaded
    shown = await _fetch(llm, llm.above("api", "show"), {"model": llm.name})
    chosen = [line.split() for line in str(shown.get("parameters") or "").splitlines()]
    sizes = [int(words[1]) for words in chosen if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal()]
    card = replies.mapping(shown.get("model_info"))
    trained = [size for name, value in card.items() if name.endswith(".context_length") and (size := _size(value))]
    return min([*sizes, *trained]) if sizes else None


async def _loaded(llm: HttpLLM) -> int | None:
    running = replies.dicts((await _fetch(llm, llm.above("api", "ps"))).get("models"))
    names = (llm.name, llm.name if ":" in llm.name.rpartition("/")[2] else f"{llm.name}:latest")
    loaded = (model for model in running if model.get("name") in names or model.get("model") in names)
    return next((_size(model.get("context_length")) for model in loaded), None)


def _size(value: Any) -> int | None:
    return replies.count(value) or None


LOOKUPS: dict[str, Callable[[HttpLLM], Awaitable[int | None]]] = {
    "listed": _listed, "llamacpp": _llamacpp, "lmstudio": _lmstudio, "ollama": _ollama,
}  # fmt: skip
"""The lookup function for each value of `Provider.context_lookup`."""
