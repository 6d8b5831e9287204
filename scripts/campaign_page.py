"""Write the reference at the end of docs/campaign-file.md, from the models of the campaign file.

python scripts/campaign_page.py          rewrites the reference
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from summeter.annotate.campaign.config import Campaign, Section
from summeter.annotate.campaign.language import REFERENCE, SHIPPED, read_language
from summeter.annotate.tasks import TASK_TYPES, task_type_named

PAGE = Path(__file__).resolve().parent.parent / "docs" / "campaign-file.md"
NAMES: Mapping[str, str] = {
    "OwnQuestion": "question", "Question": "test question", "Named": "error type", "BatchPlan": "batch",
}  # fmt: skip
"""Titles of the sections whose models have a different name."""
_TYPES = {str: "text", int: "integer", float: "number", bool: "boolean"}
_LARGEST_BOUND = 1_000_000
"""Bounds of at least this value exist only for safety and are not printed."""


def page() -> str:
    """Return the page as Markdown, with a new reference: tables of fields, and of the names that `when` accepts."""
    lines: list[str] = []
    for section in _sections(Campaign, []):
        lines += ["", f"### {_title(section)}", "", "| field | values | default | description |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {_cell(_values(field.annotation, field.metadata))} | {_default(field)} "
            f"| {_cell(field.description or '')} |"
            for name, field in section.model_fields.items()
        ]
    lines += [
        "",
        "### Names in `when`",
        "",
        "A condition may name an earlier question or a question of the task type:",
        "",
    ]
    lines += ["| task type | questions and their values |", "|---|---|"]
    english = read_language(SHIPPED / f"{REFERENCE}.yaml")
    for name in TASK_TYPES:
        task_type = task_type_named(name)(Campaign(name=name, task_type=name, data="rows.jsonl"), english)
        questions = {
            question.name: ", ".join(json.dumps(value, ensure_ascii=False).strip('"') for value in values)
            for question in task_type.asks
            if (values := question.condition_values)
        }
        shown = "; ".join(f"`{question}`: {values}" for question, values in questions.items()) or "none"
        lines.append(f"| `{name}` | {shown} |")
    introduction, _, _ = PAGE.read_text("utf-8").partition("\n### campaign\n")
    return introduction + "\n".join(lines) + "\n"


def _sections(section: type[Section], known: list[type[Section]]) -> list[type[Section]]:
    """Return a section and all nested sections, each once, in order of appearance."""
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


def _values(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """Return a description of a type with its bounds."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _values(arguments[0], [*arguments[1:], *metadata])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in {Union, types.UnionType}:
        members = [_values(member) for member in arguments if member is not type(None)]
        alternatives = ["number"] if arguments[:2] == (int, float) else members
        return " or ".join(dict.fromkeys(alternatives)) + _bounds(metadata)
    if origin is tuple:
        entries = f"{_values(arguments[0])}{_bounds(metadata, ' entries')}"
        entries = f"texts{entries.removeprefix('text')}" if entries.startswith("text") else entries
        return f"list of {entries.replace(' characters) (', ' characters each; ')}"
    if origin is dict:
        return f"mapping of names to {_values(arguments[1])}"
    if annotation is Any:
        return "any value"
    if issubclass(annotation, Section):
        title = _title(annotation)
        return f"[{title}](#{title.replace(' ', '-')})"
    if issubclass(annotation, StrEnum):
        return ", ".join(f"`{value}`" for value in annotation)
    return _TYPES[annotation] + _bounds(metadata, " characters" if annotation is str else "")


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
        if not (name == "min_length" and limit <= 1) and abs(limit) < _LARGEST_BOUND
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "**required**"
    if default is None or default in ("", (), {}):
        return ""
    if isinstance(default, Section):
        return ""
    if isinstance(default, tuple):
        return ", ".join(f"“{value}”" for value in default)
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if not isinstance(default, str) or " " not in default else f"“{default}”"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
