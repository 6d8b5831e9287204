"""Limits on what one client may take of the server: time for a request's body, and requests that are refused.

Slow heads, slow readers and many connections are a reverse proxy's job (docs/annotate.md).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from aiohttp import web

from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.server.security import Handler

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware

BODY_SECONDS = 30.0
"""A request's body must arrive within this time. Browsers on slow networks send it again with the same answer_id."""
MINUTE = 60.0


def body_timeout(seconds: float) -> Middleware:
    """Refuses with 408 a request whose body takes longer to arrive."""

    @web.middleware
    async def limited(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            await asyncio.wait_for(request.read(), seconds)
        except TimeoutError as error:
            raise Refusal(408, "too_slow", "the request took too long to arrive") from error
        except ConnectionResetError as error:
            # The page was left while it sent: not an error of the server, and no client waits for the reply.
            raise Refusal(400, "gone", "the connection was closed before the request had arrived") from error
        return await handler(request)

    return limited


class RateLimit:
    """A limit on each session: one request at a time, and after `free` refused requests in a minute a wait of `pause`
    seconds before each further one.

    Whatever a session sends at once, the requests of others come in between.
    """

    def __init__(self, free: int = 20, pause: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.free, self.pause, self._clock = free, pause, clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._refused: dict[str, int] = {}
        self._since = clock()

    @asynccontextmanager
    async def request(self, session: str) -> AsyncIterator[None]:
        """One request of a session; a Refusal inside is counted."""
        lock = self._locks.setdefault(session, asyncio.Lock())
        async with lock:
            await asyncio.sleep(self.wait(session))
            try:
                yield
            except Refusal:
                self._refused[session] = self._refused.get(session, 0) + 1
                raise

    def wait(self, session: str) -> float:
        """Seconds before the session's next request is read. All counts start again each minute."""
        if self._clock() - self._since >= MINUTE:
            self._refused, self._since = {}, self._clock()
        return self.pause if self._refused.get(session, 0) > self.free else 0.0
