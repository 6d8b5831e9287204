"""Runs by Ray tasks on two nodes give the same files as a run by one process, even if nodes die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.judges import Killer, Lengths, Moody, rows
from engine.test_workers import files, wait_for, without_times

from summeter.engine.api import evaluate
from summeter.engine.executors.ray import RayExecutor
from summeter.engine.runs import Run
from summeter.records import AccessError, UsageError


@pytest.fixture
def ray(nodes: Any) -> Iterator[RayExecutor]:
    """Two workers somewhere on the two nodes."""
    yield RayExecutor(address=nodes.address, workers=2)
    import ray

    assert not ray.is_initialized()  # a run lets go of the cluster it has reached


def test_the_same_run_by_two_nodes_and_by_one_process(tmp_path: Path, ray: RayExecutor) -> None:
    judges = [Lengths(), Moody(kind="bug"), "support", "abstractiveness"]
    run = evaluate(rows(30), judges, out=tmp_path / "two", executor=ray, limit=20)
    alone = evaluate(rows(30), judges, out=tmp_path / "one", limit=20)
    assert files(run.folder) == files(alone.folder)
    assert without_times(run) == without_times(alone)
    more = evaluate(rows(30), judges, out=run.folder, executor=ray)
    assert files(more.folder) == files(evaluate(rows(30), judges, out=alone.folder).folder)


def test_a_machine_without_room_for_a_worker_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no capacity for a worker"):
        evaluate(rows(1), [Lengths()], out=tmp_path / "run", executor=RayExecutor(workers=1, gpus_per_worker=1000))
    import ray

    assert not ray.is_initialized()


def test_workers_killed_five_times(tmp_path: Path, ray: RayExecutor) -> None:
    judge = Killer(flags=str(tmp_path), documents=("d2", "d9", "d16", "d23", "d30"))
    run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=ray)
    assert run.manifest.status == "complete"
    assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)


def test_an_error_of_a_worker_has_its_traceback(tmp_path: Path, ray: RayExecutor) -> None:
    judge = Killer(flags=str(tmp_path), documents=("d5",), kind="key")
    with pytest.raises(AccessError, match="the key is refused") as caught:
        evaluate(rows(10), [judge], out=tmp_path / "run", executor=ray)
    assert "killer on document d5, b" in caught.value.__notes__[-1]


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
    executor = RayExecutor(address=nodes.address, documents_per_part=1)  # all CPUs of the three nodes
    run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=executor, concurrency=1)
    killer.join()
    assert run.manifest.status == "complete"
    assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)


def test_an_address_where_no_cluster_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Ray cannot be reached at 127\.0\.0\.1:1: .*refused"):
        evaluate(rows(2), [Lengths()], out=tmp_path / "run", executor=RayExecutor(address="127.0.0.1:1"))


SCRIPT = """
import sys
from engine.judges import Killer, rows
import summeter as sm

out, flags, address = sys.argv[1:]
judge = Killer(flags=flags, documents=tuple(f"d{n}" for n in range(60)), kind="slow")
executor = sm.RayExecutor(address=address, workers=2, documents_per_part=1)
sm.evaluate(rows(60), [judge], out=out, executor=executor, concurrency=1)
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_command_that_ends_takes_its_tasks_along(tmp_path: Path, nodes: Any, sent: signal.Signals) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "run"), str(tmp_path), nodes.address]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as child:
        wait_for(lambda: len(list(tmp_path.glob("d*"))) > 8)
        child.send_signal(sent)
        child.communicate(timeout=60)
    count = wait_until_calm(tmp_path)
    assert 8 < count < 60  # nobody judges any more
    if sent == signal.SIGINT:
        assert Run(tmp_path / "run").manifest.status == "interrupted"
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=120)
    judge = Killer(flags=str(tmp_path), documents=tuple(f"d{n}" for n in range(60)), kind="slow")
    assert Run(tmp_path / "run").manifest.status == "complete"
    assert files(tmp_path / "run") == files(evaluate(rows(60), [judge], out=tmp_path / "whole").folder)


def wait_until_calm(folder: Path) -> int:
    """The number of documents that were begun, once it stays."""
    count = -1
    for _ in range(30):
        now = len(list(folder.glob("d*")))
        if now == count:
            return count
        count = now
        time.sleep(2)
    raise AssertionError("the tasks go on")
