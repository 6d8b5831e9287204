"""Word messages for pydantic's validation errors in files, settings and rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from summeter.records.errors import Fault, InputError, nearest

EXPECTED = {
    "string_type": "a string, in quotes if it looks like another type",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping (name: value)",
    "model_type": "a mapping (name: value)",
}
"""Descriptions of the expected value by the error type of pydantic."""
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def describe(value: Any) -> str:
    """Return a description of a JSON value for messages.

    >>> describe([1]), describe(None)
    ('a list', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list | tuple):
        return "a list"
    return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"


def problem_of(details: ErrorDetails, fields: Iterable[str] = (), expected: str | None = None) -> str:
    """Return the message for a validation error, which is printed after the name of the field.

    `fields` are the known fields of the section; if the field is unknown, a similar one is suggested. `expected`
    replaces the default description of the expected value if the value has the wrong type.
    """
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    least, most = context.get("min_length"), context.get("max_length")
    match kind:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            known = list(fields)
            listed = f"; the fields are {', '.join(known)}" if known else ""
            return f"is not known{nearest(details['loc'][-1], known) or listed}"
        case "literal_error" | "enum":
            known = [name.strip("'") for name in str(context["expected"]).replace(" or ", ", ").split(", ")]
            return f"is {value!r}; give {' or '.join(known)}{nearest(value, known)}"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            bound = next(f"{words} {context[name]:g}" for name, words in _BOUNDS.items() if name in context)
            return f"is {value}; give {bound}"
        case "too_long" | "too_short":
            wanted = f"at least {least}" if least else f"at most {most}"
            return f"has {context['actual_length']} entries; give {wanted}"
        case "string_too_long" | "string_too_short":
            return f"is empty; give {least} or more characters" if least else f"is longer than {most} characters"
        case _ if expected or kind in EXPECTED:
            shown = repr(value) if kind.endswith("_parsing") and len(str(value)) <= 40 else describe(value)
            return f"is {shown}; give {expected or EXPECTED[kind]}"
        case _:
            return details["msg"].removeprefix("Value error, ")


def faults_in(file: str | Path, line: int | None, error: ValidationError, advice: str = "") -> list[Fault]:
    """Return one fault per invalid field of a record; `advice` is appended to each message."""
    ending = f"; {advice}" if advice else ""
    return [
        Fault(str(file), line, ".".join(map(str, details["loc"])) or None, problem_of(details) + ending)
        for details in error.errors(include_url=False)
    ]


def invalid(file: str | Path, line: int | None, error: ValidationError, advice: str = "") -> InputError:
    """Return the InputError for a file that contains an invalid record."""
    return InputError(faults_in(file, line, error, advice))
