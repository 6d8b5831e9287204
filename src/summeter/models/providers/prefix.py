"""Where the part of a prompt ends that all summaries of a document share, for providers that cache what is marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from summeter.models.base import Message

# The fence around a document, as the prompts draw it; its code is a hash of the text, so the text cannot hold it.
_OPENED = re.compile(r"<<<document (\w+)>>>\n")


def split(text: str) -> tuple[str, str]:
    """The text up to the end of the first fenced document, and the rest. No document, or nothing behind it: no prefix.

    >>> split("<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\nSummary: A dog.")
    ('<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\n', 'Summary: A dog.')
    >>> split("Who are you?")
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


def marked(messages: Sequence[Message]) -> list[tuple[Message, str]]:
    """Every turn with its prefix; only the first user's turn can have one."""
    first = next((place for place, turn in enumerate(messages) if turn.role == "user"), None)
    return [(turn, split(turn.content)[0] if place == first else "") for place, turn in enumerate(messages)]


def parted(messages: Sequence[Message]) -> tuple[str, list[tuple[Message, str]]]:
    """The system's text, and the other turns, each with its prefix."""
    system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
    return system, [(turn, prefix) for turn, prefix in marked(messages) if turn.role != "system"]


def blocks(text: str, prefix: str) -> str | list[dict[str, Any]]:
    """A turn's content as Anthropic's API takes it: the prefix a block of its own that is to be cached."""
    if not prefix:
        return text
    return [
        {"type": "text", "text": prefix, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": text[len(prefix) :]},
    ]
