"""Prompt templates, read from files next to the evaluators or in a user's folder.

The hash of a template is part of the judge's signature.
"""

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
    """The code of a fence around judged texts, computed only from the texts."""

    def keyed(self, secret: str) -> str:
        """Return 16 hexadecimal digits of the HMAC-SHA256 of the code.

        Without `secret`, these digits cannot be computed from the texts.
        """
        return hmac.digest(secret.encode(), self.encode(), "sha256").hex()[:16]


def fence_code(*texts: str) -> FenceCode:
    """Return 16 hexadecimal digits of a hash of the texts.

    A text that contains the code of its own fence would be a preimage of its hash, so a text cannot close its fence.
    Equal texts give equal prompts, so stored calls are found again. A run sends the code keyed with the secret of its
    call store, so that even an author of one text who knows the other texts cannot compute the code.
    """
    return FenceCode(digest(list(texts), 16))


def fence_codes(document: str, summary: str, rival: str | None = None) -> dict[str, FenceCode]:
    """Return the fence codes of a document and its summary.

    The document's code depends only on the document. The summary's code also depends on the document and on `rival`,
    the second summary of a pair.
    """
    return {"document_code": fence_code(document), "summary_code": fence_code(document, summary, rival or "")}


def lines(texts: Sequence[str]) -> list[str]:
    """Return each text on one line, since line breaks inside a text would break a numbered list in a prompt."""
    return [" ".join(text.split()) for text in texts]


class Prompt(NamedTuple):
    """A template rendered with data.

    `hash` is the hash of the template, without the data. `messages` contain unkeyed fence codes, and the key of a call
    is computed from these messages. `source` is the text of the template, and `data` are the data. `extra_body` holds
    fields for the server's chat template.
    """

    name: str
    hash: str
    messages: tuple[Message, ...]
    source: str | None = None
    data: Mapping[str, Any] = MappingProxyType({})
    extra_body: dict[str, Any] | None = None

    def fenced(self, secret: str | None) -> tuple[Message, ...]:
        """Return the messages to send, with fence codes keyed with `secret` unless it is None."""
        if secret is None or self.source is None:
            return self.messages
        codes = {name: code.keyed(secret) for name, code in self.data.items() if isinstance(code, FenceCode)}
        return _turns(self.name, self.source, {**self.data, **codes})


LANGUAGES = ("ar", "de", "es", "fr", "ja", "zh")
"""Languages, besides English, in which some evaluators have templates (`prompts/LANGUAGE/NAME.txt`)."""


class PromptFolder(Record):
    """A folder with the user's templates (`NAME.txt`), or the language of the shipped ones (see `LANGUAGES`).

    A folder is read when the setting is validated. The settings of a run contain its path; the run's folder contains
    copies of the templates. Validation raises UsageError if the folder does not exist, and InputError if a file is not
    encoded in UTF-8. A folder that has the name of a language is written `./de`.
    """

    path: Path
    texts: tuple[tuple[str, str], ...]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, str | PathLike):
            return value
        folder = Path(value)
        if str(value) in LANGUAGES:
            return {"path": folder, "texts": ()}
        if str(folder) in LANGUAGES:  # the folder ./de is not the language de
            folder = folder.absolute()
        if not folder.is_dir():
            raise UsageError(
                f"the prompt folder {folder} does not exist or is a file; languages are: {', '.join(LANGUAGES)}"
            )
        texts = []
        for file in filter(Path.is_file, sorted(folder.glob("*.txt"))):
            try:
                texts.append((file.name.removesuffix(".txt"), file.read_text("utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise InputError.at(file, f"cannot be read as UTF-8 text: {error}") from error
        return {"path": folder, "texts": tuple(texts)}

    @property
    def language(self) -> str | None:
        """The language of shipped templates, or None for a folder."""
        return str(self.path) if str(self.path) in LANGUAGES else None

    @model_serializer
    def _named(self) -> str:
        return str(self.path)


class Template:
    """A Jinja2 template of a prompt, with optional lines `--- system ---` and `--- user ---` between turns."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.hash = digest(source, HASH)

    @classmethod
    def load(cls, package: str, name: str, folder: PromptFolder | None = None, default: str | None = None) -> Template:
        """Return the template `name` from the user's `folder`, or else `default`, or else from `package`/prompts.

        Raises UsageError if `folder` is a language and the package has no such template in this language.
        """
        if folder is not None and folder.language is not None:
            return _packaged(package, name, folder.language)
        source = default if folder is None else dict(folder.texts).get(name, default)
        return _packaged(package, name) if source is None else cls(name, source)

    def fill(self, **data: Any) -> Prompt:
        """Return the prompt rendered with `data`.

        Raises UsageError if a variable is missing or the template is invalid.
        """
        return Prompt(self.name, self.hash, _turns(self.name, self.source, data), self.source, data)


def _turns(name: str, source: str, data: Mapping[str, Any]) -> tuple[Message, ...]:
    from jinja2 import TemplateError

    try:
        return tuple(Message(role=role, content=_compiled(turn).render(data).strip()) for role, turn in _split(source))
    except TemplateError as error:
        raise UsageError(f"prompt template {name!r}: {error}") from error


@lru_cache(maxsize=256)
def _compiled(source: str) -> jinja2.Template:
    # Compiling takes longer than all other work of a call, so it is cached.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source)


@lru_cache(maxsize=256)
def _split(source: str) -> tuple[tuple[Any, str], ...]:
    """Split a template at the turn markers before it is rendered, so that data cannot start a turn."""
    turns: list[tuple[Any, list[str]]] = [("user", [])]
    for line in source.splitlines(keepends=True):
        if line.strip() in {"--- system ---", "--- user ---", "--- assistant ---"}:
            turns.append((line.strip().strip("- "), []))
        else:
            turns[-1][1].append(line)
    return tuple((role, "".join(lines)) for role, lines in turns if "".join(lines).strip())


@cache
def _packaged(package: str, name: str, language: str | None = None) -> Template:
    try:
        folder = resources.files(package) / "prompts"
        file = (folder if language is None else folder / language) / f"{name}.txt"
        return Template(name, file.read_text("utf-8"))
    except (OSError, ModuleNotFoundError, ValueError) as error:
        if language is not None:
            folders = resources.files(package) / "prompts"
            known = ", ".join(each for each in LANGUAGES if (folders / each / f"{name}.txt").is_file()) or "no other"
            raise UsageError(
                f"the prompt {name} does not exist in the language {language} (languages besides English: {known}); "
                f"leave out prompts={language}, or give a folder with your own {name}.txt"
            ) from error
        raise UsageError(f"the folder `prompts` of {package!r} has no prompt template {name}.txt") from error
