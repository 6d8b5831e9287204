"""The researcher's pages: dashboard, quality, annotators, tasks, exclusion and downloads.

The pages require the token that `annotate serve` prints. They read the log through a second, read-only service, so that
annotators never wait for statistics.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode

from aiohttp import web

from summeter.annotate.analysis.status import people, status
from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Event
from summeter.annotate.platforms import platform_named
from summeter.annotate.server.security import cookie_of, is_secure, same_origin, set_cookie
from summeter.records import UsageError

if TYPE_CHECKING:
    from summeter.meta.results import Row

COOKIE = "summeter-admin"
MINUTE = 60_000
REFRESH_SECONDS, SLOW_REFRESH_SECONDS = 5, 15
"""Refresh intervals in seconds: of most pages, and of pages whose statistics take long to compute."""
FAST = 1 / 3
"""An annotator's median time is marked if it is below this fraction of the campaign's median time."""
CONTENT_TYPES = {
    ".zip": "application/zip",
    ".jsonl": "application/jsonl",
    ".csv": "text/csv",
    ".json": "application/json",
}
COEFFICIENTS = {
    "alpha_nominal": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
    "alpha_masi": "Krippendorff's alpha of sets",
    "ac1": "Gwet's AC1",
    "identical": "share of identical votes",
    "span_f1": "F1 of marked characters",
}
COLUMNS: dict[str, Callable[[Any], Any]] = {
    "Annotator": lambda row: row["annotator"],
    "Stage": lambda row: row["outcome"] or row["stage"],
    "Arm": lambda row: row["arm"],
    "Answers": lambda row: row["answered"],
    "Batches": lambda row: row["batches"],
    "Checks passed": lambda row: row["checks_passed"] / row["checks_seen"] if row["checks_seen"] else None,
    "Seconds, median": lambda row: row["seconds_median"],
    "Pay": lambda row: row["pay"],
    "Last seen": lambda row: row["seen_at"],
}
"""Columns of the table on the dashboard, each with the function that returns the sort key of a row."""
NUMBERS = ("Answers", "Batches", "Checks passed", "Seconds, median", "Pay")
BANDS = (("0.2 or less", 0.2), ("0.2 to 0.4", 0.4), ("0.4 to 0.667", 0.667), ("0.667 to 0.8", 0.8), ("above 0.8", 9.0))
"""Bands of agreement with the other annotators, each with its upper limit."""
R = TypeVar("R")
Json = dict[str, Any]
Page = Callable[..., web.Response]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def add_routes(app: web.Application, service: CampaignService, page: Page) -> Admin:
    """Add the routes under /admin, and return the object that handles their requests."""
    admin = Admin(service, page)
    app.router.add_get("/admin", admin.enter)
    app.router.add_get("/admin/quality", admin.protected(admin.quality))
    app.router.add_get("/admin/annotator", admin.protected(admin.annotator))
    app.router.add_get("/admin/task", admin.protected(admin.task))
    app.router.add_get("/admin/links.txt", admin.protected(admin.links))
    app.router.add_post("/admin/exclude", admin.protected(admin.form(service.exclude)))
    app.router.add_post("/admin/reinstate", admin.protected(admin.form(service.reinstate)))
    app.router.add_get("/admin/export/{name}", admin.protected(admin.export))
    app.on_cleanup.append(admin.close)
    return admin


class Admin:
    """The request handlers of the researcher's pages, and their access control.

    The link contains a token, further requests a cookie, and forms also a CSRF token.
    """

    def __init__(self, service: CampaignService, page: Page) -> None:
        self.service, self.page = service, page
        self._reader: CampaignService | None = None
        self._lock = threading.RLock()
        self._known: dict[Callable[[CampaignService], Any], tuple[int, Any]] = {}
        self._token, self._same = service.folder.keys["admin"], service.names.same
        self.cookie = service.names.mark("admin-cookie", self._token)
        self.csrf = service.names.csrf(self.cookie)

    def open_to(self, request: web.Request) -> bool:
        """Return whether a request has the researcher's cookie."""
        return self._same(cookie_of(request, COOKIE), "admin-cookie", self._token)

    def may_adjudicate(self, request: web.Request) -> bool:
        """Return whether a request has the token of the adjudicators' link or the researcher's cookie."""
        token = request.query.get("token", "")
        return self._same(token, "adjudication", self._token, length=40) or self.open_to(request)

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Set the cookie if the link contains the token; show the dashboard if it contains none."""
        token = request.query.get("token")
        if token is None:
            return await self.protected(self.dashboard)(request)
        if not self._same(self.service.names.mark("admin-cookie", token), "admin-cookie", self._token):
            return self.page("no_visitor.html", status=401)
        response = web.Response(status=303, headers={"Location": "/admin"})
        set_cookie(request, response, COOKIE, self.cookie, framed=False)
        return response

    def protected(self, handler: Handler) -> Handler:
        """Return a handler that refuses requests without the researcher's cookie, and shows errors as pages."""

        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self.open_to(request):
                return self.page("no_visitor.html", status=401)
            try:
                return await handler(request)
            except UsageError as error:
                status = error.status if isinstance(error, Refusal) else 422
                return self.page("refused.html", status=status, more={"message": str(error)})

        return guarded

    async def dashboard(self, request: web.Request) -> web.StreamResponse:
        sort, descending = request.query.get("sort", "Annotator"), request.query.get("down") == "1"

        def values(service: CampaignService) -> Json:
            from summeter.annotate.analysis.export import downloads  # statistics: slow to load
            from summeter.annotate.analysis.quality import in_words

            now = status(service, service.state, self.service.now(), service.log.last_seq)
            rows = people(service)
            hidden = {"Pay"} if now["pay"] is None else set()
            if len({row["arm"] for row in rows}) < 2:
                hidden.add("Arm")
            columns = [name for name in COLUMNS if name not in hidden]
            value = COLUMNS.get(sort, COLUMNS["Annotator"])
            known = sorted((row for row in rows if value(row) is not None), key=value, reverse=descending)
            outcomes = (f"{count} {name.replace('_', ' ')}" for name, count in now["outcomes"].items())
            return {
                "now": now,
                "agreement": self.cached(_agreement),
                "in_words": in_words,
                "people": [*known, *(row for row in rows if value(row) is None)],
                "columns": [*columns],
                "numbers": NUMBERS,
                "sort": {name: _sorting(name, sort, descending=descending) for name in columns},
                "outcomes": ", ".join(outcomes),
                "links": _links(service.folder),
                "exports": downloads(service),
                "origin": _origin(request),
                "ending": _ending,
            }

        return await self._live(request, "admin.html", values, minutely=True)

    async def quality(self, request: web.Request) -> web.StreamResponse:
        def values(service: CampaignService) -> Json:
            from summeter.annotate.analysis.quality import in_words, quality  # statistics: slow to load

            found = quality(service)
            annotators = sorted(
                found.annotators,
                key=lambda row: (9 if row["agreement"] is None else row["agreement"], -row["answered"]),
            )
            return {
                "main": found.headline(),
                "agreement": list(found.agreement),
                "annotators": annotators,
                "bands": _bands([row["agreement"] for row in annotators if row["agreement"] is not None]),
                "assistance": found.assistance,
                "pass_share": service.campaign.attention.pass_share,
                "notes": found.notes,
                "in_words": in_words,
                "documents": _documents,
                "coefficients": COEFFICIENTS,
                "fast": FAST,
            }

        return await self._live(request, "quality.html", values)

    async def annotator(self, request: web.Request) -> web.StreamResponse:
        name, only = request.query.get("name", ""), request.query.get("only", "all")
        begin = request.query.get("from", "0")
        if not (begin.isascii() and begin.isdigit() and len(begin) < 10):
            raise UsageError("`from` must be a number of at most nine digits")

        def values(service: CampaignService) -> Json:
            from summeter.annotate.analysis.annotator import FILTERS, SHOWN, annotator_page
            from summeter.annotate.analysis.quality import annotator_statistics

            rows = self.cached(annotator_statistics)
            return {
                "one": annotator_page(service, rows, name, only=only, begin=int(begin)),
                "only": only,
                "begin": int(begin),
                "shown": SHOWN,
                "filters": FILTERS,
                "others": _others,
                "csrf": self.csrf,
                "fast": FAST,
            }

        return await self._live(request, "annotator.html", values)

    async def task(self, request: web.Request) -> web.StreamResponse:
        def values(service: CampaignService) -> Json:
            from summeter.annotate.analysis.annotator import task_page

            return {"one": task_page(service, request.query.get("key", "")), "others": _others}

        return await self._live(request, "task.html", values)

    async def links(self, request: web.Request) -> web.StreamResponse:
        """Return the personal links, one per line: the name, a tab and the link."""
        origin = _origin(request)
        lines = [f"{link['name']}\t{origin}{link['path']}\n" for link in _links(self.service.folder) if link["secret"]]
        return web.Response(text="".join(lines))

    def form(self, action: Callable[..., Event]) -> Handler:
        """Return a handler for the form that excludes or reinstates an annotator with a reason."""

        async def handle(request: web.Request) -> web.StreamResponse:
            same_origin(request)
            form = await request.post()
            annotator, reason = str(form.get("annotator", "")), str(form.get("reason", "")).strip()
            if not self._same(str(form.get("csrf", "")), "csrf", self.cookie, length=40):
                raise UsageError("the form has no valid CSRF token; load the page again")
            if not reason:
                raise UsageError("the reason is missing; give one for the log")
            await asyncio.to_thread(action, annotator, reason[:2000], by="admin")
            return web.Response(status=303, headers={"Location": f"/admin/annotator?{urlencode({'name': annotator})}"})

        return handle

    async def export(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]

        def content(service: CampaignService) -> tuple[str, bytes]:
            from summeter.annotate.analysis.export import content_of, downloads

            file = downloads(service).get(name)
            if file is None:
                raise web.HTTPNotFound
            return file.suffix, content_of(service, name)

        suffix, data = await asyncio.to_thread(self.read, content)
        file = f"{self.service.campaign.name}-{name}{suffix}"
        return web.Response(
            body=data,
            content_type=CONTENT_TYPES[suffix],
            headers={"Content-Disposition": f'attachment; filename="{file}"'},
        )

    def cached(self, query: Callable[[CampaignService], R]) -> R:
        """Return the result of a query, which is kept until the log grows."""

        def look(service: CampaignService) -> R:
            if query not in self._known or self._known[query][0] != service.log.last_seq:
                self._known[query] = service.log.last_seq, query(service)
            return cast("R", self._known[query][1])

        return self.read(look)

    def read(self, query: Callable[[CampaignService], R]) -> R:
        """Return the result of a query on the current log, which is read by a service that runs one query at a time."""
        with self._lock:
            if self._reader is None:
                self._reader = CampaignService(self.service.folder, readonly=True)
            self._reader.log.refresh()
            return query(self._reader)

    async def close(self, _: web.Application) -> None:
        """Close the log after the current query."""

        def end() -> None:
            with self._lock:
                if self._reader is not None:
                    self._reader.close()

        await asyncio.to_thread(end)

    async def _live(
        self, request: web.Request, template: str, values: Callable[[CampaignService], Json], *, minutely: bool = False
    ) -> web.StreamResponse:
        """Return a page, or a response with status 304 if nothing has changed.

        A page changes with new events in the log and, with `minutely`, every minute.
        """
        known = request.headers.get("If-None-Match")
        minute = self.service.now() // MINUTE if minutely else 0

        def draw(service: CampaignService) -> tuple[str, web.Response | None]:
            tag = f'"{service.log.last_seq}-{minute}"'
            if tag == known:
                return tag, None
            more = {
                "here": request.path,
                "every": REFRESH_SECONDS if minutely else SLOW_REFRESH_SECONDS,
                "share": _share,
                "when": _when,
            }
            return tag, self.page(template, more={**more, "money": _money, **values(service)})

        tag, page = await asyncio.to_thread(self.read, draw)
        response = web.Response(status=304) if page is None else page
        response.headers["ETag"] = tag
        return response


def _agreement(service: CampaignService) -> list[Row]:
    from summeter.annotate.analysis.quality import quality

    return quality(service, brief=True).headline()


def _origin(request: web.Request) -> str:
    """Return the origin of the page's address, which is also correct behind a proxy."""
    return f"{'https' if is_secure(request) else 'http'}://{request.host}"


def _links(folder: CampaignFolder) -> list[Json]:
    """Return the links to distribute: one per account, or the study link and the preview link."""
    platform = platform_named(folder.campaign.platform.name)
    links = [{"name": name, "path": f"/{query}", "secret": True} for name, query in folder.links().items()]
    if platform.name != "local":
        links.append({"name": "study", "path": f"/{platform.link}", "secret": False})
    return [*links, {"name": "preview", "path": "/?preview=1", "secret": False}]


def _sorting(name: str, sort: str, *, descending: bool) -> Json:
    """Return the current sort order of a column, and the link that changes it."""
    is_current = name == sort
    order = ("descending" if descending else "ascending") if is_current else "none"
    next_descending = not descending if is_current else name != "Annotator"
    return {"order": order, "link": f"/admin?{urlencode({'sort': name, 'down': int(next_descending)})}"}


def _ending(end: Json) -> tuple[str, str]:
    """Return the expected end of the campaign, and how it was estimated."""
    if end["at"]:
        return _when(end["at"]), end["how"]
    head, colon, rest = end["how"].partition(": ")
    return (head, rest) if colon else ("reached", head)


def _bands(agreements: Sequence[float]) -> list[tuple[str, int]]:
    """Return the number of annotators in each band of agreement.

    The list is empty for fewer than two annotators.
    """
    if len(agreements) < 2:
        return []
    below = [0, *(sum(value <= limit for value in agreements) for _, limit in BANDS)]
    return [(name, below[index + 1] - below[index]) for index, (name, _) in enumerate(BANDS)]


def _documents(row: Row) -> str:
    """Return a description of the documents that a row of agreement is about."""
    if row.domain is not None:
        return f"domain {row.domain}"
    return f"{row.details['by']}: {row.details['group']}" if "group" in row.details else "all"


def _others(answer: Json) -> str:
    """Return a description of how an answer compares with other answers to the same task."""
    if answer["check"]:
        return "check passed" if answer["passed"] else "check failed"
    if not answer["others"]:
        return "no other answers"
    same, others = answer["same"], answer["others"]
    return f"all {others} agree" if same == others else f"{same} of {others} agree"


def _share(part: float | None, whole: float = 1) -> str:
    return f"{round(100 * part / whole)} %" if whole and part is not None else "–"


def _when(at: int | None) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M}" if at else "–"


def _money(amount: float, currency: str) -> str:
    return f"{amount:,.2f} {currency}"
