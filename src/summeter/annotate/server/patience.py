"""How long the server waits for a client: connections that trickle are cut off, so that they cannot take all there are.

aiohttp limits neither the time for a request's head nor for its body. Honest browsers on bad networks stay well below:
what is cut off is sent again with the same answer_id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from aiohttp import web

from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.server.security import Handler

if TYPE_CHECKING:
    from aiohttp.typedefs import Middleware


MOST_SESSIONS = 10_000
"""From so many on those that have long behaved are forgotten."""


class Patience(NamedTuple):
    """Seconds: from connecting (or a request's first byte) to the end of its head, for its body, for taking a reply."""

    head: float = 20.0
    body: float = 30.0
    reply: float = 120.0


class Guards:
    """The connections of one server, each behind a guard that knows whether a request is being answered."""

    def __init__(self, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._by_handler: dict[Any, _Guard] = {}

    def factory(self, server: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """What makes a protocol for each connection, as `loop.create_server` asks for."""

        def guarded() -> asyncio.Protocol:
            handler = server()
            gone = partial(self._by_handler.pop, handler, None)
            guard = self._by_handler[handler] = _Guard(handler, self.patience, gone)
            return guard

        return guarded

    def middleware(self) -> Middleware:
        """Tells the guard that a request's head is there, and limits the time for its body."""

        @web.middleware
        async def patient(request: web.Request, handler: Handler) -> web.StreamResponse:
            guard = self._by_handler.get(request.protocol)
            if guard is not None:
                guard.begin()
            try:
                try:
                    await asyncio.wait_for(request.read(), self.patience.body)
                except TimeoutError as error:
                    raise Refusal(408, "too_slow", "the request took too long to arrive") from error
                except ConnectionResetError as error:
                    # A page that was left while it sent: no fault of the server's, and nobody is there to be told.
                    raise Refusal(400, "gone", "the connection was closed before the request had arrived") from error
                return await handler(request)
            finally:
                if guard is not None:
                    guard.end()

        return patient


class Slowdown:
    """Makes a session wait that keeps sending what is refused: `free` refusals a minute cost nothing, each further one
    doubles the wait before the session's next request is looked at, up to `longest` seconds. Those that a session sends
    at once are looked at one after another, so that others come in between.
    """

    def __init__(self, free: int = 20, longest: float = 8.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.free, self.longest, self._clock = free, longest, clock
        self._refused: dict[str, tuple[float, float]] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, session: str) -> AsyncIterator[None]:
        """The session's turn; a Refusal within it is counted."""
        lock = self._turns.get(session) or asyncio.Lock()
        self._turns[session] = lock
        async with lock:
            await asyncio.sleep(self.wait(session))
            try:
                yield
            except Refusal:
                self.refused(session)
                raise

    def refused(self, session: str) -> None:
        """Count a refusal."""
        if len(self._refused) > MOST_SESSIONS:
            self._refused = {name: kept for name, kept in self._refused.items() if self._count(name) > 1}
        self._refused[session] = self._count(session) + 1, self._clock()

    def wait(self, session: str) -> float:
        """Seconds for which the session's next request is kept waiting."""
        over = self._count(session) - self.free
        return 0.0 if over <= 0 else min(self.longest, 0.1 * 2 ** min(over, 16))

    def _count(self, session: str) -> float:
        """The refusals that are not forgiven yet: `free` of them are, each minute."""
        count, since = self._refused.get(session, (0.0, 0.0))
        return max(0.0, count - (self._clock() - since) * self.free / 60)


class _Guard(asyncio.Protocol):
    """Passes everything on to the protocol behind it, and cuts off whoever is too slow."""

    def __init__(self, handler: Any, patience: Patience, gone: Callable[[], object]) -> None:
        self._handler, self._patience, self._gone = handler, patience, gone
        self._transport: asyncio.BaseTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._answering = False

    def begin(self) -> None:
        """A request's head has arrived."""
        self._answering = True
        self._disarm()

    def end(self) -> None:
        """The request is answered; aiohttp itself ends connections on which no other follows."""
        self._answering = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._arm(self._patience.head)
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self._answering and self._timer is None:
            self._arm(self._patience.head)
        self._handler.data_received(data)

    def pause_writing(self) -> None:
        self._arm(self._patience.reply)
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._disarm()
        self._handler.resume_writing()

    def eof_received(self) -> bool | None:
        kept: bool | None = self._handler.eof_received()
        return kept

    def connection_lost(self, exc: BaseException | None) -> None:
        self._disarm()
        self._gone()
        self._handler.connection_lost(exc)

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._cut)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self) -> None:
        self._timer = None
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()
