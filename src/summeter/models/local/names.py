"""Find the folder of a local model by its name.

Names are `hf/ORG/NAME@REVISION`, `local/FOLDER` or a path, optionally followed by settings in brackets. A model is
identified by its revision and by a hash of the files in its folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from summeter.records import InstallError, Record, UsageError, faults_in

Precision = Literal["auto", "fp32", "bf16", "int8"]
Device = Literal["auto", "cuda", "mps", "cpu"]
Backend = Literal["auto", "torch", "onnx"]

LOCAL_NAMES = "hf/ORG/NAME@REVISION, local/FOLDER or a path"

_SETTINGS = re.compile(r"(?P<name>.*?)\[(?P<settings>[^\[\]]*)\]", re.DOTALL)
_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
_PATH = ("/", "./", "../", "~", ".\\", "..\\")

CONFIG = "config.json"
# The files that affect results, unlike pictures, model cards and weights of other frameworks.
_HASHED = frozenset({".json", ".safetensors", ".bin", ".onnx", ".data", ".onnx_data", ".model", ".txt"})
_FOLDERS = ("", "1_Pooling", "onnx")
_DOWNLOADED = ("*.json", "*.txt", "*.model", "*.safetensors", "model.onnx", "onnx/model.onnx", "1_Pooling/*")
_HASH = re.compile(r"[0-9a-f]{6,64}")


class LocalSettings(Record):
    """Settings of a local model.

    The `precision` "auto" is bf16 on CUDA if the GPU supports it, and fp32 otherwise; "int8" is dynamic quantisation,
    which runs on the CPU. The `device` "auto" is the first available device of cuda, mps and cpu. The `backend` "auto"
    is ONNX Runtime if the folder contains a model.onnx, and torch otherwise. `max_tokens` is the maximum length of an
    input in tokens (by default that in the model's files), and `batch_tokens` the maximum number of tokens in a batch,
    including padding.
    """

    precision: Precision = "auto"
    device: Device = "auto"
    backend: Backend = "auto"
    max_tokens: int | None = Field(default=None, ge=8)
    batch_tokens: int | None = Field(default=None, ge=8)


class LocalName(Record):
    """A parsed model name; `path` is ORG/NAME for a model on the hub, or a folder."""

    source: Literal["hf", "local"]
    path: str
    revision: str | None = None
    settings: LocalSettings = LocalSettings()


def is_local(text: str) -> bool:
    """Return whether a model string names a local model rather than PROVIDER/MODEL.

    >>> [is_local(one) for one in ("hf/org/nli", "local/models/nli", "./nli", "openai/gpt-4o")]
    [True, True, True, False]
    """
    return text.strip().startswith(("hf/", "local/", *_PATH))


def parse(text: str) -> LocalName:
    """Parse the name of a local model.

    The contents of a folder may be pinned by the first digits of the hash in signatures: `local/FOLDER@HASH`. Raises
    UsageError if the name is invalid.

    >>> parse("hf/org/nli@1a2b[precision=int8]").revision
    '1a2b'
    >>> parse("local/models/nli").path
    'models/nli'
    """
    text = text.strip()
    match = _SETTINGS.fullmatch(text)
    name, settings = (match["name"], _settings(text, match["settings"])) if match else (text, LocalSettings())
    if not is_local(name):
        raise UsageError(f"{text!r} is not a local model; write {LOCAL_NAMES}")
    if name.startswith("hf/"):
        path, _, revision = name.removeprefix("hf/").partition("@")
        if not _HUB.fullmatch(path) or ("@" in name and not revision):
            raise UsageError(f"{text!r} is not hf/ORG/NAME or hf/ORG/NAME@REVISION")
        return LocalName(source="hf", path=path, revision=revision or None, settings=settings)
    path = name.removeprefix("local/")
    if not path:
        raise UsageError(f"{text!r} has no folder; write local/FOLDER")
    return LocalName(source="local", path=path, settings=settings)


def _settings(text: str, inside: str) -> LocalSettings:
    values: dict[str, str] = {}
    for setting in filter(None, map(str.strip, inside.split(","))):
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{text!r}: {setting!r} is not SETTING=VALUE")
        values[key.strip()] = value.strip()
    try:
        return LocalSettings.model_validate(values)
    except ValidationError as error:
        known = ", ".join(LocalSettings.model_fields)
        faults = "; ".join(f"{fault.field} {fault.message}" for fault in faults_in(text, None, error))
        raise UsageError(f"{text!r}: {faults} (settings of a local model: {known})") from error


def modules(text: str) -> dict[str, str]:
    """Return the modules that a local model needs, each with the extra of summeter that installs it.

    A model of the hub may need further modules, which are known after the download.
    """
    name, needed = parse(text), {"tokenizers": "local"}
    folder = Path(name.path).expanduser()
    if name.source == "hf":
        needed["huggingface_hub"] = "local"
    elif name.settings.backend != "torch" and onnx_file(folder):
        needed["onnxruntime"] = "local"
    elif folder.is_dir():
        needed |= {"torch": "torch", "transformers": "torch"}
    return needed


class Located(NamedTuple):
    """A model on disk.

    `name` is the name of the model without the local path, and `digest` the hash of its files. `revision` consists of
    the first 16 digits of the commit on the hub or, for a local folder, of the digest.
    """

    folder: Path
    name: str
    revision: str
    digest: str

    @property
    def config(self) -> dict[str, Any]:
        """The JSON object in config.json."""
        return read_json(self.folder / CONFIG)


def locate(name: LocalName, *, offline: bool = False) -> Located:
    """Return the folder of a model, downloading models of the hub if necessary.

    Nothing is downloaded if `offline` or HF_HUB_OFFLINE is set. Raises UsageError if the folder or a file is missing.
    """
    return _hub(name, offline=offline) if name.source == "hf" else _folder(name)


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises UsageError if the file is missing or invalid.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is missing; a model's folder contains it beside its weights") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, Mapping):
        raise UsageError(f"{path} is not a JSON object")
    return dict(value)


def maybe_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty object if the file does not exist."""
    return read_json(path) if path.is_file() else {}


def _folder(name: LocalName) -> Located:
    path, pinned = Path(name.path).expanduser(), None
    if not path.exists() and "@" in path.name:
        stem, _, pinned = path.name.rpartition("@")
        path = path.with_name(stem)
    if not path.is_dir():
        what = "is a file, not a model's folder" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}; a model's folder contains {CONFIG}, its tokenizer and its weights")
    folder = path.resolve()
    digest = _digest(folder)
    if pinned is not None and not (_HASH.fullmatch(pinned) and digest.startswith(pinned)):
        raise UsageError(f"{path} is pinned to {pinned}, but the hash of its files is {digest[:16]}")
    return Located(folder, f"{name.source}/{folder.name}", digest[:16], digest)


def _hub(name: LocalName, *, offline: bool) -> Located:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError as error:
        raise InstallError.missing("huggingface_hub (hf/... models)", "local") from error
    shown = f"hf/{name.path}" + (f"@{name.revision}" if name.revision else "")
    try:
        folder = Path(snapshot_download(
            name.path, revision=name.revision, local_files_only=offline, allow_patterns=list(_DOWNLOADED)
        ))  # fmt: skip
        if not offline and not any(folder.glob("*.safetensors")) and not onnx_file(folder):
            # Older models offer their weights only in this format.
            snapshot_download(name.path, revision=name.revision, allow_patterns=["pytorch_model*.bin"])
    except LocalEntryNotFoundError as error:
        why = "this run is offline" if offline or os.environ.get("HF_HUB_OFFLINE") else "the hub cannot be reached"
        raise UsageError(
            f"{shown} is not in the local cache, and {why}; download it first (hf download {name.path}), or "
            "give a folder: local/FOLDER"
        ) from error
    except RepositoryNotFoundError as error:
        raise UsageError(f"the hub has no model {shown}, or HF_TOKEN has no access to it") from error
    except (HfHubHTTPError, OSError) as error:
        raise UsageError(f"{shown} cannot be downloaded from the hub: {error}") from error
    digest = _digest(folder)
    # The name of the snapshot's folder is its commit.
    return Located(folder, f"hf/{name.path}", folder.name[:16], digest)


def _digest(folder: Path) -> str:
    """Return the hash of a model's files.

    Raises UsageError if the config or the weights are missing.
    """
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{folder / CONFIG} is missing: {folder} is not the folder of a model")
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("pytorch_model*.bin")) and not onnx_file(folder):
        raise UsageError(f"{folder} contains no weights: neither model.safetensors, pytorch_model.bin nor model.onnx")
    hashed = hashlib.sha256()
    inside = (file for inner in _FOLDERS if (folder / inner).is_dir() for file in (folder / inner).iterdir())
    for file in sorted(file for file in inside if file.is_file() and file.suffix in _HASHED):
        hashed.update(f"{file.relative_to(folder).as_posix()}\0{file_hash(file)}\n".encode())
    return hashed.hexdigest()


def onnx_file(folder: Path, *names: str) -> Path | None:
    """Return the first of these files in the folder of a model or its folder `onnx`, or None if there is none."""
    files = (parent / name for name in names or ("model.onnx",) for parent in (folder, folder / "onnx"))
    return next((file for file in files if file.is_file()), None)


def file_hash(file: Path) -> str:
    """Return the SHA-256 hash of a file as hexadecimal digits.

    An unchanged file is read only once.
    """
    blob = file.resolve()
    if blob.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", blob.name):
        return blob.name  # in the hub's cache, the name of a large file is its hash
    stat = blob.stat()
    return _hashed(blob, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=256)
def _hashed(file: Path, size: int, changed: int) -> str:
    del size, changed  # part of the cache key
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
