"""A dry run: the real run with a model that makes up schema-valid replies, to count what would be sent.

Nothing leaves the machine and nothing is kept but the counts.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.structured import BoundLLM, Settings

CHARACTERS_A_TOKEN = 4.0  # of English text with the usual tokenizers
_WORDS = "a sentence of about the usual length that gives a reason"
_LIST = 8  # entries where the schema leaves the number open


class DryLLM:
    """Answers any request with an example of the schema asked for."""

    def __init__(self, model: str, tally: Counter[str]) -> None:
        self._id = model
        self._tally = tally

    @property
    def id(self) -> str:
        """The model string of the model it stands for."""
        return self._id

    async def complete(self, request: Request) -> Completion:
        """Count the request and make up a reply."""
        text = json.dumps(example(request.schema_ or {"type": "object"}))
        tokens_in = tokens("".join(message.content for message in request.messages))
        self._tally.update(calls=1, tokens_in=tokens_in, tokens_out=tokens(text))
        sure = tuple(TokenLogprobs(token=one, logprob=0.0) for one in text) if request.top_logprobs else None
        return Completion(
            text=text, finish_reason="stop", tokens_in=tokens_in, tokens_out=tokens(text), logprobs=sure
        )  # fmt: skip

    async def close(self) -> None:
        """Nothing to let go of."""


def dry(model: str, tally: Counter[str]) -> BoundLLM:
    """A bound model that only counts; without repair turns, which nobody can foresee."""
    return BoundLLM(DryLLM(model, tally), Settings(repair=False))


def tokens(text: str) -> int:
    """Estimated number of tokens of a text: one in four characters, one a character where words are not spaced.

    >>> tokens("twelve chars")
    3
    """
    dense = sum(1 for character in text if ord(character) >= 0x2E80)
    return round((len(text) - dense) / CHARACTERS_A_TOKEN + dense)


def example(schema: dict[str, Any], defs: dict[str, Any] | None = None) -> Any:
    """A value that fits a JSON schema (of the kinds used in forms); `defs` are those of the whole schema.

    >>> example({"type": "object", "properties": {"a": {"enum": ["yes", "no"]}, "b": {"type": "integer"}}})
    {'a': 'yes', 'b': 1}
    """
    defs = schema.get("$defs", {}) if defs is None else defs
    if "$ref" in schema:
        return example(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "anyOf" in schema:
        return example(schema["anyOf"][0], defs)
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: example(inner, defs) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return _array(schema, defs)
    plain: dict[str, Any] = {"string": _WORDS, "integer": 1, "number": 1, "boolean": True}
    return plain.get(kind)


def _array(schema: dict[str, Any], defs: dict[str, Any]) -> list[Any]:
    if "prefixItems" in schema:
        return [example(inner, defs) for inner in schema["prefixItems"]]
    least, most = schema.get("minItems", 1), schema.get("maxItems", _LIST)
    inner = schema.get("items", {"type": "string"})
    number = max(least, 1 if inner.get("type") == "integer" else min(most, _LIST))
    values = [example(inner, defs) for _ in range(number)]
    # Lists of texts are read as sets by some forms: number them.
    return [f"{value} {place}" if isinstance(value, str) else value for place, value in enumerate(values, 1)]
