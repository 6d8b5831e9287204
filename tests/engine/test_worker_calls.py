"""Calls of workers to a model: one account, one store and one limit, which are the driver's."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
import time
from collections import Counter
from concurrent.futures import Future
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import ThreadExecutor
from engine.judges import rows
from engine.llm import answer
from engine.test_workers import files, without_times
from models.server import HANG, Call, Reply, StubServer, fail, ok

from summeter.engine.api import evaluate
from summeter.engine.executors.fleet import Answered, Trouble
from summeter.engine.executors.processes import ProcessExecutor
from summeter.engine.runs import Run
from summeter.models.layers.item_timeout import Allowance, counted, handed_over, waiting, within
from summeter.records import (
    AccessError,
    BudgetError,
    CapabilityError,
    ModelError,
    Parameter,
    ReplayMiss,
    SummeterError,
    TransientError,
    UsageError,
)

from models.virtual import virtual_loop  # isort: skip

TWO = ProcessExecutor(workers=2)
EIGHT = ThreadExecutor(workers=8)
MODEL = "openai-api/stub/judge-1"
EACH = 18  # tokens of a stub's reply


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")


def behave(call: Call) -> Reply:
    return ok(answer(call.prompt))


def run_on(server: StubServer, documents: int, out: Path, **options: Any) -> Run:
    return evaluate(rows(documents), ["finesure"], models=MODEL, out=out, base_url=server.url, **options)


def prompts(server: StubServer) -> Counter[str]:
    return Counter(str(call.body["messages"]) for call in server.calls)


def test_a_run_by_workers_asks_what_a_run_alone_asks_and_replays_to_the_same_files(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        run = run_on(server, 6, tmp_path / "workers", executor=TWO)
    assert len(server.calls) == len(prompts(server)) == 6 + 12 + 12
    used = run.manifest.usage[MODEL]
    assert (used.calls, used.tokens_in, used.tokens_out) == (30, 330, 210)
    alone = evaluate(rows(6), ["finesure"], replay=run.folder, out=tmp_path / "alone")
    again = evaluate(rows(6), ["finesure"], replay=run.folder, out=tmp_path / "again", executor=TWO)
    assert files(run.folder) == files(alone.folder) == files(again.folder)
    assert set(run.manifest.counts) == {"ok"}


def test_no_worker_needs_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []
    start = ThreadExecutor().fleet

    def fleet(self: ThreadExecutor) -> Any:
        opened = start()

        async def begin(setup: Any, answer: Any) -> None:
            seen.append({"setup": pickle.dumps(setup).decode("latin-1")})
            await type(opened).open(opened, setup, answer)

        opened.open = begin  # type: ignore[method-assign]
        return opened

    monkeypatch.setattr(ThreadExecutor, "fleet", fleet)
    with StubServer(behave) as server:
        run_on(server, 2, tmp_path / "run", executor=ThreadExecutor())
    assert len(seen) == 1
    assert "sk-secret-stub" not in seen[0]["setup"]
    assert server.url not in seen[0]["setup"]


def test_a_worker_killed_in_the_middle_pays_for_nothing_twice(tmp_path: Path) -> None:
    killed: list[int] = []

    def slow(call: Call) -> Reply:
        return behave(call)._replace(delay=0.03)

    def kill() -> None:
        while len(server.calls) < 15:
            time.sleep(0.01)
        victim = active_children()[0]
        os.kill(victim.pid or 0, signal.SIGKILL)
        killed.append(victim.pid or 0)

    with StubServer(slow) as server:
        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        run = run_on(server, 20, tmp_path / "run", executor=TWO, concurrency=4)
        thread.join(10)
    assert len(killed) == 1
    assert run.manifest.status == "complete"
    assert set(prompts(server).values()) == {1}
    assert len(server.calls) == 20 + 40 + 40
    alone = evaluate(rows(20), ["finesure"], replay=run.folder, out=tmp_path / "alone")
    assert files(run.folder) == files(alone.folder)


def test_eight_workers_keep_to_one_budget_and_use_it(tmp_path: Path) -> None:
    budget = 300 * EACH
    with StubServer(behave) as server:
        with pytest.raises(BudgetError, match="the same with a larger max_cost or max_tokens carries on"):
            run_on(server, 120, tmp_path / "run", executor=EIGHT, max_tokens=budget, concurrency=8)
        assert 0.9 * budget <= len(server.calls) * EACH <= budget
        assert Run(tmp_path / "run").manifest.status == "interrupted"
        run = run_on(server, 120, tmp_path / "run", executor=EIGHT, max_tokens=10 * budget, concurrency=8)
    assert run.manifest.status == "complete"
    assert set(prompts(server).values()) == {1}


def test_eight_workers_keep_to_one_limit_of_requests(tmp_path: Path) -> None:
    a_minute = 1800
    with StubServer(behave) as server:
        begun = time.monotonic()  # on a busy machine the first call may be noted late
        run_on(server, 24, tmp_path / "run", executor=EIGHT, rpm=a_minute, concurrency=64)
        at = sorted(call.at for call in server.calls)
    assert len(at) == 120
    a_second = a_minute / 60  # so many go at once, the others as time passes
    assert at[-1] - begun >= (len(at) - a_second) / a_second * 0.95


def test_calls_at_a_time_are_those_of_the_run(tmp_path: Path) -> None:
    with StubServer(lambda call: behave(call)._replace(delay=0.01)) as server:
        run_on(server, 16, tmp_path / "run", executor=EIGHT, concurrency=3)
    assert server.most == 3


def test_an_item_that_takes_too_long_fails_alone(tmp_path: Path) -> None:
    def behaves(call: Call) -> Reply:
        return HANG if "This is d3." in call.prompt and "[1]" in call.prompt else behave(call)

    data = rows(8)
    for row in data:
        row["summary"] += f" This is {row['doc_id']}."
    with StubServer(behaves) as server:
        run = evaluate(
            data, ["finesure.fact_check"], models=MODEL, out=tmp_path / "run", base_url=server.url, executor=EIGHT,
            item_timeout=2.0, max_retries=0,
        )  # fmt: skip
    late = list(run.failures())
    assert {failure.document_id for failure in late} == {"d3"}
    assert {failure.reason for failure in late} == {"took longer than the 2 s an item may, calls and retries together"}
    assert run.manifest.counts["error"] == len(late) == 2


def test_a_key_that_is_refused_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    with StubServer(lambda _: fail(401, "no such key")) as server, pytest.raises(AccessError, match="no such key"):
        run_on(server, 4, tmp_path / "run", executor=EIGHT)
    with StubServer(behave) as server:
        assert set(run_on(server, 4, tmp_path / "run", executor=EIGHT).manifest.counts) == {"ok"}


def test_a_refused_key_ends_calls_under_way_without_a_word_of_theirs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def behaves(call: Call) -> Reply:
        return fail(401, "no such key")._replace(delay=0.1) if call.number == 20 else behave(call)._replace(delay=0.3)

    with StubServer(behaves) as server:
        with pytest.raises(AccessError, match="no such key"):
            run_on(server, 30, tmp_path / "run", executor=TWO)
        made = len(server.calls)
        time.sleep(0.5)
        assert len(server.calls) == made
    gc.collect()  # pytest reports a connection that was left open
    assert capfd.readouterr().err == ""
    assert not [entry.getMessage() for entry in caplog.records if entry.levelname in {"ERROR", "WARNING"}]


@pytest.mark.parametrize("answered", [Answered("late"), Answered(trouble=Trouble.of(AccessError("late")))])
def test_an_answer_to_nobody_is_dropped(answered: Answered) -> None:
    future: Future[Any] = Future()
    future.cancel()  # the item took too long, say
    answered.resolve(future)
    assert future.cancelled()


def test_a_bad_reply_is_a_failure_of_its_item_as_in_a_run_alone(tmp_path: Path) -> None:
    def behaves(call: Call) -> Reply:
        return ok("I would rather not.") if "[1]" in call.prompt else behave(call)

    with StubServer(behaves) as server:
        run = run_on(server, 3, tmp_path / "run", executor=EIGHT)
    alone = evaluate(rows(3), ["finesure"], replay=run.folder, out=tmp_path / "alone")
    assert without_times(run) == without_times(alone)
    assert run.manifest.counts == alone.manifest.counts
    assert run.manifest.counts["unparsed"] > 0


def test_a_call_that_a_replay_lacks_is_told_as_such(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        run = run_on(server, 2, tmp_path / "run")
    with pytest.raises(ReplayMiss, match="the recorded run holds no such call"):
        evaluate(rows(3), ["finesure"], replay=run.folder, out=tmp_path / "more", executor=EIGHT)


def test_batches_are_made_in_one_process(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="batch gathers all calls in one process"):
        evaluate(rows(2), ["finesure"], models="openai/x", out=tmp_path / "run", executor=TWO, batch=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "error",
    [
        CapabilityError("no seeds", lacks="seed"),
        TransientError("slow down", retry_after=3.0, throttled=True),
        AccessError("no such key"),
        BudgetError("spent; raise ", Parameter("max_cost")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_as_they_are(error: SummeterError) -> None:
    error.add_note("rts on document d, a")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
    assert copy.worded(lambda parameter: f"--{parameter.name}") == error.worded(lambda parameter: f"--{parameter.name}")


class TestTheTimeOfAnItem:
    """Kept where the call is made, charged where the item is judged."""

    def test_it_is_charged_with_what_the_call_took_and_not_with_its_wait(self) -> None:
        import asyncio

        async def called(allowance: Allowance | None) -> float:
            async def call() -> None:
                with waiting():
                    await asyncio.sleep(100)
                await asyncio.sleep(2)

            return (await counted(allowance, call()))[1]

        async def judge(calls: int) -> None:
            async def one() -> None:
                with handed_over() as handed:
                    handed.took = await called(handed.allowance)

            await asyncio.gather(*(one() for _ in range(calls)))
            await asyncio.sleep(2.5)

        with virtual_loop() as loop:
            # Three calls at the same time take two seconds, not six.
            loop.run_until_complete(within(5.0, judge(3)))
            with pytest.raises(ModelError, match=r"longer than the 4\.4 s"):
                loop.run_until_complete(within(4.4, judge(1)))

    def test_a_call_ends_when_the_item_has_no_time_left(self) -> None:
        import asyncio

        with virtual_loop() as loop:
            with pytest.raises(ModelError, match=r"longer than the 9 s"):
                loop.run_until_complete(counted(Allowance(1.0, 9.0), asyncio.sleep(2)))
            assert loop.run_until_complete(counted(Allowance(3.0, 9.0), asyncio.sleep(2, "done"))) == ("done", 2.0)
            assert loop.run_until_complete(counted(None, asyncio.sleep(2, "done"))) == ("done", 0.0)
