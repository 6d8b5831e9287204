"""Runs by several processes give the same files as a run by one, even if processes die."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from engine.judges import Killer, Lengths, Moody, rows
from engine.llm import MODEL, behave
from engine.test_derived import Centred
from engine.test_run import files
from models.server import StubServer

from summeter.data.dataset import Dataset
from summeter.engine.api import evaluate
from summeter.engine.executors.base import WorkerDied
from summeter.engine.executors.processes import ProcessExecutor
from summeter.engine.runs import Run
from summeter.records import AccessError, UsageError, WorkerError
from summeter.runs.journal import Journal

TWO = ProcessExecutor(workers=2)
PATH = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])


def without_times(run: Run) -> list[dict[str, Any]]:
    return [failure.model_dump(exclude={"at", "checksum"}) for failure in run.failures()]


class TestTheSameRun:
    def test_by_two_processes_and_by_one(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        judges = [Lengths(), Lengths(most=9), Moody(kind="bug"), "support", "abstractiveness", Centred()]
        alone = evaluate(rows(30), judges, out=tmp_path / "one", limit=25)
        caplog.clear()
        run = evaluate(rows(30), judges, out=tmp_path / "two", limit=25, executor=TWO)
        assert files(run.folder) == files(alone.folder)
        assert without_times(run) == without_times(alone)
        assert run.manifest.counts == alone.manifest.counts
        # A bug in code is told of with the item, and with the traceback of the worker.
        told = [entry.getMessage() for entry in caplog.records if entry.levelno == logging.ERROR]
        assert len(told) == 25
        assert any("failed: moody on document d7, b" in text and "in judge\n" in text for text in told)
        # It is carried on by workers, with what was prepared before; and by one process.
        more = evaluate(rows(30), judges, out=run.folder, executor=TWO)
        assert files(more.folder) == files(evaluate(rows(30), judges, out=alone.folder).folder)

    def test_when_workers_are_killed_five_times(self, tmp_path: Path) -> None:
        judge = Killer(flags=str(tmp_path), documents=("d2", "d9", "d16", "d23", "d30"))
        run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=TWO)
        assert run.manifest.status == "complete"
        assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)

    def test_however_the_data_are_cut(self, tmp_path: Path) -> None:
        whole = evaluate(rows(23), [Lengths()], out=tmp_path / "whole")
        for size in (1, 4, 100):
            executor = ThreadExecutor()
            executor.documents_per_part = size
            run = evaluate(rows(23), [Lengths()], out=tmp_path / str(size), executor=executor)
            assert files(run.folder) == files(whole.folder)
            assert run.manifest.documents_per_part == size

    def test_a_later_session_keeps_the_cut(self, tmp_path: Path) -> None:
        first = ProcessExecutor(workers=2, documents_per_part=4)
        evaluate(rows(10), [Lengths()], out=tmp_path / "run", executor=first, limit=6)
        again = ThreadExecutor()
        run = evaluate(rows(10), [Lengths()], out=tmp_path / "run", executor=again)
        assert again.parts == [["d6", "d7"], ["d8", "d9"]]
        assert files(run.folder) == files(evaluate(rows(10), [Lengths()], out=tmp_path / "whole").folder)


class ThreadExecutor:
    """Calls the function in this process. `deadly`: how many workers die on a document (by its id)."""

    documents_per_part: int | None = None

    def __init__(self, deadly: dict[str, int] | None = None) -> None:
        self.deadly = deadly or {}
        self.parts: list[list[str]] = []

    def check(self) -> None:
        """Nothing is needed."""

    async def map(self, function: Callable[[Any], Any], parts: Iterator[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        for part in parts:
            self.parts.append([item.document.id for item in part.work_items])
            for _ in range(2):
                killer = next((name for name in self.parts[-1] if self.deadly.get(name, 0) > 0), None)
                if killer is None:
                    yield part, await asyncio.to_thread(function, part)
                    break
                self.deadly[killer] -= 1
            else:
                yield part, WorkerDied("killed by signal 9")


class TestDeaths:
    def test_a_part_that_killed_two_workers_is_cut_into_documents(self, tmp_path: Path) -> None:
        executor = ThreadExecutor(deadly={"d5": 2})
        executor.documents_per_part = 4
        run = evaluate(rows(8), [Lengths()], out=tmp_path / "run", executor=executor)
        assert executor.parts == [["d0", "d1", "d2", "d3"], ["d4", "d5", "d6", "d7"], ["d4"], ["d5"], ["d6"], ["d7"]]
        assert files(run.folder) == files(evaluate(rows(8), [Lengths()], out=tmp_path / "whole").folder)

    def test_one_document_that_kills_every_worker_ends_as_an_error(self, tmp_path: Path) -> None:
        run = evaluate(rows(8), [Lengths()], out=tmp_path / "run", executor=ThreadExecutor(deadly={"d5": 99}))
        assert run.manifest.status == "incomplete"
        failures = list(run.failures())
        assert {(failure.document_id, failure.system) for failure in failures} == {("d5", "a"), ("d5", "b")}
        assert run.manifest.counts == {"ok": 28, "error": 2}

    def test_a_document_that_kills_every_process_ends_as_an_error(self, tmp_path: Path) -> None:
        judge = Killer(flags=str(tmp_path), documents=("d2",), times=99)
        run = evaluate(rows(6), [judge], out=tmp_path / "run", executor=TWO)
        assert {(failure.document_id, failure.status) for failure in run.failures()} == {("d2", "error")}
        assert (tmp_path / "d2").read_text() == "xxxx"  # twice with its part, twice alone

    def test_workers_that_always_die(self, tmp_path: Path) -> None:
        executor = ThreadExecutor(deadly={f"d{n}": 99 for n in range(20)})
        with pytest.raises(WorkerError):
            evaluate(rows(20), [Lengths()], out=tmp_path / "run", executor=executor)
        assert Run(tmp_path / "run").manifest.status == "failed"
        run = evaluate(rows(20), [Lengths()], out=tmp_path / "run", executor=ThreadExecutor())
        assert files(run.folder) == files(evaluate(rows(20), [Lengths()], out=tmp_path / "whole").folder)


def test_judges_that_ask_an_llm_stay_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One account of calls, and no key in what is sent to a worker."""
    with StubServer(behave) as server:
        run = evaluate(
            rows(6), ["finesure", "support", Centred()], models=MODEL, out=tmp_path / "run", base_url=server.url,
            executor=TWO,
        )  # fmt: skip
    prompts = Counter(str(call.body["messages"]) for call in server.calls)
    assert len(prompts) == len(server.calls) == run.manifest.usage[MODEL].calls == 6 + 12 + 12
    alone = evaluate(rows(6), ["finesure", "support", Centred()], replay=run.folder, out=tmp_path / "alone")
    assert files(run.folder) == files(alone.folder)
    again = evaluate(
        rows(6), ["finesure", "support", Centred()], replay=run.folder, out=tmp_path / "more", executor=TWO
    )
    assert files(again.folder) == files(alone.folder)


class TestWhatEndsARun:
    def test_an_error_of_a_worker_has_its_traceback(self, tmp_path: Path) -> None:
        judge = Killer(flags=str(tmp_path), documents=("d5",), kind="key")
        with pytest.raises(AccessError, match="the key is refused") as caught:
            evaluate(rows(20), [judge], out=tmp_path / "run", executor=TWO)
        note = caught.value.__notes__[-1]
        assert "raise AccessError(" in note
        assert "killer on document d5, b" in note
        assert Run(tmp_path / "run").manifest.status == "failed"
        run = evaluate(rows(20), [judge], out=tmp_path / "run", executor=TWO)
        assert files(run.folder) == files(evaluate(rows(20), [judge], out=tmp_path / "whole").folder)

    def test_a_judge_that_cannot_travel(self, tmp_path: Path) -> None:
        class Homeless(Lengths):
            pass

        with pytest.raises(UsageError, match="cannot be sent to workers"):
            evaluate(rows(2), [Homeless()], out=tmp_path / "run", executor=TWO)

    def test_a_judge_that_workers_cannot_import(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As a class that is defined inside `if __name__ == '__main__':` is."""
        module = ModuleType("only_in_this_process")

        class Stranger(Lengths):
            pass

        Stranger.__module__, Stranger.__qualname__ = module.__name__, "Stranger"
        module.Stranger = Stranger  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        with pytest.raises(UsageError, match="only_in_this_process"):
            evaluate(rows(2), [Stranger()], out=tmp_path / "run", executor=TWO)


class TestProcesses:
    def test_several_executors_in_one_process(self) -> None:
        main = sys.modules["__main__"]
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(lambda part: asyncio.run(absolute([part])), [-1, -2, -3, -4])) == [
                [1], [2], [3], [4],
            ]  # fmt: skip
        assert sys.modules["__main__"] is main
        assert not active_children()

    def test_a_worker_that_is_killed_while_it_starts_is_replaced(self) -> None:
        with ThreadPoolExecutor(1) as threads:
            judging = threads.submit(lambda: asyncio.run(absolute([-1])))
            wait_for(active_children)
            active_children()[0].kill()
            assert judging.result() == [1]

    @pytest.mark.parametrize(("daemon", "code"), [(False, 0), (True, 2)])
    def test_inside_a_process_of_multiprocessing(self, *, daemon: bool, code: int) -> None:
        process = get_context("fork").Process(target=check_and_exit, daemon=daemon)
        process.start()
        process.join()
        assert process.exitcode == code


async def absolute(parts: list[int]) -> list[Any]:
    return [result async for _, result in ProcessExecutor(workers=1).map(abs, iter(parts))]


def check_and_exit() -> None:
    """Exit with 2 where no worker can be started."""
    try:
        ProcessExecutor(workers=1).check()
    except UsageError:
        os._exit(2)
    os._exit(0)


def test_workers_read_the_data_no_more_often_than_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large data are read from disk each time."""
    read = Dataset.item
    times: Counter[str] = Counter()

    def item(data: Dataset, number: int) -> Any:
        times[place] += 1
        return read(data, number)

    monkeypatch.setattr(Dataset, "item", item)
    for place, executor in (("here", None), ("workers", ThreadExecutor())):
        evaluate(rows(3), [Lengths()], out=tmp_path / place, executor=executor)
    assert 0 < times["workers"] <= times["here"]


SCRIPT = """
import sys
from pathlib import Path
from engine.judges import Killer, rows
from summeter.engine.api import evaluate
from summeter.engine.executors.processes import ProcessExecutor

out, flags = sys.argv[1:]
judge = Killer(flags=flags, documents=tuple(f"d{n}" for n in range(16)), kind="slow")
if __name__ == "__main__":
    evaluate(rows(16), [judge], out=out, executor=ProcessExecutor(workers=2, documents_per_part=2), concurrency=1)
"""

IN_A_NOTEBOOK = (
    SCRIPT.replace(
        "    evaluate(",
        "    import asyncio\n    async def cell(): evaluate(",
    )
    + "    asyncio.new_event_loop().run_until_complete(cell())\n"
)
"""The same where an event loop is running already."""


def begun(tmp_path: Path, text: str) -> subprocess.Popen[bytes]:
    """A run by workers, well under way, in a group of processes of its own."""
    script = tmp_path / "script.py"
    script.write_text(text)

    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "run"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": PATH}, start_new_session=True, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for((tmp_path / "d8").exists)
    return child


def wait_for(what: Any) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("sent", "text"), [(signal.SIGKILL, SCRIPT), (signal.SIGINT, SCRIPT), (signal.SIGINT, IN_A_NOTEBOOK)]
)
def test_a_driver_that_ends_takes_its_workers_along_and_is_carried_on(
    tmp_path: Path, sent: signal.Signals, text: str
) -> None:
    child = begun(tmp_path, text)
    with child:
        if sent == signal.SIGINT:
            os.killpg(child.pid, sent)  # as a terminal does: to all of the group
        else:
            child.send_signal(sent)
        _, told = child.communicate(timeout=30)
    wait_for(lambda: not alive(child.pid))
    if sent == signal.SIGINT:
        assert told.decode().count("Traceback") == 1  # the driver's: the workers are silent
        assert Run(tmp_path / "run").manifest.status == "interrupted"
    judge = Killer(flags=str(tmp_path), documents=tuple(f"d{n}" for n in range(16)), kind="slow")
    with Journal(tmp_path / "run") as journal:
        journal.repair(Run(tmp_path / "run").manifest.judges)
        taken = len(journal.done)
    assert taken > 0
    before = {file.name for file in tmp_path.glob("d*")}
    run = evaluate(rows(16), [judge], out=tmp_path / "run")
    assert run.manifest.status == "complete"
    assert before < {file.name for file in tmp_path.glob("d*")}  # there was something left
    assert files(run.folder) == files(evaluate(rows(16), [judge], out=tmp_path / "whole").folder)


OWN = "class Own(Killer):\n    pass\n\n\njudge = Own"


@pytest.mark.parametrize("own", [False, True])
def test_a_script_needs_a_main_guard_where_it_defines_judges(tmp_path: Path, *, own: bool) -> None:
    script = tmp_path / "script.py"
    text = SCRIPT.replace('if __name__ == "__main__":', "if True:").replace("range(16)", "range(0)")
    script.write_text(text.replace("judge = Killer", OWN) if own else text)
    command = [sys.executable, str(script), str(tmp_path / "run"), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": PATH}
    ended = subprocess.run(command, env=env, capture_output=True, check=False, timeout=60)
    assert ended.returncode == (1 if own else 0), ended.stderr
    assert (b"must call evaluate under `if __name__ == '__main__':`" in ended.stderr) is own
    assert Run(tmp_path / "run").manifest.status == ("failed" if own else "complete")


def test_judges_that_no_process_can_find_are_told_at_once(tmp_path: Path) -> None:
    text = SCRIPT.replace("range(16)", "range(2)").replace("judge = Killer", OWN)
    command = [sys.executable, "-", str(tmp_path / "run"), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": PATH}
    ended = subprocess.run(command, input=text.encode(), env=env, capture_output=True, check=False, timeout=60)
    assert b"UsageError: judges defined in a notebook, at a prompt" in ended.stderr, ended.stderr


@pytest.mark.parametrize("executor", ["ray", ProcessExecutor])
def test_what_is_no_executor_is_a_usage_error(tmp_path: Path, executor: Any) -> None:
    with pytest.raises(UsageError, match="executor"):
        evaluate(rows(1), [Lengths()], out=tmp_path / "run", executor=executor)
    assert not (tmp_path / "run").exists()
