"""Settings that a user keeps in a YAML file: read here, checked by whoever they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from summeter.records import InputError

Place = tuple[str | int, ...]
"""The fields and entries that lead to a value: ("questions", 0, "name")."""


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


def parse_yaml(text: str, place: Path) -> Any:
    """The value in a text that stands in a file. InputError, with the line where there is one, for what is no YAML."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise InputError.at(place, line, None, f"is not YAML: {getattr(error, 'problem', None) or error}") from error


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
