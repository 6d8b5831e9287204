"""Security: response headers, cookies, and checks of the origin of requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.platforms.base import Platform
from summeter.pages.serving import HEADERS
from summeter.pages.templates import policy

CSRF = "X-CSRF-Token"
COOKIE_SECONDS = 60 * 60 * 24 * 60
"""Lifetime of cookies: sixty days."""


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


def cookie_of(request: web.Request, name: str) -> str:
    """Return the value of a cookie, or an empty string if the request does not have it."""
    return request.cookies.get(name, "")


def set_cookie(request: web.Request, response: web.StreamResponse, name: str, value: str, *, framed: bool) -> None:
    """Set a cookie that scripts cannot read.

    Unless `framed` is True, browsers do not send the cookie with write requests from other sites. In the frame of a
    platform, browsers only keep cookies that have `SameSite=None` and were set over TLS, separately for each outer site
    (`Partitioned`). Write requests also need the CSRF token. `X-Forwarded-Proto` says whether a proxy terminates TLS.
    """
    secure = request.secure or request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"
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
