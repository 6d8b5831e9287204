"""The web application of a campaign, and the server that runs it."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from summeter.annotate.campaign.bodies import LARGEST, Refusal
from summeter.annotate.campaign.language import REFERENCE, Language, shipped
from summeter.annotate.campaign.log import StoreError
from summeter.annotate.campaign.people import ADJUDICATOR, PREVIEW, Visitor
from summeter.annotate.campaign.requests import about
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.server import admin
from summeter.annotate.server.limits import BODY_SECONDS, RateLimit, body_timeout
from summeter.annotate.server.security import (
    CSRF,
    Handler,
    body_of,
    cookie_of,
    headers,
    own_hosts,
    same_origin,
    set_cookie,
)
from summeter.pages.embedded import without_controls
from summeter.pages.templates import COMPONENTS, environment
from summeter.records import InstallError, Parameter, UsageError, canonical, digest

if TYPE_CHECKING:
    from markupsafe import Markup

APP = Path(__file__).parents[1] / "app"
COOKIE = "summeter"
SERVICE: web.AppKey[CampaignService] = web.AppKey("service", CampaignService)
RATE_LIMIT: web.AppKey[RateLimit] = web.AppKey("rate_limit", RateLimit)
PAGES: web.AppKey[Any] = web.AppKey("pages", object)
ADMIN: web.AppKey[admin.AdminAccess] = web.AppKey("admin", admin.AdminAccess)

WRITES = {
    "consent": "consent",
    "instructions": "instructions",
    "qualification": "qualification",
    "training": "training",
    "batch": "batch",
    "opened": "opened",
    "answers": "answers",
    "batch/finish": "finish",
    "return": "return",
    "reopen": "reopen",
}
"""Name of the service request for each path under /api/."""


def make_app(
    service: CampaignService, hosts: Sequence[str] = (), *, body_seconds: float = BODY_SECONDS
) -> web.Application:
    """Return the web application of an open service, which the caller closes.

    `hosts` are host names to accept in addition to those of the campaign and of this machine. `body_seconds` is the
    maximum time in seconds for receiving the body of a request.
    """
    host_check = own_hosts([*service.campaign.hosts, *hosts])
    app = web.Application(middlewares=[_refusals, host_check, body_timeout(body_seconds)], client_max_size=LARGEST)
    app[RATE_LIMIT] = RateLimit()
    service.folder.preload()
    platform = platform_named(service.campaign.platform.name)
    app[SERVICE] = service
    app[PAGES] = _Pages(service)
    app.on_response_prepare.append(headers(platform))
    app.router.add_get("/", _enter)
    app.router.add_get("/work", _work)
    app.router.add_get("/api/session", _session)
    for path, request in WRITES.items():
        app.router.add_post(f"/api/{path}", _write(request))
    app[ADMIN] = admin.add_routes(app, service, app[PAGES].researchers)
    app.router.add_get("/admin/adjudicate", _adjudicate)
    app.router.add_get("/static/task.js", _task_script)
    app.router.add_get("/static/language.js", _language_script)
    app.router.add_get("/static/base.css", _base_style)
    app.router.add_static("/static/", APP / "static", follow_symlinks=False, show_index=False)
    return app


class _Pages:
    """The HTML pages of a campaign."""

    def __init__(self, service: CampaignService) -> None:
        self._environment = environment(APP / "templates")
        campaign = service.campaign
        link = {"contact_link": contact_link(campaign.contact)}
        texts = {"consent": markdown(campaign.consent), "instructions": markdown(campaign.instructions)}
        fields = {"campaign": about(service.folder) | link, "task_type": service.task_type.name, "static": "/static"}
        self._common = {**fields, **texts}
        self.language = service.folder.language

    def page(self, name: str, status: int = 200, more: Mapping[str, Any] | None = None) -> web.Response:
        """Return a page for annotators; `more` contains additional template variables."""
        return self._render(name, status, self.language, more or {})

    def researchers(self, name: str, status: int = 200, more: Mapping[str, Any] | None = None) -> web.Response:
        """Return a page for researchers, in English; `more` contains further template variables."""
        return self._render(name, status, shipped(REFERENCE), more or {})

    def _render(self, name: str, status: int, language: Language, more: Mapping[str, Any]) -> web.Response:
        variables = {**self._common, "framed": False, "language": language, "t": language.text, **more}
        text = without_controls(self._environment.get_template(name).render(variables))
        return web.Response(text=text, content_type="text/html", status=status)

    @cached_property
    def language_script(self) -> str:
        """The JavaScript module with the texts of the language."""
        return f"export default {canonical(self.language.to_page())};\n"


def contact_link(contact: str) -> str | None:
    """Return a link to a contact that is a mail or web address, or None for other contacts.

    >>> contact_link("team@example.org"), contact_link("https://example.org/help"), contact_link("Ann, room 5")
    ('mailto:team@example.org', 'https://example.org/help', None)
    """
    if re.fullmatch(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", contact, re.ASCII):
        return f"mailto:{contact}"
    return contact if re.fullmatch(r"https?://[^\s\"'<>]+", contact, re.ASCII) else None


def markdown(text: str) -> Markup:
    """Convert Markdown to safe HTML: raw HTML is escaped, and links cannot run scripts.

    Raises InstallError if the extra `annotate` is not installed.

    >>> str(markdown("**yes** <b>")).strip()
    '<p><strong>yes</strong> &lt;b&gt;</p>'
    """
    from markupsafe import Markup

    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise InstallError.missing("markdown_it", "annotate") from error

    return Markup(MarkdownIt("commonmark", {"html": False}).render(text))  # noqa: S704 - escaped by MarkdownIt


@web.middleware
async def _refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Return errors as JSON under /api/, and as plain text elsewhere."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return _json(refusal.to_json(), refusal.status)
    except StoreError as error:
        logging.getLogger(__name__).error("the log could not be written: %s", error)
        return _error(503, "store", "the answer could not be stored; this page keeps it and sends it again")
    except web.HTTPRequestEntityTooLarge:
        return _error(413, "too_large", f"the request is larger than {LARGEST} bytes")
    except web.HTTPException as error:
        if not request.path.startswith("/api/"):
            raise
        return _error(error.status, "not_found" if error.status == 404 else "bad_request", error.reason)


def _json(body: Any, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)


def _error(status: int, code: str, message: str) -> web.Response:
    return _json(Refusal(status, code, message).to_json(), status)


async def _enter(request: web.Request) -> web.StreamResponse:
    """Set the cookie of the visitor whom the link identifies, and redirect to the work page."""
    service, query = request.app[SERVICE], dict(request.query)
    name = service.campaign.platform.name
    if query.get("preview") == "1":
        visitor: Visitor | None = Visitor(name, PREVIEW)
    else:
        visitor = platform_named(name).identify(query, service.names, service.campaign)
    if visitor is None:
        if not query and _visitor(request) is not None:
            raise web.HTTPSeeOther("/work")
        return _pages(request).page("no_visitor.html", status=401 if query else 200)
    response = web.Response(status=303, headers={"Location": "/work"})
    framed = bool(platform_named(name).frames)
    set_cookie(request, response, COOKIE, service.names.cookie(visitor), framed=framed)
    return response


async def _adjudicate(request: web.Request) -> web.StreamResponse:
    """Set the cookie of an adjudicator, and redirect to the work page.

    The query parameter `name` is the adjudicator's name.
    """
    if not request.app[ADMIN].may_adjudicate(request):
        return _pages(request).page("no_visitor.html", status=401)
    visitor = Visitor(ADJUDICATOR, request.query.get("name") or ADJUDICATOR)
    response = web.Response(status=303, headers={"Location": "/work"})
    set_cookie(request, response, COOKIE, request.app[SERVICE].names.cookie(visitor), framed=False)
    return response


async def _work(request: web.Request) -> web.StreamResponse:
    if _visitor(request) is None:
        return _pages(request).page("no_visitor.html", status=401)
    framed = request.headers.get("Sec-Fetch-Dest") == "iframe"
    return _pages(request).page("work.html", more={"framed": framed})


async def _task_script(request: web.Request) -> web.StreamResponse:
    script = request.app[SERVICE].task_type.script
    if script is None:
        raise web.HTTPNotFound
    return web.FileResponse(script)


async def _base_style(_: web.Request) -> web.StreamResponse:
    return web.FileResponse(COMPONENTS / "base.css")


async def _language_script(request: web.Request) -> web.StreamResponse:
    script = _pages(request).language_script
    tag = digest(script, 32)
    same = any(known.value == tag for known in request.if_none_match or ())
    response = web.Response(status=304) if same else web.Response(text=script, content_type="text/javascript")
    response.etag = tag
    return response


async def _session(request: web.Request) -> web.StreamResponse:
    service, visitor = request.app[SERVICE], _visitor(request)
    if visitor is None:
        raise Refusal(401, "no_session", "open the link of the study again")
    session = await asyncio.wrap_future(service.submit("session", visitor))
    return _json({**session, "csrf": service.names.csrf(cookie_of(request, COOKIE))})


def _write(name: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        service, visitor = request.app[SERVICE], _visitor(request)
        if visitor is None:
            raise Refusal(401, "no_session", "open the link of the study again")
        same_origin(request)
        token, cookie = request.headers.get(CSRF, ""), cookie_of(request, COOKIE)
        if not service.names.same(token, "csrf", cookie, length=40):
            raise Refusal(403, "csrf", "the request has no valid CSRF token; load the page again")
        async with request.app[RATE_LIMIT].request(service.names.annotator(visitor)):
            body = await body_of(request)
            # A submitted command is executed even if the browser disconnects; the browser repeats the request later.
            return _json(await asyncio.shield(asyncio.wrap_future(service.submit(name, visitor, body))))

    return handle


def _visitor(request: web.Request) -> Visitor | None:
    cookie = cookie_of(request, COOKIE)
    visitor = request.app[SERVICE].names.visitor_of(cookie) if cookie else None
    # The cookie of another platform is invalid.
    known = {ADJUDICATOR, request.app[SERVICE].campaign.platform.name}
    return visitor if visitor and visitor.platform in known else None


def _pages(request: web.Request) -> _Pages:
    pages: _Pages = request.app[PAGES]
    return pages


async def serve(
    service: CampaignService, host: str, port: int, ready: Callable[[str], None], hosts: Sequence[str] = ()
) -> None:
    """Serve the campaign until the task is cancelled or SIGINT or SIGTERM is received.

    `ready` is called with the server's address as soon as the server accepts requests. `hosts` are host names to accept
    in addition to `host`. Raises UsageError if the server cannot listen on the address.
    """
    logging.getLogger("aiohttp.server").addFilter(_is_server_error)
    runner = web.AppRunner(make_app(service, [host, *hosts]), handle_signals=False, access_log=None, shutdown_timeout=5)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"cannot listen on {host}, port {port}: {reason}; choose another ",
                Parameter("host"),
                " or ",
                Parameter("port"),
            ) from error
        bound = runner.addresses[0]
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        ready(f"http://{shown}:{bound[1]}")
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        try:
            await stop.wait()
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
    finally:
        await runner.cleanup()


def _is_server_error(record: logging.LogRecord) -> bool:
    """Return False for log records about malformed HTTP requests.

    Such requests are answered with status 400.
    """
    from aiohttp.http_exceptions import HttpProcessingError

    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
