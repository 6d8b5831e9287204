"""A local model that was found: what it runs on, its tokenizer and weights once they are needed, its batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from summeter.models.local.backend import Head, Runtime
from summeter.models.local.batcher import Batcher, Codec, LocalUsage, Texts, halving, out_of_memory, padding, plan
from summeter.models.local.names import LocalName, LocalSettings, Located, locate, parse
from summeter.models.local.tokens import Input, Tokens, load_tokens
from summeter.records import InstallError, ReplayMiss, UsageError
from summeter.runs.results import ResultStore

T = TypeVar("T")

INT8_FILES = ("model_int8.onnx", "model_quantized.onnx")

# One set of weights is loaded once a process, for as long as some run uses it.
_LOADED: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_LOADING = threading.Lock()


class Opened:
    """A model on this disk and how it runs. Nothing is loaded before it is used."""

    def __init__(self, model: Located, settings: LocalSettings, runtime: Runtime, head: Head) -> None:
        self.model = model
        self.settings = settings
        self.runtime = runtime
        self.head = head
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """What stands in signatures: the model's name, its revision, and what else bears on its results.

        `local/nli@1a2b3c4d5e6f+int8+max1024`
        """
        precision = "" if self.runtime.precision == "fp32" else f"+{self.runtime.precision}"
        longest = f"+max{self.settings.max_tokens}" if self.settings.max_tokens else ""
        return f"{self.model.name}@{self.model.revision}{precision}{longest}"

    @cached_property
    def _tokens(self) -> Tokens:
        return load_tokens(self.model, self.settings.max_tokens)

    @property
    def tokens(self) -> Tokens:
        """Its tokenizer."""
        with self._lock:
            return self._tokens

    @cached_property
    def backend(self) -> Any:
        """Its weights, ready to compute."""
        return _backend(self.model, self.runtime, self.head)

    def run(
        self, columns: Sequence[Sequence[Input]], usage: LocalUsage, compute: Callable[..., Sequence[T]]
    ) -> list[T]:  # fmt: skip
        """What `compute` gives for each input, in their order.

        `columns` hold the inputs of an encoder, or the sources and the targets of an encoder-decoder; `compute` is
        called with a padded `Batch` of each. Tokens and cuts are counted in `usage`.
        """
        rows = list(zip(*columns, strict=True))
        lengths = [tuple(len(part.ids) for part in row) for row in rows]
        budget = self.settings.batch_tokens or self.runtime.budget
        batches = plan(lengths, budget, most=1 if self.runtime.alone else None)
        wasted, full = padding(lengths, batches)

        def padded(places: Sequence[int]) -> Sequence[T]:
            return compute(*(self.tokens.padded([column[place] for place in places]) for column in columns))

        by_place: dict[int, T] = {}
        for batch in batches:
            by_place.update(zip(batch, halving(batch, padded, out_of_memory), strict=True))
        usage.padding += wasted
        usage.tokens += full - wasted
        usage.truncated += sum(any(part.truncated for part in row) for row in rows)
        return [by_place[place] for place in range(len(rows))]


class LocalModel:
    """What all local models share: an id, what it did, and the weights; with `opened` None stored results alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: ResultStore | None = None, usage: LocalUsage | None = None
    ) -> None:
        self.id = id_
        self.usage = usage or LocalUsage()
        self._maybe_opened = opened
        self._store = store

    @property
    def _opened(self) -> Opened:
        if self._maybe_opened is None:
            raise ReplayMiss(f"the replayed run does not hold all of {self.id}, and the model's folder is not here")
        return self._maybe_opened

    def _batcher(self, codec: Codec[T], compute: Callable[[Sequence[Texts]], Sequence[T]]) -> Batcher[T]:
        """Stored results of one task, and `compute` for the others where there are weights."""
        known = compute if self._maybe_opened is not None else None
        return Batcher(self.id, codec, known, store=self._store, usage=self.usage)

    async def close(self) -> None:
        """Nothing to let go of: the weights go with their last user."""
        await asyncio.sleep(0)


def open_model(text: str | LocalName, head: Head, *, offline: bool = False) -> Opened:
    """The model that a model string names. UsageError where it is not there or cannot run so, InstallError where what
    it runs on is not installed."""
    name = parse(text) if isinstance(text, str) else text
    model = locate(name, offline=offline)
    return Opened(model, name.settings, _runtime(model, name.settings, torch_only=head == "seq2seq"), head)


def _runtime(model: Located, settings: LocalSettings, *, torch_only: bool = False) -> Runtime:
    """What to run a model on. UsageError for what does not go together, InstallError for what is not installed."""
    plain = next((file for file in _places(model.folder, ("model.onnx",)) if file.is_file()), None)
    has_onnx = plain is not None and not torch_only
    if settings.backend == "onnx" and not has_onnx:
        raise UsageError(
            f"{model.name}: an encoder-decoder runs on torch only; leave backend=onnx out" if torch_only
            else f"{model.name}: backend=onnx, but {model.folder} holds no model.onnx"
        )  # fmt: skip
    if plain is not None and has_onnx and settings.backend != "torch":
        return _onnx(model, settings, plain)
    return _torch(model, settings)


def _places(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [place / name for name in names for place in (folder, folder / "onnx")]


def _onnx(model: Located, settings: LocalSettings, plain: Path) -> Runtime:
    try:
        import onnxruntime
    except ImportError as error:
        raise InstallError.missing("onnxruntime", "local") from error
    if settings.precision == "bf16" or settings.device == "mps":
        raise UsageError(f"{model.name}: ONNX Runtime does not run bf16 or on mps; add backend=torch")
    if settings.precision == "int8":
        file = next((place for place in _places(model.folder, INT8_FILES) if place.is_file()), None)
        if file is None:
            raise UsageError(
                f"{model.name}: precision=int8 on ONNX Runtime needs a quantised file beside model.onnx: "
                f"{' or '.join(INT8_FILES)}; or add backend=torch"
            )
        _no_card(model, settings)
        return Runtime("onnx", "cpu", "int8", file)
    cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if settings.device == "cuda" and not cuda:
        raise UsageError(f"{model.name}: device=cuda, but this ONNX Runtime has no CUDA; install onnxruntime-gpu")
    return Runtime("onnx", "cuda" if cuda and settings.device != "cpu" else "cpu", "fp32", plain)


def _torch(model: Located, settings: LocalSettings) -> Runtime:
    try:
        import torch
        import transformers  # noqa: F401 - both are needed, and the error should come now
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} ({model.name})", "torch") from error
    if settings.precision == "int8":
        _no_card(model, settings)
        return Runtime("torch", "cpu", "int8")
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    device = next(name for name in has if has[name]) if settings.device == "auto" else settings.device
    if not has[device]:
        raise UsageError(f"{model.name}: device={device}, but torch finds none here")
    if settings.precision != "auto":
        return Runtime("torch", device, settings.precision)
    fit = device == "cuda" and torch.cuda.is_bf16_supported()
    return Runtime("torch", device, "bf16" if fit else "fp32")


def _no_card(model: Located, settings: LocalSettings) -> None:
    if settings.device not in {"auto", "cpu"}:
        raise UsageError(f"{model.name}: int8 runs on the CPU; leave device={settings.device} out")


def _backend(model: Located, runtime: Runtime, head: Head) -> Any:
    """The backend of a model's weights with a head: the loaded one where there is one, else a new one."""
    key = (model.digest, runtime, head)
    with _LOADING:
        loaded = _LOADED.get(key)
        if loaded is None:
            loaded = _load(model, runtime, head)
            _LOADED[key] = loaded
        return loaded


def _load(model: Located, runtime: Runtime, head: Head) -> Any:
    if runtime.backend == "onnx":
        from summeter.models.local.onnx_backend import load
    else:
        from summeter.models.local.torch_backend import load
    return load(model, runtime, head)
