"""Answers from recorded calls alone."""

from __future__ import annotations

from summeter.models.base import Completion, Request
from summeter.models.layers.meter import Usage
from summeter.records import ReplayMiss
from summeter.runs.calls import CallStore


class Replay:
    """An LLM that has only a store: no provider, no key, no socket."""

    def __init__(self, model: str, store: CallStore, *, usage: Usage | None = None) -> None:
        self._model = model
        self._store = store
        self._usage = usage or Usage()

    @property
    def id(self) -> str:
        """The model string the calls were recorded under."""
        return self._model

    async def complete(self, request: Request) -> Completion:
        """The recorded reply; ReplayMiss where there is none."""
        stored = self._store.get(request.key)
        if stored is None:
            raise ReplayMiss(
                f"{self.id}: the recorded run holds no such call (key {request.key[:12]}, prompt begins"
                f" {request.prompt[:60]!r}). Text, prompt template, model or settings differ from the recorded run;"
                " replay with the same ones, or run without --replay to make the call"
            )
        self._usage.hits += 1
        return Completion.model_validate_json(stored)

    async def close(self) -> None:
        """Nothing to let go of; the store belongs to the run."""
