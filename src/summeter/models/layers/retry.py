"""Tries again what can be tried again."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from summeter.models.base import LLM, Completion, Request
from summeter.models.layers.base import Layer
from summeter.records import AccessError, OutageError, TransientError, UnreachableError
from summeter.runs.usage import Usage

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]


class RetryPolicy(NamedTuple):
    """Waits in seconds: after n failures in a row a draw from 0 to min(longest, first * 2**(n - 1)) ("full jitter",
    Brooker, 2015), and never less than the server's Retry-After.

    `max_retries` bounds the tries after the first. Two failures say nothing about the call and do not count among
    them: the endpoint turns it away because it is busy with others, or cannot be reached any more. `patience` bounds
    the sum of the waits after those, and any single Retry-After.
    """

    max_retries: int = 8
    first: float = 0.5
    longest: float = 30.0
    patience: float = 300.0

    def wait(self, tries: int, wish: float | None, rng: random.Random) -> float:
        """Seconds to wait after `tries` failed tries; `wish` is the server's Retry-After."""
        drawn = rng.uniform(0.0, min(self.longest, self.first * 2.0 ** (tries - 1)))
        # The wish is kept in full; a little on top, so that all who were sent away do not return at once.
        return drawn if wish is None else wish + min(drawn, self.first)


class Retry(Layer):
    """Asks the layer below again after a TransientError, until it answers or the retries are used up.

    The waits of a call grow while nothing else is answered either. An endpoint that answers others meanwhile is not
    down, and the failure was this try's own: the next wait is a short one again.
    """

    def __init__(
        self, llm: LLM, policy: RetryPolicy | None = None, *, rng: random.Random,
        sleep: Sleep = asyncio.sleep, usage: Usage | None = None,
    ) -> None:  # fmt: skip
        super().__init__(llm)
        self._policy = policy or RetryPolicy()
        self._rng = rng
        self._sleep = sleep
        self._usage = usage or Usage()
        self._answered = 0
        self._out = False

    async def complete(self, request: Request) -> Completion:
        """The first reply. Gives up with the last failure and the number of tries. Raises UnreachableError where the
        endpoint could not be reached any more, and AccessError where it turns all calls away for longer than the
        patience: both end the run."""
        tries = counted = row = 0
        waited = 0.0
        answered = self._answered
        while True:
            try:
                completion = await self.llm.complete(request)
            except TransientError as error:
                alone, answered = answered == self._answered, self._answered
                excused = isinstance(error, OutageError) or (error.throttled and not alone)
                tries, counted = tries + 1, counted + (not excused)
                row = row + 1 if error.throttled or alone else 1
                wish = error.retry_after
                if (why := self._over(tries, counted, waited, wish)) is not None:
                    if isinstance(error, OutageError):
                        raise UnreachableError(f"{error} ({why})") from error
                    if error.throttled and (wish or 0.0) > self._policy.patience:
                        raise AccessError(f"{error} ({why}). The same command resumes the run") from error
                    raise TransientError(f"{error} ({why})", retry_after=wish) from error
                if isinstance(error, OutageError) and not self._out:
                    self._out = True  # said once for all calls
                    log.warning("%s. Trying again for up to %.0f s", error, self._policy.patience)
            else:
                self._answered += 1
                self._out = False
                return completion
            self._usage.retries += 1
            pause = self._policy.wait(row, wish, self._rng)
            if excused:
                waited += pause
            await self._sleep(pause)

    def _over(self, tries: int, counted: int, waited: float, wish: float | None) -> str | None:
        """Why there is no further try, or None."""
        policy = self._policy
        gave_up = f"gave up after {tries} {'try' if tries == 1 else 'tries'}"
        if counted > policy.max_retries:
            return gave_up
        if wish is not None and wish > policy.patience:
            return f"the server asks to wait {wish:.0f} s, this run waits at most {policy.patience:.0f} s; {gave_up}"
        if waited + (wish or 0.0) > policy.patience:
            return f"waited {waited:.0f} s, this run waits at most {policy.patience:.0f} s; {gave_up}"
        return None
