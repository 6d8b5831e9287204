"""Prompt templates: files beside the evaluators, filled with data, hashed into the signature.

A user overrides a template by putting a file of the same name into a folder of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.models.base import Message
from summeter.records import InputError, UsageError, digest

if TYPE_CHECKING:
    import jinja2


class Prompt(NamedTuple):
    """A filled template. `hash` is of the template file, not of the data put in."""

    name: str
    hash: str
    messages: tuple[Message, ...]


class Template:
    """One template: `{{ }}` holes, and optional lines `--- system ---` / `--- user ---` between turns."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.hash = digest(source, 4)

    @classmethod
    def load(cls, package: str, name: str, override: Path | None = None, default: str | None = None) -> Template:
        """`name`.txt from `override` where it has one, else `default`, else from the package's prompts folder."""
        shipped = cls(name, default) if default is not None else None
        if override is None:
            return shipped or _shipped(package, name)
        if not override.is_dir():
            raise UsageError(f"the prompt folder {override} does not exist (no such folder, or it is a file)")
        file = override / f"{name}.txt"
        if not file.is_file():
            return shipped or _shipped(package, name)
        try:
            return cls(name, file.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError.at(file, None, None, f"cannot be read as UTF-8 text: {error}") from error

    def fill(self, **data: Any) -> Prompt:
        """The prompt with `data` in its holes. A hole without data is an error."""
        return Prompt(self.name, self.hash, tuple(self._turns(data)))

    def _turns(self, data: Mapping[str, Any]) -> list[Message]:
        from jinja2 import TemplateError

        turns: list[Message] = []
        for role, source in _parts(self.source):
            try:
                text = _compiled(source).render(data).strip()
            except TemplateError as error:
                raise UsageError(f"prompt template {self.name!r}: {error}") from error
            turns.append(Message(role=role, content=text))
        return turns


@lru_cache(maxsize=256)
def _compiled(source: str) -> jinja2.Template:
    """The template ready to fill. Compiling takes longer than a whole call's other work, so it is done once."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)


def _parts(source: str) -> list[tuple[Any, str]]:
    """Split at the turn markers before filling, so that no data can open a turn of its own."""
    parts: list[tuple[Any, list[str]]] = [("user", [])]
    for line in source.splitlines(keepends=True):
        if line.strip() in {"--- system ---", "--- user ---", "--- assistant ---"}:
            parts.append((line.strip().strip("- "), []))
        else:
            parts[-1][1].append(line)
    return [(role, "".join(lines)) for role, lines in parts if "".join(lines).strip()]


@cache
def _shipped(package: str, name: str) -> Template:
    try:
        file = resources.files(package) / "prompts" / f"{name}.txt"
        return Template(name, file.read_text("utf-8"))
    except (OSError, ModuleNotFoundError, ValueError) as error:
        raise UsageError(f"there is no prompt template {name}.txt in the folder `prompts` of {package!r}") from error
