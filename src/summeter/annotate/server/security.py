"""What every response carries, and what every write must bring."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address
from socket import gethostname
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web

from summeter.annotate.campaign.bodies import Json, Refusal, read_body
from summeter.annotate.platforms.base import Platform
from summeter.pages.templates import policy

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
CSRF = "X-CSRF-Token"
_HOST = re.compile(r"(?:\[([^\]@/]*)\]|([^:@/\s\[\]]*))(?::\d*)?")
KEPT = 60 * 60 * 24 * 60
"""Seconds for which a browser keeps a cookie: sixty days."""


def headers(platform: Platform) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """The signal that puts the headers on every response, errors and files too.

    The content security policy allows our own files, and the platform's forms and frames.
    """
    own = dict.fromkeys(("script-src", "style-src", "connect-src", "font-src"), "'self'")
    images, forms = "'self' data:", f"'self' {platform.forms}".rstrip()
    frames = platform.frames or "'none'"
    allowed = {**own, "img-src": images, "form-action": forms, "frame-ancestors": frames}
    fixed = {
        "Content-Security-Policy": policy(allowed),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",  # without it the forms of the researcher's pages would name no origin
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        "Server": "summeter",
    }

    async def prepare(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(fixed)
        static = request.path.startswith("/static/")
        response.headers.setdefault("Cache-Control", "no-cache" if static else "no-store")

    return prepare


def same_origin(request: web.Request) -> None:
    """Refuse a write that another site's page sent. Browsers say whose page it was; other clients say nothing.

    What `Sec-Fetch-Site` says holds behind a proxy that changes `Host`, too; over plain HTTP there is only `Origin`.
    """
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if site is not None:
        foreign = site not in {"same-origin", "none"}
    else:
        foreign = origin is not None and urlsplit(origin).netloc != request.host
    if foreign:
        raise Refusal(403, "csrf", "this request came from another site's page")


def cookie_of(request: web.Request, name: str) -> str:
    """A cookie's value, or an empty text."""
    return request.cookies.get(name, "")


def set_cookie(request: web.Request, response: web.StreamResponse, name: str, value: str, *, framed: bool) -> None:
    """A cookie no script can read and, but for a `framed` page, no other site can send with a write.

    In a platform's frame a browser keeps only cookies that say `SameSite=None`, over TLS; each outer site gets its own
    (`Partitioned`), and writes need the CSRF token as well. A proxy says by `X-Forwarded-Proto` that it ends TLS.
    """
    secure = request.secure or request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"
    site = ["SameSite=None", "Partitioned"] if framed and secure else ["SameSite=Lax"]
    parts = [f"{name}={value}", "Path=/", f"Max-Age={KEPT}", "HttpOnly", *site, *(["Secure"] if secure else [])]
    response.headers.add("Set-Cookie", "; ".join(parts))  # http.cookies knows Partitioned from Python 3.14 on


async def body_of(request: web.Request) -> Json:
    """The JSON object of a request, within the bounds."""
    return read_body(await request.read())


def own_hosts(names: Iterable[str]) -> Middleware:
    """Refuses a request for another host: a page whose name was made to point here (DNS rebinding) could send one.

    Numbers are no names and always pass, as do this machine's own names; `names` are those of the campaign and of
    the command. `X-Forwarded-Host` is not looked at: a proxy passes on the `Host` that it was asked for.
    """
    known = {name.lower().rstrip(".") for name in (*names, "localhost", gethostname())}

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = _name_of(request.headers.get("Host", ""))
        if host and host not in known and not host.endswith(".localhost") and not _is_number(host):
            raise Refusal(
                421,
                "wrong_host",
                f"this server does not answer for {host[:253]}; start it with --allow-host, or name it in the "
                "campaign's `hosts`",
            )
        return await handler(request)

    return checked


def _name_of(host: str) -> str:
    """The name in a Host header, without the port; what is no such header as it is."""
    parts = _HOST.fullmatch(host.strip())
    return host if parts is None else (parts[1] or parts[2]).lower().rstrip(".")


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
