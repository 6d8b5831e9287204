"""How much a server's model reads: what servers say of it themselves, each in its own way.

What is told is the whole context, prompt and reply together. vLLM, OpenRouter, Mistral and others say it in the list
of their models; llama.cpp's server in its properties; LM Studio and Ollama of a model that is loaded. Before that both
have only what a model was trained for: what it is loaded with is often far less, and longer prompts are cut without a
word.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.models.base import to_json
from summeter.models.providers import replies
from summeter.models.providers.endpoint import join
from summeter.models.providers.wire import Exchange
from summeter.records import ModelError

if TYPE_CHECKING:
    from summeter.models.providers.http import HttpLLM

# The first that is there counts: what the server was started with goes before what the model could do.
_FIELDS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")

_MOST = 10**9  # tokens: whoever tells of more tells nonsense


class Place(NamedTuple):
    """Whom to ask of which model; with `load`, a server may load the model to know."""

    llm: HttpLLM
    base: str
    name: str
    load: bool = False

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
        return await self._parsed(Exchange("POST", join(base, *parts), to_json(body).encode()))

    async def _parsed(self, sent: Exchange) -> dict[str, Any]:
        answer = await self.llm.exchange(sent)
        if answer.status != 200:
            raise ModelError(f"{self.llm.address} answered {answer.status} to {sent.url.path}")
        return replies.body(answer)


Reader = Callable[[Place], Awaitable[int | None]]


async def listed(at: Place) -> int | None:
    """By the server's list of models: vLLM's `max_model_len`, OpenRouter's `context_length`, Mistral's
    `max_context_length`, llama.cpp's `meta.n_ctx`."""
    return _of(await at.get(at.base, "models"), at.name)


async def llamacpp(at: Place) -> int | None:
    """By the properties: what one slot has of the server's context; else by the list."""
    try:
        props = await at.get(at.root, "props", query={"model": at.name})
    except ModelError:
        return await listed(at)
    found = _size(replies.mapping(props.get("default_generation_settings")).get("n_ctx"))
    return found if found is not None else await listed(at)


async def lmstudio(at: Place) -> int | None:
    """By its own list, which tells what a loaded model was loaded with; of others nobody knows what they will be."""
    models = replies.dicts((await at.get(at.root, "api", "v0", "models")).get("data"))
    return next((_size(one.get("loaded_context_length")) for one in models if one.get("id") == at.name), None)


async def ollama(at: Place) -> int | None:
    """What the model is loaded with; what its Modelfile sets where it is not loaded (or may not be)."""
    found = await _loaded(at)
    if found is None and at.load:
        # Without a prompt it only loads the model, as the first call would.
        await at.post(at.root, "api", "generate", body={"model": at.name, "stream": False})
        found = await _loaded(at)
    if found is not None:
        return found
    shown = await at.post(at.root, "api", "show", body={"model": at.name})
    chosen = [line.split() for line in str(shown.get("parameters") or "").splitlines()]
    sizes = [int(words[1]) for words in chosen if len(words) == 2 and words[0] == "num_ctx" and words[1].isdecimal()]
    card = replies.mapping(shown.get("model_info"))
    trained = [size for name, value in card.items() if name.endswith(".context_length") and (size := _size(value))]
    return min([*sizes, *trained]) if sizes else None


READERS: dict[str, Reader] = {"listed": listed, "llamacpp": llamacpp, "lmstudio": lmstudio, "ollama": ollama}
"""Ways to ask, by name."""


async def _loaded(at: Place) -> int | None:
    running = replies.dicts((await at.get(at.root, "api", "ps")).get("models"))
    names = (at.name, at.name if ":" in at.name.rpartition("/")[2] else f"{at.name}:latest")
    return next(
        (_size(one.get("context_length")) for one in running if one.get("name") in names or one.get("model") in names),
        None,
    )


def _of(answer: Mapping[str, Any], name: str) -> int | None:
    """The context of the model in a list; a list of one is of that one, whatever it is called."""
    models = replies.dicts(answer.get("data"))
    # OpenRouter's :nitro and :floor are ways to serve a model and stand in no list.
    for wanted in (name, name.partition(":")[0]):
        for one in models:
            aliases = one.get("aliases")
            if wanted == one.get("id") or (isinstance(aliases, list) and wanted in aliases):
                return _entry(one, models)
    return _entry(models[0], models) if len(models) == 1 else None


def _entry(one: Mapping[str, Any], models: list[dict[str, Any]]) -> int | None:
    served = _size(replies.mapping(one.get("meta")).get("n_ctx"))
    if served is not None:
        return served
    found = next((size for field in _FIELDS if (size := _size(one.get(field))) is not None), None)
    top = _size(replies.mapping(one.get("top_provider")).get("context_length"))
    if found is None and one.get("parent"):
        # vLLM lists adapters beside the model they are laid upon.
        found = next((_size(other.get("max_model_len")) for other in models if other.get("id") == one["parent"]), None)
    return min((size for size in (found, top) if size is not None), default=None)


def _size(value: Any) -> int | None:
    number = replies.count(value)
    return number if number and number <= _MOST else None
