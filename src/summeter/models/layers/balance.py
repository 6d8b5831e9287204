"""Several servers of one model, as one LLM: each call goes to the server with the fewest tokens under way.

A server that fails is left out, and its calls go to the others at once. It is asked for its health after a pause, which
doubles as long as it does not answer, and taken back when it does (a circuit breaker; Nygard, 2007). A server that is
busy and turns calls away is not left out: its rate limiter lowers the number of calls that it is given.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.rate_limit import Queue, RateLimiter
from summeter.models.per_loop import PerLoop
from summeter.models.providers.payload import with_prefixes
from summeter.models.tokens import expected
from summeter.records import OutageError, TransientError, UnreachableError
from summeter.runs.usage import Usage

log = logging.getLogger(__name__)

FAILURES = 3
"""Failures in a row, with no answer in between, after which a server is left out; what cannot be reached is at once."""
FIRST, LONGEST = 1.0, 60.0
"""Seconds until a server that was left out is asked for its health; doubled up to the longest."""
UNEVEN = 1.25
"""How much more a server may have under way than the least loaded one to be given what its prefix cache holds."""
PREFIXES = 10_000
"""Documents whose server is remembered."""

Sleep = Callable[[float], Awaitable[None]]


class Server(NamedTuple):
    """One server: the LLM there, the server's address, whether it is well, and its rate limits."""

    llm: LLM
    address: str
    healthy: Callable[[], Awaitable[bool]]
    limiter: RateLimiter


@dataclass
class _Load:
    """What a server has under way, and how it stands."""

    server: Server
    tokens: int = 0
    calls: int = 0
    failures: int = 0
    watch: asyncio.Task[None] | None = None

    @property
    def out(self) -> bool:
        return self.watch is not None

    @property
    def queue(self) -> Queue:
        return self.server.limiter.queue()


class _Board:
    """The servers as one event loop sees them, and which of them read a document last."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.loads = [_Load(server) for server in servers]
        self.homes: OrderedDict[str, _Load] = OrderedDict()


class Balanced:
    """Sends each call to one of several servers of the same model.

    It goes to the server with the fewest tokens under way (prompt and a usual reply); to the one that read the same
    document before, whose prefix cache holds it, where that has little more. While it waits for a place there, another
    server with a free place may take it. A call that fails on one server, or is turned away by it, is made on the next,
    which counts as a further try in `usage`; it fails where all do.
    """

    def __init__(self, servers: Sequence[Server], *, sleep: Sleep = asyncio.sleep, usage: Usage | None = None) -> None:
        self.servers = tuple(servers)
        self.id = self.servers[0].llm.id
        self.usage = usage or Usage()
        self._sleep = sleep
        self._boards: PerLoop[_Board] = PerLoop(lambda: _Board(self.servers))

    async def complete(self, request: Request) -> Completion:
        """The reply of the first server that gives one. Where none does, raises the last failure of the kind that is
        most likely to pass: a busy server before one that failed, and that before one that cannot be reached."""
        board, tokens = self._boards.get(), expected(request).total_tokens
        prefix = next((prefix for _, prefix in with_prefixes(request.messages) if prefix), None)
        waiting = list(board.loads)
        errors: list[TransientError | UnreachableError] = []
        while True:
            load = _choice(board, waiting, prefix, tokens)
            load.tokens += tokens
            try:
                others = {other.queue: other for other in waiting if other is not load and not other.out}
                place = await load.queue.enter(tokens, *others)
                load.tokens -= tokens
                load = others.get(place.queue, load)
                load.tokens += tokens
                load.calls += 1
                waiting.remove(load)
                completion = await place.send(load.server.llm, request)
            except (TransientError, UnreachableError) as error:
                errors.insert(0, error)
                if isinstance(error, TransientError) and error.throttled:
                    waiting = [other for other in waiting if not other.out]
                else:
                    self._failed(load, error)
                if not waiting:
                    # A busy server is the most likely to pass.
                    lasting = (UnreachableError, OutageError)
                    raise min(
                        errors,
                        key=lambda error: (
                            isinstance(error, UnreachableError),
                            isinstance(error, lasting),
                            not (isinstance(error, TransientError) and error.throttled),
                        ),
                    ) from None
                self.usage.retries += 1
            else:
                load.failures = 0
                if prefix is not None:
                    board.homes[prefix] = load
                    board.homes.move_to_end(prefix)
                    if len(board.homes) > PREFIXES:
                        board.homes.popitem(last=False)
                return completion
            finally:
                load.tokens -= tokens

    async def close(self) -> None:
        """Stop watching, and close every server's connections."""
        board = self._boards.pop()
        watches = [load.watch for load in board.loads if load.watch is not None] if board is not None else []
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        for server in self.servers:
            await server.llm.close()

    def _failed(self, load: _Load, error: Exception) -> None:
        load.failures += 1
        if load.out or (load.failures < FAILURES and not isinstance(error, UnreachableError | OutageError)):
            return
        log.warning("%s: %s is left out until it answers again (%s)", self.id, load.server.address, error)
        load.watch = asyncio.create_task(self._watch(load))

    async def _watch(self, load: _Load) -> None:
        """Take the server back when it is well again."""
        pause = FIRST
        while True:
            await self._sleep(pause)
            if await load.server.healthy():
                break
            pause = min(LONGEST, pause * 2)
        load.failures, load.watch = 0, None
        log.warning("%s: %s answers again", self.id, load.server.address)


def _choice(board: _Board, waiting: Sequence[_Load], prefix: str | None, tokens: int) -> _Load:
    """Where a call goes; where all are left out, to one of those: it may be back."""
    able = [load for load in waiting if not load.out] or waiting
    able = [load for load in able if not load.queue.closed] or able
    least = min(able, key=lambda load: (load.tokens, load.calls))
    home = None if prefix is None else board.homes.get(prefix)
    if home is not None and home in able and home.tokens <= UNEVEN * least.tokens + tokens:
        return home
    return least
