"""What every record shares: frozen, closed, and hashed by its canonical JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value. Unknown fields are an error, so that a misspelt field is never lost; numbers are finite, since
    JSON has no others."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


HASH = 16
"""Hex digits of a hash in a signature: 64 bits, so that nobody finds two texts with one hash by trying."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spare blanks: equal values give equal text.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any, length: int = 64) -> str:
    """The first `length` hex digits of the SHA-256 of `canonical(value)`."""
    # A lone surrogate is legal in a Python string but not in UTF-8; it must still have a hash.
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]
