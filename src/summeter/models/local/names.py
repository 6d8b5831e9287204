"""Names of local models: `hf/ORG/NAME@REVISION`, `local/FOLDER`, or a path; settings in brackets behind.

`embedded/NAME` is one that comes with summeter.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, ValidationError

from summeter.records import Record, UsageError

Precision = Literal["auto", "fp32", "bf16", "int8"]
Device = Literal["auto", "cuda", "mps", "cpu"]
Backend = Literal["auto", "torch", "onnx"]

HOW = "hf/ORG/NAME@REVISION, local/FOLDER or a path"

_SETTINGS = re.compile(r"(?P<name>.*?)\[(?P<settings>[^\[\]]*)\]", re.DOTALL)
_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
EMBEDDED = "embedded/"
_PATH = ("/", "./", "../", "~", ".\\", "..\\")


class LocalSettings(Record):
    """How a local model runs.

    `precision` auto is bf16 on CUDA where the card has it and fp32 elsewhere; int8 is dynamic quantisation, on the
    CPU. `device` auto is the first there is of cuda, mps, cpu. `backend` auto is ONNX Runtime for a folder that holds
    model.onnx, torch otherwise. `max_tokens` is how long an input may be (default: what the model's own files say);
    `batch_tokens` how many tokens, padding counted, go through the model at a time.
    """

    precision: Precision = "auto"
    device: Device = "auto"
    backend: Backend = "auto"
    max_tokens: int | None = Field(default=None, ge=8)
    batch_tokens: int | None = Field(default=None, ge=8)


class LocalName(Record):
    """What a model string names: `path` is ORG/NAME on the hub, a folder, or the name of one that summeter brings."""

    source: Literal["hf", "local", "embedded"]
    path: str
    revision: str | None = None
    settings: LocalSettings = LocalSettings()


def is_local(text: str) -> bool:
    """Whether a model string names a local model rather than PROVIDER/MODEL.

    >>> [is_local(one) for one in ("hf/org/nli", "local/models/nli", "./nli", "openai/gpt-4o")]
    [True, True, True, False]
    """
    return text.strip().startswith(("hf/", "local/", EMBEDDED, *_PATH))


def parse(text: str) -> LocalName:
    """What a model string names. UsageError where it names no local model.

    A folder may be pinned too: `local/FOLDER@HASH` with the first digits of what its signature shows.

    >>> parse("hf/org/nli@1a2b[precision=int8]").revision
    '1a2b'
    >>> parse("local/models/nli").path
    'models/nli'
    """
    text = text.strip()
    found = _SETTINGS.fullmatch(text)
    name, settings = (found["name"], _settings(text, found["settings"])) if found else (text, LocalSettings())
    if not is_local(name):
        raise UsageError(f"{text!r} names no local model; write {HOW}")
    if name.startswith("hf/"):
        path, _, revision = name.removeprefix("hf/").partition("@")
        if not _HUB.fullmatch(path) or ("@" in name and not revision):
            raise UsageError(f"{text!r} is not hf/ORG/NAME or hf/ORG/NAME@REVISION")
        return LocalName(source="hf", path=path, revision=revision or None, settings=settings)
    if name.startswith(EMBEDDED):
        return LocalName(source="embedded", path=name.removeprefix(EMBEDDED), settings=settings)
    path = name.removeprefix("local/")
    if not path:
        raise UsageError(f"{text!r} names no folder; write local/FOLDER")
    return LocalName(source="local", path=path, settings=settings)


def _settings(text: str, inside: str) -> LocalSettings:
    given: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in inside.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{text!r}: {part!r} is not SETTING=VALUE")
        given[key.strip()] = value.strip()
    try:
        return LocalSettings.model_validate(given)
    except ValidationError as error:
        known = ", ".join(LocalSettings.model_fields)
        faults = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise UsageError(f"{text!r}: {faults} (settings of a local model: {known})") from error
