"""What a vendor's batch API is to the layer that uses it: many requests handed in together, answered within a day."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from summeter.models.base import Completion, Request
from summeter.records import ModelError, TransientError

MOST_BYTES = 64 * 2**20
"""The largest batch that is handed in, well below what the vendors take, since it is held in memory."""


class Tag(NamedTuple):
    """By what a batch is found again: the word it carries, when it was handed in (seconds since 1970), what it asks."""

    nonce: str
    at: float
    keys: frozenset[str]


class BatchStatus(NamedTuple):
    """Where a batch stands. `failure`: it was turned away as a whole. `files`: where its results lie, if not at a
    place of their own."""

    words: str
    ended: bool = False
    failure: ModelError | None = None
    files: tuple[str, ...] = ()


class TooMuch(TransientError):
    """More is handed in than the account may have waiting at one time: fewer at a time may pass."""


class BatchAPI(Protocol):
    """One model's batches. Requests go by the keys of `Request.key`, which are the `custom_id`s on the wire.

    Each call raises as `LLM.complete` does. `most` is the number of requests a batch may have; `marks` says that a
    batch carries its tag's word, so that what `find` finds is surely ours.
    """

    most: int
    marks: bool

    def entry(self, request: Request) -> bytes:
        """The request as it is handed in."""
        ...

    async def create(self, entries: Sequence[bytes], tag: Tag) -> str:
        """Hand in a batch; its id."""
        ...

    async def status(self, batch: str) -> BatchStatus:
        """Where the batch stands."""
        ...

    async def cancel(self, batch: str) -> BatchStatus:
        """Have the batch called off, and where it then stands. What was answered by then stays and is paid for."""
        ...

    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """The results of a batch that ended, by key, in any order. Lines that cannot be read are left out."""
        ...

    def read(self, result: dict[str, Any], request: Request) -> Completion:
        """The reply in a result."""
        ...

    async def find(self, tag: Tag, known: frozenset[str]) -> str | None:
        """The id of the batch with this tag, if the vendor has it; `known` are the ids of other batches."""
        ...


@runtime_checkable
class Batching(Protocol):
    """An LLM whose vendor may have batches."""

    def batches(self) -> BatchAPI | None: ...
