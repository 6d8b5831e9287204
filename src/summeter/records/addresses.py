"""Remove secrets from addresses before they are stored or shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

BASE_URL = "base_url"
"""The setting that contains endpoint addresses, whose queries are treated as secret."""
_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>`]+")
_SECRET = re.compile(r"key|token|secret|sig|pass|pwd|auth|cred|session", re.IGNORECASE)


def bare_url(url: str) -> str:
    """Return an address without user name, password, query and fragment.

    >>> bare_url("https://me:word@host/v1?key=s3cret#s3cret")
    'https://host/v1'
    """
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, mark, rest = bare.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def masked(value: Any) -> Any:
    """Return a copy of a JSON value in which the addresses contain no secrets.

    The query and fragment of an address under the key `base_url` are removed. In other addresses, only parameters with
    names such as `api_key`, `token` or `sig` are removed, because a query may identify a page. User names and passwords
    are always removed.

    >>> masked({"base_url": "http://a/v1?s3cret,http://b/v1", "see": "https://me:word@host/page?id=7&token=s3cret"})
    {'base_url': 'http://a/v1,http://b/v1', 'see': 'https://host/page?id=7'}
    """
    if isinstance(value, str):
        return _ADDRESS.sub(lambda address: _without_secrets(address[0]), value)
    if isinstance(value, Mapping):
        return {masked(name): _bare(each) if name == BASE_URL else masked(each) for name, each in value.items()}
    return [masked(each) for each in value] if isinstance(value, list | tuple) else value


def _bare(value: Any) -> Any:
    if isinstance(value, str):
        return ",".join(map(bare_url, re.split(r"\s*,\s*(?=https?://)", value)))
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else masked(value)


def _without_secrets(url: str) -> str:
    address, hash_mark, fragment = url.partition("#")
    _, mark, query = address.partition("?")
    return bare_url(address) + _public(mark, query) + _public(hash_mark, fragment)


def _public(mark: str, parameters: str) -> str:
    """Return the mark and the parameters without secrets, or "" if no parameters remain."""
    public = [each for each in parameters.split("&") if "=" not in each or not _SECRET.search(each.partition("=")[0])]
    return mark + "&".join(public) if any(public) else ""
