"""The adjudication page: its list, a task with all its answers, a decision, and taking one back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from aiohttp import web

from summeter.annotate.analysis.adjudicate import (
    Blind,
    Decision,
    Dispute,
    Overtaken,
    adjudicate,
    dispute_of,
    queue_page,
    reopen,
)
from summeter.annotate.campaign.bodies import Json, Refusal
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.people import ADJUDICATOR
from summeter.annotate.campaign.requests import read_answer
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.admin import AdminAccess, Page, Reader
from summeter.annotate.server.security import body_of
from summeter.annotate.tasks.task import Task
from summeter.records import UsageError

BY = "admin"
"""Who decides on the page, as the log has it."""
R = TypeVar("R")


def add_routes(
    app: web.Application, service: CampaignService, access: AdminAccess, reader: Reader, render: Page
) -> None:
    """The page, and the routes under /api/admin/ that it asks. It is drawn as an annotator's, in their language."""
    page = _Adjudication(service, reader)

    async def show(request: web.Request) -> web.StreamResponse:
        return render("adjudicate.html") if access.open_to(request) else render("nobody.html", status=401)

    app.router.add_get("/admin/adjudicate", show)
    app.router.add_get("/api/admin/disputes", access.reads(page.queue))
    app.router.add_get("/api/admin/dispute", access.reads(page.task))
    app.router.add_post("/api/admin/adjudicate", access.writes(page.decide))
    app.router.add_post("/api/admin/reopen", access.writes(page.reopen))


class _Adjudication:
    """The handlers. The list is read beside the annotators' work, a single task within it: that takes no time."""

    def __init__(self, service: CampaignService, reader: Reader) -> None:
        self.service, self.reader = service, reader
        self.view = Blind(service.folder)

    @cached_property
    def keys(self) -> dict[str, str]:
        """The keys of the tasks by what the page calls them."""
        return {self.view.task_id(task): task.key for task in self.service.tasks.work}

    async def queue(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(await asyncio.to_thread(self.reader.read, queue_page))

    async def task(self, request: web.Request) -> web.StreamResponse:
        task = self._task(request.query.get("task"))
        dispute = await self._dispute(task)
        named = request.query.get("named") == "1"
        return web.json_response(await asyncio.to_thread(self.view.page, dispute, named=named))

    async def decide(self, request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        task, reason, blind = self._task(body.get("task")), body.get("reason"), body.get("blind")
        if not isinstance(reason, str | None):
            raise Refusal(422, "invalid", "is a text", "reason")
        if not isinstance(blind, bool):
            raise Refusal(422, "invalid", "is true or false", "blind")
        answer = read_answer(self.service.folder, ADJUDICATOR, task, body.get("answer"))
        decision = Decision(task.key, answer, reason, BY, blind, _follows(body))
        (event,) = await _written(lambda: adjudicate(self.service, [decision]))
        decided = self.view.decided(self._decided(task, event))
        return web.json_response({"ok": True, "seq": event.seq, "decided": decided})

    async def reopen(self, request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        task, follows, restore = self._task(body.get("task")), _follows(body), body.get("restore", False)
        if not isinstance(restore, bool):
            raise Refusal(422, "invalid", "is true or false", "restore")
        event = await _written(lambda: reopen(self.service, task.key, BY, follows=follows, restore=restore))
        read = self.service.log.submit(lambda transaction: transaction.state.adjudicated.get(task.key))
        now = self._decided(task, await asyncio.wrap_future(read))
        reply = {"ok": True, "seq": event.seq, "decided": self.view.decided(now), "answer": self.view.answer(now)}
        return web.json_response(reply)

    def _decided(self, task: Task, decision: Event | None) -> Dispute:
        """The decision alone, without the answers."""
        return Dispute(task, self.service.kind, "", even=False, answers=(), decision=decision)

    def _task(self, task_id: Any) -> Task:
        key = self.keys.get(task_id) if isinstance(task_id, str) else None
        if key is None:
            raise Refusal(422, "invalid", "is no task of the list", "task")
        return self.service.tasks.by_key[key]

    async def _dispute(self, task: Task) -> Dispute:
        kind = self.service.kind
        read = self.service.log.submit(lambda transaction: dispute_of(kind, transaction.state, task))
        dispute = await asyncio.wrap_future(read)
        if dispute is None:
            raise Refusal(409, "agreed", "annotators no longer differ on this task, and nobody has decided it", "task")
        return dispute


def _follows(body: Json) -> int:
    """The decision that was seen; 0 for none."""
    follows = body.get("follows")
    if not isinstance(follows, int) or isinstance(follows, bool):
        raise Refusal(422, "invalid", "is the seq of the decision that was shown, 0 for none", "follows")
    return follows


async def _written(write: Callable[[], R]) -> R:
    try:
        return await asyncio.to_thread(write)
    except Overtaken as error:
        raise Refusal(409, "overtaken", str(error), "follows") from error
    except UsageError as error:
        raise Refusal(422, "invalid", str(error), "answer") from error
