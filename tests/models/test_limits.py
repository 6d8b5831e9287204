"""Rate limits: concurrent calls, requests and tokens per minute, and reduction while an endpoint is overloaded."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.server import asked
from models.virtual import VirtualLoop, virtual_loop

from summeter.models.base import Completion, Request
from summeter.models.layers.item_timeout import within
from summeter.models.layers.rate_limit import Limits, RateLimited, RateLimiter, TokenBucket
from summeter.models.layers.retry import Retry, RetryPolicy
from summeter.models.providers import replies
from summeter.records import ModelError, UsageError


class Server:
    """A server that replies after `delay` virtual seconds, unless `refuse(time)` returns a wait (0.0 for none)."""

    id = "server/one"

    def __init__(
        self, loop: VirtualLoop, refuse: Callable[[float], float | None] = lambda _: None, delay: float = 1.0
    ) -> None:
        self.loop, self.refuse, self.delay = loop, refuse, delay
        self.arrived: list[float] = []
        self.turned_away: list[float] = []
        self.now = self.most = 0

    async def complete(self, request: Request) -> Completion:
        self.arrived.append(self.loop.time())
        asked = self.refuse(self.loop.time())
        if asked is not None:
            self.turned_away.append(self.loop.time())
            headers = {"Retry-After": f"{asked + 1e-6:.6f}"} if asked else {}
            raise replies.failure(replies.Answer(self.id, "http://one", 429, headers, b"too much"))
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.delay)
        self.now -= 1
        return Completion(text="", tokens_in=100, tokens_out=0)

    async def close(self) -> None: ...


def limited(server: Server, limits: Limits) -> RateLimited:
    return RateLimited(server, RateLimiter(limits, clock=server.loop.time))


def run_all(loop: VirtualLoop, llm: Any, count: int) -> list[Any]:
    async def main() -> list[Any]:
        return await asyncio.gather(
            *(llm.complete(asked(f"{number} word")) for number in range(count)), return_exceptions=True
        )

    return loop.run_until_complete(main())


@given(
    st.floats(1, 2000),
    st.lists(st.floats(0, 20), min_size=1, max_size=80),
)
def test_no_minute_has_more_than_the_bucket_allows(a_minute: float, gaps: list[float]) -> None:
    bucket, now, passed = TokenBucket(a_minute, 0.0), 0.0, []
    for gap in gaps:
        now += gap
        now += bucket.wait(1, now) + 1e-9
        bucket.take(1, now)
        passed.append(now)
    for start in passed:
        assert sum(1 for at in passed if start <= at < start + 60) <= a_minute + 1e-6 or a_minute < 2


def test_a_negative_level_is_waited_for() -> None:
    bucket = TokenBucket(6000, 0.0)  # holds 100, and (6000 - 100) / 60 = 98.33 a second flow in
    bucket.take(1000, 0.0)
    assert bucket.wait(100, 0.0) == pytest.approx(1000 / 98.3333, rel=1e-4)
    bucket.take(-500, 0.0)  # it turned out to be half as much
    assert bucket.wait(100, 0.0) == pytest.approx(500 / 98.3333, rel=1e-4)
    assert bucket.wait(5000, 100.0) == 0.0  # what is larger than the bucket passes a full one


def test_requests_a_minute() -> None:
    with virtual_loop() as loop:
        server = Server(loop, delay=0.01)
        run_all(loop, limited(server, Limits(64, requests=120)), 240)
    # 2 at once, then 118 a minute: the last of 240 comes after 238 / 118 minutes.
    assert server.arrived[-1] == pytest.approx(238 / 118 * 60, abs=1)
    for start in server.arrived:
        assert sum(1 for at in server.arrived if start <= at < start + 60) <= 120


def test_tokens_a_minute_are_corrected_by_what_was_used() -> None:
    with virtual_loop() as loop:
        server = Server(loop, delay=0.5)  # says it took 100 tokens; a one-word prompt and a usual reply are thought 202
        run_all(loop, limited(server, Limits(64, tokens=6000)), 120)
    # 120 calls of 100 tokens at 6,000 a minute: two minutes, not the four that were thought.
    assert 100 < server.arrived[-1] < 135


def test_no_call_is_sent_before_the_retry_after_of_the_server() -> None:
    with virtual_loop() as loop:
        server = Server(loop, refuse=lambda now: 30.0 - now if now < 30 else None)
        llm = Retry(limited(server, Limits(8)), RetryPolicy(), rng=random.Random(0))
        results = run_all(loop, llm, 100)
    assert all(isinstance(one, Completion) for one in results)
    # The eight that were under way when the first refusal came, and not one before the time was over.
    assert len(server.turned_away) <= 8
    assert not [at for at in server.arrived if 0 < at < 30]


def test_a_single_rejection_does_not_delay_other_calls() -> None:
    with virtual_loop() as loop:
        seen: list[int] = []

        def refuse(now: float) -> float | None:
            seen.append(1)
            return 1000.0 if len(seen) == 50 else None

        server = Server(loop, refuse=refuse)
        limiter = RateLimiter(Limits(10), clock=loop.time)
        run_all(loop, RateLimited(server, limiter), 100)
        assert loop.time() == pytest.approx(10.0, abs=1.1)  # 100 calls of a second, ten at a time

        async def allowed() -> float:
            return limiter.queue().allowed

        assert loop.run_until_complete(allowed()) == 10


def test_a_limited_endpoint_is_used_at_its_rate_with_few_rejections() -> None:
    """The server answers 10 calls per second and rejects the others without Retry-After."""
    with virtual_loop() as loop:
        slots: dict[int, int] = {}

        def refuse(now: float) -> float | None:
            slots[int(now)] = slots.get(int(now), 0) + 1
            return 0.0 if slots[int(now)] > 10 else None

        server = Server(loop, refuse=refuse, delay=0.2)
        llm = Retry(limited(server, Limits(64)), RetryPolicy(max_retries=50), rng=random.Random(1))
        results = run_all(loop, llm, 1000)
    assert all(isinstance(one, Completion) for one in results)
    assert loop.time() < 100 / 0.5  # 1,000 calls at 10 a second take 100 s; at least half the rate is used
    assert len(server.turned_away) < 1000  # 64 connections hammering would be turned away 20 times as often


def test_connections_come_back_after_a_bad_time() -> None:
    with virtual_loop() as loop:
        server = Server(loop, refuse=lambda now: 5.0 if now < 20 else None)
        llm = Retry(limited(server, Limits(32)), RetryPolicy(max_retries=50), rng=random.Random(2))
        run_all(loop, llm, 2000)
    assert server.most == 32


def test_two_models_of_an_endpoint_share_its_limits() -> None:
    with virtual_loop() as loop:
        server = Server(loop)
        limiter = RateLimiter(Limits(4, requests=60), clock=loop.time)
        first, second = RateLimited(server, limiter), RateLimited(server, limiter)

        async def main() -> None:
            await asyncio.gather(*((first, second)[n % 2].complete(asked(f"{n} word")) for n in range(60)))

        loop.run_until_complete(main())
    assert server.most <= 4
    assert server.arrived[-1] == pytest.approx(60, abs=1)


def test_a_cancelled_waiter_releases_its_turn() -> None:
    with virtual_loop() as loop:
        server = Server(loop)
        limit = limited(server, Limits(1))

        async def main() -> None:
            tasks = [asyncio.create_task(limit.complete(asked(f"{n} word"))) for n in range(4)]
            await asyncio.sleep(0.5)
            tasks[1].cancel()
            await asyncio.sleep(0.6)  # the third has its place now
            tasks[2].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        loop.run_until_complete(main())
        assert [round(at, 3) for at in server.arrived] == [0.0, 1.0, 1.1]


@pytest.mark.parametrize("limits", [Limits(0), Limits(1, requests=0), Limits(1, tokens=-5)])
def test_a_limit_below_one_is_refused(limits: Limits) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        RateLimiter(limits)


class TestItemTimeout:
    def test_the_timeout_of_an_item_includes_all_its_calls(self) -> None:
        with virtual_loop() as loop:
            server = Server(loop, refuse=lambda _: 4.0)
            llm = Retry(server, RetryPolicy(max_retries=50), rng=random.Random(0))
            with pytest.raises(ModelError, match="exceeded the timeout of 10 s per item"):
                loop.run_until_complete(within(10.0, llm.complete(asked("0 word"))))
            assert loop.time() == pytest.approx(10.0)

    def test_waits_for_the_rate_limit_are_not_counted(self) -> None:
        with virtual_loop() as loop:
            limit = limited(Server(loop, delay=3.0), Limits(1))

            async def main() -> list[Any]:
                return await asyncio.gather(*(within(4.0, limit.complete(asked(f"{n} word"))) for n in range(10)))

            assert len(loop.run_until_complete(main())) == 10
            assert loop.time() == pytest.approx(30.0)

    def test_a_timeout_inside_the_work_is_not_changed(self) -> None:
        async def late() -> None:
            raise TimeoutError("mine")

        with virtual_loop() as loop, pytest.raises(TimeoutError, match="mine"):
            loop.run_until_complete(within(4.0, late()))
