"""The researcher's pages after (and during) the work: quality, and adjudication with all answers side by side.

What takes long to compute is read through a desk of its own, opened for reading, so that annotators never wait for it.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from aiohttp import web

from summeter.annotate import adjudicate
from summeter.annotate.app.admin import COOKIE, Gate, Page, Request
from summeter.annotate.app.security import body_of, cookie_of
from summeter.annotate.desk import Desk
from summeter.annotate.refusal import Refusal
from summeter.annotate.state import State
from summeter.annotate.store.log import Turn
from summeter.annotate.tasks.base import Task
from summeter.records import UsageError

Json = dict[str, Any]
SHOWN = 20
"""Disputes sent at a time."""


class Reader:
    """A second desk on the same log, for reading; one question at a time, the last quality kept until the log grows."""

    def __init__(self, desk: Desk) -> None:
        self._main = desk
        self._desk: Desk | None = None
        self._lock = threading.Lock()
        self._quality: tuple[int, Json] | None = None

    def quality(self) -> Json:
        """`Quality.to_json()` with the place in the log it is of."""
        from summeter.annotate.quality import quality  # statistics: slow to load, and not needed to serve

        with self._lock:
            desk = self._fresh()
            last = desk.log.last_seq
            if self._quality is None or self._quality[0] != last:
                self._quality = last, {**quality(desk).to_json(), "last_seq": last}
            return self._quality[1]

    def disputes(self, begin: int, *, settled: bool) -> Json:
        """A page of the queue with what each task shows."""
        with self._lock:
            desk = self._fresh()
            found = adjudicate.disputes(desk, settled=settled)
            shown = [{**one.to_json(), **self._shown(desk, one.task)} for one in found[begin : begin + SHOWN]]
            return {"disputes": shown, "total": len(found), "left": max(0, len(found) - begin - len(shown))}

    def close(self) -> None:
        """Let go of the log."""
        with self._lock:
            if self._desk is not None:
                self._desk.close()

    def _fresh(self) -> Desk:
        if self._desk is None:
            self._desk = Desk(self._main.folder, self._main.log.place, readonly=True)
        self._desk.refresh()
        return self._desk

    @staticmethod
    def _shown(desk: Desk, task: Task) -> Json:
        document = desk.folder.sources[task.document_id].document
        return {"body": task.body, "document": document.text}


def add_routes(app: web.Application, desk: Desk, page: Page) -> None:
    """The routes of both pages."""
    gate, reader = Gate(desk), Reader(desk)

    def shows(name: str) -> Request:
        async def handle(request: web.Request) -> web.StreamResponse:
            known = bool(cookie_of(request, COOKIE)) and gate.open_to(request)
            return page(name) if known else page("nobody.html", status=401)

        return handle

    async def looked(_: web.Request) -> web.StreamResponse:
        return web.json_response(await asyncio.to_thread(reader.quality))

    async def queue(request: web.Request) -> web.StreamResponse:
        begin = request.query.get("from", "0")
        if not begin.isascii() or not begin.isdigit():
            raise Refusal(422, "invalid", "is a number from 0", "from")
        every = request.query.get("all") == "1"
        return web.json_response(await asyncio.to_thread(reader.disputes, int(begin[:9]), settled=every))

    async def decide(request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        try:
            event = (await asyncio.to_thread(_decide, desk, body))[0]
        except UsageError as error:
            raise Refusal(422, "invalid", str(error), "answer") from error
        return web.json_response({"ok": True, "seq": event.seq})

    async def close(_: web.Application) -> None:
        await asyncio.to_thread(reader.close)

    app.router.add_get("/admin/quality", shows("quality.html"))
    app.router.add_get("/admin/adjudicate", shows("adjudicate.html"))
    app.router.add_get("/api/admin/quality", gate.reads(looked))
    app.router.add_get("/api/admin/disputes", gate.reads(queue))
    app.router.add_post("/api/admin/adjudicate", gate.writes(decide))
    app.on_cleanup.append(close)


def _decide(desk: Desk, body: Json) -> list[Any]:
    task, who, answer, reason = (body.get(name) for name in ("task", "as", "answer", "reason"))
    if not isinstance(task, str) or (reason is not None and not isinstance(reason, str)):
        raise UsageError("give the task, and the reason as text")
    if (who is None) == (answer is None):
        raise UsageError("give `as` (whose answer is taken) or `answer`")
    if who is not None:

        def known(turn: Turn[State]) -> Json:
            return adjudicate.answer_of(desk, task, str(who), turn.state)

        answer = desk.log.do(known)
    return adjudicate.adjudicate(desk, [adjudicate.Decision(task, answer or {}, reason, "admin")])
