"""A local model that was found: what it runs on, its tokenizer and weights once they are needed, its batches."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from summeter.interrupt import checkpoint
from summeter.models.local.backend import Head, Runtime, choose_runtime, load
from summeter.models.local.batcher import (
    Batcher,
    Codec,
    Lengths,
    LocalUsage,
    Texts,
    halving,
    out_of_memory,
    padding,
    plan,
)
from summeter.models.local.names import LocalName, LocalSettings, Located, locate, parse
from summeter.models.local.tokens import Input, Tokens, load_tokens
from summeter.records import ModelError, ReplayMiss
from summeter.runs.results import Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
Numbers = TypeVar("Numbers", bound="NDArray[Any]")

SEVERAL_TEXTS = 4096
"""Tokens at a time of an encoder-decoder: what a T5 makes of the distances between tokens it makes once a pass."""


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

    @cached_property
    def backend(self) -> Any:
        """Its weights, ready to compute."""
        return load(self.model, self.runtime, self.head)

    def run(
        self, columns: Sequence[Sequence[Input]], usage: LocalUsage, compute: Callable[..., Sequence[T]]
    ) -> list[T]:  # fmt: skip
        """What `compute` gives for each input, in their order.

        `columns` hold the inputs of an encoder, or the sources and the targets of an encoder-decoder; `compute` is
        called with a padded `Batch` of each. Tokens and cuts are counted in `usage`.
        """
        rows = list(zip(*columns, strict=True))

        def padded(places: Sequence[int]) -> Sequence[T]:
            return compute(*(self.tokens.padded([column[place] for place in places]) for column in columns))

        usage.truncated += sum(any(part.truncated for part in row) for row in rows)
        return self.in_batches([tuple(len(part.ids) for part in row) for row in rows], usage, padded)

    def in_batches(
        self, lengths: Lengths, usage: LocalUsage, compute: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:  # fmt: skip
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


class LocalModel:
    """What all local models share: an id, what it did, and the weights. With `opened` None, and in a `replay`, stored
    results answer alone."""

    def __init__(
        self, id_: str, opened: Opened | None, store: Results | None = None, usage: LocalUsage | None = None,
        *, replay: bool = False,
    ) -> None:  # fmt: skip
        self.id = id_
        self.usage = usage or LocalUsage()
        self._maybe_opened = None if replay else opened
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

    def _valid(self, values: Numbers) -> Numbers:
        """The values. ModelError where one is NaN: a comparison would take it for a no, and a failure for a score."""
        if np.isnan(values).any():
            raise ModelError(
                f"{self.id} computed NaN for this input: its weights are damaged, or its numbers too large for its "
                "precision (precision=fp32 is the widest)"
            )
        return values

    async def close(self) -> None:
        """Nothing to let go of: the weights go with their last user."""
        await asyncio.sleep(0)


def open_model(text: str | LocalName, head: Head, *, offline: bool = False) -> Opened:
    """The model that a model string names. UsageError where it is not there or cannot run so, InstallError where what
    it runs on is not installed."""
    name = parse(text) if isinstance(text, str) else text
    model = locate(name, offline=offline)
    return Opened(model, name.settings, choose_runtime(model, name.settings, torch_only=head == "seq2seq"), head)
