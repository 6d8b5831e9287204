"""Run a local model in batches; its tokenizer and weights are loaded on first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from summeter.interrupt import checkpoint
from summeter.models.local.backend import Architecture, Runtime, choose_runtime, load
from summeter.models.local.batcher import halving, plan
from summeter.models.local.names import LocalName, LocalSettings, Located, locate, parse
from summeter.models.local.tokens import Batch, Input, Tokens, load_tokens
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
Item = TypeVar("Item")
Settings = TypeVar("Settings", bound=Hashable)

SEVERAL_TEXTS = 4096
"""Minimum token limit of an encoder-decoder's batches, since T5 computes its position biases once per pass."""


class LoadedModel:
    """A model on disk with its settings and runtime.

    The tokenizer and the weights are loaded on first use.
    """

    def __init__(
        self, model: Located, settings: LocalSettings, runtime: Runtime, architecture: Architecture
    ) -> None:  # fmt: skip
        self.model = model
        self.settings = settings
        self.runtime = runtime
        self.architecture = architecture
        self._lock = threading.Lock()
        self._values: dict[Callable[[LoadedModel], Any], Any] = {}
        self._loaded_tokens: Tokens | None = None

    @property
    def id(self) -> str:
        """The id used in signatures, which contains the name, the revision and the settings that affect results.

        An example is `local/nli@1a2b3c4d5e6f7a8b+int8+max1024`.
        """
        precision = "" if self.runtime.precision == "fp32" else f"+{self.runtime.precision}"
        longest = f"+max{self.settings.max_tokens}" if self.settings.max_tokens else ""
        return f"{self.model.name}@{self.model.revision}{precision}{longest}"

    @property
    def tokens(self) -> Tokens:
        """The tokenizer, which is loaded on first use."""
        with self._lock:
            if self._loaded_tokens is None:
                self._loaded_tokens = load_tokens(self.model, self.settings.max_tokens)
            return self._loaded_tokens

    def once(self, read: Callable[[LoadedModel], T]) -> T:
        """Return the value of `read(self)`, which reads files of the model; the value is cached."""
        if read not in self._values:
            self._values[read] = read(self)
        value: T = self._values[read]
        return value

    @cached_property
    def backend(self) -> Any:
        """The backend with the weights, which are loaded on first use."""
        return load(self.model, self.runtime, self.architecture)

    def run(self, inputs: Sequence[Input], usage: Usage, compute: Callable[[Batch], Sequence[T]]) -> list[T]:
        """Return the results in the order of the inputs; `compute` is called with padded batches.

        Tokens and truncated inputs are counted in `usage`.
        """
        usage.truncated += sum(input_.truncated for input_ in inputs)
        return self.in_batches(
            [len(input_.ids) for input_ in inputs],
            usage,
            lambda indices: compute(self.tokens.padded([inputs[index] for index in indices])),
        )

    def run_by_token(
        self, inputs: Sequence[Input], usage: Usage, compute: Callable[[Batch], NDArray[np.float32]]
    ) -> list[NDArray[np.float32]]:
        """Return the results like `run`, for a `compute` that returns one row per token.

        The rows of padding are removed.
        """

        def unpadded(batch: Batch) -> list[NDArray[np.float32]]:
            return [row[: int(mask.sum())].copy() for row, mask in zip(compute(batch), batch.mask, strict=True)]

        return self.run(inputs, usage, unpadded)

    def in_batches(
        self, lengths: Sequence[int], usage: Usage, compute: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:
        """Return the results in the order of the inputs.

        `compute` is called with the indices of each batch. `lengths` holds the lengths of the inputs in tokens.
        """
        batches = plan(lengths, self.budget, most=1 if self.runtime.alone else None)
        results: dict[int, T] = {}
        for batch in batches:
            checkpoint()
            results.update(zip(batch, halving(batch, compute), strict=True))
        usage.tokens += sum(lengths)
        usage.padding += sum(len(batch) * max(lengths[index] for index in batch) for batch in batches) - sum(lengths)
        return [results[index] for index in range(len(lengths))]

    @property
    def budget(self) -> int:
        """The maximum number of tokens per batch."""
        seq2seq = self.architecture == "seq2seq"
        default = max(self.runtime.budget, SEVERAL_TEXTS) if seq2seq else self.runtime.budget
        return self.settings.batch_tokens or default


def by_settings(
    requests: Sequence[Item],
    settings_of: Callable[[Item], Settings],
    compute: Callable[[Sequence[Item], Settings], Sequence[T]],
) -> list[T]:
    """Return the results in the order of the requests.

    `compute` is called once for all requests with equal settings.
    """
    groups: dict[Settings, list[int]] = {}
    for index, request in enumerate(requests):
        groups.setdefault(settings_of(request), []).append(index)
    results: dict[int, T] = {}
    for settings, indices in groups.items():
        results.update(zip(indices, compute([requests[index] for index in indices], settings), strict=True))
    return [results[index] for index in range(len(requests))]


def open_model(text: str | LocalName, architecture: Architecture, *, offline: bool = False) -> LoadedModel:
    """Return the model that a model string names.

    Raises UsageError if the model does not exist or does not support the settings, and InstallError if its backend is
    not installed.
    """
    name = parse(text) if isinstance(text, str) else text
    model = locate(name, offline=offline)
    runtime = choose_runtime(model, name.settings, torch_only=architecture == "seq2seq")
    return LoadedModel(model, name.settings, runtime, architecture)
