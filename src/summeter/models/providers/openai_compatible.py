"""Any endpoint that speaks OpenAI's POST /chat/completions, over plain HTTP.

Keys come from the environment, travel in one header, and appear in no message, repr or record.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, to_json
from summeter.models.layers.loops import PerLoop
from summeter.models.providers import replies
from summeter.models.providers.options import Options
from summeter.records import ModelError, TransientError, UsageError

if TYPE_CHECKING:
    import aiohttp

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Secret:
    """A key that shows itself to nobody who merely looks."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself, for the header."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True)
class Endpoint:
    """Where an endpoint is and how it is spoken to.

    `key_variable` is the environment variable that holds its key (named in errors); `length_field` the
    name it gives the limit on new tokens.
    """

    base_url: str
    key: Secret | None
    key_variable: str
    url_variable: str
    length_field: str = "max_tokens"


class OpenAICompatible:
    """One model at one endpoint. `timeout` bounds a whole call in seconds, connection and last byte included."""

    def __init__(self, id: str, name: str, endpoint: Endpoint, options: Options) -> None:  # noqa: A002 - as in the protocol
        self._id = id
        self._name = name
        self._endpoint = endpoint
        self._options = options
        self._url = _url(endpoint.base_url)
        self._proxy = _proxy(self._url)
        self._reached = False
        self._sessions: PerLoop[aiohttp.ClientSession] = PerLoop(self._open)

    @property
    def id(self) -> str:
        """The model string."""
        return self._id

    @property
    def address(self) -> str:
        """The endpoint's base address, without any secret: models that share it share its limits."""
        return self._endpoint.base_url.partition("?")[0]

    async def complete(self, request: Request) -> Completion:
        """One POST. TransientError for what may pass; CapabilityError for a refused parameter; else ModelError."""
        import aiohttp

        body = to_json(self._payload(request)).encode("utf-8", "backslashreplace")
        start = time.perf_counter()
        try:
            session = self._sessions.get()
            async with session.post(self._url, data=body, proxy=self._proxy, allow_redirects=False) as response:
                content = await response.read()
        except TimeoutError as error:
            raise TransientError(
                f"{self.id}: no whole reply from {self.address} within {self._options.timeout:g} s"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            # What aiohttp says of an answer holds the headers sent.
            raise self._unreached(error) from (None if isinstance(error, aiohttp.ClientResponseError) else error)
        self._reached = True
        answer = replies.Answer(self.id, self.address, response.status, response.headers, content)
        if response.status != 200:
            raise replies.failure(answer, request, self._endpoint.key_variable, self._clean)
        return replies.completion(answer, request, time.perf_counter() - start, self._clean)

    async def close(self) -> None:
        """Close the running loop's connections."""
        session = self._sessions.pop()
        if session is not None:
            await session.close()

    def _payload(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": turn.role, "content": turn.content} for turn in request.messages],
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed + request.draw
        if request.max_tokens is not None:
            body[self._endpoint.length_field] = request.max_tokens
        if request.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif request.format == "json_schema":
            schema = {"name": _schema_name(request.schema_name), "strict": True, "schema": request.schema_ or {}}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        options, key = self._options, self._endpoint.key
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key.reveal()}"
        return aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=options.max_connections, ttl_dns_cache=300),
            # Left to itself aiohttp rounds a timeout up to a whole second.
            timeout=aiohttp.ClientTimeout(total=options.timeout, ceil_threshold=options.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    def _unreached(self, error: Exception) -> ModelError:
        """A connection that failed. One that was never made is a wrong address or a server that does not run."""
        import aiohttp

        what = self._clean(f"{type(error).__name__}: {error}")
        cause = getattr(error, "os_error", None)
        refused = isinstance(error, aiohttp.ClientConnectorDNSError) or isinstance(cause, ConnectionRefusedError)
        if isinstance(error, aiohttp.InvalidURL) or (refused and not self._reached):
            return ModelError(
                f"{self.id}: cannot reach {self.address} ({what}). Is the server running? "
                f"The address comes from --base-url or {self._endpoint.url_variable}"
            )
        return TransientError(f"{self.id}: the connection to {self.address} failed ({what})")

    def _clean(self, text: str) -> str:
        """The server's words without the key: some servers repeat it, or its beginning, in their complaint."""
        key = self._endpoint.key.reveal() if self._endpoint.key else ""
        if len(key) >= 12:
            text = re.sub(re.escape(key[:8]) + r"[^\s\"']*", "[key]", text)
        return text.replace(key, "[key]") if len(key) >= 4 else text


def _url(base_url: str) -> str:
    from yarl import URL

    base = URL(base_url)
    return str((base / "chat" / "completions").with_query(base.query))


def _proxy(url: str) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for this address; none for this machine itself.

    Looked up once: left to aiohttp it would be looked up for every call, and a netrc with it.
    """
    from urllib.request import getproxies, proxy_bypass

    from yarl import URL

    parsed = URL(url)
    if parsed.host is None or parsed.host in _LOOPBACK or proxy_bypass(parsed.host):
        return None
    return getproxies().get(parsed.scheme)


def _schema_name(name: str | None) -> str:
    # OpenAI takes letters, digits, _ and -, at most 64.
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name or "reply")[:64]


def endpoint(prefix: str, options: Options, default: str | None = None) -> Endpoint:
    """The endpoint whose variables begin with `prefix` (PREFIX_API_KEY, PREFIX_BASE_URL), checked.

    An https endpoint needs a key: one that checks none takes any word.
    """
    key_variable, url_variable = f"{prefix}_API_KEY", f"{prefix}_BASE_URL"
    base_url = (options.base_url or options.environ.get(url_variable) or default or "").strip().rstrip("/")
    if not base_url:
        raise UsageError(
            f"no address for this endpoint: set {url_variable} (as in http://host:8000/v1) or give --base-url"
        )
    _check_url(base_url)
    key = options.environ.get(key_variable, "").strip()
    if not key and base_url.startswith("https://"):
        raise UsageError(
            f"no key for {base_url.partition('?')[0]}: set the environment variable {key_variable} "
            "(to any word, if the server asks for none)"
        )
    if any(ord(sign) < 33 or ord(sign) > 126 for sign in key):
        raise UsageError(f"{key_variable} holds a blank or a character that no key has; set it again")
    return Endpoint(base_url, Secret(key) if key else None, key_variable, url_variable)


def _check_url(base_url: str) -> None:
    from yarl import URL

    try:
        url = URL(base_url)
    except ValueError as error:
        raise UsageError("the base URL is not a URL; give one such as http://localhost:8000/v1") from error
    if url.user is not None or url.password is not None:
        raise UsageError("the base URL holds a user name or password; keep secrets in the key's environment variable")
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError(f"base URL {base_url!r} is not an http:// or https:// address")


def openai(name: str, options: Options) -> OpenAICompatible:
    """`openai/MODEL`: OPENAI_API_KEY, OPENAI_BASE_URL."""
    default = "https://api.openai.com/v1"
    found = endpoint("OPENAI", options, default)
    if found.base_url == default:
        # OpenAI's own models refuse or deprecate max_tokens; other servers know nothing else.
        found = replace(found, length_field="max_completion_tokens")
    return OpenAICompatible(f"openai/{name}", name, found, options)


def openai_api(name: str, options: Options) -> OpenAICompatible:
    """`openai-api/NAME/MODEL`: NAME_API_KEY, NAME_BASE_URL, the name in capitals."""
    server, slash, model = name.partition("/")
    prefix = re.sub(r"[^A-Za-z0-9]+", "_", server).strip("_").upper()
    if not slash or not model or not prefix:
        raise UsageError(f"model 'openai-api/{name}' is not openai-api/NAME/MODEL (NAME is a name you give the server)")
    return OpenAICompatible(f"openai-api/{name}", model, endpoint(prefix, options), options)


def ollama(name: str, options: Options) -> OpenAICompatible:
    """`ollama/MODEL`: OLLAMA_BASE_URL, else this machine's port 11434."""
    return OpenAICompatible(f"ollama/{name}", name, endpoint("OLLAMA", options, "http://localhost:11434/v1"), options)


def vllm(name: str, options: Options) -> OpenAICompatible:
    """`vllm/MODEL`: VLLM_BASE_URL, else this machine's port 8000."""
    return OpenAICompatible(f"vllm/{name}", name, endpoint("VLLM", options, "http://localhost:8000/v1"), options)


def openrouter(name: str, options: Options) -> OpenAICompatible:
    """`openrouter/VENDOR/MODEL`: OPENROUTER_API_KEY."""
    found = endpoint("OPENROUTER", options, "https://openrouter.ai/api/v1")
    return OpenAICompatible(f"openrouter/{name}", name, found, options)
