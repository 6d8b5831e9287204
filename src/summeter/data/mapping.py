"""Settings that a user keeps in a YAML file: read here, checked by whoever they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from summeter.records import InputError


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
