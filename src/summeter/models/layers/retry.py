"""Retry calls after transient failures."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from summeter.models.base import LLM, Completion, Layer, Request
from summeter.records import AccessError, OutageError, TransientError, UnreachableError
from summeter.runs.usage import Usage

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]


class RetryPolicy(NamedTuple):
    """A policy for retries with exponential backoff and full jitter (Brooker, 2015).

    After n consecutive failures, the wait in seconds is distributed uniformly between 0 and min(longest, first * 2**(n
    - 1)), and it is at least the server's Retry-After. `max_retries` limits the number of retries. Two kinds of
    failures are not counted, because they do not depend on the call: rejections by a busy endpoint, and an endpoint
    that can no longer be reached. `patience` limits the total wait after such failures, and any single Retry-After, in
    seconds.
    """

    max_retries: int = 8
    first: float = 0.5
    longest: float = 30.0
    patience: float = 300.0

    def wait(self, tries: int, retry_after: float | None, rng: random.Random) -> float:
        """Return the seconds to wait after `tries` failed tries.

        `retry_after` is the server's Retry-After in seconds, or None if the server sent none.
        """
        backoff = rng.uniform(0.0, min(self.longest, self.first * 2.0 ** (tries - 1)))
        # A random time is added to Retry-After, so that rejected calls do not all return at once.
        return backoff if retry_after is None else retry_after + min(backoff, self.first)


class Retry(Layer):
    """Repeats calls after a TransientError, until they are answered or the retries are exhausted.

    The waits of a call grow while no other call is answered. If the endpoint answers other calls in the meantime, it is
    not down, and the waits start again from the shortest one.
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
        self._outage_logged = False

    async def complete(self, request: Request) -> Completion:
        """Return the first reply, or raise the last failure with the number of tries.

        Raises UnreachableError if the endpoint has never answered or can no longer be reached, and AccessError if it
        rejects calls and asks for a wait longer than the patience; both errors end the run.
        """
        tries = counted = consecutive = 0
        waited = 0.0
        answered = self._answered
        while True:
            try:
                completion = await self.llm.complete(request)
            except TransientError as error:
                alone, answered = answered == self._answered, self._answered
                excused = isinstance(error, OutageError) or (error.throttled and not alone)
                tries, counted = tries + 1, counted + (not excused)
                consecutive = consecutive + 1 if error.throttled or alone else 1
                retry_after = error.retry_after
                if (why := self._reason_to_stop(tries, counted, waited, retry_after)) is not None:
                    if isinstance(error, OutageError) or (error.unanswered and not self._answered):
                        raise UnreachableError(error.args[0], f" ({why})") from error
                    if error.throttled and (retry_after or 0.0) > self._policy.patience:
                        raise AccessError(f"{error} ({why}). The same command resumes the run") from error
                    raise TransientError(f"{error} ({why})", retry_after=retry_after) from error
                if isinstance(error, OutageError) and not self._outage_logged:
                    self._outage_logged = True  # logged once for all calls
                    log.warning("%s. Trying again for up to %.0f s", error, self._policy.patience)
            else:
                self._answered += 1
                self._outage_logged = False
                return completion
            self._usage.retries += 1
            pause = self._policy.wait(consecutive, retry_after, self._rng)
            if excused:
                waited += pause
            await self._sleep(pause)

    def _reason_to_stop(self, tries: int, counted: int, waited: float, retry_after: float | None) -> str | None:
        policy = self._policy
        gave_up = f"gave up after {tries} {'try' if tries == 1 else 'tries'}"
        if counted > policy.max_retries:
            return gave_up
        limit = f"this run waits at most {policy.patience:.0f} s; {gave_up}"
        if retry_after is not None and retry_after > policy.patience:
            return f"the server asks to wait {retry_after:.0f} s, {limit}"
        if waited + (retry_after or 0.0) > policy.patience:
            return f"waited {waited:.0f} s, {limit}"
        return None
