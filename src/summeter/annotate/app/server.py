"""The server: requests in, the desk's replies out. Holds no state of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from summeter.annotate.app import admin, after
from summeter.annotate.app.patience import Guards, Patience
from summeter.annotate.app.security import CSRF, Handler, body_of, cookie_of, headers, same_origin, set_cookie
from summeter.annotate.desk import Desk
from summeter.annotate.people import PREVIEW, Visitor
from summeter.annotate.platforms import platform_named
from summeter.annotate.refusal import Refusal
from summeter.annotate.store.log import StoreError
from summeter.records import UsageError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

HERE = Path(__file__).parent
COOKIE = "summeter"
LARGEST = 64 * 1024
"""Bytes of a body."""
DESK: web.AppKey[Desk] = web.AppKey("desk", Desk)
PAGES: web.AppKey[Any] = web.AppKey("pages", object)

WRITES = {
    "consent": "consent", "instructions": "instructions", "qualification": "qualification", "training": "training",
    "batch": "batch", "opened": "opened", "answers": "answers", "batch/finish": "finish", "return": "return",
}  # fmt: skip
"""Path under /api/ -> request of the desk."""


def make_app(desk: Desk, guards: Guards | None = None) -> web.Application:
    """The application on an open desk. Closing the desk is the caller's; `guards` are those of the connections."""
    patient = (guards or Guards()).middleware()
    app = web.Application(middlewares=[_refusals, patient], client_max_size=LARGEST)
    desk.warm()
    platform = platform_named(desk.campaign.platform.name)
    app[DESK] = desk
    app[PAGES] = _Pages(desk)
    app.on_response_prepare.append(headers(platform))
    app.router.add_get("/", _enter)
    app.router.add_get("/work", _work)
    app.router.add_get("/api/session", _session)
    for path, request in WRITES.items():
        app.router.add_post(f"/api/{path}", _write(request))
    admin.add_routes(app, desk, app[PAGES].page)
    after.add_routes(app, desk, app[PAGES].page)
    app.router.add_static("/static/", HERE / "static", follow_symlinks=False, show_index=False)
    return app


class _Pages:
    """The HTML pages: templates with the campaign's own texts."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._environment = _environment()
        one = desk.campaign
        self._campaign = {
            "title": one.title, "name": one.name, "kind": one.kind, "language": one.language, "contact": one.contact
        }  # fmt: skip
        self.texts = {"consent": markdown(one.consent), "instructions": markdown(one.instructions)}

    def page(self, name: str, status: int = 200, more: Mapping[str, Any] | None = None) -> web.Response:
        """A page as a response; `more` is what only this template gets."""
        given = {"campaign": self._campaign, "static": "/static", "framed": False, **(more or {})}
        text = self._environment.get_template(name).render(given)
        return web.Response(text=text, content_type="text/html", status=status)


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


def markdown(text: str) -> Markup:
    """Markdown as HTML. Raw HTML in it is shown as text, and a link can run nothing.

    >>> str(markdown("**yes** <b>")).strip()
    '<p><strong>yes</strong> &lt;b&gt;</p>'
    """
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    return Markup(MarkdownIt("commonmark", {"html": False}).render(text))  # noqa: S704 - its own escaping


@web.middleware
async def _refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error as JSON under /api/, as aiohttp's plain text elsewhere."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return _json(refusal.to_json(), refusal.status)
    except StoreError as error:
        logging.getLogger(__name__).error("the log could not be written: %s", error)
        return _error(503, "store", "the answer could not be stored; it is kept here and sent again")
    except web.HTTPRequestEntityTooLarge:
        return _error(413, "too_large", f"a body has at most {LARGEST} bytes")
    except web.HTTPException as error:
        if not request.path.startswith("/api/"):
            raise
        return _error(error.status, "not_found" if error.status == 404 else "bad_request", error.reason)


def _json(body: Any, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)


def _error(status: int, code: str, message: str) -> web.Response:
    return _json(Refusal(status, code, message).to_json(), status)


async def _enter(request: web.Request) -> web.StreamResponse:
    """A link: who it names gets a cookie and goes to work; nothing is written."""
    desk, query = request.app[DESK], dict(request.query)
    name = desk.campaign.platform.name
    if query.get("preview") == "1":
        visitor: Visitor | None = Visitor(name, PREVIEW)
    else:
        visitor = platform_named(name).identify(query, desk.names, desk.campaign)
    if visitor is None:
        if not query and _visitor(request) is not None:
            raise web.HTTPSeeOther("/work")
        return _pages(request).page("nobody.html", status=401 if query else 200)
    response = web.Response(status=303, headers={"Location": "/work"})
    framed = bool(platform_named(name).frames)
    set_cookie(request, response, COOKIE, desk.names.cookie(visitor), framed=framed)
    return response


async def _work(request: web.Request) -> web.StreamResponse:
    if _visitor(request) is None:
        return _pages(request).page("nobody.html", status=401)
    framed = request.headers.get("Sec-Fetch-Dest") == "iframe"
    pages = _pages(request)
    return pages.page("work.html", more={"framed": framed, **pages.texts})


async def _session(request: web.Request) -> web.StreamResponse:
    desk, visitor = request.app[DESK], _visitor(request)
    if visitor is None:
        raise Refusal(401, "no_session", "open the link of the study again")
    found = await asyncio.wrap_future(desk.submit("session", visitor))
    return _json({**found, "csrf": desk.names.csrf(cookie_of(request, COOKIE))})


def _write(name: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        desk, visitor = request.app[DESK], _visitor(request)
        if visitor is None:
            raise Refusal(401, "no_session", "open the link of the study again")
        same_origin(request)
        given, cookie = request.headers.get(CSRF, ""), cookie_of(request, COOKIE)
        if not desk.names.same(given, "csrf", cookie, length=40):
            raise Refusal(403, "csrf", "the request lacks the session's token; load the page again")
        body = await body_of(request)
        # Once submitted, the command is decided even if the browser hangs up: it will ask again with the same id.
        return _json(await asyncio.shield(asyncio.wrap_future(desk.submit(name, visitor, body))))

    return handle


def _visitor(request: web.Request) -> Visitor | None:
    cookie = cookie_of(request, COOKIE)
    found = request.app[DESK].names.visitor_of(cookie) if cookie else None
    # A cookie of the time when the campaign came from elsewhere names nobody here.
    return found if found is not None and found.platform == request.app[DESK].campaign.platform.name else None


def _pages(request: web.Request) -> _Pages:
    pages: _Pages = request.app[PAGES]
    return pages


async def serve(
    desk: Desk, host: str, port: int, ready: Callable[[str], None], patience: Patience | None = None
) -> None:
    """Serve until cancelled or told to stop (SIGINT, SIGTERM); what was acknowledged is committed.

    `ready` is called with the address once requests are taken; `patience` is how long slow clients are waited for.
    """
    guards = Guards(patience)
    runner = web.AppRunner(make_app(desk, guards), handle_signals=False, access_log=None, shutdown_timeout=5)
    await runner.setup()
    listening: asyncio.Server | None = None
    try:
        server = cast("Callable[[], asyncio.Protocol]", runner.server)  # there, once the runner is set up
        listening = await _listen(guards.factory(server), host, port)
        bound = listening.sockets[0].getsockname()
        shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
        ready(f"http://{shown}:{bound[1]}")
        await _stopped()
    finally:
        if listening is not None:
            listening.close()
        await runner.cleanup()


async def _listen(protocol: Callable[[], asyncio.Protocol], host: str, port: int) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(protocol, host, port)
    except (OSError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot listen on {host}, port {port}: {said}; choose another --host or --port") from error


async def _stopped() -> None:
    import signal

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop.set)
    try:
        await stop.wait()
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)
