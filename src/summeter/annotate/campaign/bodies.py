"""What a request may bring: one place that bounds every body, and reads each of its fields but the answer itself.

The answer is read by the campaign's task type (`TaskType.read`), after `bounded` has seen it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from summeter.records import UsageError

Json = dict[str, Any]
LARGEST = 64 * 1024
"""Bytes of a body."""
DEEPEST = 12
"""Lists and objects inside one another."""
LONGEST_TEXT = 10_000
"""Code points of a text; a comment or reason has at most `tasks.base.LONGEST`."""
LONGEST_NAME = 200
"""Code points of a field's name."""
MOST_PARTS = 20_000
"""Values in a body."""
GREATEST = 2**53
"""No number is greater, or under its negative: a browser's own numbers are whole up to here."""
LONGEST_SECONDS = 86_400.0 * 30
_ANSWER_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Refusal(UsageError):
    """A request that is not granted, as the browser hears it.

    `status` is that of HTTP, `code` one of design/annotate.md, `field` the part of the body at fault.
    """

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field

    def to_json(self) -> dict[str, dict[str, str]]:
        """`{"error": {...}}`."""
        field = {} if self.field is None else {"field": self.field}
        return {"error": {"code": self.code, "message": self.message, **field}}


def read_body(raw: bytes) -> Json:
    """The JSON object of a request, within the bounds. Half a surrogate pair becomes U+FFFD: no file could hold it.

    Raises Refusal: `bad_json` for what is no JSON object, `invalid` for what is out of bounds.
    """
    try:
        body = json.loads(raw or b"{}", parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "bad_json", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise Refusal(400, "bad_json", "the body is no JSON object")
    whole: Json = _Bounds().read(body, DEEPEST)
    return whole


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


class _Bounds:
    """Counts the values of one body while it is read."""

    def __init__(self) -> None:
        self.parts = 0

    def read(self, value: Any, depth: int) -> Any:
        """The value with its texts made whole."""
        self.parts += 1
        if self.parts > MOST_PARTS or depth < 0:
            raise Refusal(422, "invalid", "the body holds too much")
        match value:
            case str():
                return _text(value, LONGEST_TEXT)
            case int() | float() if not -GREATEST <= value <= GREATEST:
                raise Refusal(422, "invalid", "a number is too great")
            case list():
                return [self.read(entry, depth - 1) for entry in value]
            case dict():
                return {_text(name, LONGEST_NAME): self.read(entry, depth - 1) for name, entry in value.items()}
            case _:
                return value


def _text(text: str, most: int) -> str:
    if len(text) > most:
        raise Refusal(422, "invalid", f"a text has more than {most} characters")
    return _SURROGATES.sub("\ufffd", text)


def agreed_of(body: Json) -> bool:
    """Whether somebody consents."""
    agreed = body.get("agreed")
    if not isinstance(agreed, bool):
        raise Refusal(422, "invalid", "is true or false", "agreed")
    return agreed


def choices_of(body: Json, names: Sequence[str]) -> dict[str, int]:
    """The choice for each question of the qualification."""
    choices = body.get("answers")
    complete = isinstance(choices, dict) and set(choices) == set(names)
    if not isinstance(choices, dict) or not complete or not all(type(choice) is int for choice in choices.values()):
        raise Refusal(422, "invalid", "answer every question with the index of a choice", "answers")
    return choices


def answer_id_of(body: Json) -> str:
    """The name under which a browser sends an answer, however often."""
    answer_id = body.get("answer_id")
    if not isinstance(answer_id, str) or not _ANSWER_ID.fullmatch(answer_id):
        raise Refusal(422, "invalid", "is 8 to 64 letters, digits, - and _", "answer_id")
    return answer_id


def seconds_of(body: Json) -> float:
    """The time in view."""
    given = body.get("seconds")
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= LONGEST_SECONDS:
        raise Refusal(422, "invalid", "is the time in view, in seconds", "seconds")
    return round(float(given), 3)


def client_at_of(body: Json) -> int | None:
    """When the browser says that the answer was given, in milliseconds since 1970."""
    given = body.get("at")
    return given if isinstance(given, int) and not isinstance(given, bool) and abs(given) < GREATEST else None
