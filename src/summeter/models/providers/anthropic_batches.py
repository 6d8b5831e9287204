"""Anthropic's Message Batches: the requests go up in one body, the results come down as lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from summeter.models.base import Completion, Request, to_json
from summeter.models.batch import BatchStatus, Tag
from summeter.models.providers import replies
from summeter.models.providers.openai_batches import cancelled, result
from summeter.models.providers.wire import Exchange, parsed
from summeter.records import TransientError

if TYPE_CHECKING:
    from summeter.models.providers.http import HttpLLM

# A result names the kind of its error, not the status that the error has alone.
_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip
# How far the clocks of both sides, and the time a request takes, may set apart what is one moment.
_BEFORE, _AFTER = 120.0, 900.0


class AnthropicBatches:
    """The batches of one model."""

    most = 100_000
    marks = False

    def __init__(self, llm: HttpLLM) -> None:
        self._llm = llm

    def entry(self, request: Request) -> bytes:
        """One of `requests`."""
        entry = {"custom_id": request.key, "params": self._llm.payload(request)}
        return to_json(entry).encode("utf-8", "backslashreplace")

    async def create(self, entries: Sequence[bytes], tag: Tag) -> str:
        """One POST."""
        del tag
        commas = [b'{"requests":[', *(b"," for _ in entries[1:]), b"]}"]
        # One copy of what may be large.
        body = b"".join((*(part for pair in zip(commas, entries, strict=False) for part in pair), commas[-1]))
        made = await parsed(self._llm, Exchange("POST", self._at(), body))
        found = replies.string(made.get("id"))
        if found is None:
            raise TransientError(f"{self._llm.id}: {self._llm.address} made a batch without an id")
        return found

    async def status(self, batch: str) -> BatchStatus:
        """Where it stands, and how many of its requests are done."""
        return _standing(await parsed(self._llm, Exchange("GET", self._at(batch))))

    async def cancel(self, batch: str) -> BatchStatus:
        """One POST; the batch is `canceling` until what is under way has come to its end."""
        return _standing(await parsed(self._llm, Exchange("POST", self._at(batch, "cancel"), b"{}")))

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """From the batch's own address: a key goes to no other that a reply may name."""
        del status
        async for line in self._llm.lines(self._at(batch, "results")):
            if (found := result(line)) is not None:
                yield found

    def read(self, result: dict[str, Any], request: Request) -> Completion:
        """The message, or what kept it from coming."""
        found = replies.mapping(result.get("result"))
        kind = found.get("type")
        if kind == "succeeded":
            return self._llm.read(self._llm.answer(200, found.get("message")), request)
        if kind == "errored":
            error = replies.mapping(found.get("error"))
            error = replies.mapping(error.get("error")) or error
            status = _STATUS.get(str(error.get("type")), 500)
            return self._llm.read(self._llm.answer(status, {"type": "error", "error": error}), request)
        if kind == "canceled":
            raise cancelled(self._llm.id)
        raise TransientError(f"{self._llm.id}: the batch gave no reply: {kind or 'no result in it'}")

    async def find(self, tag: Tag, known: frozenset[str]) -> str | None:
        """By the time and the number of requests, since a batch carries no word of ours. Another's batch that is alike
        shows itself when its results hold none of our keys."""
        page = await parsed(self._llm, Exchange("GET", self._at().update_query({"limit": "1000"})))
        alike = {
            found: _seconds(one.get("created_at")) - tag.at
            for one in replies.dicts(page.get("data"))
            if sum(_counts(one).values()) == len(tag.keys) and (found := replies.string(one.get("id"))) is not None
        }
        near = {found: abs(late) for found, late in alike.items() if -_BEFORE <= late <= _AFTER and found not in known}
        return min(near, key=lambda found: near[found], default=None)

    def _at(self, *parts: str) -> Any:
        return self._llm.under("batches", *parts)


def _standing(found: dict[str, Any]) -> BatchStatus:
    counts, said = _counts(found), str(found.get("processing_status"))
    total = sum(counts.values())
    words = f"{said}, {total - counts.get('processing', 0)} of {total} done" if total else said
    return BatchStatus(words, said == "ended")


def _counts(batch: dict[str, Any]) -> dict[str, int]:
    given = replies.mapping(batch.get("request_counts"))
    return {name: number for name, value in given.items() if (number := replies.count(value)) is not None}


def _seconds(value: Any) -> float:
    """Seconds since 1970 of an RFC 3339 date; minus infinity where it is none."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return float("-inf")
