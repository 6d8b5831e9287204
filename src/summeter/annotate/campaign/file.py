"""campaign.yaml as it is read: every fault with its line, its field and, for a misspelt name, the nearest one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from summeter.annotate.campaign.config import Campaign, Section
from summeter.annotate.tasks import kind_named
from summeter.data.faults import describe
from summeter.data.mapping import Place, read_mapping, yaml_lines
from summeter.records import Fault, InputError, UsageError, nearest

EXPECTED = {
    "string_type": "a text, in quotes where it looks like something else",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "fields of its own (name: value)",
    "model_type": "fields of its own (name: value)",
}
"""What is wanted, by the type of pydantic's error."""
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def read_campaign(file: str | Path) -> Campaign:
    """The campaign of a YAML file. Raises InputError with every fault, by line and field."""
    path = Path(file)
    given = read_mapping(path, "a campaign needs at least name, kind and data")
    faults: list[Fault] = []
    lines, repeated = yaml_lines(path)
    for place, line in repeated:
        faults.append(Fault(str(path), line, _field(place), "is given twice; the file would not say which counts"))
    if isinstance(given.get("kind"), str):
        try:
            kind_named(given["kind"])
        except UsageError as error:
            faults.append(Fault(str(path), _line(lines, ("kind",)), "kind", str(error)))
    try:
        campaign = Campaign.model_validate(given)
    except ValidationError as error:
        faults += _faults(path, lines, error)
    if faults:
        raise InputError(sorted(faults, key=lambda fault: fault.line or 0))
    return campaign


@contextmanager
def by_line(file: Path) -> Iterator[None]:
    """Faults of the campaign's file that are found later get their lines."""
    try:
        yield
    except InputError as error:
        if not any(fault.file == str(file) and fault.line is None and fault.field for fault in error.faults):
            raise
        lines, _ = yaml_lines(file)
        placed = [
            fault._replace(line=_line(lines, _place(fault.field)))
            if fault.file == str(file) and fault.line is None and fault.field
            else fault
            for fault in error.faults
        ]
        raise InputError(placed) from error


def _line(lines: dict[Place, int], place: Place) -> int | None:
    """The line of a place, or of the nearest thing around it that is in the file."""
    while place:
        if place in lines:
            return lines[place]
        place = place[:-1]
    return 1 if lines else None


def _place(field: str | None) -> Place:
    """A place as messages name it: `questions.0.name`."""
    return tuple(int(part) if part.isdigit() else part for part in (field or "").split(".") if part)


def _field(place: Sequence[str | int]) -> str | None:
    return ".".join(map(str, place)) or None


def _faults(path: Path, lines: dict[Place, int], error: ValidationError) -> Iterator[Fault]:
    reported: set[Place] = set()
    for details in error.errors(include_url=False):
        place = _own(details["loc"], lines)
        if place in reported:  # of a value that may be several things each is tried
            continue
        reported.add(place)
        yield Fault(str(path), _line(lines, place), _field(place), _message(details, place))


def _own(location: Place, lines: dict[Place, int]) -> Place:
    """The part of pydantic's location that is the file's: not the alternatives that were tried."""
    while len(location) > 1 and location not in lines:
        section = _section(location[:-1]) if location[:-1] in lines else None
        if section is not None and location[-1] in section.model_fields:
            return location  # a field that lacks
        location = location[:-1]
    return location


def _section(place: Place) -> type[Section] | None:
    """The model of what stands at a place; None where it has no fields of its own."""
    kind: Any = Campaign
    for part in place:
        if isinstance(part, int):
            continue
        if kind is None or part not in kind.model_fields:
            return None
        kind = _model_in(kind.model_fields[part].annotation)
    section: type[Section] | None = kind
    return section


def _model_in(annotation: Any) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)


def _message(details: ErrorDetails, place: Place) -> str:
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    least, most = context.get("min_length"), context.get("max_length")
    match kind:
        case "missing":
            text = "is needed and not there"
        case "extra_forbidden":
            section = _section(place[:-1]) or Campaign
            text = f"is not known{nearest(place[-1], section.model_fields) or f'; its fields are {_listed(section)}'}"
        case "literal_error" | "enum":
            known = [name.strip("'") for name in str(context["expected"]).replace(" or ", ", ").split(", ")]
            text = f"is {value!r}; give {' or '.join(known)}{nearest(value, known)}"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            bound = next(f"{words} {context[name]:g}" for name, words in _BOUNDS.items() if name in context)
            text = f"is {value}; give {bound}"
        case "too_long" | "too_short":
            text = f"has {context['actual_length']} entries; give {f'at least {least}' if least else f'at most {most}'}"
        case "string_too_long" | "string_too_short":
            text = f"is empty; give {least} or more characters" if least else f"is longer than {most} characters"
        case _ if kind in EXPECTED:
            text = f"is {describe(value)}; give {_expected(details, place)}"
        case _:
            text = details["msg"].removeprefix("Value error, ")
    return text


def _expected(details: ErrorDetails, place: Place) -> str:
    """What is wanted in place of a value of another type."""
    kind, value = details["type"], details["input"]
    if len(details["loc"]) > len(place):  # one of several types, of which the first is named
        return "a number" if kind.startswith("int") else "a text, a number, or true or false"
    if kind == "model_type" and isinstance(place[-1], int) and not isinstance(value, str | list):
        return "a name, in quotes where it looks like something else, or fields of its own"
    return EXPECTED[kind]


def _listed(section: type[Section]) -> str:
    return ", ".join(section.model_fields)
