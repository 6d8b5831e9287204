"""The researcher's side: status, people, exclusion. Behind the token that `annotate serve` prints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from summeter.annotate import status
from summeter.annotate.app.security import CSRF, body_of, cookie_of, same_origin, set_cookie
from summeter.annotate.desk import Desk
from summeter.annotate.refusal import Refusal
from summeter.annotate.state import State
from summeter.annotate.store.log import Turn
from summeter.annotate.views import about
from summeter.records import UsageError

COOKIE = "summeter-admin"
Json = dict[str, Any]
Page = Callable[..., web.Response]
Request = Callable[[web.Request], Awaitable[web.StreamResponse]]


def add_routes(app: web.Application, desk: Desk, page: Page) -> None:
    """The routes under /admin and /api/admin/."""
    gate = Gate(desk)

    async def enter(request: web.Request) -> web.StreamResponse:
        token = request.query.get("token")
        if token is not None:
            if not gate.knows(token):
                return page("nobody.html", status=401)
            response = web.Response(status=303, headers={"Location": "/admin"})
            set_cookie(request, response, COOKIE, gate.cookie, framed=False)
            return response
        return page("admin.html") if gate.open_to(request) else page("nobody.html", status=401)

    async def session(_: web.Request) -> web.StreamResponse:
        return web.json_response({"csrf": gate.csrf, "campaign": about(desk)})

    async def figures(_: web.Request) -> web.StreamResponse:
        return web.json_response(await _look(desk, lambda turn: status.status(desk, turn.state, turn.now, turn.last)))

    async def everybody(_: web.Request) -> web.StreamResponse:
        found = await _look(desk, lambda turn: status.people(desk, turn.state))
        return web.json_response({"people": found})

    app.router.add_get("/admin", enter)
    app.router.add_get("/api/admin/session", gate.reads(session))
    app.router.add_get("/api/admin/status", gate.reads(figures))
    app.router.add_get("/api/admin/people", gate.reads(everybody))
    app.router.add_post("/api/admin/exclude", gate.writes(_rule(desk.exclude)))
    app.router.add_post("/api/admin/reinstate", gate.writes(_rule(desk.reinstate)))


class Gate:
    """Who is the researcher: a token in the link, then a cookie, and for writes the csrf token too."""

    def __init__(self, desk: Desk) -> None:
        self._names = desk.names
        self._token = desk.folder.keys.admin
        self.cookie = desk.names.mark("admin-cookie", self._token)
        self.csrf = desk.names.csrf(self.cookie)

    def knows(self, token: str) -> bool:
        """Whether this is the admin token."""
        return self._names.same(self._names.mark("admin-cookie", token), "admin-cookie", self._token)

    def open_to(self, request: web.Request) -> bool:
        """Whether the request comes with the cookie."""
        return self._names.same(cookie_of(request, COOKIE), "admin-cookie", self._token)

    def reads(self, handler: Request) -> Request:
        """The handler, for the researcher only."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.open_to(request):
                raise Refusal(401, "no_session", "open the admin link that `summeter annotate serve` prints")
            return await handler(request)

        return guarded

    def writes(self, handler: Request) -> Request:
        """The same, with the csrf token."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            same_origin(request)
            if not self._names.same(request.headers.get(CSRF, ""), "csrf", self.cookie, length=40):
                raise Refusal(403, "csrf", "the request lacks the session's token; load the page again")
            return await handler(request)

        return self.reads(guarded)


async def _look(desk: Desk, read: Callable[[Turn[State]], Any]) -> Any:
    """Read the state between two commits."""
    return await asyncio.wrap_future(desk.log.submit(read))


def _rule(rule: Callable[..., Any]) -> Request:
    async def handle(request: web.Request) -> web.StreamResponse:
        body = await body_of(request)
        annotator, reason = body.get("annotator"), body.get("reason")
        if not isinstance(annotator, str) or not isinstance(reason, str) or not reason.strip():
            raise Refusal(422, "invalid", "give the annotator and a reason", "reason")
        try:
            await asyncio.to_thread(rule, annotator, reason[:2000], by="admin")
        except UsageError as error:
            raise Refusal(422, "invalid", str(error), "annotator") from error
        return web.json_response({"ok": True})

    return handle
