"""Settings that a user keeps in a YAML file: read here, checked by whoever they are for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from summeter.records import Fault, InputError, problem_of
from summeter.records.validation import EXPECTED

_M = TypeVar("_M", bound=BaseModel)
Place = tuple[str | int, ...]
"""The fields and entries that lead to a value: ("questions", 0, "name")."""


def read_model(path: Path, model: type[_M], least: str) -> _M:
    """The record that a YAML file describes. InputError, by line and field, with every fault; `least` says what the
    file needs where it is no mapping."""
    try:
        given = read_mapping(path, least)
        lines, repeated = yaml_lines(path)
    except OSError as error:
        raise InputError.at(path, None, None, f"cannot be read: {error.strerror or error}") from error
    faults = list(repetitions(path, repeated))
    try:
        record = model.model_validate(given)
    except ValidationError as error:
        raise in_order([*faults, *faults_of(path, lines, error, model)]) from error
    if faults:
        raise in_order(faults)
    return record


def read_mapping(path: Path, least: str) -> dict[str, Any]:
    """The mapping in a YAML file. InputError as for `read_yaml`, and for what is no mapping (`least` then says what it
    needs); OSError where it cannot be opened."""
    mapping = read_yaml(path)
    if not isinstance(mapping, dict):
        raise InputError.at(path, None, None, f"is no mapping; {least}")
    return mapping


def read_yaml(path: Path) -> Any:
    """The value in a YAML file. InputError, with the line where there is one, for what is no text or no YAML; OSError
    where it cannot be opened."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError.at(path, None, None, f"is not UTF-8 text: {error.reason} at byte {error.start}") from error
    return parse_yaml(text, path)


MOST_VALUES = 100_000
"""Values of a YAML file, each counted as often as aliases repeat it."""


def parse_yaml(text: str, place: Path) -> Any:
    """The value of a YAML text that stands in a file. Raises InputError, with the line where there is one, for what is
    not YAML, for values that cannot be (30 February), and for aliases that repeat themselves or too much."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_node(node, loader, place)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise InputError.at(place, line, None, f"is not YAML: {getattr(error, 'problem', None) or error}") from error
    except RecursionError:
        raise InputError.at(place, None, None, "is nested too deeply for settings") from None
    except ValueError as error:  # of a value with a tag of its own: `!!int x`
        raise InputError.at(place, None, None, f"holds a value that cannot be: {error}") from error
    finally:
        loader.dispose()


def _check_node(root: yaml.Node, loader: yaml.SafeLoader, place: Path) -> None:
    """Raise InputError for aliases that contain themselves or repeat too much, and for dates that do not exist."""
    sizes: dict[int, int] = {}
    around: set[int] = set()

    def size(node: yaml.Node) -> int:
        line = node.start_mark.line + 1
        if id(node) in around:
            raise InputError.at(place, line, None, "is an alias of something that contains it")
        if id(node) not in sizes:
            around.add(id(node))
            if isinstance(node, yaml.ScalarNode):
                if node.tag == "tag:yaml.org,2002:timestamp":
                    try:
                        loader.construct_yaml_timestamp(node)
                    except ValueError as error:
                        message = f"{node.value} is not a date: {error}; put quotes around a text"
                        raise InputError.at(place, line, None, message) from None
                inner: list[yaml.Node] = []
            elif isinstance(node, yaml.MappingNode):
                inner = [each for pair in node.value for each in pair]
            else:
                inner = node.value
            sizes[id(node)] = 1 + sum(map(size, inner))
            around.discard(id(node))
        if sizes[id(node)] > MOST_VALUES:
            raise InputError.at(place, line, None, f"has over {MOST_VALUES:,} values, with aliases written out")
        return sizes[id(node)]

    size(root)


def yaml_lines(path: Path) -> tuple[dict[Place, int], list[tuple[Place, int]]]:
    """The line of each field and entry of a YAML file, by its place, and the fields that a mapping has twice.

    The later one of two is what `read_yaml` gives.
    """
    lines: dict[Place, int] = {}
    repeated: list[tuple[Place, int]] = []

    around: set[yaml.Node] = set()

    def visit(node: yaml.Node | None, place: Place) -> None:
        if node is None or node in around:  # an alias of what it stands in
            return
        around.add(node)
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                inner = (*place, str(key.value))
                if inner[-1] in seen:
                    repeated.append((inner, key.start_mark.line + 1))
                seen.add(str(key.value))
                lines[inner] = key.start_mark.line + 1
                visit(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for index, entry in enumerate(node.value):
                lines[*place, index] = entry.start_mark.line + 1
                visit(entry, (*place, index))
        around.discard(node)

    visit(yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader), ())
    return lines, repeated


# ---- faults of a checked file, by line and field ----


def repetitions(path: Path, repeated: Sequence[tuple[Place, int]]) -> Iterator[Fault]:
    """Fields that a mapping has twice, as faults."""
    for place, line in repeated:
        yield Fault(str(path), line, field_of(place), "is given twice; the file would not say which counts")


def in_order(faults: Sequence[Fault]) -> InputError:
    """The faults of one file as an error, by line."""
    return InputError(sorted(faults, key=lambda fault: fault.line or 0))


def line_of(lines: Mapping[Place, int], place: Place) -> int | None:
    """The line of a place, or of the nearest thing around it that is in the file."""
    while place:
        if place in lines:
            return lines[place]
        place = place[:-1]
    return 1 if lines else None


def place_of(field: str | None) -> Place:
    """A place as messages name it: `questions.0.name`."""
    return tuple(int(part) if part.isdigit() else part for part in (field or "").split(".") if part)


def field_of(place: Sequence[str | int]) -> str | None:
    """A place in a message; None for the whole file."""
    return ".".join(map(str, place)) or None


def faults_of(path: Path, lines: Mapping[Place, int], error: ValidationError, root: type[BaseModel]) -> Iterator[Fault]:
    """What is at fault in a file that is to be a `root`: each place once, with its line and what to give."""
    reported: set[Place] = set()
    for details in error.errors(include_url=False):
        place = _own(details["loc"], lines, root)
        if place in reported:  # of a value that may be several things each is tried
            continue
        reported.add(place)
        yield Fault(str(path), line_of(lines, place), field_of(place), _message(details, place, root))


def _own(location: Place, lines: Mapping[Place, int], root: type[BaseModel]) -> Place:
    """The part of pydantic's location that is the file's: not the alternatives that were tried."""
    while len(location) > 1 and location not in lines:
        section = _section(location[:-1], root) if location[:-1] in lines else None
        if section is not None and location[-1] in section.model_fields:
            return location  # a field that lacks
        location = location[:-1]
    return location


def _section(place: Place, root: type[BaseModel]) -> type[BaseModel] | None:
    """The model of what stands at a place; None where it has no fields of its own."""
    kind: Any = root
    named = False  # whether the next part is a name that the file gives, of one of several sections
    for part in place:
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


def _message(details: ErrorDetails, place: Place, root: type[BaseModel]) -> str:
    """What is wrong with the value at a place, and what to give."""
    kind, expected = details["type"], None
    if kind in EXPECTED and len(details["loc"]) > len(place):  # one of several types, of which the first is named
        expected = "a number" if kind.startswith("int") else "a text, a number, or true or false"
    elif kind == "model_type" and isinstance(place[-1], int) and not isinstance(details["input"], str | list):
        expected = "a name, in quotes where it looks like something else, or fields of its own"
    section = _section(place[:-1], root) or root
    return problem_of({**details, "loc": place}, section.model_fields, expected)
