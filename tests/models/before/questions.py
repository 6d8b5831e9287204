"""What was asked when the stores beside this file were written (by summeter of 22 November 2026)."""

from __future__ import annotations

import json
from typing import Any

from summeter.records import ReplyError

MODEL = "openai/gpt-4o-2024-08-06"
NETWORK = "local/nli@1a2b3c4d5e6f+max512"
FORM_SCHEMA = {"type": "object", "properties": {"draw": {"type": "integer"}}, "required": ["draw"]}


def prompt_turns(text: str) -> list[tuple[Any, str]]:
    """The turns of a question."""
    return [("system", "You judge."), ("user", text)]


def read(text: str) -> dict[str, Any]:
    """The strict reader of the form."""
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise ReplyError("is no JSON") from error
    return found


QUESTIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("plain", {}, {}),
    ("non-ASCII: Zürich, 東京, ☂", {"temperature": None}, {}),
    ("seeded", {"seed": 7, "max_tokens": 99}, {"draw": 2}),
    ("second repeat", {"repeat": 2, "seed": 7}, {"draw": 1, "temperature": 1.0}),
    ("a weaker format", {"format": "json_object"}, {}),
    ("fix this", {}, {}),
]
