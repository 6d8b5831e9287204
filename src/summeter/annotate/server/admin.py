"""The researcher's side: status, people, exclusion, quality; adjudication stands in a module of its own.

Behind the token that `annotate serve` prints.

What takes long to compute is read through a service of its own, opened for reading, so that annotators never wait.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiohttp import web

from summeter.annotate.after.status import people as people_of
from summeter.annotate.after.status import status as status_of
from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.requests import about
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.security import CSRF, body_of, cookie_of, same_origin, set_cookie
from summeter.records import UsageError

COOKIE = "summeter-admin"
R = TypeVar("R")
Json = dict[str, Any]
Page = Callable[..., web.Response]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def add_routes(app: web.Application, service: CampaignService, page: Page) -> tuple[AdminAccess, Reader]:
    """The routes under /admin and /api/admin/; what other routes of the researcher's need is returned."""
    admin = _Admin(service, page)
    access = admin.access
    app.router.add_get("/admin", admin.enter)
    app.router.add_get("/admin/quality", admin.shows("quality.html"))
    app.router.add_get("/api/admin/session", access.reads(admin.session))
    app.router.add_get("/api/admin/status", access.reads(admin.status))
    app.router.add_get("/api/admin/people", access.reads(admin.people))
    app.router.add_get("/api/admin/quality", access.reads(admin.quality))
    app.router.add_post("/api/admin/exclude", access.writes(_rule(service.exclude)))
    app.router.add_post("/api/admin/reinstate", access.writes(_rule(service.reinstate)))
    app.on_cleanup.append(admin.close)
    return access, admin.reader


class _Admin:
    """The handlers."""

    def __init__(self, service: CampaignService, page: Page) -> None:
        self.service, self.page = service, page
        self.access, self.reader = AdminAccess(service), Reader(service)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """The link with the token gives a cookie; the address alone shows the page to who has it."""
        token = request.query.get("token")
        if token is None:
            return await self.shows("admin.html")(request)
        if not self.access.knows(token):
            return self.page("nobody.html", status=401)
        response = web.Response(status=303, headers={"Location": "/admin"})
        set_cookie(request, response, COOKIE, self.access.cookie, framed=False)
        return response

    def shows(self, name: str) -> Handler:
        """A page, for the researcher only."""

        async def handle(request: web.Request) -> web.StreamResponse:
            known = self.access.open_to(request)
            return self.page(name) if known else self.page("nobody.html", status=401)

        return handle

    async def session(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"csrf": self.access.csrf, "campaign": about(self.service.folder)})

    async def status(self, _: web.Request) -> web.StreamResponse:
        read = self.service.log.submit(lambda turn: status_of(self.service, turn.state, turn.now, turn.last))
        return web.json_response(await asyncio.wrap_future(read))

    async def people(self, _: web.Request) -> web.StreamResponse:
        read = self.service.log.submit(lambda turn: people_of(self.service, turn.state))
        return web.json_response({"people": await asyncio.wrap_future(read)})

    async def quality(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(await asyncio.to_thread(self.reader.quality))

    async def close(self, _: web.Application) -> None:
        await asyncio.to_thread(self.reader.close)


class AdminAccess:
    """Who is the researcher: a token in the link, then a cookie, and for writes the csrf token too."""

    def __init__(self, service: CampaignService) -> None:
        self._names = service.names
        self._token = service.folder.keys.admin
        self.cookie = service.names.mark("admin-cookie", self._token)
        self.csrf = service.names.csrf(self.cookie)

    def knows(self, token: str) -> bool:
        """Whether this is the admin token."""
        return self._names.same(self._names.mark("admin-cookie", token), "admin-cookie", self._token)

    def open_to(self, request: web.Request) -> bool:
        """Whether the request comes with the cookie."""
        return self._names.same(cookie_of(request, COOKIE), "admin-cookie", self._token)

    def reads(self, handler: Handler) -> Handler:
        """The handler, for the researcher only."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.open_to(request):
                raise Refusal(401, "no_session", "open the admin link that `summeter annotate serve` prints")
            return await handler(request)

        return guarded

    def writes(self, handler: Handler) -> Handler:
        """The same, with the csrf token."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            same_origin(request)
            if not self._names.same(request.headers.get(CSRF, ""), "csrf", self.cookie, length=40):
                raise Refusal(403, "csrf", "the request lacks the session's token; load the page again")
            return await handler(request)

        return self.reads(guarded)


class Reader:
    """A second service on the same log, for reading; one question at a time, the last quality kept until it grows."""

    def __init__(self, service: CampaignService) -> None:
        self._main = service
        self._service: CampaignService | None = None
        self._lock = threading.Lock()
        self._quality: tuple[int, Json] | None = None

    def quality(self) -> Json:
        """`Quality.to_json()` with the place in the log it is of."""
        from summeter.annotate.after.quality import quality  # statistics: slow to load, and not needed to serve

        with self._lock:
            service = self._fresh()
            last = service.log.last_seq
            if self._quality is None or self._quality[0] != last:
                self._quality = last, {**quality(service).to_json(), "last_seq": last}
            return self._quality[1]

    def read(self, question: Callable[[CampaignService], R]) -> R:
        """What a question finds in the log as it is now."""
        with self._lock:
            return question(self._fresh())

    def close(self) -> None:
        """Let go of the log."""
        with self._lock:
            if self._service is not None:
                self._service.close()

    def _fresh(self) -> CampaignService:
        if self._service is None:
            self._service = CampaignService(self._main.folder, self._main.log.place, readonly=True)
        self._service.log.refresh()
        return self._service


def _rule(rule: Callable[..., Event]) -> Handler:
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
