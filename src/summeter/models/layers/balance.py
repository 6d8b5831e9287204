"""Several servers of one model, as one LLM: each call goes to the server with the fewest tokens under way.

A server that fails is left out, and its calls go to the others at once. It is asked for its health after a pause, which
doubles as long as it does not answer, and taken back when it does (a circuit breaker; Nygard, 2007).
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.meter import Usage
from summeter.models.per_loop import PerLoop
from summeter.models.providers.payload import with_prefixes
from summeter.models.tokens import expected
from summeter.records import TransientError, UnreachableError

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
    """One server: the LLM within the server's own limits, its address, and whether it is well."""

    llm: LLM
    address: str
    healthy: Callable[[], Awaitable[bool]]


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


class _Board:
    """The servers as one event loop sees them, and which of them read a document last."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.loads = [_Load(server) for server in servers]
        self.homes: OrderedDict[str, _Load] = OrderedDict()


class Balanced:
    """Sends each call to one of several servers of the same model.

    It goes to the server with the fewest tokens under way (prompt and a usual reply); to the one that read the same
    document before, whose prefix cache holds it, where that has little more. A call that fails on one server is made on
    the next, which counts as a further try in `usage`; it fails where all do. What a server turns away because it is
    asked too much is no failure of the server.
    """

    def __init__(self, servers: Sequence[Server], *, sleep: Sleep = asyncio.sleep, usage: Usage | None = None) -> None:
        self.servers = tuple(servers)
        self.id = self.servers[0].llm.id
        self.usage = usage or Usage()
        self._sleep = sleep
        self._boards: PerLoop[_Board] = PerLoop(lambda: _Board(self.servers))

    async def complete(self, request: Request) -> Completion:
        """The reply of the first server that gives one. Raises the last failure where none does, one that may pass
        before that of a server out of reach."""
        board, tokens = self._boards.get(), expected(request).total
        prefix = next((prefix for _, prefix in with_prefixes(request.messages) if prefix), None)
        waiting = list(board.loads)
        passing: TransientError | None = None
        while True:
            load = _choice(board, waiting, prefix, tokens)
            waiting.remove(load)
            load.tokens += tokens
            load.calls += 1
            try:
                completion = await load.server.llm.complete(request)
            except (TransientError, UnreachableError) as error:
                if isinstance(error, TransientError):
                    if error.throttled:
                        raise
                    passing = error
                self._failed(load, error)
                if not waiting:
                    if passing is None or passing is error:
                        raise
                    raise passing from error
                self.usage.retries += 1
            else:
                load.failures = 0
                if prefix is not None:
                    _remember(board.homes, prefix, load)
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
        if load.out or (load.failures < FAILURES and not isinstance(error, UnreachableError)):
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
    least = min(able, key=lambda load: (load.tokens, load.calls))
    home = None if prefix is None else board.homes.get(prefix)
    if home is not None and home in able and home.tokens <= UNEVEN * least.tokens + tokens:
        return home
    return least


def _remember(homes: OrderedDict[str, _Load], prefix: str, load: _Load) -> None:
    homes[prefix] = load
    homes.move_to_end(prefix)
    if len(homes) > PREFIXES:
        homes.popitem(last=False)
