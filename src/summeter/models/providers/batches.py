"""Vendors' batch APIs: many requests submitted together, answered within a day at a lower price.

Requests are submitted under their keys (`Request.key`, the `custom_id` on the wire); results are lines of JSON.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from summeter.models.base import Completion, Request
from summeter.models.providers import replies
from summeter.models.providers.http import Exchange, HttpLLM
from summeter.records import ModelError, TransientError

if TYPE_CHECKING:
    from yarl import URL

MOST_BYTES = 64 * 2**20
"""The largest batch that is submitted, well below what the vendors take, since it is held in memory."""


class Tag(NamedTuple):
    """What identifies a batch: the nonce it carries, when it was submitted (seconds since 1970), what it asks."""

    nonce: str
    at: float
    keys: frozenset[str]


class BatchStatus(NamedTuple):
    """The state of a batch. `failure`: it was rejected as a whole. `files`: where its results are, if not at an address
    of their own."""

    words: str
    ended: bool = False
    failure: ModelError | None = None
    files: tuple[str, ...] = ()


class TooMuch(TransientError):
    """More requests are queued than the account may have at one time: fewer at a time may pass."""


class BatchAPI(ABC):
    """One model's batches. Each call raises as `LLM.complete` does.

    `most` is the number of requests a batch may have; `marks` says that a batch carries its tag's nonce, so that what
    `find` finds is surely ours.
    """

    most: int
    marks: bool

    def __init__(self, llm: HttpLLM) -> None:
        self.llm = llm

    @abstractmethod
    def at(self, *parts: str) -> URL:
        """The address of the batches, or of these segments behind it."""

    @abstractmethod
    def entry(self, request: Request) -> bytes:
        """The request as it is submitted."""

    @abstractmethod
    async def create(self, entries: Sequence[bytes], tag: Tag) -> str:
        """Submit a batch; its id."""

    @abstractmethod
    def status_of(self, batch: Mapping[str, Any]) -> BatchStatus:
        """The state of a batch, from the vendor's object."""

    @abstractmethod
    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """The results of a batch that ended, by key, in any order. Lines that cannot be read are left out."""

    @abstractmethod
    def read(self, result: dict[str, Any], request: Request) -> Completion:
        """The reply in a result."""

    @abstractmethod
    async def find(self, tag: Tag, known: frozenset[str]) -> str | None:
        """The id of the batch with this tag, if the vendor has it; `known` are the ids of other batches."""

    async def status(self, batch: str) -> BatchStatus:
        """The state of the batch."""
        return self.status_of(await self.get(self.at(batch)))

    async def cancel(self, batch: str) -> BatchStatus:
        """Cancel the batch; its state then. What was answered by then stays and is paid for."""
        return self.status_of(await self.post(self.at(batch, "cancel"), b"{}"))

    async def get(self, url: URL) -> dict[str, Any]:
        return await self.llm.parsed(Exchange("GET", url))

    async def post(self, url: URL, body: bytes, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        return await self.llm.parsed(Exchange("POST", url, body, headers))

    async def lines(self, url: URL) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """The results at an address, by key; a line that is none is left out."""
        async for line in self.llm.lines(url):
            try:
                result = json.loads(line)
            except (ValueError, RecursionError):
                continue
            key = result.get("custom_id") if isinstance(result, dict) else None
            if isinstance(key, str):
                yield key, result

    def id_of(self, batch: Mapping[str, Any]) -> str:
        """The id of a batch that the vendor lists or has just made."""
        own = replies.string(batch.get("id"))
        if own is None:
            raise TransientError(f"{self.llm.id}: {self.llm.address} made a batch without an id")
        return own

    def reply(self, status: int, body: Any, request: Request) -> Completion:
        """The reply in one result, read as the answer it would have been alone."""
        return self.llm.read(self.llm.answer(status, body), request)

    def absent(self, why: str, *, cancelled: bool) -> ModelError:
        """A result without a reply; `cancelled`: somebody called the batch off before this call."""
        if cancelled:
            return ModelError(f"{self.llm.id}: the batch was cancelled before this call; the same command asks again")
        return TransientError(f"{self.llm.id}: the batch gave no reply: {why}")


@runtime_checkable
class Batching(Protocol):
    """An LLM whose vendor may have batches."""

    def batches(self) -> BatchAPI | None: ...
