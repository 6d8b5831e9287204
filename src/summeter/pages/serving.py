"""Serving of pages: accepted hosts, security headers, and the life of the server."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address
from socket import gethostname
from typing import TYPE_CHECKING

from aiohttp import web

from summeter.records import Parameter, UsageError

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_HOST = re.compile(r"(?:\[([^\]@/]*)\]|([^:@/\s\[\]]*))(?::\d*)?")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # so that the forms of the researcher's pages send an origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Server": "summeter",
}
"""The security headers of every response, without the content security policy."""


def own_hosts(names: Iterable[str], refuse: Callable[[str], Exception]) -> Middleware:
    """Return a middleware that refuses requests addressed to other hosts, with the exception `refuse(host)`.

    This protects against DNS rebinding. IP addresses, `localhost`, the name of this machine and `names` are accepted.
    `X-Forwarded-Host` is ignored, so a proxy must pass on `Host`.
    """
    known = {name.lower().rstrip(".") for name in (*names, "localhost", gethostname())}

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        header = request.headers.get("Host", "").strip()
        parts = _HOST.fullmatch(header)
        host = header if parts is None else (parts[1] or parts[2]).lower().rstrip(".")
        if host and host not in known and not host.endswith(".localhost") and not _is_ip_address(host):
            raise refuse(host[:253])
        return await handler(request)

    return checked


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def serve(
    app: web.Application, host: str, port: int, ready: Callable[[str], None], *remedy: str | Parameter
) -> None:
    """Serve an application until the task is cancelled or SIGINT or SIGTERM is received.

    `ready` is called with the server's address as soon as the server accepts requests. Raises UsageError, which
    ends with `remedy`, if the server cannot listen on the address.
    """
    logging.getLogger("aiohttp.server").addFilter(_is_server_error)
    runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=5)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot listen on {host}, port {port}: {reason}; choose another ", *remedy) from error
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
