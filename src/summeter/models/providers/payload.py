"""Parts of a request's body that several vendors share: prompts with a cached prefix, schemas without bounds.

A prompt begins with the document, so that all summaries of a document share that part: where a vendor caches what is
marked, its end is marked. Bounds in schemas are there for servers whose models need them (design/schemas.md); vendors
that refuse them with a 400 get none, and what matters is checked when the reply is read. The stored request keeps them,
so that a call's key does not hang on who was asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from summeter.models.base import Message

BOUNDS = frozenset({
    "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
})  # fmt: skip
_BY_NAME = ("properties", "$defs")  # what these hold are names of the schema's own, which may be any word
# The fence around a document, as the prompts draw it; its code is a hash of the text, so the text cannot hold it.
_OPENED = re.compile(r"<<<document (\w+)>>>\n")


def split_prefix(text: str) -> tuple[str, str]:
    """The text up to the end of the first fenced document, and the rest. No document, or nothing behind it: no prefix.

    >>> split_prefix("<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\nSummary: A dog.")
    ('<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\n', 'Summary: A dog.')
    >>> split_prefix("Who are you?")
    ('', 'Who are you?')
    """
    opened = _OPENED.search(text)
    if opened is None:
        return "", text
    closing = f"\n<<<end of document {opened[1]}>>>\n"
    # The opening's own line break may be the closing's: an empty document.
    at = text.find(closing, opened.end() - 1)
    end = at + len(closing)
    return (text[:end], text[end:]) if at >= 0 and text[end:].strip() else ("", text)


def with_prefixes(messages: Sequence[Message]) -> list[tuple[Message, str]]:
    """Every turn with its prefix; only the first user's turn can have one."""
    first = next((place for place, turn in enumerate(messages) if turn.role == "user"), None)
    return [(turn, split_prefix(turn.content)[0] if place == first else "") for place, turn in enumerate(messages)]


def split_system(messages: Sequence[Message]) -> tuple[str, list[tuple[Message, str]]]:
    """The system's text, and the other turns, each with its prefix."""
    system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
    return system, [(turn, prefix) for turn, prefix in with_prefixes(messages) if turn.role != "system"]


def cached_blocks(text: str, prefix: str) -> str | list[dict[str, Any]]:
    """A turn's content as Anthropic's API takes it: the prefix a block of its own that is to be cached."""
    if not prefix:
        return text
    return [
        {"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": text[len(prefix) :]},
    ]


def without_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the schema without bounds, in the same order.

    >>> without_bounds({"type": "object", "properties": {"maximum": {"type": "string", "maxLength": 9}}})
    {'type': 'object', 'properties': {'maximum': {'type': 'string'}}}
    """
    return {name: _inner(name, value) for name, value in schema.items() if name not in BOUNDS}


def _inner(name: str, value: Any) -> Any:
    if name in _BY_NAME and isinstance(value, Mapping):
        return {own: without_bounds(inner) for own, inner in value.items()}
    if isinstance(value, Mapping):
        return without_bounds(value)
    if name == "anyOf":
        return [without_bounds(choice) for choice in value]
    return value
