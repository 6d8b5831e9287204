"""Define the interface of vendors' batch APIs.

Many requests are submitted together and answered within a day at a lower price. The `custom_id` of a request is its key
(`Request.key`), and results are lines of JSON.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.models.base import Completion, Request
from summeter.models.providers import replies
from summeter.models.providers.http import HttpLLM
from summeter.records import ModelError, TransientError
from summeter.runs.batches import Submission

if TYPE_CHECKING:
    from yarl import URL

MAX_BYTES = 64 * 2**20
"""Maximum size of a batch in bytes, well below the vendors' limits, since a batch is held in memory."""


class BatchStatus(NamedTuple):
    """The state of a batch.

    `words` describes the state for messages. `failure` is the error of a batch that was rejected, and None for other
    batches. `files` holds the ids of the batch's result files if the vendor uses files.
    """

    words: str
    ended: bool = False
    failure: ModelError | None = None
    files: tuple[str, ...] = ()


class QueueFull(TransientError):
    """The batch exceeds the number of requests that the account may queue.

    Smaller batches may be accepted.
    """


class BatchAPI(ABC):
    """The batches of one model; methods raise the same errors as `LLM.complete`.

    `most` is the maximum number of requests in a batch. `has_nonce` is True if batches contain the nonce of their
    submission, so that `find` cannot return another user's batch.
    """

    most: int
    has_nonce: bool

    def __init__(self, llm: HttpLLM) -> None:
        self.llm = llm

    @abstractmethod
    def batches_url(self, *segments: str) -> URL:
        """Return the URL of the batches, with path segments appended."""

    @abstractmethod
    def entry(self, request: Request) -> bytes:
        """Return the request as an entry of a batch."""

    @abstractmethod
    async def create(self, entries: Sequence[bytes], submission: Submission) -> str:
        """Submit a batch and return its id."""

    @abstractmethod
    def status_of(self, batch: Mapping[str, Any]) -> BatchStatus:
        """Return the state of a batch, which is read from the vendor's object."""

    @abstractmethod
    def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Yield the key and the result of each request in a batch that has ended, in any order.

        Unreadable lines are omitted.
        """

    @abstractmethod
    def read(self, result: dict[str, Any], request: Request) -> Completion:
        """Return the reply in a result, or raise the error that the result represents."""

    @abstractmethod
    async def find(self, submission: Submission, known: frozenset[str]) -> str | None:
        """Return the id of the batch that was submitted, or None if there is none.

        `known` holds the ids of other batches.
        """

    async def status(self, batch: str) -> BatchStatus:
        """Return the state of the batch."""
        return self.status_of(await self.llm.parsed("GET", self.batches_url(batch)))

    async def cancel(self, batch: str) -> BatchStatus:
        """Cancel the batch and return its state.

        Requests that were already answered remain and are charged.
        """
        return self.status_of(await self.llm.parsed("POST", self.batches_url(batch, "cancel"), b"{}"))

    async def lines(self, url: URL) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Yield the key and the result of each valid line at a URL."""
        async for line in self.llm.lines(url):
            try:
                result = json.loads(line)
            except (ValueError, RecursionError):
                continue
            key = result.get("custom_id") if isinstance(result, dict) else None
            if isinstance(key, str):
                yield key, result

    def id_of(self, batch: Mapping[str, Any]) -> str:
        """Return the id in the vendor's object of a batch.

        Raises TransientError if the object contains no id.
        """
        batch_id = replies.string(batch.get("id"))
        if batch_id is None:
            raise TransientError(f"{self.llm.id}: {self.llm.address} returned a batch without an id")
        return batch_id

    def reply(self, status: int, body: Any, request: Request) -> Completion:
        """Return the reply in one result, parsed as the answer to a single call."""
        return self.llm.read(self.llm.answer(status, body), request)

    def absent(self, why: str, *, cancelled: bool) -> ModelError:
        """Return the error for a result without a reply.

        `why` is the reason for messages, and `cancelled` is True if the batch was cancelled before this call was
        answered.
        """
        if cancelled:
            return ModelError(f"{self.llm.id}: the batch was cancelled before this call; the same command repeats it")
        return TransientError(f"{self.llm.id}: the batch contains no reply to this call: {why}")
