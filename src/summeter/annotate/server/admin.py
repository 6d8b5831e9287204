"""The researcher's side: status, people, exclusion, quality; adjudication stands in a module of its own.

Behind the token that `annotate serve` prints.

What takes long to compute is read through a service of its own, opened for reading, so that annotators never wait.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from aiohttp import web

from summeter.annotate.analysis.status import people as people_of
from summeter.annotate.analysis.status import status as status_of
from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.log import Transaction
from summeter.annotate.campaign.requests import about
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.server.downloads import downloads, write
from summeter.annotate.server.security import CSRF, body_of, cookie_of, same_origin, set_cookie
from summeter.records import UsageError

if TYPE_CHECKING:
    from summeter.annotate.analysis.quality import Standing

COOKIE = "summeter-admin"
IF_NONE_MATCH = "If-None-Match"
MINUTE = 60_000
ANNOTATOR_QUERY = (("name", ""), ("only", "all"), ("from", "0"))
CONTENT_TYPES = {
    ".zip": "application/zip",
    ".jsonl": "application/jsonl",
    ".csv": "text/csv",
    ".json": "application/json",
}
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
    app.router.add_get("/admin/annotator", admin.shows("annotator.html"))
    app.router.add_get("/api/admin/session", access.reads(admin.session))
    app.router.add_get("/api/admin/status", access.reads(admin.status))
    app.router.add_get("/api/admin/people", access.reads(admin.people))
    app.router.add_get("/api/admin/quality", access.reads(admin.quality))
    app.router.add_get("/api/admin/annotator", access.reads(admin.annotator))
    app.router.add_get("/api/admin/export/{name}", access.reads(admin.export))
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
        """Who asks, and what does not change while the campaign runs: links to hand out, files there are."""
        exports = [
            {"name": name, "title": download.title, "about": download.about, "suffix": download.suffix}
            for name, download in downloads(self.service).items()
        ]
        folder = self.service.folder
        return web.json_response(
            {"csrf": self.access.csrf, "campaign": about(folder), "links": _links(folder), "exports": exports}
        )

    async def status(self, request: web.Request) -> web.StreamResponse:
        return await self._live(
            request, lambda transaction: status_of(self.service, transaction.state, transaction.now, transaction.last)
        )

    async def people(self, request: web.Request) -> web.StreamResponse:
        return await self._live(request, lambda transaction: {"people": people_of(self.service, transaction.state)})

    async def _live(self, request: web.Request, question: Callable[[Transaction], Json]) -> web.StreamResponse:
        """What a page asks for again and again: computed where the log has grown, or another minute has begun."""

        def read(transaction: Transaction) -> tuple[str, Json | None]:
            tag = f'"{transaction.last}-{transaction.now // MINUTE}"'
            return tag, None if request.headers.get(IF_NONE_MATCH) == tag else question(transaction)

        return _tagged(*await asyncio.wrap_future(self.service.log.submit(read)))

    async def quality(self, request: web.Request) -> web.StreamResponse:
        tag = request.headers.get(IF_NONE_MATCH)
        return _tagged(*await asyncio.to_thread(self.reader.unless, tag, lambda _: self.reader.quality()))

    async def annotator(self, request: web.Request) -> web.StreamResponse:
        name, only, begin = (request.query.get(field, usual) for field, usual in ANNOTATOR_QUERY)
        if not (begin.isascii() and begin.isdigit() and len(begin) < 10):
            raise Refusal(422, "invalid", "is a number from 0", "from")

        def page(service: CampaignService) -> Json:
            from summeter.annotate.analysis.annotator import annotator_page, standing_of

            standing = standing_of(self.reader.standings(), name)
            return annotator_page(service, standing, only=only, begin=int(begin))

        try:
            tagged = await asyncio.to_thread(self.reader.unless, request.headers.get(IF_NONE_MATCH), page)
        except UsageError as error:
            raise Refusal(422, "invalid", str(error)) from error
        return _tagged(*tagged)

    async def export(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        download = downloads(self.service).get(name)
        if download is None:
            raise Refusal(404, "not_found", "there is no such file", "name")
        data = await asyncio.to_thread(self.reader.read, lambda service: write(service, download))
        file = f"{self.service.campaign.name}-{name}{download.suffix}"
        return web.Response(
            body=data,
            content_type=CONTENT_TYPES[download.suffix],
            headers={"Content-Disposition": f'attachment; filename="{file}"'},
        )

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
    """A second service on the same log, for reading; one question at a time.

    What takes long is kept until the log grows.
    """

    def __init__(self, service: CampaignService) -> None:
        self._main = service
        self._service: CampaignService | None = None
        self._lock = threading.RLock()
        self._kept: dict[str, tuple[int, Any]] = {}

    def quality(self) -> Json:
        """`Quality.to_json()` with the place in the log it is of."""
        from summeter.annotate.analysis.quality import quality  # statistics: slow to load, and not needed to serve

        return self._once("quality", lambda service: {**quality(service).to_json(), "last_seq": service.log.last_seq})

    def standings(self) -> list[Standing]:
        """Everybody's standing."""
        from summeter.annotate.analysis.quality import standings

        return self._once("standings", standings)

    def unless(self, tag: str | None, question: Callable[[CampaignService], R]) -> tuple[str, R | None]:
        """The tag of the log as it is now, and what a question finds there; None where that is the `tag` given."""
        with self._lock:
            service = self._fresh()
            current = f'"{service.log.last_seq}"'
            return current, None if current == tag else question(service)

    def _once(self, name: str, question: Callable[[CampaignService], R]) -> R:
        with self._lock:
            service = self._fresh()
            last, kept = self._kept.get(name, (None, None))
            if last != service.log.last_seq:
                kept = question(service)
                self._kept[name] = service.log.last_seq, kept
            return cast("R", kept)

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
            self._service = CampaignService(self._main.folder, readonly=True)
        self._service.log.refresh()
        return self._service


def _tagged(tag: str, page: Json | None) -> web.StreamResponse:
    """The page, or that it is as it was."""
    if page is None:
        return web.Response(status=304, headers={"ETag": tag})
    return web.json_response(page, headers={"ETag": tag})


def _links(folder: CampaignFolder) -> list[Json]:
    """What the researcher hands out: a link for each account, or the study's; and the preview."""
    platform = platform_named(folder.campaign.platform.name)
    links = [{"name": name, "path": f"/{query}", "secret": True} for name, query in folder.links().items()]
    if platform.name != "local":
        links.append({"name": "study", "path": f"/{platform.link}", "secret": False})
    return [*links, {"name": "preview", "path": "/?preview=1", "secret": False}]


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
