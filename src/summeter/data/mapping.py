"""Read YAML files of settings, and report faults with their lines and fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from summeter.records import Fault, InputError, problem_of
from summeter.records.validation import EXPECTED

_M = TypeVar("_M", bound=BaseModel)
Location = tuple[str | int, ...]
"""The path to a value, such as ("questions", 0, "name")."""


def read_model(path: Path, model: type[_M] | Callable[[Mapping[str, Any]], type[_M]], least: str) -> _M:
    """Return the contents of a YAML file as a `model`, which can be chosen by a function of the contents.

    Raises InputError with all faults, by line and field. `least` describes the required contents, for the message if
    the file is not a mapping.
    """
    settings = read_mapping(path, least)
    lines, repeated = yaml_lines(path)
    faults = list(repetitions(path, repeated))
    chosen: type[_M] = model if isinstance(model, type) else model(settings)
    try:
        record = chosen.model_validate(settings)
    except ValidationError as error:
        raise in_order([*faults, *faults_of(path, lines, error, chosen)]) from error
    if faults:
        raise in_order(faults)
    return record


def read_mapping(path: Path, least: str) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises InputError as `read_yaml` does, and also if the file is not a mapping; `least` describes the required
    contents for this message.
    """
    mapping = read_yaml(path)
    if not isinstance(mapping, dict):
        raise InputError.at(path, f"is not a mapping; {least}")
    return mapping


def read_yaml(path: Path) -> Any:
    """Return the value in a YAML file.

    Raises InputError if the file cannot be read, is not UTF-8 or is not valid YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError.at(path, f"is not UTF-8 text: {error.reason} at byte {error.start}") from error
    return parse_yaml(text, path)


MOST_VALUES = 100_000
"""Maximum number of values in a YAML file after aliases are expanded."""


def parse_yaml(text: str, path: Path) -> Any:
    """Return the value of a YAML string from the file `path`.

    Raises InputError, with the line if it is known, for invalid YAML, for invalid values (30 February), and for
    recursive or excessive aliases.
    """
    return _parsed(text, path)[0]


def yaml_lines(path: Path) -> tuple[dict[Location, int], list[tuple[Location, int]]]:
    """Return the line of each field and entry of a YAML file, and the repeated fields.

    `read_yaml` returns the last value of a repeated field.
    """
    return _parsed(path.read_text(encoding="utf-8"), path)[1:]


def _parsed(text: str, path: Path) -> tuple[Any, dict[Location, int], list[tuple[Location, int]]]:
    """Return the value of a YAML string, the line of each field and entry, and the repeated fields."""
    lines: dict[Location, int] = {}
    repeated: list[tuple[Location, int]] = []
    around: set[yaml.Node] = set()
    count = 0
    loader = yaml.SafeLoader(text)

    def visit(node: yaml.Node, location: Location) -> None:
        nonlocal count
        count, line = count + 1, node.start_mark.line + 1
        if node in around:
            raise InputError.at(path, "is an alias of a value that contains it", line=line)
        if count > MOST_VALUES:
            raise InputError.at(path, f"has over {MOST_VALUES:,} values, with aliases expanded", line=line)
        around.add(node)
        if isinstance(node, yaml.MappingNode):
            seen = set[str]()
            for key, value in node.value:
                inner = (*location, str(key.value))
                visit(key, inner)
                if inner[-1] in seen:
                    repeated.append((inner, key.start_mark.line + 1))
                seen.add(str(key.value))
                lines[inner] = key.start_mark.line + 1
                visit(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for index, entry in enumerate(node.value):
                lines[*location, index] = entry.start_mark.line + 1
                visit(entry, (*location, index))
        elif isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:timestamp":
            try:
                loader.construct_yaml_timestamp(node)
            except ValueError as error:
                message = f"{node.value} is not a date: {error}; quote it if it is a string"
                raise InputError.at(path, message, line=line) from None
        around.discard(node)

    try:
        if (root := loader.get_single_node()) is None:
            return None, lines, repeated
        visit(root, ())
        return loader.construct_document(root), lines, repeated
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise InputError.at(path, f"is not YAML: {getattr(error, 'problem', None) or error}", line=line) from error
    except RecursionError:
        raise InputError.at(path, "is nested too deeply for settings") from None
    except ValueError as error:  # a value with an explicit tag: `!!int x`
        raise InputError.at(path, f"contains an invalid value: {error}") from error
    finally:
        loader.dispose()


# ---- faults by line and field ----


def repetitions(path: Path, repeated: Sequence[tuple[Location, int]]) -> Iterator[Fault]:
    """Yield a fault for each repeated field."""
    for location, line in repeated:
        yield Fault(str(path), line, field_of(location), "is given twice; give it once")


def in_order(faults: Sequence[Fault]) -> InputError:
    """Return an error with the faults of a file, sorted by line."""
    return InputError(sorted(faults, key=lambda fault: fault.line or 0))


def line_of(lines: Mapping[Location, int], location: Location) -> int | None:
    """Return the line of a location, or else of the innermost enclosing field that has a line.

    If there is no such field, returns 1, or None if the file contains no fields.
    """
    while location:
        if location in lines:
            return lines[location]
        location = location[:-1]
    return 1 if lines else None


def location_of(field: str | None) -> Location:
    """Return the location of a field from its name in messages, such as `questions.0.name`."""
    return tuple(int(part) if part.isdigit() else part for part in (field or "").split(".") if part)


def field_of(location: Sequence[str | int]) -> str | None:
    """Return the field name of a location for messages, or None for the whole file."""
    return ".".join(map(str, location)) or None


def faults_of(
    path: Path, lines: Mapping[Location, int], error: ValidationError, root: type[BaseModel]
) -> Iterator[Fault]:
    """Yield one fault per invalid location of a file, with the line and the expected value."""
    reported: set[Location] = set()
    for details in error.errors(include_url=False):
        location = _location_in_file(details["loc"], lines, root)
        if location in reported:  # pydantic reports each alternative of a union
            continue
        reported.add(location)
        yield Fault(str(path), line_of(lines, location), field_of(location), _message(details, location, root))


def _location_in_file(location: Location, lines: Mapping[Location, int], root: type[BaseModel]) -> Location:
    """Return a location of pydantic without the components for the alternatives of a union."""
    while len(location) > 1 and location not in lines:
        section = _section(location[:-1], root) if location[:-1] in lines else None
        if section is not None and location[-1] in section.model_fields:
            return location  # a missing field
        location = location[:-1]
    return location


def _section(location: Location, root: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model class of a location, or None if the value there is not a model."""
    kind: Any = root
    named = False  # whether the next component is the key of a dict
    for part in location:
        if named or isinstance(part, int):
            named = False
            continue
        if kind is None or part not in kind.model_fields:
            return None
        annotation = kind.model_fields[part].annotation
        kind, named = _model_in(annotation), get_origin(annotation) is dict
    section: type[BaseModel] | None = None if named else kind
    return section


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)


def _message(details: ErrorDetails, location: Location, root: type[BaseModel]) -> str:
    """Return the message for the value at a location."""
    kind, expected = details["type"], None
    is_scalar = isinstance(details["input"], bool | int | float)  # which must be quoted if a string is expected
    if kind in EXPECTED and len(details["loc"]) > len(location) and not is_scalar:  # the first type of a union
        expected = "a number" if kind.startswith("int") else "a string, a number, or true or false"
    elif kind == "model_type" and isinstance(location[-1], int) and not isinstance(details["input"], str | list):
        expected = "a name, in quotes if it looks like another type, or a mapping"
    section = _section(location[:-1], root) or root
    return problem_of({**details, "loc": location}, section.model_fields, expected)
