"""Write docs/studies.md, the reference of all studies, from their options.

python scripts/studies_page.py          rewrites the page
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path

from pydantic.fields import FieldInfo

from summeter.cli.studies import COMMANDS, option_names
from summeter.meta import options
from summeter.meta.options import STUDIES, CommandLine, Options, StudyEntry

PAGE = Path(__file__).resolve().parent.parent / "docs" / "studies.md"
INTRODUCTION = """# Reference of the studies

Every study of `summeter.meta`: what it returns, its keywords, and their options on the command line. [Meta-evaluation](meta.md)
explains when to use which. This page is generated from the studies by `python scripts/studies_page.py`.
"""
SHARED = """## Shared keywords

Keywords of several studies. Each study lists those it accepts; a keyword with a different default is listed with the study.
"""


def page() -> str:
    """Return the page as Markdown."""
    for module in ("advise", "meta"):
        import_module(f"summeter.cli.{module}")  # registers the commands
    used = {name for study in STUDIES.values() for name in study.options.model_fields if is_shared(study, name)}
    fields = {name: field for name, field in shared().items() if name in used}
    lines = [INTRODUCTION, SHARED, *table(fields.items(), commands=True), ""]
    return "\n".join([*lines, *(line for name in sorted(STUDIES) for line in section(STUDIES[name]))])


@cache
def shared() -> dict[str, FieldInfo]:
    """Return the fields of the option models that studies share."""
    models = [model for model in vars(options).values() if inspect.isclass(model) and issubclass(model, Options)]
    fields: dict[str, FieldInfo] = {}
    for model in models:
        for name, field in model.ordered().items():
            fields.setdefault(name, field)
    return fields


def is_shared(study: StudyEntry, name: str) -> bool:
    """Return whether an option of a study is equal to that of the shared models."""
    field, known = study.options.model_fields[name], shared().get(name)
    return known is not None and (field.default, field.description) == (known.default, known.description)


def section(study: StudyEntry) -> Iterator[str]:
    """Yield the lines of the section about one study."""
    inputs = ", ".join(f"{each.name}=None" if each.optional else each.name for each in study.inputs)
    command = COMMANDS.get(study.name)
    yield f"## {study.name}\n"
    yield f"`sm.meta.{study.name}({inputs}, ...)`"
    if command is not None:
        yield f"· `summeter {'' if command == 'advise' else 'meta '}{command}`"
    yield f"\n{study.doc}\n"
    fields = study.options.ordered()
    if specific := [name for name in fields if not is_shared(study, name)]:
        yield from table(((name, fields[name]) for name in specific), commands=command is not None)
        yield ""
    if shared := [f"`{name}`" for name in fields if name not in specific]:
        yield f"Shared keywords: {', '.join(shared)}.\n"


def table(fields: Iterable[tuple[str, FieldInfo]], *, commands: bool) -> Iterator[str]:
    """Yield one table row per field, with command-line options if the study is a command."""
    yield "| keyword | option | default | |"
    yield "|---|---|---|---|"
    for name, field in fields:
        text = (field.description or "").replace("|", "\\|")
        yield f"| `{name}` | {option(name, field) if commands else ''} | {default(field)} | {text} |"


def option(name: str, field: FieldInfo) -> str:
    """Return the names of an option on the command line; empty for a keyword of Python only."""
    if any(isinstance(each, CommandLine) and each.python_only for each in field.metadata):
        return ""
    return ", ".join(f"`{each}`" for each in option_names(name, field))


def default(field: FieldInfo) -> str:
    """Return the default of a field."""
    match field.default:
        case _ if field.is_required():
            return "required"
        case None | () | "":
            return ""
        case Enum() as member:
            return f"`{member.value}`"
        case list() | tuple() as several:
            return ", ".join(f"`{each}`" for each in several)
        case function if inspect.isfunction(function):
            return f"`{function.__name__}`"
        case value:
            return f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
