"""Where the part of a prompt ends that all summaries of a document share, for providers that cache what is marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from summeter.models.base import Message

# The fence around a document, as the prompts draw it; its code is a hash of the text, so the text cannot hold it.
_FENCED = re.compile(r"<<<document (?P<code>\w+)>>>\n.*?^<<<end of document (?P=code)>>>\n", re.DOTALL | re.MULTILINE)


def split(text: str) -> tuple[str, str]:
    """The text up to the end of the first fenced document, and the rest. No document, or nothing behind it: no prefix.

    >>> split("<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\nSummary: A dog.")
    ('<<<document 1f>>>\\nA cat.\\n<<<end of document 1f>>>\\n', 'Summary: A dog.')
    >>> split("Who are you?")
    ('', 'Who are you?')
    """
    found = _FENCED.search(text)
    if found is None or not text[found.end() :].strip():
        return "", text
    return text[: found.end()], text[found.end() :]


def parted(messages: Sequence[Message]) -> tuple[str, list[tuple[Message, str]]]:
    """The system text, and the other turns, each with its prefix (only the first user turn can have one)."""
    system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
    turns: list[tuple[Message, str]] = []
    for turn in (turn for turn in messages if turn.role != "system"):
        first = turn.role == "user" and not any(before.role == "user" for before, _ in turns)
        turns.append((turn, split(turn.content)[0] if first else ""))
    return system, turns
