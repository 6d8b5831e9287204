"""OpenAI's Batch API: a file of requests goes up, a batch is made of it, files of results come down.

The shapes are those of OpenAI's reference (2026); other servers speak the same.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from summeter.models.base import Completion, Request, to_json
from summeter.models.batch import BatchStatus, Tag, TooMuch
from summeter.models.providers import replies
from summeter.models.providers.http import Exchange, HttpLLM
from summeter.records import AccessError, ModelError, TransientError

PATH = "/v1/chat/completions"
WINDOW = "24h"
NAME = "summeter"
"""The metadata under which a batch carries its nonce."""

_ENDED = frozenset({"completed", "expired", "cancelled"})
_PAGE, _PAGES = 100, 10


class OpenAIBatches:
    """The batches of one model."""

    most = 50_000
    marks = True

    def __init__(self, llm: HttpLLM) -> None:
        self._llm = llm

    def entry(self, request: Request) -> bytes:
        """A line of the file."""
        line = {"custom_id": request.key, "method": "POST", "url": PATH, "body": self._llm.payload(request)}
        return to_json(line).encode("utf-8", "backslashreplace") + b"\n"

    async def create(self, entries: Sequence[bytes], tag: Tag) -> str:
        """Up with the file, then the batch."""
        body, kind = _form(entries, tag.nonce)
        llm = self._llm
        sent = Exchange("POST", llm.beside("files"), body, {"Content-Type": kind})
        file = replies.string((await llm.parsed(sent)).get("id"))
        order = {
            "input_file_id": file, "endpoint": PATH, "completion_window": WINDOW, "metadata": {NAME: tag.nonce},
        }  # fmt: skip
        batch = await llm.parsed(Exchange("POST", llm.beside("batches"), json.dumps(order).encode()))
        return replies.batch_id(batch, llm.id, llm.address)

    async def status(self, batch: str) -> BatchStatus:
        """Where it stands, and how many of its requests are done."""
        return self._status(batch, await self._llm.parsed(Exchange("GET", self._llm.beside("batches", batch))))

    async def cancel(self, batch: str) -> BatchStatus:
        """One POST; the batch is `cancelling` for up to ten minutes."""
        sent = Exchange("POST", self._llm.beside("batches", batch, "cancel"), b"{}")
        return self._status(batch, await self._llm.parsed(sent))

    def _status(self, batch: str, batch_object: dict[str, Any]) -> BatchStatus:
        state = str(batch_object.get("status"))
        counts = replies.mapping(batch_object.get("request_counts"))
        done = (replies.count(counts.get("completed")) or 0) + (replies.count(counts.get("failed")) or 0)
        words = f"{state}, {done} of {counts['total']} done" if counts.get("total") else state
        if state == "failed":
            return BatchStatus(words, ended=True, failure=self._rejected(batch, batch_object))
        named = (replies.string(batch_object.get(name)) for name in ("output_file_id", "error_file_id"))
        return BatchStatus(words, state in _ENDED, None, tuple(file for file in named if file))

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """Of both files: that of replies and that of failures."""
        del batch
        for file in status.files:
            async for line in self._llm.lines(self._llm.beside("files", file, "content")):
                if (result := replies.batch_result(line)) is not None:
                    yield result

    def read(self, result: dict[str, Any], request: Request) -> Completion:
        """The reply, or what kept it from coming."""
        response = replies.mapping(result.get("response"))
        status, error = response.get("status_code"), replies.mapping(result.get("error"))
        if isinstance(status, int) and response.get("body") is not None:
            return self._llm.read(self._llm.answer(status, response["body"]), request)
        why = " / ".join(str(error[name]) for name in ("code", "message") if error.get(name)) or "no reply in it"
        if error.get("code") == "batch_cancelled":
            raise replies.batch_cancelled(self._llm.id)
        raise TransientError(f"{self._llm.id}: the batch gave no reply: {replies.shorten(why)}")

    async def find(self, tag: Tag, known: frozenset[str]) -> str | None:
        """By the metadata, among the account's latest."""
        del known
        after = None
        for _ in range(_PAGES):
            query = {"limit": str(_PAGE), **({"after": after} if after else {})}
            page = await self._llm.parsed(Exchange("GET", self._llm.beside("batches").update_query(query)))
            listed = replies.dicts(page.get("data"))
            for listed_batch in listed:
                if replies.mapping(listed_batch.get("metadata")).get(NAME) == tag.nonce:
                    return replies.batch_id(listed_batch, self._llm.id, self._llm.address)
            after = replies.string(listed[-1].get("id")) if listed else None
            if not page.get("has_more") or after is None:
                break
        return None

    def _rejected(self, batch: str, batch_object: dict[str, Any]) -> ModelError:
        errors = replies.dicts(replies.mapping(batch_object.get("errors")).get("data"))
        reasons = [
            " / ".join(str(error[name]) for name in ("code", "message", "line") if error.get(name))
            for error in errors[:5]
        ]
        why = "; ".join(reasons) or "no reason given"
        head = f"{self._llm.id}: the batch {batch} was turned away: {replies.shorten(why)}"
        if any(error.get("code") == "token_limit_exceeded" for error in errors):
            return TooMuch(head)
        return AccessError(f"{head}. So would the next one be; mend that and give the same command again")


def _form(lines: Sequence[bytes], nonce: str) -> tuple[bytes, str]:
    """The body of the upload (multipart/form-data, RFC 7578), and its type: one copy of what may be large."""
    border = f"summeter-{nonce}"
    head = (
        f'--{border}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="summeter-{nonce}.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    body = b"".join((head.encode(), *lines, f"\r\n--{border}--\r\n".encode()))
    return body, f"multipart/form-data; boundary={border}"
