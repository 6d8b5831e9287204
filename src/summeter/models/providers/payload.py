"""Make parts of request bodies that several vendors share.

These are prompts with a cached prefix, and schemas without bounds. A prompt begins with the document, so that the
prompts for all summaries of a document share this prefix; the end of the prefix is marked for vendors that cache marked
prefixes. Schemas have bounds for servers whose models need them (design/schemas.md). Vendors that refuse bounds with
status 400 are sent schemas without bounds; replies are validated in any case. The stored request has the bounds, so
that the key of a call does not depend on the vendor.
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
_BY_NAME = ("properties", "$defs")  # the keys of these objects are names, not keywords of JSON schema
# The fence around a document; its code is a hash of the text, so the text cannot contain it.
_OPENED = re.compile(r"<<<document (\w+)>>>\n")


def split_prefix(text: str) -> tuple[str, str]:
    """Split a string after the first fenced document, and return the prefix and the rest.

    The prefix is empty if there is no document, or no text after the document.

    >>> split_prefix("<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\nSummary: A dog.")
    ('<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\n', 'Summary: A dog.')
    >>> split_prefix("Who are you?")
    ('', 'Who are you?')
    """
    opened = _OPENED.search(text)
    if opened is None:
        return "", text
    closing = f"\n<<<end of document {opened[1]}>>>\n"
    # For an empty document, the line break of the opening line is also that of the closing line.
    start = text.find(closing, opened.end() - 1)
    end = start + len(closing)
    return (text[:end], text[end:]) if start >= 0 and text[end:].strip() else ("", text)


def with_prefixes(messages: Sequence[Message]) -> list[tuple[Message, str]]:
    """Return each turn with its prefix; only the first user turn can have a non-empty prefix."""
    first = next((index for index, turn in enumerate(messages) if turn.role == "user"), None)
    return [(turn, split_prefix(turn.content)[0] if index == first else "") for index, turn in enumerate(messages)]


def split_system(messages: Sequence[Message]) -> tuple[str, list[tuple[Message, str]]]:
    """Return the system prompt and the other turns with their prefixes."""
    system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
    return system, [(turn, prefix) for turn, prefix in with_prefixes(messages) if turn.role != "system"]


def cached_blocks(text: str, prefix: str) -> str | list[dict[str, Any]]:
    """Return the content of a turn for Anthropic's API, with the prefix as a separate block to be cached."""
    if not prefix:
        return text
    return [
        {"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": text[len(prefix) :]},
    ]


def without_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the JSON schema without bounds; the order of the keys is kept.

    >>> without_bounds({"type": "object", "properties": {"maximum": {"type": "string", "maxLength": 9}}})
    {'type': 'object', 'properties': {'maximum': {'type': 'string'}}}
    """
    copy: dict[str, Any] = {}
    for name, value in schema.items():
        if name in BOUNDS:
            continue
        if name in _BY_NAME and isinstance(value, Mapping):
            copy[name] = {key: without_bounds(inner) for key, inner in value.items()}
        elif isinstance(value, Mapping):
            copy[name] = without_bounds(value)
        else:
            copy[name] = [without_bounds(choice) for choice in value] if name == "anyOf" else value
    return copy
