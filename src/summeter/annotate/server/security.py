"""Security: response headers, cookies, and limits on the origin, duration and rate of requests.

Slow headers, slow readers and the number of connections must be limited by a reverse proxy (see docs/annotate.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from aiohttp import web

from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.platforms.base import Platform
from summeter.pages.serving import HEADERS, Handler
from summeter.pages.templates import policy

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware

CSRF = "X-CSRF-Token"
COOKIE_SECONDS = 60 * 60 * 24 * 60
"""Lifetime of cookies: sixty days."""
BODY_SECONDS = 30.0
"""Maximum time in seconds for receiving a body. Browsers on slow networks resend it with the same `answer_id`."""
MINUTE = 60.0


def headers(platform: Platform) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Return a signal handler that adds the security headers to every response.

    The content security policy allows files from this server, forms sent to the platform, and frames on its pages.
    """
    sources = dict.fromkeys(("script-src", "style-src", "connect-src", "font-src"), "'self'")
    images, forms = "'self' data:", f"'self' {platform.forms}".rstrip()
    frames = platform.frames or "'none'"
    allowed = {**sources, "img-src": images, "form-action": forms, "frame-ancestors": frames}
    fixed = HEADERS | {"Content-Security-Policy": policy(allowed)}

    async def prepare(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(fixed)
        static = request.path.startswith("/static/")
        response.headers.setdefault("Cache-Control", "no-cache" if static else "no-store")

    return prepare


def same_origin(request: web.Request) -> None:
    """Refuse a write request that was sent by a page of another site.

    The site is read from the `Sec-Fetch-Site` or `Origin` header. `Sec-Fetch-Site` is correct even behind a proxy that
    changes `Host`; over plain HTTP, browsers send only `Origin`. Requests without either header do not come from
    browsers.
    """
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if site is not None:
        foreign = site not in {"same-origin", "none"}
    else:
        foreign = origin is not None and urlsplit(origin).netloc != request.host
    if foreign:
        raise Refusal(403, "csrf", "this request came from a page of another site")


def is_secure(request: web.Request) -> bool:
    """Return whether a request came over TLS, which a proxy may terminate (`X-Forwarded-Proto`)."""
    return request.secure or request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"


def cookie_of(request: web.Request, name: str) -> str:
    """Return the value of a cookie, or an empty string if the request does not have it."""
    return request.cookies.get(name, "")


def set_cookie(request: web.Request, response: web.StreamResponse, name: str, value: str, *, framed: bool) -> None:
    """Set a cookie that scripts cannot read.

    Unless `framed` is True, browsers do not send the cookie with write requests from other sites. In the frame of a
    platform, browsers only keep cookies that have `SameSite=None` and were set over TLS, separately for each outer site
    (`Partitioned`). Write requests also need the CSRF token.
    """
    secure = is_secure(request)
    site = ["SameSite=None", "Partitioned"] if framed and secure else ["SameSite=Lax"]
    parts = [
        f"{name}={value}",
        "Path=/",
        f"Max-Age={COOKIE_SECONDS}",
        "HttpOnly",
        *site,
        *(["Secure"] if secure else []),
    ]
    response.headers.add("Set-Cookie", "; ".join(parts))  # http.cookies supports Partitioned since Python 3.14


def body_timeout(seconds: float) -> Middleware:
    """Return a middleware that refuses requests with slow bodies (status 408).

    A body is slow if it takes longer than `seconds`.
    """

    @web.middleware
    async def limited(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            await asyncio.wait_for(request.read(), seconds)
        except TimeoutError as error:
            raise Refusal(408, "too_slow", "the request body took too long to arrive; try again") from error
        except ConnectionResetError as error:
            # The page was closed while it was sending, so this is no server error, and no browser waits for the reply.
            raise Refusal(400, "gone", "the connection was closed before the request arrived") from error
        return await handler(request)

    return limited


class RateLimit:
    """A limit for each session: one request at a time, and a delay after many refused requests.

    After `free` refused requests within a minute, each further request waits `pause` seconds.
    """

    def __init__(self, free: int = 20, pause: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.free, self.pause, self._clock = free, pause, clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._refused: dict[str, int] = {}
        self._since = clock()

    @asynccontextmanager
    async def request(self, session: str) -> AsyncIterator[None]:
        """Handle one request of a session, and count a Refusal that is raised in this context."""
        lock = self._locks.setdefault(session, asyncio.Lock())
        async with lock:
            await asyncio.sleep(self.wait(session))
            try:
                yield
            except Refusal:
                self._refused[session] = self._refused.get(session, 0) + 1
                raise

    def wait(self, session: str) -> float:
        """Return the delay of the next request of a session, in seconds.

        The counts of refused requests are reset every minute.
        """
        if self._clock() - self._since >= MINUTE:
            self._refused, self._since = {}, self._clock()
        return self.pause if self._refused.get(session, 0) > self.free else 0.0
