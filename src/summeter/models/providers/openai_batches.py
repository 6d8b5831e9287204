"""Use OpenAI's Batch API: requests are uploaded as a file, and results are downloaded as files.

The formats are those in OpenAI's API reference (2026), which other servers follow.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, to_bytes
from summeter.models.providers import replies
from summeter.models.providers.batches import BatchAPI, BatchStatus, QueueFull
from summeter.records import AccessError, ModelError
from summeter.runs.batches import Submission

if TYPE_CHECKING:
    from yarl import URL

PATH = "/v1/chat/completions"
WINDOW = "24h"
NAME = "summeter"
"""The metadata key under which a batch's nonce is stored."""

_ENDED = frozenset({"completed", "expired", "cancelled"})
_PAGE, _PAGES = 100, 10


class OpenAIBatches(BatchAPI):
    """The batches of one model.

    A cancelled batch has the status `cancelling` for up to ten minutes.
    """

    most = 50_000
    has_nonce = True

    def batches_url(self, *segments: str) -> URL:
        return self.llm.beside("batches", *segments)

    def entry(self, request: Request) -> bytes:
        line = {"custom_id": request.key, "method": "POST", "url": PATH, "body": self.llm.payload(request)}
        return to_bytes(line) + b"\n"

    async def create(self, entries: Sequence[bytes], submission: Submission) -> str:
        # multipart/form-data (RFC 7578), with a single join, since the body may be large.
        boundary = f"summeter-{submission.nonce}"
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{boundary}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        body = b"".join((head.encode(), *entries, f"\r\n--{boundary}--\r\n".encode()))
        content_type = f"multipart/form-data; boundary={boundary}"
        file = await self.llm.parsed("POST", self.llm.beside("files"), body, {"Content-Type": content_type})
        order = {
            "input_file_id": replies.string(file.get("id")),
            "endpoint": PATH,
            "completion_window": WINDOW,
            "metadata": {NAME: submission.nonce},
        }
        return self.id_of(await self.llm.parsed("POST", self.batches_url(), to_bytes(order)))

    def status_of(self, batch: Mapping[str, Any]) -> BatchStatus:
        state = str(batch.get("status"))
        counts = replies.mapping(batch.get("request_counts"))
        done = (replies.count(counts.get("completed")) or 0) + (replies.count(counts.get("failed")) or 0)
        words = f"{state}, {done} of {counts['total']} done" if counts.get("total") else state
        if state == "failed":
            errors = replies.dicts(replies.mapping(batch.get("errors")).get("data"))
            why = "; ".join(_words(error, "code", "message", "line") for error in errors[:5]) or "no reason given"
            head = f"{self.llm.id}: the batch {batch.get('id')} was rejected: {replies.shorten(why)}"
            failure: ModelError
            if any(error.get("code") == "token_limit_exceeded" for error in errors):
                failure = QueueFull(head)
            else:
                failure = AccessError(
                    f"{head}. Further batches would be rejected too; fix this and run the same command again"
                )
            return BatchStatus(words, ended=True, failure=failure)
        files = (replies.string(batch.get(name)) for name in ("output_file_id", "error_file_id"))
        return BatchStatus(words, state in _ENDED, None, tuple(file for file in files if file))

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        del batch
        for file in status.files:  # the files of replies and of failures
            async for result in self.lines(self.llm.beside("files", file, "content")):
                yield result

    def read(self, result: dict[str, Any], request: Request) -> Completion:
        response = replies.mapping(result.get("response"))
        status, error = response.get("status_code"), replies.mapping(result.get("error"))
        if isinstance(status, int) and response.get("body") is not None:
            return self.reply(status, response["body"], request)
        why = _words(error, "code", "message") or "no reply in it"
        raise self.absent(replies.shorten(why), cancelled=error.get("code") == "batch_cancelled")

    async def find(self, submission: Submission, known: frozenset[str]) -> str | None:
        """Return the id of the batch with this nonce, or None if it is not among the account's latest batches."""
        del known
        query = {"limit": str(_PAGE)}
        for _ in range(_PAGES):
            page = await self.llm.parsed("GET", self.batches_url().update_query(query))
            batches = replies.dicts(page.get("data"))
            for batch in batches:
                if replies.mapping(batch.get("metadata")).get(NAME) == submission.nonce:
                    return self.id_of(batch)
            last = replies.string(batches[-1].get("id")) if batches else None
            if not page.get("has_more") or last is None:
                break
            query["after"] = last
        return None


def _words(error: Mapping[str, Any], *names: str) -> str:
    return " / ".join(str(error[name]) for name in names if error.get(name))
