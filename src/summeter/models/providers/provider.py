"""Providers, one row each: where a vendor's or a server's models are, which variable holds the key, which dialect
is spoken there. A row becomes an endpoint with its address and key checked, and an LLM.

Keys come from the environment, travel in one header, and appear in no message, repr or record.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote_plus, urlsplit

from pydantic import SecretStr

from summeter.models.base import LLM
from summeter.records import Parameter, UsageError
from summeter.records.addresses import bare_url

if TYPE_CHECKING:
    from yarl import URL

TIMEOUT = 120.0
MAX_CONNECTIONS = 16
GROUP = "summeter.providers"
"""Entry points of other packages' providers: NAME = "module:attribute", the attribute a `Provider` of that name."""

_NO_SECRET = {"api-version"}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Options:
    """What a caller says of all endpoints. `timeout`: seconds a call may take in all. `environ`: where keys and
    addresses are looked up."""

    base_url: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    max_connections: int = MAX_CONNECTIONS
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True)
class Endpoint:
    """Where an endpoint is; `key_variable` and `url_variable` are the environment's names, for error messages."""

    base_url: str = field(repr=False)
    key: SecretStr | None
    key_variable: str
    url_variable: str


class Client(Protocol):
    """A class that speaks a dialect."""

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> LLM:
        """The model `name` of a provider, ready to be asked; nothing is sent yet."""
        ...


@dataclass(frozen=True)
class Dialect:
    """What an OpenAI-compatible server calls things.

    `max_tokens` is its name for the limit on new tokens (at the provider's own address; elsewhere servers know
    max_tokens), `seed` that for the seed; `key_header` the header of the key (None: `Authorization: Bearer`); `extra`
    goes into every body; models whose name begins with `cache_marks` have documents marked for the prefix cache, as
    Anthropic has it; `batches`: there is a Batch API.
    """

    max_tokens: str = "max_tokens"
    seed: str = "seed"
    key_header: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    cache_marks: str | None = None
    batches: bool = False


@dataclass(frozen=True)
class Provider:
    """A vendor of models, or a server that has some: `NAME/MODEL` in a model string.

    Args:
        name: What stands before the first slash of a model string.
        address: The base URL; None where the environment or the caller must give it.
        client: The class that speaks its dialect, or "module:Class" (imported when it is used). Default: OpenAI's chat
            completions, with the names of `dialect`.
        keys: Environment variables of the key, of which the first that is set counts. Default: NAME_API_KEY.
        address_variable: The environment variable of the address. Default: NAME_BASE_URL.
        example: An address, for the message that there is none.
        needs: Other environment variables it needs.
        hosted: Whether a vendor runs it, with a key; else a server of the user's own.
        about: What a listing says beside its variables.
        known_contexts: Whether `contexts.CONTEXTS` holds for its models, wherever they are asked.
        gateway: Whether it passes calls on to other vendors' servers, which may read less: asked before the table.
        context_lookup: How its server is asked how much a model reads: a name of `context_length.LOOKUPS`.
        truncates: Whether its server may cut a prompt that is too long without a word.

    >>> lab = Provider("my-lab", "https://models.lab.example/v1")
    >>> lab.keys, lab.address_variable
    (('MY_LAB_API_KEY',), 'MY_LAB_BASE_URL')
    """

    name: str
    address: str | None = None
    client: str | type[Client] = "summeter.models.providers.openai_compatible:OpenAICompatible"
    keys: tuple[str, ...] = ()
    address_variable: str = ""
    example: str = "http://host:8000/v1"
    needs: tuple[str, ...] = ()
    hosted: bool = True
    about: str = ""
    known_contexts: bool = False
    gateway: bool = False
    context_lookup: str | None = None
    truncates: bool = False
    dialect: Dialect = Dialect()

    def __post_init__(self) -> None:
        prefix = re.sub(r"[^A-Za-z0-9]+", "_", self.name).strip("_").upper()
        # The fields are frozen for whoever uses the row.
        object.__setattr__(self, "keys", self.keys or (f"{prefix}_API_KEY",))
        object.__setattr__(self, "address_variable", self.address_variable or f"{prefix}_BASE_URL")

    def open(self, name: str, options: Options) -> LLM:
        """The model `name`. UsageError for a missing key or address."""
        client = self.client
        if isinstance(client, str):
            module, _, attribute = client.partition(":")
            client = getattr(import_module(module), attribute)
        return client.open(self, name, options)

    def endpoint(self, options: Options) -> Endpoint:
        """The endpoint that the options, else the environment, else the row name, checked.

        An https endpoint needs a key: one that checks none takes any word.
        """
        base_url = address(self.address_variable, options, self.address, self.example)
        variable = next((key for key in self.keys if options.environ.get(key, "").strip()), self.keys[0])
        key = secret(variable, options)
        if key is None and base_url.startswith("https://"):
            raise UsageError(
                f"no key for {bare_url(base_url)}: set the environment variable {variable} "
                "(to any word, if the server asks for none)"
            )
        return Endpoint(base_url, key, variable, self.address_variable)

    @property
    def variables(self) -> tuple[tuple[str, ...], ...]:
        """What must be set for a hosted provider: groups of environment variables of which one suffices."""
        if not self.hosted:
            return ()
        address = () if self.address else ((self.address_variable,),)
        return (*address, self.keys, *((name,) for name in self.needs))


_OPENAI_NEW_TOKENS = "max_completion_tokens"  # OpenAI's own models refuse or deprecate max_tokens

PROVIDERS: dict[str, Provider] = {row.name: row for row in (
    Provider(
        "openai", "https://api.openai.com/v1", known_contexts=True,
        dialect=Dialect(max_tokens=_OPENAI_NEW_TOKENS, batches=True),
    ),
    Provider(
        "anthropic", "https://api.anthropic.com", "summeter.models.providers.anthropic:Anthropic", known_contexts=True
    ),
    Provider(
        "google", "https://generativelanguage.googleapis.com", "summeter.models.providers.google:Google",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"), known_contexts=True,
    ),
    Provider(
        "mistral", "https://api.mistral.ai/v1", known_contexts=True, context_lookup="listed",
        dialect=Dialect(seed="random_seed"),
    ),
    Provider(
        "bedrock", "https://bedrock-runtime.{region}.amazonaws.com", "summeter.models.providers.bedrock:Bedrock",
        keys=("AWS_BEARER_TOKEN_BEDROCK",), address_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME", needs=("AWS_REGION",),
    ),
    Provider(
        "azure", None, "summeter.models.providers.openai_compatible:Azure",
        keys=("AZURE_OPENAI_API_KEY",), address_variable="AZURE_OPENAI_ENDPOINT",
        example="https://RESOURCE.openai.azure.com",
        dialect=Dialect(max_tokens=_OPENAI_NEW_TOKENS, key_header="api-key"),
    ),
    # Only servers that know all that is asked may answer: the others would leave out the schema, the seed or the
    # log-probabilities without a word. Other vendors' models than Anthropic's find shared prefixes themselves.
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", known_contexts=True, gateway=True, context_lookup="listed",
        dialect=Dialect(extra={"provider": {"require_parameters": True}}, cache_marks="anthropic/"),
    ),
    Provider("ollama", "http://localhost:11434/v1", hosted=False, context_lookup="ollama", truncates=True),
    Provider("vllm", "http://localhost:8000/v1", hosted=False, context_lookup="listed"),
    Provider("llamacpp", "http://localhost:8080/v1", hosted=False, context_lookup="llamacpp", truncates=True),
    Provider("lmstudio", "http://localhost:1234/v1", hosted=False, context_lookup="lmstudio", truncates=True),
    Provider(
        "openai-api", None, "summeter.models.providers.openai_compatible:AnyServer", hosted=False,
        about="openai-api/NAME/MODEL: any other OpenAI-compatible server, NAME_BASE_URL and NAME_API_KEY",
        context_lookup="listed", truncates=True, dialect=Dialect(batches=True),
    ),
    Provider(
        "scripted", None, "summeter.models.providers.scripted:Scripted", hosted=False,
        about="replies by rule from a file: scripted/PATH.jsonl",
    ),
)}  # fmt: skip
"""The providers summeter knows, by name. Other packages add theirs by entry points (`GROUP`)."""


def find_provider(name: str) -> Provider | None:
    """The provider of this name: summeter's own, else another package's."""
    # Looking for other packages' providers reads every installed package; it waits until it is needed.
    return PROVIDERS.get(name) or next((_load(point) for point in _points() if point.name == name), None)


def provider_names() -> list[str]:
    """Every known provider's name, summeter's own first; nothing of other packages is imported."""
    return list(dict.fromkeys([*PROVIDERS, *(point.name for point in _points())]))


def providers() -> dict[str, Provider]:
    """Every known provider by name, summeter's own first: another package adds providers and replaces none."""
    others = {point.name: point for point in _points() if point.name not in PROVIDERS}
    return {**PROVIDERS, **{name: _load(point) for name, point in others.items()}}


def _points() -> list[EntryPoint]:
    return list(entry_points(group=GROUP))


def _load(point: EntryPoint) -> Provider:
    try:
        row = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"the provider {point.name} ({point.value}) cannot be loaded: {error}") from error
    if not isinstance(row, Provider) or row.name != point.name:
        raise UsageError(f"the entry point {point.name} = {point.value!r} of {GROUP} is not a Provider of that name")
    return row


def base_urls(text: str | None) -> tuple[str | None, ...]:
    """The addresses of a base URL, in which commas part several servers of one model.

    >>> base_urls("http://a:8000/v1,http://b:8000/v1")
    ('http://a:8000/v1', 'http://b:8000/v1')
    """
    urls = tuple(re.split(r"\s*,\s*(?=https?://)", text.strip().rstrip(", "))) if text else (None,)
    if len(set(urls)) < len(urls):
        raise UsageError(Parameter("base_url"), " names an address twice")
    for place, url in enumerate(urls, start=1):
        if url is not None and "," in url.partition("?")[0]:
            raise UsageError(  # it is not shown: it may hold a password
                Parameter("base_url"), f": address {place} holds a comma; commas part addresses, each of which begins "
                "with http:// or https://",
            )  # fmt: skip
    return urls


def address(variable: str, options: Options, default: str | None = None, example: str = "") -> str:
    """The base URL, without a slash at its end, checked."""
    base_url = (options.base_url or options.environ.get(variable) or default or "").strip().rstrip("/")
    if not base_url:
        base = Parameter("base_url")
        raise UsageError(f"no address for this endpoint: set {variable} (as in {example}) or give ", base)
    from yarl import URL

    try:
        url = URL(base_url)
    except ValueError as error:
        raise UsageError("the base URL is not a URL; give one such as http://localhost:8000/v1") from error
    if url.user is not None or url.password is not None:
        raise UsageError("the base URL holds a user name or password; keep secrets in the key's environment variable")
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError(f"base URL {bare_url(base_url)!r} is not an http:// or https:// address")
    return base_url


def secret(variable: str, options: Options) -> SecretStr | None:
    """The key that the environment variable holds, if any."""
    key = options.environ.get(variable, "").strip()
    if any(ord(sign) < 33 or ord(sign) > 126 for sign in key):
        raise UsageError(f"{variable} holds a blank or a character that no key has; set it again")
    return SecretStr(key) if key else None


def url_secrets(url: str) -> tuple[str, ...]:
    """What is secret in an address: the values of its query (save the API's version) and its fragment."""
    parts = urlsplit(url)
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    values = [value or name for name, _, value in pairs if name not in _NO_SECRET]
    return tuple(secret for value in (*values, parts.fragment) for secret in {value, unquote_plus(value)} if secret)


def join(base_url: str, *parts: str) -> URL:
    """The base URL with these segments behind its path; its query stays.

    >>> str(join("https://host/v1?api-version=7", "chat", "completions"))
    'https://host/v1/chat/completions?api-version=7'
    """
    from yarl import URL

    base = URL(base_url)
    return base.joinpath(*parts).with_query(base.query)


def proxy(url: URL) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for this address; none for this machine itself.

    Looked up once: left to aiohttp it would be looked up for every call, and a netrc with it.
    """
    from urllib.request import getproxies, proxy_bypass

    if url.host is None or url.host in _LOOPBACK or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)
