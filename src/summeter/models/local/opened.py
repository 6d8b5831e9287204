"""A local model that was found: its id for signatures, its tokenizer and weights once they are needed, its batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

from summeter.models.local.backends import Head, backend
from summeter.models.local.batcher import LocalUsage
from summeter.models.local.batches import Lengths, halving, out_of_memory, padding, plan
from summeter.models.local.files import Located, locate
from summeter.models.local.names import LocalName, LocalSettings, parse
from summeter.models.local.runtime import Runtime, decide
from summeter.models.local.tokens import Tokens, load_tokens

T = TypeVar("T")


class Opened:
    """A model on this disk and how it runs. Nothing is loaded before it is used.

    `usage` is what it did in this run.
    """

    def __init__(self, model: Located, settings: LocalSettings, runtime: Runtime, head: Head) -> None:
        self.model = model
        self.settings = settings
        self.runtime = runtime
        self.head = head
        self._lock = Lock()

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
        return backend(self.model, self.runtime, self.head)

    def run(
        self, lengths: Lengths, usage: LocalUsage, compute: Callable[[Sequence[int]], Sequence[T]]
    ) -> list[T]:  # fmt: skip
        """What `compute` gives for each input, in their order; it is called with the places of a batch."""
        budget = self.settings.batch_tokens or self.runtime.budget
        batches = plan(lengths, budget, most=1 if self.runtime.alone else None)
        wasted, full = padding(lengths, batches)
        found: dict[int, T] = {}
        for batch in batches:
            found.update(zip(batch, halving(batch, compute, out_of_memory), strict=True))
        usage.padding += wasted
        usage.tokens += full - wasted
        return [found[place] for place in range(len(lengths))]


def open_model(text: str | LocalName, head: Head, *, offline: bool = False) -> Opened:
    """The model that a model string names. UsageError where it is not there or cannot run so, InstallError where what
    it runs on is not installed."""
    name = parse(text) if isinstance(text, str) else text
    model = locate(name, offline=offline)
    return Opened(model, name.settings, decide(model, name.settings, torch_only=head == "seq2seq"), head)
