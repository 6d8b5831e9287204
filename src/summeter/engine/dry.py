"""A dry run: the real run with a model that makes up schema-valid replies, to count what would be sent.

Nothing leaves the machine and nothing is kept but the counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container
from typing import Any

from summeter.models.base import Completion, Request, TokenLogprobs
from summeter.models.prices import Price
from summeter.models.structured import BoundLLM, Settings
from summeter.models.tokens import tokens

CHUNK = 256  # characters: the grain in which prompts are compared
CACHEABLE = 1024  # tokens: what providers cache begins with a prefix of so many
_VARIES = "usual length"
_WORDS = f"a sentence of about the {_VARIES} that gives a reason"
_LIST = 8  # entries where the schema leaves the number open


class Seen:
    """What a run would have sent so far: calls that are stored or under way are made once, and prompts that begin
    as an earlier one are cheaper where the provider caches. `price` is what a model costs."""

    def __init__(self, stored: Container[str] = (), price: Callable[[str], Price | None] = lambda _: None) -> None:
        self._stored = stored
        self._price = price
        self._keys: set[str] = set()
        self._prefixes: dict[str, set[int]] = {}

    def is_new(self, key: str) -> bool:
        """Whether this call would be sent."""
        if key in self._keys or key in self._stored:
            return False
        self._keys.add(key)
        return True

    def nanodollars(self, model: str, tokens_in: int, tokens_out: int) -> int:
        """What one call costs, in billionths of a dollar: call by call, since long prompts may cost more a token."""
        price = self._price(model)
        return 0 if price is None else round(price.cost(tokens_in, tokens_out) * 1e9)

    def shared(self, model: str, prompt: str) -> int:
        """How many characters of the prompt begin an earlier one to the same model, in whole chunks."""
        prefixes = self._prefixes.setdefault(model, set())
        known, mark, same = 0, 0, True
        for end in range(CHUNK, len(prompt) + 1, CHUNK):
            mark = hash((mark, prompt[end - CHUNK : end]))
            same = same and mark in prefixes
            known = end if same else known
            prefixes.add(mark)
        return known


class DryLLM:
    """Answers any request with an example of the schema asked for."""

    def __init__(self, model: str, tally: Counter[str], seen: Seen | None = None) -> None:
        self._id = model
        self._tally = tally
        self._seen = seen or Seen()

    @property
    def id(self) -> str:
        """The model string of the model it stands for."""
        return self._id

    async def complete(self, request: Request) -> Completion:
        """Count the request and make up a reply."""
        text = json.dumps(example(request.schema_ or {"type": "object"}))
        # Different questions have different answers, and what is asked next with them in it is another question.
        text = text.replace(_VARIES, f"{request.key[:5]} length")
        tokens_in, tokens_out = tokens(request.prompt), tokens(text)
        if self._seen.is_new(request.key):
            self._tally.update(calls=1, tokens_in=tokens_in, tokens_out=tokens_out)
            self._tally.update(nanodollars=self._seen.nanodollars(self._id, tokens_in, tokens_out))
            shared = round(tokens_in * self._seen.shared(self._id, request.prompt) / max(1, len(request.prompt)))
            self._tally.update(tokens_shared=shared if shared >= CACHEABLE else 0)
        sure = tuple(TokenLogprobs(token=one, logprob=0.0) for one in text) if request.top_logprobs else None
        return Completion(
            text=text, finish_reason="stop", tokens_in=tokens_in, tokens_out=tokens_out, logprobs=sure
        )  # fmt: skip

    async def close(self) -> None:
        """Nothing to let go of."""


def dry(
    model: str, tally: Counter[str], seen: Seen | None = None, settings: Settings | None = None
) -> BoundLLM:  # fmt: skip
    """A bound model that only counts; without repair turns, which nobody can foresee."""
    return BoundLLM(DryLLM(model, tally, seen), (settings or Settings())._replace(repair=False))


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
