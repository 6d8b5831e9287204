"""A stub of the batch APIs of OpenAI (files, batches) and Anthropic (message batches) on 127.0.0.1.

    with BatchServer() as server:
        llm = resolve("openai/m", base_url=server.url("openai"), environ={"OPENAI_API_KEY": "k"})

`answer` returns the outcome of each request; results are sent in reverse order. `handed_in` holds the keys of all
requests of all batches, with duplicates if a key is submitted twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from itertools import count
from typing import Any

from aiohttp import web
from models.server import Background

Outcome = tuple[str, Any]
"""("ok", text), ("error", (status, message)), ("expired", None), ("cancelled", None) or ("gone", None): no line."""

Body = dict[str, Any]
_KINDS = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error",
          529: "overloaded_error"}  # fmt: skip


def good(body: Body) -> Outcome:
    del body
    return ("ok", "fine")


@dataclass
class Made:
    """A batch on the server."""

    id: str
    entries: list[tuple[str, Body]]
    metadata: dict[str, str] = field(default_factory=dict)
    failed: str | None = None
    cancelled: bool = False
    at: float = field(default_factory=time.time)


class BatchServer(Background):
    """The stub server; its attributes define its behaviour.

    `done(batch)` returns whether a batch has ended. `turn_away(number)` returns the error code of a rejected batch.
    `mangle` changes the lines of results. `lose(number)` says whether the connection breaks after the batch was
    created. `unlisted` batches are not listed. `cancels` holds the ids of cancelled batches. `statuses` are the
    statuses of the next creations.
    """

    def __init__(self, answer: Callable[[Body], Outcome] = good) -> None:
        super().__init__()
        self.answer = answer
        self.batches: dict[str, Made] = {}
        self.files: dict[str, bytes] = {}
        self.seen: list[str] = []
        self.handed_in: list[str] = []
        self.done: Callable[[Made], bool] = lambda _: True
        self.turn_away: Callable[[int], str | None] = lambda _: None
        self.mangle: Callable[[list[bytes]], list[bytes]] = lambda lines: lines
        self.lose: Callable[[int], bool] = lambda _: False
        self.statuses: list[int] = []
        self.cancels: list[str] = []
        self.unlisted: set[str] = set()
        self._numbers = count()

    def url(self, vendor: str) -> str:
        return self.root + ("/v1" if vendor == "openai" else "")

    @property
    def sizes(self) -> list[int]:
        """The number of requests in each batch."""
        return [len(one.entries) for one in self.batches.values()]

    def application(self) -> web.Application:
        app = web.Application(client_max_size=1 << 28)
        route = app.router
        route.add_post("/v1/files", self._upload)
        route.add_get("/v1/files/{id}/content", self._content)
        for path, kind in (("/v1/batches", "openai"), ("/v1/messages/batches", "anthropic")):
            route.add_post(path, self._create)
            route.add_get(path, getattr(self, f"_list_{kind}"))
            route.add_get(path + "/{id}", getattr(self, f"_get_{kind}"))
            route.add_post(path + "/{id}/cancel", self._cancel)
        route.add_get("/v1/messages/batches/{id}/results", self._results)
        return app

    async def _upload(self, request: web.Request) -> web.Response:
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        parts: Any = BytesParser().parsebytes(head + await request.read()).get_payload()
        named = {part.get_param("name", header="content-disposition"): part for part in parts}
        assert named["purpose"].get_payload(decode=True) == b"batch"
        name = f"file-{next(self._numbers)}"
        self.files[name] = named["file"].get_payload(decode=True)
        return web.json_response({"id": name, "object": "file", "purpose": "batch"})

    async def _create(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        if self.statuses:
            return web.json_response({"error": {"message": "not now", "type": "x"}}, status=self.statuses.pop(0))
        made = Made(f"batch-{next(self._numbers)}", self._entries(body), body.get("metadata") or {})
        assert len({key for key, _ in made.entries}) == len(made.entries)
        number = len(self.batches)
        made.failed = self.turn_away(number)
        self.batches[made.id] = made
        self.handed_in += [key for key, _ in made.entries]
        if self.lose(number):
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(self._openai(made) if "input_file_id" in body else self._anthropic(made))

    def _entries(self, body: Body) -> list[tuple[str, Body]]:
        if "requests" in body:
            return [(one["custom_id"], one["params"]) for one in body["requests"]]
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
        return [(line["custom_id"], line["body"]) for line in lines]

    # OpenAI

    def _openai(self, made: Made) -> Body:
        shown = {"id": made.id, "object": "batch", "metadata": made.metadata, "status": "in_progress",
                 "created_at": int(made.at),
                 "request_counts": {"total": len(made.entries), "completed": 0, "failed": 0}}  # fmt: skip
        if made.failed is not None:
            errors = {
                "object": "list",
                "data": [{"code": made.failed, "message": f"it is {made.failed}", "line": None}],
            }
            return {**shown, "status": "failed", "errors": errors}
        if not self.done(made):
            return {**shown, "status": "cancelling"} if made.cancelled else shown
        return {**shown, "status": "completed", "output_file_id": f"{made.id}-out", "error_file_id": f"{made.id}-err"}

    async def _get_openai(self, request: web.Request) -> web.Response:
        made = self._find(request)
        return web.json_response(self._openai(made)) if made else self._missing()

    async def _list_openai(self, request: web.Request) -> web.Response:
        newest = self._listed()
        after = request.query.get("after")
        start = 0 if after is None else [one.id for one in newest].index(after) + 1
        page = newest[start : start + 2]
        more = start + 2 < len(newest)
        return web.json_response({"data": [self._openai(one) for one in page], "has_more": more})

    async def _content(self, request: web.Request) -> web.Response:
        batch, _, kind = request.match_info["id"].rpartition("-")
        lines = []
        for key, body in self.batches[batch].entries[::-1]:
            what, said = self.answer(body)
            if (what == "ok") == (kind == "out") and what != "gone":
                lines.append(
                    json.dumps({"id": f"r-{key[:5]}", "custom_id": key, **_openai_result(what, said)}).encode()
                )
        return web.Response(body=b"\n".join(self.mangle(lines)))

    # Anthropic

    def _anthropic(self, made: Made) -> Body:
        done = self.done(made)
        counts = {"processing": 0 if done else len(made.entries), "succeeded": len(made.entries) if done else 0,
                  "errored": 0, "canceled": 0, "expired": 0}  # fmt: skip
        # The results are said to lie elsewhere; who went there would carry the key off.
        going = "canceling" if made.cancelled else "in_progress"
        return {"id": made.id, "type": "message_batch", "processing_status": "ended" if done else going,
                "created_at": datetime.fromtimestamp(made.at, UTC).isoformat(), "request_counts": counts,
                "results_url": "http://127.0.0.1:9/elsewhere" if done else None}  # fmt: skip

    async def _get_anthropic(self, request: web.Request) -> web.Response:
        made = self._find(request)
        return web.json_response(self._anthropic(made)) if made else self._missing()

    async def _list_anthropic(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [self._anthropic(one) for one in self._listed()]})

    async def _results(self, request: web.Request) -> web.Response:
        lines = []
        for key, body in self.batches[request.match_info["id"]].entries[::-1]:
            what, said = self.answer(body)
            if what != "gone":
                lines.append(json.dumps({"custom_id": key, "result": _anthropic_result(what, said)}).encode())
        return web.Response(body=b"\n".join(self.mangle(lines)))

    async def _cancel(self, request: web.Request) -> web.Response:
        """Cancel a batch. One that has ended cannot be cancelled; one in progress is cancelling until it ends."""
        made = self._find(request)
        if made is None:
            return self._missing()
        self.cancels.append(made.id)
        if self.done(made):
            error = {"message": f"Cannot cancel a batch that has ended: {made.id}", "type": "invalid_request_error"}
            return web.json_response({"error": error}, status=409)
        made.cancelled = True
        openai = "/messages/" not in request.path
        return web.json_response(self._openai(made) if openai else self._anthropic(made))

    def _find(self, request: web.Request) -> Made | None:
        self.seen.append(request.match_info["id"])
        return self.batches.get(request.match_info["id"])

    def _listed(self) -> list[Made]:
        return [one for one in list(self.batches.values())[::-1] if one.id not in self.unlisted]

    def _missing(self) -> web.Response:
        return web.json_response({"error": {"message": "No batch found", "type": "not_found_error"}}, status=404)


def _openai_result(what: str, said: Any) -> Body:
    if what == "ok":
        message = {"role": "assistant", "content": said}
        body = {"model": "served-1", "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7}}  # fmt: skip
        return {"response": {"status_code": 200, "request_id": "q", "body": body}, "error": None}
    if what == "error":
        body = {"error": {"message": said[1], "type": "stub_error", "code": None}}
        return {"response": {"status_code": said[0], "request_id": "q", "body": body}, "error": None}
    return {"response": None, "error": {"code": f"batch_{what}", "message": f"it is {what}"}}


def _anthropic_result(what: str, said: Any) -> Body:
    if what == "ok":
        message = {"type": "message", "model": "served-1", "stop_reason": "end_turn",
                   "content": [{"type": "text", "text": said}],
                   "usage": {"input_tokens": 11, "output_tokens": 7}}  # fmt: skip
        return {"type": "succeeded", "message": message}
    if what == "error":
        error = {"type": _KINDS[said[0]], "message": said[1]}
        return {"type": "errored", "error": {"type": "error", "error": error}}
    return {"type": {"cancelled": "canceled"}.get(what, what)}
