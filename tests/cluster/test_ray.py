"""Runs by Ray actors on two nodes: the same files as a run by one process, whatever dies meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.judges import Killer, Lengths, Moody, rows
from engine.test_worker_calls import EACH, MODEL, behave, prompts, run_on
from engine.test_workers import files, without_times
from models.server import StubServer

from summeter.engine.api import evaluate
from summeter.engine.executors.ray import RayExecutor
from summeter.records import AccessError, BudgetError
from summeter.runs.worker_parts import PARTS


@pytest.fixture
def ray(nodes: Any) -> Iterator[RayExecutor]:
    """Two workers on the two nodes; a half of a CPU leaves room for both on one of them."""
    yield RayExecutor(address=nodes.address, workers=2)
    import ray

    assert not ray.is_initialized()  # a run lets go of the cluster it has reached


def test_the_same_run_by_actors_and_by_one_process(tmp_path: Path, ray: RayExecutor) -> None:
    judges = [Lengths(), Moody(kind="bug"), "support", "abstractiveness"]
    run = evaluate(rows(30), judges, out=tmp_path / "two", executor=ray, limit=20)
    alone = evaluate(rows(30), judges, out=tmp_path / "one", limit=20)
    assert files(run.folder) == files(alone.folder)
    assert without_times(run) == without_times(alone)
    assert not (run.folder / PARTS).exists()
    more = evaluate(rows(30), judges, out=run.folder, executor=ray)
    assert files(more.folder) == files(evaluate(rows(30), judges, out=alone.folder).folder)


def test_workers_killed_five_times(tmp_path: Path, ray: RayExecutor) -> None:
    judge = Killer(flags=str(tmp_path), documents=("d2", "d9", "d16", "d23", "d30"))
    run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=ray)
    assert run.manifest.status == "complete"
    assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)


def test_an_error_of_a_worker_has_its_traceback(tmp_path: Path, ray: RayExecutor) -> None:
    judge = Killer(flags=str(tmp_path), documents=("d5",), kind="key")
    with pytest.raises(AccessError, match="the key is refused") as caught:
        evaluate(rows(10), [judge], out=tmp_path / "run", executor=ray)
    assert "killer on document d5, b" in str(caught.value.__cause__)


def test_a_node_is_killed_in_the_middle(tmp_path: Path, nodes: Any) -> None:
    node = nodes.add_node(num_cpus=2, resources={"extra": 2}, object_store_memory=80_000_000)
    judge = Killer(flags=str(tmp_path), documents=tuple(f"d{n}" for n in range(40)), kind="slow")

    def kill() -> None:
        end = time.monotonic() + 120
        while not (tmp_path / "d12").exists() and time.monotonic() < end:
            time.sleep(0.05)
        nodes.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    executor = RayExecutor(address=nodes.address, workers=6)  # all CPUs of the three nodes
    run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=executor, concurrency=1)
    killer.join()
    assert run.manifest.status == "complete"
    assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)


def test_actors_ask_a_model_through_their_driver(tmp_path: Path, nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")
    four = RayExecutor(address=nodes.address, workers=4, cpus_per_worker=0.5)
    budget = 120 * EACH
    with StubServer(behave) as server:
        with pytest.raises(BudgetError, match="carries on"):
            run_on(server, 40, tmp_path / "run", executor=four, max_tokens=budget)
        assert 0.9 * budget <= len(server.calls) * EACH <= budget
        run = run_on(server, 40, tmp_path / "run", executor=four)
    assert set(prompts(server).values()) == {1}
    assert run.manifest.usage[MODEL].calls == len(server.calls) == 200
    alone = evaluate(rows(40), ["finesure"], replay=run.folder, out=tmp_path / "alone")
    assert files(run.folder) == files(alone.folder)
