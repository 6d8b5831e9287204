"""A reply's schema for providers that refuse bounds on lengths, counts and numbers with a 400.

The bounds are there for servers whose models need them (design/schemas.md); what matters is checked when the reply is
read. The stored request keeps them, so that a call's key does not hang on who was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOUNDS = frozenset({
    "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
})  # fmt: skip
_BY_NAME = ("properties", "$defs")  # what these hold are names of the schema's own, which may be any word


def without_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the schema without bounds, in the same order.

    >>> without_bounds({"type": "object", "properties": {"maximum": {"type": "string", "maxLength": 9}}})
    {'type': 'object', 'properties': {'maximum': {'type': 'string'}}}
    """
    return {name: _inner(name, value) for name, value in schema.items() if name not in BOUNDS}


def _inner(name: str, value: Any) -> Any:
    if name in _BY_NAME and isinstance(value, Mapping):
        return {own: without_bounds(one) for own, one in value.items()}
    if isinstance(value, Mapping):
        return without_bounds(value)
    if name == "anyOf":
        return [without_bounds(one) for one in value]
    return value
