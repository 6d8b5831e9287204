"""Compute time of a judge: its own steps without its waits, and the local models that it calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from engine.judges import Lengths, rows
from engine.test_workers import ThreadExecutor

from summeter.engine.api import evaluate
from summeter.models import compute_time
from summeter.models.compute_time import timed
from summeter.models.local import network
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import CountTokens
from summeter.runs.usage import Usage


class Clock:
    """A clock that only `busy` advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def busy(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (compute_time, network):
        monkeypatch.setattr(module, "time", clock)
    return clock


def test_only_work_is_timed(clock: Clock) -> None:
    async def works_and_waits(seconds: float) -> str:
        clock.busy(seconds)
        await asyncio.sleep(0.001)
        clock.busy(seconds)
        return "done"

    async def both() -> list[str]:
        return await asyncio.gather(timed(first, works_and_waits(1)), timed(second, works_and_waits(10)))

    first, second = Usage(), Usage()
    assert asyncio.run(both()) == ["done", "done"]
    assert (first.seconds, second.seconds) == (2, 20)


def test_errors_and_cancellations_go_through() -> None:
    async def fails() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            raise ValueError("cancelled inside") from None

    async def cancelled() -> None:
        task = asyncio.create_task(timed(Usage(), fails()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(ValueError, match="cancelled inside"):
        asyncio.run(cancelled())


def test_a_local_models_time_is_shared_by_its_inputs(clock: Clock) -> None:
    def compute(requests: Sequence[CountTokens]) -> list[int]:
        clock.busy(len(requests))
        return [0 for _ in requests]

    async def both() -> None:
        await asyncio.gather(
            timed(many, model.ask([CountTokens("a"), CountTokens("b"), CountTokens("c")])),
            timed(few, model.ask([CountTokens("d")])),
            model.ask([CountTokens("e")]),
        )

    model = LocalNetwork("model", compute)
    many, few = Usage(), Usage()
    asyncio.run(both())
    assert (many.seconds, few.seconds) == (3, 1)


@pytest.mark.parametrize("executor", [None, ThreadExecutor()])
def test_a_run_says_how_long_it_computed(tmp_path: Path, executor: ThreadExecutor | None) -> None:
    run = evaluate(rows(4), [Lengths()], out=tmp_path / "run", limit=2, executor=executor)
    (signature,) = [judge.signature for judge in run.manifest.judges]
    first = run.manifest.compute[signature]
    assert (first.items, first.seconds > 0) == (4, True)
    # Another session adds its own; one that finds nothing to do adds nothing.
    run = evaluate(rows(4), [Lengths()], out=tmp_path / "run", executor=executor)
    whole = run.manifest.compute[signature]
    assert (whole.items, whole.seconds > first.seconds) == (8, True)
    assert evaluate(rows(4), [Lengths()], out=tmp_path / "run").manifest.compute[signature] == whole
