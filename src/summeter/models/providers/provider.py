"""Define the table of providers, with their addresses, environment variables and API clients.

Keys are read from the environment, sent in a header, and never shown in messages, reprs or records.
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
"""The entry point group for providers in other packages: an entry point has the form NAME = "module:attribute", where
the attribute is a `Provider` with that name."""

_NO_SECRET = {"api-version"}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True)
class Options:
    """Options of the caller for all endpoints.

    `timeout` is the maximum duration of a call in seconds, and `environ` is the environment that contains keys and
    addresses.
    """

    base_url: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    max_connections: int = MAX_CONNECTIONS
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True)
class Endpoint:
    """The address and key of an endpoint, and the names of their environment variables for messages."""

    base_url: str = field(repr=False)
    key: SecretStr | None
    key_variable: str
    url_variable: str


class Client(Protocol):
    """A client of an API."""

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> LLM:
        """Return the client of the model `name`, without sending anything."""
        ...


@dataclass(frozen=True)
class Dialect:
    """Differences of an OpenAI-compatible server from the default.

    `max_tokens` is the name of the parameter that limits new tokens at the provider's default address (other servers
    use `max_tokens`), and `seed` is the name of the parameter for the seed. `key_header` is the header in which the key
    is sent, or None for that of the client. `extra` is added to every request body. Documents are marked for the
    prefix cache, in Anthropic's format, for models whose names begin with `cache_marks`. `batches` is True if there is
    a batch API, and `extra_body` if requests may contain fields for the chat template of the model.
    """

    max_tokens: str = "max_tokens"
    seed: str = "seed"
    key_header: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    cache_marks: str | None = None
    batches: bool = False
    extra_body: bool = False


@dataclass(frozen=True)
class Provider:
    """A vendor of models or a model server, used as `NAME/MODEL` in model strings.

    Args:
        name: The name before the first slash of a model string.
        address: The base URL, or None if the environment or the caller must give it.
        client: The client class, or "module:Class", which is imported on first use. The default is OpenAI's chat
            completions API with the parameter names of `dialect`.
        keys: The environment variables for the key; the first one that is set is used. The default is NAME_API_KEY.
        address_variable: The environment variable for the address. The default is NAME_BASE_URL.
        example: An example of an address, for messages.
        needs: Other environment variables that are required.
        hosted: Whether a vendor runs the servers and requires a key; False for the user's own servers.
        about: A description for listings.
        known_contexts: Whether the table `contexts.CONTEXTS` applies to the provider's models.
        gateway: Whether the provider forwards calls to servers of other vendors, whose contexts may be shorter. If so,
            the provider is asked for the context length before the table is used.
        context_lookup: How the provider's server reports the context length: a key of `context_length.LOOKUPS`, or None
            if it does not.
        named: Whether the user names the server, as in `PROVIDER/NAME/MODEL`.
        truncates: Whether the provider's server may silently truncate prompts that are too long.
        dialect: The differences of an OpenAI-compatible server from the default.

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
    named: bool = False
    truncates: bool = False
    dialect: Dialect = Dialect()

    def __post_init__(self) -> None:
        prefix = re.sub(r"[^A-Za-z0-9]+", "_", self.name).strip("_").upper()
        # The instance is frozen, but its defaults depend on the name.
        object.__setattr__(self, "keys", self.keys or (f"{prefix}_API_KEY",))
        object.__setattr__(self, "address_variable", self.address_variable or f"{prefix}_BASE_URL")

    def open(self, name: str, options: Options) -> LLM:
        """Return the client of the model `name`.

        Raises UsageError for a missing key or address.
        """
        client = self.client
        if isinstance(client, str):
            module, _, attribute = client.partition(":")
            client = getattr(import_module(module), attribute)
        return client.open(self, name, options)

    def endpoint(self, options: Options) -> Endpoint:
        """Return the endpoint.

        The address is that of the options, or else of the environment, or else of the provider. Raises UsageError if
        the address is missing or invalid, or if an https endpoint has no key; for servers that do not check keys, the
        key may be any word.
        """
        base_url = address(self.address_variable, options, self.address, self.example)
        variable = next((key for key in self.keys if options.environ.get(key, "").strip()), self.keys[0])
        key = secret(variable, options)
        if key is None and base_url.startswith("https://"):
            raise UsageError(
                f"no key for {bare_url(base_url)}: set the environment variable {variable} "
                "(to any value if the server needs no key)"
            )
        return Endpoint(base_url, key, variable, self.address_variable)

    @property
    def variables(self) -> tuple[tuple[str, ...], ...]:
        """The environment variables that a hosted provider requires, as groups of alternatives."""
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
    # Servers that do not support all parameters would silently ignore the schema, the seed or the log-probabilities, so
    # they are excluded. Only Anthropic's models need marks for the prefix cache.
    Provider(
        "openrouter", "https://openrouter.ai/api/v1", known_contexts=True, gateway=True, context_lookup="listed",
        dialect=Dialect(extra={"provider": {"require_parameters": True}}, cache_marks="anthropic/"),
    ),
    Provider("ollama", "http://localhost:11434/v1", hosted=False, context_lookup="ollama", truncates=True),
    Provider(
        "vllm", "http://localhost:8000/v1", hosted=False, context_lookup="listed", dialect=Dialect(extra_body=True)
    ),
    Provider("llamacpp", "http://localhost:8080/v1", hosted=False, context_lookup="llamacpp", truncates=True),
    Provider("lmstudio", "http://localhost:1234/v1", hosted=False, context_lookup="lmstudio", truncates=True),
    Provider(
        "openai-api", hosted=False,
        about="openai-api/NAME/MODEL: any other OpenAI-compatible server, NAME_BASE_URL and NAME_API_KEY",
        context_lookup="listed", named=True, truncates=True, dialect=Dialect(batches=True, extra_body=True),
    ),
    Provider(
        "scripted", None, "summeter.models.providers.scripted:Scripted", hosted=False,
        about="scripted/PATH.jsonl: replies by the rules in a file",
    ),
)}  # fmt: skip
"""The built-in providers by name; other packages can add providers through entry points (`GROUP`)."""


def find_provider(name: str) -> Provider | None:
    """Return the provider with this name, built-in or from another package.

    Returns None if there is none.
    """
    # Entry points are read only if necessary, since this reads the metadata of all installed packages.
    return PROVIDERS.get(name) or next((_load(point) for point in _points() if point.name == name), None)


def provider_names() -> list[str]:
    """Return the names of all providers, with the built-in ones first, without importing other packages."""
    return list(dict.fromkeys([*PROVIDERS, *(point.name for point in _points())]))


def providers() -> dict[str, Provider]:
    """Return all providers by name.

    The built-in providers come first, and other packages cannot replace them.
    """
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
    """Return the addresses of several servers of one model, which commas separate in a base URL.

    Raises UsageError if an address contains a comma or is given twice.

    >>> base_urls("http://a:8000/v1,http://b:8000/v1")
    ('http://a:8000/v1', 'http://b:8000/v1')
    """
    urls = tuple(re.split(r"\s*,\s*(?=https?://)", text.strip().rstrip(", "))) if text else (None,)
    if len(set(urls)) < len(urls):
        raise UsageError(Parameter("base_url"), " contains an address twice")
    for number, url in enumerate(urls, start=1):
        if url is not None and "," in url.partition("?")[0]:
            raise UsageError(  # the address is not shown, since it may contain a password
                Parameter("base_url"), f": address {number} contains a comma; commas separate addresses, which begin "
                "with http:// or https://",
            )  # fmt: skip
    return urls


def address(variable: str, options: Options, default: str | None = None, example: str = "") -> str:
    """Return the base URL given by the options, the environment or the default, without a trailing slash.

    Raises UsageError if the base URL is missing or invalid, or if it contains a user name or a password.
    """
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
        raise UsageError("the base URL contains a user name or password; put the key in its environment variable")
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError(f"the base URL {bare_url(base_url)!r} is not an http:// or https:// address")
    return base_url


def secret(variable: str, options: Options) -> SecretStr | None:
    """Return the key in an environment variable, or None if the variable is not set.

    Raises UsageError if the key contains invalid characters.
    """
    key = options.environ.get(variable, "").strip()
    if any(ord(character) < 33 or ord(character) > 126 for character in key):
        raise UsageError(f"{variable} contains a space or a character that is not allowed in keys; set it again")
    return SecretStr(key) if key else None


def url_secrets(url: str) -> tuple[str, ...]:
    """Return the secrets in a URL: the fragment, and the values in the query except the API version."""
    parts = urlsplit(url)
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    values = [value or name for name, _, value in pairs if name not in _NO_SECRET]
    return tuple(secret for value in (*values, parts.fragment) for secret in {value, unquote_plus(value)} if secret)


def join(base_url: str, *segments: str) -> URL:
    """Return a base URL with path segments appended; the query of the base URL is kept.

    >>> str(join("https://host/v1?api-version=7", "chat", "completions"))
    'https://host/v1/chat/completions?api-version=7'
    """
    from yarl import URL

    base = URL(base_url)
    return base.joinpath(*segments).with_query(base.query)


def proxy(url: URL) -> str | None:
    """Return the proxy for a URL, or None if none is to be used, as for loopback addresses.

    The proxy is set by HTTP_PROXY, HTTPS_PROXY and NO_PROXY. It is looked up once per client; aiohttp would look it up
    for every call and also read a netrc file.
    """
    from urllib.request import getproxies, proxy_bypass

    if url.host is None or url.host in _LOOPBACK or proxy_bypass(url.host):
        return None
    return getproxies().get(url.scheme)
