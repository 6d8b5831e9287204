"""The web application of a campaign, and the server that runs it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from summeter.annotate.campaign.bodies import LARGEST, Refusal, read_body
from summeter.annotate.campaign.language import REFERENCE, shipped
from summeter.annotate.campaign.log import StoreError
from summeter.annotate.campaign.people import ADJUDICATOR, PREVIEW, Visitor
from summeter.annotate.campaign.requests import REQUESTS, about
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.platforms import platform_named
from summeter.annotate.server import admin
from summeter.annotate.server.security import (
    BODY_SECONDS,
    CSRF,
    RateLimit,
    body_timeout,
    cookie_of,
    headers,
    same_origin,
    set_cookie,
)
from summeter.pages import serving
from summeter.pages.embedded import without_controls
from summeter.pages.language import Language
from summeter.pages.serving import Handler, own_hosts
from summeter.pages.templates import COMPONENTS, environment
from summeter.records import InstallError, Parameter, canonical, digest

if TYPE_CHECKING:
    from markupsafe import Markup

APP = Path(__file__).parents[1] / "app"
COOKIE = "summeter"


def make_app(
    service: CampaignService, hosts: Sequence[str] = (), *, body_seconds: float = BODY_SECONDS
) -> web.Application:
    """Return the web application of an open service, which the caller closes.

    `hosts` are host names to accept in addition to those of the campaign and of this machine. `body_seconds` is the
    maximum time in seconds for receiving the body of a request.
    """
    service.folder.preload()
    middlewares = [_refusals, own_hosts([*service.campaign.hosts, *hosts], _wrong_host), body_timeout(body_seconds)]
    app = web.Application(middlewares=middlewares, client_max_size=LARGEST)
    app.on_response_prepare.append(headers(platform_named(service.campaign.platform.name)))
    site = _Site(app, service)
    for path, handler in {
        "/": site.enter,
        "/work": site.work,
        "/admin/adjudicate": site.adjudicate,
        "/api/session": site.session,
        "/static/task.js": site.task_script,
        "/static/language.js": site.language_script,
        "/static/base.css": site.base_style,
    }.items():
        app.router.add_get(path, handler)
    for name in REQUESTS.keys() - {"session"}:
        app.router.add_post(f"/api/{name}", site.write(name))
    app.router.add_static("/static/", APP / "static", follow_symlinks=False, show_index=False)
    return app


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


def _wrong_host(host: str) -> Refusal:
    return Refusal(
        421,
        "wrong_host",
        f"this server does not accept the host {host}; start it with --allow-host, or add the host to `hosts` in the "
        "campaign file",
    )


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


class _Site:
    """The pages of a campaign, and the request handlers of those for annotators and adjudicators."""

    def __init__(self, app: web.Application, service: CampaignService) -> None:
        self.service, campaign = service, service.campaign
        self.platform = platform_named(campaign.platform.name)
        self.rate_limit = RateLimit()
        self.language = service.folder.language
        self._environment = environment(APP / "templates")
        self._common = {
            "campaign": about(service.folder) | {"contact_link": contact_link(campaign.contact)},
            "task_type": service.task_type.name,
            "static": "/static",
            "framed": False,
            "consent": markdown(campaign.consent),
            "instructions": markdown(campaign.instructions),
        }
        self.researchers = admin.add_routes(app, service, partial(self.page, language=shipped(REFERENCE)))

    def page(
        self, name: str, status: int = 200, more: Mapping[str, Any] | None = None, language: Language | None = None
    ) -> web.Response:
        """Return a page; `more` contains additional template variables."""
        chosen = language or self.language
        variables = {**self._common, "language": chosen, "t": chosen.text, **(more or {})}
        text = without_controls(self._environment.get_template(name).render(variables))
        return web.Response(text=text, content_type="text/html", status=status)

    @cached_property
    def _texts(self) -> str:
        """The JavaScript module with the texts of the language."""
        return f"export default {canonical(self.language.to_page())};\n"

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Set the cookie of the visitor whom the link identifies, and redirect to the work page."""
        query = dict(request.query)
        if query.get("preview") == "1":
            visitor: Visitor | None = Visitor(self.platform.name, PREVIEW)
        else:
            visitor = self.platform.identify(query, self.service.names, self.service.campaign)
        if visitor is None:
            if not query and self._known(request) is not None:
                raise web.HTTPSeeOther("/work")
            return self.page("no_visitor.html", status=401 if query else 200)
        return self._to_work(request, visitor, framed=bool(self.platform.frames))

    async def adjudicate(self, request: web.Request) -> web.StreamResponse:
        """Set the cookie of an adjudicator, and redirect to the work page.

        The query parameter `name` is the adjudicator's name.
        """
        if not self.researchers.may_adjudicate(request):
            return self.page("no_visitor.html", status=401)
        return self._to_work(request, Visitor(ADJUDICATOR, request.query.get("name") or ADJUDICATOR), framed=False)

    def _to_work(self, request: web.Request, visitor: Visitor, *, framed: bool) -> web.Response:
        response = web.Response(status=303, headers={"Location": "/work"})
        set_cookie(request, response, COOKIE, self.service.names.cookie(visitor), framed=framed)
        return response

    async def work(self, request: web.Request) -> web.StreamResponse:
        if self._known(request) is None:
            return self.page("no_visitor.html", status=401)
        framed = request.headers.get("Sec-Fetch-Dest") == "iframe"
        return self.page("work.html", more={"framed": framed})

    async def task_script(self, _: web.Request) -> web.StreamResponse:
        script = self.service.task_type.script
        if script is None:
            raise web.HTTPNotFound
        return web.FileResponse(script)

    async def base_style(self, _: web.Request) -> web.StreamResponse:
        return web.FileResponse(COMPONENTS / "base.css")

    async def language_script(self, request: web.Request) -> web.StreamResponse:
        script = self._texts
        tag = digest(script, 32)
        same = any(known.value == tag for known in request.if_none_match or ())
        response = web.Response(status=304) if same else web.Response(text=script, content_type="text/javascript")
        response.etag = tag
        return response

    async def session(self, request: web.Request) -> web.StreamResponse:
        session = await asyncio.wrap_future(self.service.submit("session", self._visitor(request)))
        return _json({**session, "csrf": self.service.names.csrf(cookie_of(request, COOKIE))})

    def write(self, name: str) -> Handler:
        """Return the handler of a write request."""

        async def handle(request: web.Request) -> web.StreamResponse:
            names, visitor = self.service.names, self._visitor(request)
            same_origin(request)
            token, cookie = request.headers.get(CSRF, ""), cookie_of(request, COOKIE)
            if not names.same(token, "csrf", cookie, length=40):
                raise Refusal(403, "csrf", "the request has no valid CSRF token; load the page again")
            async with self.rate_limit.request(names.annotator(visitor)):
                body = read_body(await request.read())
                # A submitted command is executed even if the browser disconnects; it repeats the request later.
                return _json(await asyncio.shield(asyncio.wrap_future(self.service.submit(name, visitor, body))))

        return handle

    def _visitor(self, request: web.Request) -> Visitor:
        visitor = self._known(request)
        if visitor is None:
            raise Refusal(401, "no_session", "open the link of the study again")
        return visitor

    def _known(self, request: web.Request) -> Visitor | None:
        """Return the visitor whom the cookie identifies; the cookie of another platform is invalid."""
        visitor = self.service.names.visitor_of(cookie_of(request, COOKIE))
        return visitor if visitor and visitor.platform in {ADJUDICATOR, self.platform.name} else None


async def serve(
    service: CampaignService, host: str, port: int, ready: Callable[[str], None], hosts: Sequence[str] = ()
) -> None:
    """Serve the campaign (see `pages.serving.serve`). `hosts` are host names to accept in addition to `host`."""
    remedy = (Parameter("host"), " or ", Parameter("port"))
    await serving.serve(make_app(service, [host, *hosts]), host, port, ready, *remedy)
