"""Where a model is served and with which key: found in the options and the environment, and checked.

Keys come from the environment, travel in one header, and appear in no message, repr or record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from summeter.models.providers.options import Options
from summeter.records import UsageError

if TYPE_CHECKING:
    from yarl import URL

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
    """Where an endpoint is; `key_variable` and `url_variable` are the environment's names, for error messages."""

    base_url: str
    key: Secret | None
    key_variable: str
    url_variable: str


class Variables(NamedTuple):
    """The environment variables of an endpoint; of several `keys` the first that is set counts. `example` is an
    address as `url` should hold one."""

    keys: tuple[str, ...]
    url: str
    example: str = "http://host:8000/v1"


def named(prefix: str) -> Variables:
    """PREFIX_API_KEY and PREFIX_BASE_URL."""
    return Variables((f"{prefix}_API_KEY",), f"{prefix}_BASE_URL")


def find(variables: Variables, options: Options, default: str | None = None) -> Endpoint:
    """The endpoint that the options, else the environment, else `default` name, checked.

    An https endpoint needs a key: one that checks none takes any word.
    """
    base_url = address(variables.url, options, default, variables.example)
    variable = next((name for name in variables.keys if options.environ.get(name, "").strip()), variables.keys[0])
    key = secret(variable, options)
    if key is None and base_url.startswith("https://"):
        raise UsageError(
            f"no key for {base_url.partition('?')[0]}: set the environment variable {variable} "
            "(to any word, if the server asks for none)"
        )
    return Endpoint(base_url, key, variable, variables.url)


def address(variable: str, options: Options, default: str | None = None, example: str = "") -> str:
    """The base URL, without a slash at its end, checked."""
    base_url = (options.base_url or options.environ.get(variable) or default or "").strip().rstrip("/")
    if not base_url:
        raise UsageError(f"no address for this endpoint: set {variable} (as in {example}) or give --base-url")
    _check_url(base_url)
    return base_url


def secret(variable: str, options: Options) -> Secret | None:
    """The key that the environment variable holds, if any."""
    key = options.environ.get(variable, "").strip()
    if any(ord(sign) < 33 or ord(sign) > 126 for sign in key):
        raise UsageError(f"{variable} holds a blank or a character that no key has; set it again")
    return Secret(key) if key else None


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
