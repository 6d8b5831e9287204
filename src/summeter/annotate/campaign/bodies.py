"""Parsing of request bodies, with limits on their size and depth.

The answer itself is validated by the campaign's task type (`TaskType.read`).
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

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
_FIELDS: dict[str, TypeAdapter[Any]] = {
    "agreed": TypeAdapter(bool),
    "answers": TypeAdapter(dict[str, int]),
    "answer_id": TypeAdapter(Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]),
    "seconds": TypeAdapter(Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]),
    "at": TypeAdapter(int | None),
}
"""The fields of bodies: whether the annotator consents; the index of the chosen answer to each question of the
qualification test; the identifier of an answer, which does not change if the answer is resent; the time in seconds for
which the task was in view; and the time of the answer by the browser's clock, in milliseconds since 1970."""
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


def field_of(body: Json, name: str) -> Any:
    """Return a field of the body. Raises Refusal if it is missing or invalid."""
    try:
        return _FIELDS[name].validate_python(body.get(name), strict=True)
    except ValidationError as error:
        raise Refusal(422, "invalid", error.errors()[0]["msg"], name) from error
