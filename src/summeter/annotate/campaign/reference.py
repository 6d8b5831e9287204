"""The reference of campaign.yaml, made from the models: Markdown for docs/campaign-file.md, JSON Schema for editors."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from summeter.annotate.campaign.config import Campaign, Section
from summeter.annotate.campaign.language import REFERENCE, SHIPPED, read_language
from summeter.annotate.tasks import TASK_TYPES, task_type_named

NAMES: Mapping[str, str] = {
    "OwnQuestion": "question", "Question": "test question", "Named": "error type", "BatchPlan": "batch",
}  # fmt: skip
"""What a section is called where that is not the name of its model."""
_KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}
_FAR = 1_000_000
"""Bounds from here on exist for safety only and are not printed."""


def schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors that check and complete YAML by one."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "campaign.yaml of summeter"}
    return {**Campaign.model_json_schema(), **dialect}


def markdown() -> str:
    """Return a table of the fields for each section, and one of what `when` may name."""
    lines: list[str] = []
    for section in _sections(Campaign, []):
        lines += ["", f"### {_title(section)}", "", "| field | values | default | |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {_values(field)} | {_default(field)} | {_cell(field.description or '')} |"
            for name, field in section.model_fields.items()
        ]
    lines += [
        "",
        "### What `when` may name",
        "",
        "Earlier questions by their names, and of the task type's own answer:",
        "",
    ]
    lines += ["| task type | fields and their values |", "|---|---|", *_conditions()]
    return "\n".join(lines[1:]) + "\n"


def _conditions() -> Iterator[str]:
    """What each task type asks itself, in English; a campaign's own aspects and error types take its place."""
    english = read_language(SHIPPED / f"{REFERENCE}.yaml")
    for name in TASK_TYPES:
        task_type = task_type_named(name)(Campaign(name=name, task_type=name, data="rows.jsonl"), english)
        fields = {
            question.name: ", ".join(json.dumps(value, ensure_ascii=False).strip('"') for value in values)
            for question in task_type.asks
            if (values := question.condition_values)
        }
        shown = "; ".join(f"`{field}`: {values}" for field, values in fields.items()) or "nothing"
        yield f"| `{name}` | {shown} |"


def _sections(section: type[Section], known: list[type[Section]]) -> list[type[Section]]:
    """The section and all inside it, each once, in order of appearance."""
    known.append(section)
    for field in section.model_fields.values():
        for inner in _inside(field.annotation):
            if inner not in known:
                _sections(inner, known)
    return known


def _inside(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from _inside(part)


def _title(section: type[Section]) -> str:
    if section is Campaign:
        return "campaign"
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in section.__name__)
    return NAMES.get(section.__name__, words.strip())


def _link(section: type[Section]) -> str:
    title = _title(section)
    return f"[{title}](#{title.replace(' ', '-')})"


def _values(field: FieldInfo) -> str:
    return _cell(_kind(field.annotation, field.metadata))


def _kind(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """A type in words, with its bounds."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(parts[0], [*parts[1:], *metadata])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in parts)
    if origin in {Union, types.UnionType}:
        kinds = ["number"] if parts[:2] == (int, float) else [_kind(part) for part in parts if part is not type(None)]
        return " or ".join(dict.fromkeys(kinds)) + _bounds(metadata)
    return _kind_of_many(origin, parts, metadata) if parts else _kind_of_one(annotation, metadata)


def _kind_of_many(origin: Any, parts: Sequence[Any], metadata: Sequence[Any]) -> str:
    if origin is tuple:
        return f"list of {_kind(parts[0])}{_bounds(metadata, ' entries')}"
    return f"a name: {_kind(parts[1])}"


def _kind_of_one(annotation: Any, metadata: Sequence[Any]) -> str:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return _link(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return ", ".join(f"`{value}`" for value in annotation)
    return _KINDS[annotation] + _bounds(metadata, " characters" if annotation is str else "")


def _bounds(metadata: Sequence[Any], unit: str = "") -> str:
    limits: dict[str, Any] = {}
    for entry in metadata:
        inner = getattr(entry, "metadata", None) or [entry]
        for constraint in inner:
            names = ("ge", "gt", "le", "lt", "min_length", "max_length")
            limits |= {name: value for name in names if (value := getattr(constraint, name, None)) is not None}
    words = {"ge": "{} or more", "gt": "above {}", "le": "at most {}", "lt": "below {}",
             "min_length": "{} or more{}", "max_length": "at most {}{}"}  # fmt: skip
    texts = [
        words[name].format(f"{limit:,g}" if isinstance(limit, float) else f"{limit:,}", unit)
        for name, limit in limits.items()
        if not (name == "min_length" and limit <= 1) and abs(limit) < _FAR
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "**needed**"
    if default is None or default in ("", (), {}):
        return ""
    if isinstance(default, Section):
        return "" if type(default)() == default else "given"
    if isinstance(default, tuple):
        return ", ".join(f"“{value}”" for value in default)
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if not isinstance(default, str) or " " not in default else f"“{default}”"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
