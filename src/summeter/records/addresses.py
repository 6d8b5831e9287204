"""Addresses without their secrets: whatever records or shows an address takes it from here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

BASE_URL = "base_url"
"""The option that names endpoints; no value in the query of such an address is public."""
_ADDRESS = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>`]+")
_SECRET = re.compile(r"key|token|secret|sig|pass|pwd|auth|cred|session", re.IGNORECASE)


def bare_url(url: str) -> str:
    """An address without user, query and fragment.

    >>> bare_url("https://me:word@host/v1?key=s3cret#s3cret")
    'https://host/v1'
    """
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, mark, rest = bare.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def masked(value: Any) -> Any:
    """A JSON value without the secrets of the addresses in it.

    Under the name `base_url` addresses keep neither query nor fragment. Elsewhere only parameters named like a secret
    (`api_key`, `token`, `sig`...) are removed, as a query may be part of a page's address. A user and a password are
    always removed.

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
    """The parameters that are not named like a secret, behind their mark; nothing where none is left."""
    kept = [each for each in parameters.split("&") if "=" not in each or not _SECRET.search(each.partition("=")[0])]
    return mark + "&".join(kept) if any(kept) else ""
