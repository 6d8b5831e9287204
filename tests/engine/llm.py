"""A judge for the engine's tests that always gives the same valid answer."""

from __future__ import annotations

import hashlib
import json
import re

from models.server import Call, Reply, ok

MODEL = "openai-api/stub/judge-1"
"""The model of a stub server."""


def behave(call: Call) -> Reply:
    """The reply of a server that works."""
    return ok(answer(call.prompt))


def answer(prompt: str) -> str:
    """A usable reply to any of the FineSurE prompts, decided by a hash of what was asked, the fences aside."""
    prompt = unfenced(prompt)
    if facts := re.findall(r"^\((\d+)\) (.*)$", prompt, re.MULTILINE):
        lines = len(re.findall(r"^\[\d+\] ", prompt, re.MULTILINE))
        picked = {number: _hash(text) % (lines + 1) for number, text in facts}
        return json.dumps(
            {number: {"present": "yes" if line else "no", "lines": [line] if line else []}
             for number, line in picked.items()}
        )  # fmt: skip
    if sentences := re.findall(r"^\[(\d+)\] (.*)$", prompt, re.MULTILINE):
        return json.dumps(
            {number: {"reason": "so it says", "category": "entity error" if _hash(text) % 3 == 0 else "no error"}
             for number, text in sentences}
        )  # fmt: skip
    return json.dumps({"key_facts": ["It rained.", f"People stayed at home {_hash(prompt) % 10**9} times."]})


def unfenced(prompt: str) -> str:
    """The prompt without the codes of its fences, which every run has its own of."""
    return re.sub(r"(<<<[^<>]*) [0-9a-f]{16}>>>", r"\1>>>", prompt)


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)
