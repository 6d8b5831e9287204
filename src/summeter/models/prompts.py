"""Prompt templates: files beside the evaluators, or in a folder of the user's own; hashed into the signature."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import model_serializer, model_validator

from summeter.models.base import Message
from summeter.records import HASH, InputError, Record, UsageError, digest

if TYPE_CHECKING:
    import jinja2


class FenceCode(str):
    """The code of a fence around judged texts, drawn from the texts alone; `keyed` with a secret it is one that nobody
    can compute who knows the texts."""

    def keyed(self, secret: str) -> str:
        """Sixteen hex digits of HMAC-SHA256."""
        return hmac.digest(secret.encode(), self.encode(), "sha256").hex()[:16]


def fence_code(*texts: str) -> FenceCode:
    """Sixteen hex digits drawn from the texts themselves.

    A text cannot hold the code of its own fence without being a preimage of its hash, so it cannot close
    the fence; and equal texts give equal prompts, so stored calls are found again. What a run sends has this code keyed
    by the secret of its call store, so that who writes one text and knows the others cannot compute it either.
    """
    return FenceCode(digest(list(texts), 16))


def fence_codes(document: str, summary: str, rival: str | None = None) -> dict[str, FenceCode]:
    """The codes of the fences around a document and a summary of it; the document's depends on the document alone."""
    return {"document_code": fence_code(document), "summary_code": fence_code(document, summary, rival or "")}


def lines(texts: Sequence[str]) -> list[str]:
    """Each text on one line: a line break inside a sentence would break the numbering of a list in a prompt."""
    return [" ".join(text.split()) for text in texts]


class Prompt(NamedTuple):
    """A filled template. `hash` is of the template file, not of the data put in. `messages` have the fences' codes as
    they are drawn from the texts: they make the key of a call. `source` and `data` are what it was filled from."""

    name: str
    hash: str
    messages: tuple[Message, ...]
    source: str | None = None
    data: Mapping[str, Any] = MappingProxyType({})

    def fenced(self, secret: str | None) -> tuple[Message, ...]:
        """The messages as they are sent: with the codes keyed by a secret, where there is one."""
        if secret is None or self.source is None:
            return self.messages
        codes = {name: code.keyed(secret) for name, code in self.data.items() if isinstance(code, FenceCode)}
        return _turns(self.name, self.source, {**self.data, **codes})


class PromptFolder(Record):
    """A folder of templates of the user's own (`NAME.txt`), read once: when it is named. In a run's settings it stands
    by its path; the run keeps the texts.

    Raises UsageError where there is no such folder, InputError for a file that is not UTF-8.
    """

    path: Path
    texts: tuple[tuple[str, str], ...]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, str | PathLike):
            return value
        folder = Path(value)
        if not folder.is_dir():
            raise UsageError(f"the prompt folder {folder} does not exist (no such folder, or it is a file)")
        texts = []
        for file in filter(Path.is_file, sorted(folder.glob("*.txt"))):
            try:
                texts.append((file.name.removesuffix(".txt"), file.read_text("utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise InputError.at(file, None, None, f"cannot be read as UTF-8 text: {error}") from error
        return {"path": folder, "texts": tuple(texts)}

    @model_serializer
    def _named(self) -> str:
        return str(self.path)


class Template:
    """One template: `{{ }}` holes, and optional lines `--- system ---` / `--- user ---` between turns."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.hash = digest(source, HASH)

    @classmethod
    def load(cls, package: str, name: str, own: PromptFolder | None = None, default: str | None = None) -> Template:
        """The template `name`: the user's `own`, else `default`, else `name`.txt in the package's prompts folder."""
        source = default if own is None else dict(own.texts).get(name, default)
        return _shipped(package, name) if source is None else cls(name, source)

    def fill(self, **data: Any) -> Prompt:
        """The prompt with `data` in its holes. A hole without data is an error."""
        return Prompt(self.name, self.hash, _turns(self.name, self.source, data), self.source, data)


def _turns(name: str, source: str, data: Mapping[str, Any]) -> tuple[Message, ...]:
    from jinja2 import TemplateError

    try:
        return tuple(Message(role=role, content=_compiled(part).render(data).strip()) for role, part in _parts(source))
    except TemplateError as error:
        raise UsageError(f"prompt template {name!r}: {error}") from error


@lru_cache(maxsize=256)
def _compiled(source: str) -> jinja2.Template:
    """The template ready to fill. Compiling takes longer than a whole call's other work, so it is done once."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)


@lru_cache(maxsize=256)
def _parts(source: str) -> tuple[tuple[Any, str], ...]:
    """Split at the turn markers before filling, so that no data can open a turn of its own."""
    parts: list[tuple[Any, list[str]]] = [("user", [])]
    for line in source.splitlines(keepends=True):
        if line.strip() in {"--- system ---", "--- user ---", "--- assistant ---"}:
            parts.append((line.strip().strip("- "), []))
        else:
            parts[-1][1].append(line)
    return tuple((role, "".join(lines)) for role, lines in parts if "".join(lines).strip())


@cache
def _shipped(package: str, name: str) -> Template:
    try:
        file = resources.files(package) / "prompts" / f"{name}.txt"
        return Template(name, file.read_text("utf-8"))
    except (OSError, ModuleNotFoundError, ValueError) as error:
        raise UsageError(f"there is no prompt template {name}.txt in the folder `prompts` of {package!r}") from error
