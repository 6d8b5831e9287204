"""Reply by a script in tests, documentation and demonstrations, without a model or a network connection.

The model string is `scripted/PATH.jsonl`. Each line is a rule, and the first matching rule replies:

    {"match": "Key facts:", "reply": {"key_facts": ["a", "b"]}}
    {"regex": "(?i)sentence 3", "reply": "no idea", "finish_reason": "length"}
    {"match": "Summary: The cat", "error": "transient", "times": 2}
    {"reply": "anything else"}
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError, model_validator

from summeter.models.base import Completion, Request
from summeter.models.providers.provider import Options, Provider
from summeter.records import CapabilityError, InputError, ModelError, Record, TransientError, invalid

Failure = Literal["transient", "model", "json_schema", "json_object", "temperature", "seed"]


class Rule(Record):
    """A rule, which consists of conditions on the request and a reply.

    The prompt must contain all strings in `match` and a match of the regular expression `regex`, and the key of the
    request must begin with `key`; conditions that are None are ignored. `reply` is a string, or a JSON value that is
    returned as text. `error` names an error that is raised instead of a reply: "transient", "model", or an unsupported
    capability. `times` limits how often the rule is used, or is None for no limit.
    """

    match: str | tuple[str, ...] | None = None
    regex: str | None = None
    key: str | None = None
    reply: Any = None
    error: Failure | None = None
    retry_after: float | None = None
    refusal: str | None = None
    finish_reason: str | None = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    times: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.reply is None and self.error is None and self.refusal is None:
            raise ValueError("a rule needs a `reply`, an `error` or a `refusal`")
        if self.regex is not None:
            try:
                re.compile(self.regex)
            except re.error as error:
                raise ValueError(f"`regex` is not a regular expression: {error}") from error
        return self

    def matches(self, request: Request, prompt: str) -> bool:
        texts = (self.match,) if isinstance(self.match, str) else self.match or ()
        if not all(text in prompt for text in texts):
            return False
        if self.regex is not None and not re.search(self.regex, prompt):
            return False
        return self.key is None or request.key.startswith(self.key)

    def answer(self, model: str) -> Completion:
        """Return the reply of the rule, or raise its error."""
        if self.error == "transient":
            raise TransientError(f"{model}: a scripted failure", retry_after=self.retry_after)
        if self.error == "model":
            raise ModelError(f"{model}: a scripted failure")
        if self.error is not None:
            raise CapabilityError(f"{model}: scripted to refuse {self.error}", lacks=self.error)
        text = self.reply if isinstance(self.reply, str) else json.dumps(self.reply, ensure_ascii=False)
        return Completion(
            text="" if self.reply is None else text, finish_reason=self.finish_reason, refusal=self.refusal,
            model=model, tokens_in=self.tokens_in, tokens_out=self.tokens_out,
        )  # fmt: skip


Rules = Callable[[Request], Completion | str] | Mapping[str, Any] | Iterable[Rule | Mapping[str, Any]]


class Scripted:
    """An LLM that replies by rules and records its requests.

    `rules` is a function of the request (which may raise an error), a mapping from substrings of the prompt to replies,
    or a list of rules, of which the first matching rule is used. `latency` is the time before each reply in seconds.

    >>> llm = Scripted({"capital of France": "Paris"})
    >>> llm.calls
    0
    """

    def __init__(
        self, rules: Rules, *, id: str = "scripted/rules", latency: float = 0.0  # noqa: A002 - as in the protocol
    ) -> None:  # fmt: skip
        self.id = id
        self._function = rules if callable(rules) else None
        self._rules = [] if callable(rules) else _rules(rules)
        self._used = [0] * len(self._rules)
        self.latency = latency
        self.requests: list[Request] = []
        self.closed = False

    @classmethod
    def open(cls, provider: Provider, name: str, options: Options) -> Self:
        """Read the rules from the JSONL file `name`.

        Raises InputError with the file, the line and the field of an invalid rule.
        """
        del options
        return cls(_read(Path(name)), id=f"{provider.name}/{name}")

    @property
    def calls(self) -> int:
        return len(self.requests)

    async def complete(self, request: Request) -> Completion:
        """Return the reply of the first matching rule.

        Raises ModelError if no rule matches.
        """
        self.requests.append(request)
        # Yields to the event loop even without latency, as a real endpoint does.
        await asyncio.sleep(self.latency)
        if self._function is not None:
            reply = self._function(request)
            return Completion(text=reply, finish_reason="stop", model=self.id) if isinstance(reply, str) else reply
        prompt = request.prompt
        for index, rule in enumerate(self._rules):
            if (rule.times is None or self._used[index] < rule.times) and rule.matches(request, prompt):
                self._used[index] += 1
                return rule.answer(self.id)
        raise ModelError(
            f"{self.id}: no rule matches the prompt that begins with {prompt[:80]!r} (key {request.key[:12]})"
        )

    async def close(self) -> None:
        self.closed = True


def _rules(rules: Mapping[str, Any] | Iterable[Rule | Mapping[str, Any]]) -> list[Rule]:
    if isinstance(rules, Mapping):
        return [Rule(match=match, reply=reply) for match, reply in rules.items()]
    return [rule if isinstance(rule, Rule) else Rule.model_validate(rule) for rule in rules]


def _read(path: Path) -> list[Rule]:
    try:
        lines = path.read_text("utf-8").split("\n")
    except FileNotFoundError as error:
        raise InputError.at(path, "the file of scripted replies does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(path, f"cannot be read: {error}") from error
    rules = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rules.append(Rule.model_validate_json(line))
        except ValidationError as error:
            raise invalid(path, number, error) from error
    if not rules:
        raise InputError.at(path, "contains no rules")
    return rules
