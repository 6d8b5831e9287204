"""Define the base class of records, and hashes of JSON values."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable record. Unknown fields and non-finite numbers are validation errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


HASH = 16
"""Number of hex digits of a hash in a signature (64 bits)."""


def canonical(value: Any) -> str:
    """Return compact JSON with sorted keys; equal values give equal strings.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any, length: int = 64) -> str:
    """Return the first `length` hex digits of the SHA-256 of `canonical(value)`."""
    # A Python string may contain a lone surrogate, which UTF-8 cannot encode.
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]
