"""A local model that was found: what it runs on, its tokenizer and weights once they are needed, its batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from summeter.interrupt import checkpoint
from summeter.models.local.backend import Head, Runtime, choose_runtime, load
from summeter.models.local.batcher import halving, out_of_memory, padding, plan
from summeter.models.local.names import LocalName, LocalSettings, Located, locate, parse
from summeter.models.local.tokens import Batch, Input, Tokens, load_tokens
from summeter.runs.usage import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
Asked = TypeVar("Asked")
Settings = TypeVar("Settings", bound=Hashable)

SEVERAL_TEXTS = 4096
"""Tokens at a time of an encoder-decoder: what a T5 makes of the distances between tokens it makes once a pass."""


class LoadedModel:
    """A model on this disk and how it runs. Nothing is loaded before it is used."""

    def __init__(self, model: Located, settings: LocalSettings, runtime: Runtime, head: Head) -> None:
        self.model = model
        self.settings = settings
        self.runtime = runtime
        self.head = head
        self._lock = threading.Lock()
        self._read: dict[Callable[[LoadedModel], Any], Any] = {}

    @property
    def id(self) -> str:
        """What stands in signatures: the model's name, its revision, and what else bears on its results.

        `local/nli@1a2b3c4d5e6f7a8b+int8+max1024`
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

    def once(self, read: Callable[[LoadedModel], T]) -> T:
        """What `read` makes of the model's files, made once."""
        if read not in self._read:
            self._read[read] = read(self)
        made: T = self._read[read]
        return made

    @cached_property
    def backend(self) -> Any:
        """Its weights, ready to compute."""
        return load(self.model, self.runtime, self.head)

    def run(self, inputs: Sequence[Input], usage: Usage, compute: Callable[[Batch], Sequence[T]]) -> list[T]:
        """What `compute` gives for each input, in their order: it is called with padded batches. Tokens and cuts are
        counted in `usage`."""
        usage.truncated += sum(input_.truncated for input_ in inputs)
        return self.in_batches(
            [len(input_.ids) for input_ in inputs],
            usage,
            lambda places: compute(self.tokens.padded([inputs[place] for place in places])),
        )

    def run_by_token(
        self, inputs: Sequence[Input], usage: Usage, compute: Callable[[Batch], NDArray[np.float32]]
    ) -> list[NDArray[np.float32]]:
        """As `run`, for a `compute` that gives rows of tokens: each input's own, without padding."""

        def unpadded(batch: Batch) -> list[NDArray[np.float32]]:
            return [row[: int(mask.sum())].copy() for row, mask in zip(compute(batch), batch.mask, strict=True)]

        return self.run(inputs, usage, unpadded)

    def in_batches(
        self, lengths: Sequence[int], usage: Usage, compute: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:
        """What `compute` gives for the places of each batch of inputs of these lengths, in the order of the inputs."""
        batches = plan(lengths, self.budget, most=1 if self.runtime.alone else None)
        wasted, full = padding(lengths, batches)
        by_place: dict[int, T] = {}
        for batch in batches:
            checkpoint()
            by_place.update(zip(batch, halving(batch, compute, out_of_memory), strict=True))
        usage.padding += wasted
        usage.tokens += full - wasted
        return [by_place[place] for place in range(len(lengths))]

    @property
    def budget(self) -> int:
        """Tokens that go through the model at a time."""
        usual = max(self.runtime.budget, SEVERAL_TEXTS) if self.head == "seq2seq" else self.runtime.budget
        return self.settings.batch_tokens or usual


def by_settings(
    requests: Sequence[Asked],
    of: Callable[[Asked], Settings],
    compute: Callable[[Sequence[Asked], Settings], Sequence[T]],
) -> list[T]:
    """What `compute` gives for the requests of each settings, in the order of the requests."""
    places: dict[Settings, list[int]] = {}
    for place, request in enumerate(requests):
        places.setdefault(of(request), []).append(place)
    results: dict[int, T] = {}
    for settings, own in places.items():
        results.update(zip(own, compute([requests[place] for place in own], settings), strict=True))
    return [results[place] for place in range(len(requests))]


def open_model(text: str | LocalName, head: Head, *, offline: bool = False) -> LoadedModel:
    """The model that a model string names. UsageError where it is not there or cannot run so, InstallError where what
    it runs on is not installed."""
    name = parse(text) if isinstance(text, str) else text
    model = locate(name, offline=offline)
    return LoadedModel(model, name.settings, choose_runtime(model, name.settings, torch_only=head == "seq2seq"), head)
