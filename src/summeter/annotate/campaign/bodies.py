"""Parsing of request bodies, with limits on their size and depth.

The answer itself is validated by the campaign's task type (`TaskType.read`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from summeter.records import UsageError

Json = dict[str, Any]
LARGEST = 64 * 1024
"""Maximum number of bytes of a body."""
DEEPEST = 12
"""Maximum depth of nested lists and objects."""
LONGEST_TEXT = 10_000
"""Maximum number of code points of a string."""
LONGEST_NAME = 200
"""Maximum number of code points of a field name."""
MOST_VALUES = 20_000
"""Maximum number of values in a body."""
GREATEST = 2**53
"""Maximum absolute value of a number, up to which JavaScript represents integers exactly."""
LONGEST_SECONDS = 86_400.0 * 30
_ANSWER_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Refusal(UsageError):
    """Raised if a request is refused.

    `status` is the HTTP status and `code` an error code from design/annotate.md. `field` is the invalid field of the
    body, or None if no field is at fault.
    """

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field

    def to_json(self) -> dict[str, dict[str, str]]:
        """Return the JSON object of the response, `{"error": {...}}`."""
        field = {} if self.field is None else {"field": self.field}
        return {"error": {"code": self.code, "message": self.message, **field}}


def read_body(raw: bytes) -> Json:
    """Parse the JSON object of a request body.

    Lone surrogates, which UTF-8 cannot encode, become U+FFFD. Raises Refusal with the code `bad_json` if the body is
    not a JSON object, and with the code `invalid` if it exceeds a limit.
    """

    def refuse_constant(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        body = json.loads(raw or b"{}", parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "bad_json", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise Refusal(400, "bad_json", "the body is not a JSON object")
    count = 0

    def bounded(value: Any, depth: int) -> Any:
        nonlocal count
        count += 1
        if count > MOST_VALUES or depth < 0:
            raise Refusal(422, "invalid", "the body has too many values or is nested too deeply")
        match value:
            case str():
                return _text(value, LONGEST_TEXT)
            case int() | float() if not -GREATEST <= value <= GREATEST:
                raise Refusal(422, "invalid", "a number is too large")
            case list():
                return [bounded(entry, depth - 1) for entry in value]
            case dict():
                return {_text(name, LONGEST_NAME): bounded(entry, depth - 1) for name, entry in value.items()}
            case _:
                return value

    checked: Json = bounded(body, DEEPEST)
    return checked


def _text(text: str, most: int) -> str:
    if len(text) > most:
        raise Refusal(422, "invalid", f"a text has more than {most} characters; shorten it")
    return _SURROGATES.sub("\ufffd", text)


def agreed_of(body: Json) -> bool:
    """Return whether the annotator consents."""
    agreed = body.get("agreed")
    if not isinstance(agreed, bool):
        raise Refusal(422, "invalid", "must be true or false", "agreed")
    return agreed


def choices_of(body: Json, names: Sequence[str]) -> dict[str, int]:
    """Return the index of the chosen answer to each question of the qualification test."""
    choices = body.get("answers")
    complete = isinstance(choices, dict) and set(choices) == set(names)
    if not isinstance(choices, dict) or not complete or not all(type(choice) is int for choice in choices.values()):
        raise Refusal(422, "invalid", "answer every question with the index of a choice", "answers")
    return choices


def answer_id_of(body: Json) -> str:
    """Return the identifier of an answer, which does not change if the answer is resent."""
    answer_id = body.get("answer_id")
    if not isinstance(answer_id, str) or not _ANSWER_ID.fullmatch(answer_id):
        raise Refusal(422, "invalid", "must consist of 8 to 64 letters, digits, - and _", "answer_id")
    return answer_id


def seconds_of(body: Json) -> float:
    """Return the time for which the task was in view, in seconds."""
    seconds = body.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_SECONDS:
        raise Refusal(422, "invalid", "must be the time in view, in seconds", "seconds")
    return round(float(seconds), 3)


def client_at_of(body: Json) -> int | None:
    """Return the time of the answer by the browser's clock, in ms since 1970, or None."""
    at = body.get("at")
    return at if isinstance(at, int) and not isinstance(at, bool) and abs(at) < GREATEST else None
