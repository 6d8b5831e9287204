"""Busy and unavailable servers over HTTP."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from models.server import Behaviour, Call, Reply, StubServer, asked, fail, ok

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.models.layers.retry import RetryPolicy
from summeter.models.resolve import CallSettings, bind
from summeter.records import AccessError, UnreachableError

ROWS = [
    {
        "doc_id": f"d{number}",
        "document": f"The bridge {number} is long.",
        "summary": f"Bridge {number} is short, writes {system}.",
        "system": system,
    }
    for number in range(24)
    for system in "abc"
]


def rated(_: Call) -> Reply:
    return ok('{"reason": "It is.", "score": 4}')._replace(delay=0.03)


def run_on(*urls: str, **options: Any) -> Run:
    return evaluate(load(ROWS), ["rts"], models="vllm/m", base_url=",".join(urls), concurrency=32, **options)


class TestABusyServer:
    def test_few_calls_are_rejected_and_none_is_lost(self) -> None:
        with StubServer(rated, capacity=4, busy=fail(429, "slow", retry_after="0.05")) as server:
            run = run_on(server.url)
        assert Counter(score.status for score in run.scores()) == {"ok": 72}
        assert len(server.calls) == 72 + server.turned_away
        assert 0 < server.turned_away < len(server.calls) / 3

    def test_two_busy_servers_stay_in_service(self, caplog: pytest.LogCaptureFixture) -> None:
        busy = fail(429, "slow", retry_after="0.05")
        with (
            caplog.at_level(logging.WARNING),
            StubServer(rated, capacity=4, busy=busy) as one,
            StubServer(rated, capacity=4, busy=busy) as two,
        ):
            run = run_on(one.url, two.url)
        assert Counter(score.status for score in run.scores()) == {"ok": 72}
        assert one.got == two.got == ["/v1/models"]  # neither was left out and asked for its health
        assert not [record for record in caplog.records if record.name.startswith("summeter")]
        calls, turned_away = len(one.calls) + len(two.calls), one.turned_away + two.turned_away
        assert calls == 72 + turned_away
        assert turned_away < calls / 3
        assert min(len(server.calls) - server.turned_away for server in (one, two)) > 20

    def test_a_server_that_rejects_all_calls_gets_few(self) -> None:
        with StubServer(rated) as one, StubServer(rated, capacity=0, busy=fail(503, "loading")) as two:
            run = run_on(one.url, two.url)
        assert Counter(score.status for score in run.scores()) == {"ok": 72}
        assert len(two.calls) < 16

    def test_rejections_do_not_count_while_other_calls_succeed(self) -> None:
        """One summary is rejected five times while the others are answered."""
        refusals: Counter[str] = Counter()

        def behave(call: Call) -> Reply:
            if "Bridge 7 is short, writes a" in call.prompt and refusals["a"] < 5:
                refusals["a"] += 1
                return fail(429, "slow", retry_after="0.01")
            return rated(call)._replace(delay=0.1)

        with StubServer(behave) as server:
            run = evaluate(load(ROWS), ["rts"], models="vllm/m", base_url=server.url, concurrency=6, max_retries=2)
        assert refusals["a"] == 5
        assert Counter(score.status for score in run.scores()) == {"ok": 72}

    def test_an_endpoint_that_is_closed_for_an_hour_ends_the_run(self, tmp_path: Path) -> None:
        with StubServer(rated, capacity=0, busy=fail(429, "slow", retry_after="3600")) as server:
            with pytest.raises(AccessError):
                run_on(server.url, out=tmp_path / "run")
            assert len(server.calls) <= 16
        with StubServer(rated) as server:
            assert Counter(score.status for score in run_on(server.url, out=tmp_path / "run").scores()) == {"ok": 72}


class TestAServerThatIsGone:
    def test_a_run_stops_at_an_address_where_nothing_answers(self, tmp_path: Path) -> None:
        with StubServer(rated) as server:
            url = server.url
        with pytest.raises(UnreachableError, match="base_url"):
            run_on(url, out=tmp_path / "run")
        run = Run(tmp_path / "run")
        assert not run.judgments()
        assert list(run.failures()) == []
        with StubServer(rated) as server:
            again = run_on(server.url, out=tmp_path / "run")
        assert Counter(score.status for score in again.scores()) == {"ok": 72}

    @pytest.mark.parametrize(
        ("behave", "scheme", "tries"),
        [
            (lambda _: Reply(reset=True), "http", 3),  # another program at this port closes each connection
            (lambda _: Reply(hang=True), "http", 3),
            (rated, "https", 0),  # the server does not speak TLS
        ],
    )
    def test_a_run_stops_at_a_server_that_never_answers(
        self, monkeypatch: pytest.MonkeyPatch, behave: Behaviour, scheme: str, tries: int
    ) -> None:
        monkeypatch.setenv("VLLM_API_KEY", "k")
        with StubServer(behave) as server:
            url = server.url.replace("http", scheme)
            with pytest.raises(UnreachableError, match="base_url"):
                evaluate(load(ROWS), ["rts"], models="vllm/m", base_url=url, concurrency=2, max_retries=2, timeout=0.3)
        assert len(server.calls) <= 2 * 3 * tries  # the summaries of two documents, with retries

    def test_a_run_goes_on_if_some_calls_are_never_answered(self) -> None:
        with StubServer(lambda call: Reply(reset=True) if "Bridge 7 " in call.prompt else rated(call)) as server:
            run = run_on(server.url, max_retries=1)
        assert run.manifest.status == "incomplete"
        assert Counter(score.status for score in run.scores()) == {"ok": 69, "error": 3}
        assert len(list(run.failures())) == 3

    def test_a_server_that_restarts_is_waited_for(self, caplog: pytest.LogCaptureFixture) -> None:
        stop = threading.Event()

        def behave(call: Call) -> Reply:
            if call.number == 20:
                stop.set()
            return rated(call)

        first = StubServer(behave)
        second: list[StubServer] = []

        def restart() -> None:
            stop.wait()
            first.__exit__()
            threading.Event().wait(0.3)
            second.append(StubServer(rated, port=int(first.root.rpartition(":")[2])).__enter__())

        first.__enter__()
        thread = threading.Thread(target=restart)
        thread.start()
        with caplog.at_level(logging.WARNING):
            run = run_on(first.url, max_retries=2)
        thread.join()
        second[0].__exit__()
        assert Counter(score.status for score in run.scores()) == {"ok": 72}
        assert len(second[0].calls) > 30
        outages = [record for record in caplog.records if record.name.startswith("summeter")]
        assert 1 <= len(outages) < 10  # not one for each call

    def test_a_server_that_does_not_return_ends_the_run(self) -> None:
        async def main() -> None:
            bound = bind({"judge": "vllm/m"}, None, CallSettings(base_url=url, retry=RetryPolicy(patience=0.5)))
            llm = bound.models["vllm/m"]
            await llm.complete(asked("first"))
            server.__exit__()
            with pytest.raises(UnreachableError):
                await llm.complete(asked("second"))
            await bound.close()

        server = StubServer(rated)
        url = server.__enter__().url
        asyncio.run(main())
