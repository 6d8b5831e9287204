"""What the vendors' batch APIs share: requests go up by their keys, results come down as lines of JSON."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request
from summeter.models.batch import BatchAPI, BatchStatus
from summeter.models.providers import replies
from summeter.models.providers.http import Exchange, HttpLLM
from summeter.records import ModelError, TransientError

if TYPE_CHECKING:
    from yarl import URL


class HttpBatches(BatchAPI):
    """The batches of one model."""

    def __init__(self, llm: HttpLLM) -> None:
        self.llm = llm

    @abstractmethod
    def at(self, *parts: str) -> URL:
        """The address of the batches, or of these segments behind it."""

    @abstractmethod
    def status_of(self, batch: Mapping[str, Any]) -> BatchStatus:
        """Where a batch stands, from what the vendor says of it."""

    async def status(self, batch: str) -> BatchStatus:
        return self.status_of(await self.get(self.at(batch)))

    async def cancel(self, batch: str) -> BatchStatus:
        return self.status_of(await self.post(self.at(batch, "cancel"), b"{}"))

    async def get(self, url: URL) -> dict[str, Any]:
        return await self.llm.parsed(Exchange("GET", url))

    async def post(self, url: URL, body: bytes, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        return await self.llm.parsed(Exchange("POST", url, body, headers))

    async def lines(self, url: URL) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """The results that are there, by key; a line that is none is left out."""
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
