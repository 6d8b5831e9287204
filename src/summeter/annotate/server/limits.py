"""Limits for clients: the time for a request's body, and the rate of refused requests.

Slow headers, slow readers and the number of connections must be limited by a reverse proxy (see docs/annotate.md).
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
from summeter.pages.serving import Handler

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware

BODY_SECONDS = 30.0
"""Maximum time in seconds for receiving a body. Browsers on slow networks resend it with the same `answer_id`."""
MINUTE = 60.0


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
