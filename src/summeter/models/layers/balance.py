"""Balance the load of several servers of one model.

Each call is sent to the server with the fewest tokens in flight. A server that fails is excluded, and its calls are
sent to the other servers at once. The health of an excluded server is checked after a pause, which is doubled until the
server answers and is used again (a circuit breaker; Nygard, 2007). A busy server that rejects calls is not excluded:
its rate limiter reduces the number of concurrent calls.
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
"""Number of consecutive failures after which a server is excluded; an unreachable server is excluded at once."""
FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
"""Seconds before the first health check of an excluded server, and the maximum to which this pause is doubled."""
MAX_IMBALANCE = 1.25
"""Maximum load of a server that is chosen for its cached prefix, as a multiple of that of the least loaded server."""
MAX_PREFIXES = 10_000
"""Maximum number of documents whose server is remembered."""


class Server(NamedTuple):
    """A server: its LLM, its address, a health check and its rate limiter."""

    llm: LLM
    address: str
    healthy: Callable[[], Awaitable[bool]]
    limiter: RateLimiter


@dataclass
class _Load:
    """The calls and tokens in flight at a server, and its consecutive failures.

    `watch` is the task that checks the health of the server while it is excluded, and None otherwise.
    """

    server: Server
    tokens: int = 0
    calls: int = 0
    failures: int = 0
    watch: asyncio.Task[None] | None = None

    @property
    def excluded(self) -> bool:
        return self.watch is not None

    @property
    def queue(self) -> Queue:
        return self.server.limiter.queue()


class Balanced:
    """An LLM that sends each call to one of several servers of the same model.

    A call goes to the server with the fewest tokens in flight (those of the prompts and of typical replies). If another
    server was the last to read the same document and therefore has it in its prefix cache, the call goes to that server
    unless its load is much higher. While the call waits, any server with free capacity may take it. A call that fails
    or is rejected is sent to the next server, which is counted as a retry in `usage`; the call fails if all servers
    fail.
    """

    def __init__(self, servers: Sequence[Server], *, usage: Usage | None = None) -> None:
        self.servers = tuple(servers)
        self.id = self.servers[0].llm.id
        self.usage = usage or Usage()
        self._loads = PerLoop(lambda: [_Load(server) for server in self.servers])
        # The server that last read each document.
        self._by_prefix: PerLoop[OrderedDict[str, _Load]] = PerLoop(OrderedDict)

    async def complete(self, request: Request) -> Completion:
        """Return the reply of the first server that gives one.

        If all servers fail, the error that is most likely to be temporary is raised: that of a busy server, or else
        that of a failed server, or else that of an unreachable server.
        """
        waiting, by_prefix = list(self._loads.get()), self._by_prefix.get()
        tokens = expected(request).total_tokens
        prefix = next((prefix for _, prefix in with_prefixes(request.messages) if prefix), None)
        errors: list[TransientError | UnreachableError] = []
        while True:
            load = _choice(waiting, None if prefix is None else by_prefix.get(prefix), tokens)
            load.tokens += tokens
            try:
                others = {other.queue: other for other in waiting if other is not load and not other.excluded}
                permit = await load.queue.acquire(tokens, *others)
                load.tokens -= tokens
                load = others.get(permit.queue, load)
                load.tokens += tokens
                load.calls += 1
                waiting.remove(load)
                completion = await permit.send(load.server.llm, request)
            except (TransientError, UnreachableError) as error:
                errors.insert(0, error)
                if isinstance(error, TransientError) and error.throttled:
                    waiting = [other for other in waiting if not other.excluded]
                else:
                    load.failures += 1
                    lasting = isinstance(error, UnreachableError | OutageError)
                    if not load.excluded and (lasting or load.failures >= FAILURES):
                        log.warning(
                            "%s: %s is not used until it answers again (%s)", self.id, load.server.address, error
                        )
                        load.watch = asyncio.create_task(self._watch(load))
                if not waiting:
                    raise min(
                        errors,
                        key=lambda error: (
                            isinstance(error, UnreachableError),
                            isinstance(error, UnreachableError | OutageError),
                            not (isinstance(error, TransientError) and error.throttled),
                        ),
                    ) from None
                self.usage.retries += 1
            else:
                load.failures = 0
                if prefix is not None:
                    by_prefix[prefix] = load
                    by_prefix.move_to_end(prefix)
                    if len(by_prefix) > MAX_PREFIXES:
                        by_prefix.popitem(last=False)
                return completion
            finally:
                load.tokens -= tokens

    async def close(self) -> None:
        """Stop the health checks and close the connections of all servers."""
        watches = [load.watch for load in self._loads.pop() or () if load.watch is not None]
        self._by_prefix.pop()
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        for server in self.servers:
            await server.llm.close()

    async def _watch(self, load: _Load) -> None:
        """Check the health of an excluded server until it answers, and then include it again."""
        pause = FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            if await load.server.healthy():
                break
            pause = min(MAX_PAUSE, pause * 2)
        load.failures, load.watch = 0, None
        log.warning("%s: %s answers again", self.id, load.server.address)


def _choice(waiting: Sequence[_Load], cached: _Load | None, tokens: int) -> _Load:
    """Return the server for a call, whose prefix is in the cache of the server `cached`, if it is in any.

    If all servers are excluded, one of them is used, since it may have recovered.
    """
    candidates = [load for load in waiting if not load.excluded] or waiting
    candidates = [load for load in candidates if not load.queue.closed] or candidates
    least = min(candidates, key=lambda load: (load.tokens, load.calls))
    if cached is not None and cached in candidates and cached.tokens <= MAX_IMBALANCE * least.tokens + tokens:
        return cached
    return least
