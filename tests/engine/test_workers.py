"""Runs by several processes: the same files as a run by one, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine.fleets import ThreadExecutor, unasked
from engine.judges import Killer, Lengths, Moody, rows
from engine.test_derived import Centred

from summeter.data.dataset import Dataset, load
from summeter.engine.api import evaluate
from summeter.engine.executors import ray
from summeter.engine.executors.drive import Driver
from summeter.engine.executors.fleet import Assignment, Ended, Setup
from summeter.engine.executors.member import Member
from summeter.engine.executors.processes import ProcessExecutor
from summeter.engine.plan import jobs, splitter, units
from summeter.engine.runs import Run
from summeter.records import AccessError, Judgment, Target, UsageError, WorkerError, WriteError
from summeter.runs.journal import Journal
from summeter.runs.results import ResultStore
from summeter.runs.run import Failure
from summeter.runs.worker_parts import PARTS, Part, PartTaker, write_part

TWO = ProcessExecutor(workers=2)


def files(folder: Path) -> dict[str, bytes]:
    """What a run holds, but for the times of day in it."""
    names = ["judgments", "prepared", "scores.jsonl", "scores.csv", "summary.json", "progress.jsonl"]
    found = {}
    for name in names:
        place = folder / name
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            found[str(file.relative_to(folder))] = file.read_bytes()
    return found


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
        assert not (run.folder / PARTS).exists()
        # A bug in code is told of with the item, and with the traceback of the worker.
        told = [entry.getMessage() for entry in caplog.records if entry.levelno == logging.ERROR]
        assert len(told) == 25
        assert any("failed: moody on document d7, b" in text and "in judge\n" in text for text in told)
        # It is carried on by workers, with what was prepared before; and by one process.
        more = evaluate(rows(30), judges, out=run.folder, executor=TWO)
        assert files(more.folder) == files(evaluate(rows(30), judges, out=alone.folder).folder)

    def test_when_workers_are_killed_five_times(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        judge = Killer(flags=str(tmp_path), documents=("d2", "d9", "d16", "d23", "d30"))
        run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=TWO)
        assert run.manifest.status == "complete"
        told = [entry.getMessage() for entry in caplog.records]
        assert sum("was killed by signal 9 (SIGKILL)" in text for text in told) == 5
        assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)

    def test_when_one_of_them_can_write_no_more(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        judge = Killer(flags=str(tmp_path), documents=("d9",), kind="disk")
        run = evaluate(rows(40), [judge], out=tmp_path / "run", executor=TWO)
        told = [entry.getMessage() for entry in caplog.records if "is let go; others do it" in entry.getMessage()]
        assert len(told) == 1
        assert "File too large" in told[0]
        assert run.manifest.status == "complete"
        assert files(run.folder) == files(evaluate(rows(40), [judge], out=tmp_path / "whole").folder)


def test_workers_that_wait_for_room_are_told_of_while_others_work(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "PATIENCE", 0.01)
    monkeypatch.setattr(ray.RayFleet, "_room", lambda _: 1)

    async def told() -> None:
        fleet = ray.RayFleet(ray.RayExecutor(workers=3))
        fleet._actors = dict.fromkeys(("worker 1", "worker 2", "worker 3"))
        telling = asyncio.ensure_future(fleet._tell_of_waiting())
        await asyncio.sleep(0)
        fleet._ready.add("worker 2")
        await telling

    asyncio.run(told())
    (line,) = [entry.getMessage() for entry in caplog.records]
    assert line == "2 of 3 workers wait for room: Ray has room for 1 with 1 CPUs and 0 GPUs each"


class TestWhatEndsARun:
    def test_an_error_of_a_worker_has_its_traceback(self, tmp_path: Path) -> None:
        judge = Killer(flags=str(tmp_path), documents=("d5",), kind="key")
        with pytest.raises(AccessError, match="the key is refused") as caught:
            evaluate(rows(20), [judge], out=tmp_path / "run", executor=TWO)
        assert "raise AccessError(" in str(caught.value.__cause__)
        assert "killer on document d5, b" in str(caught.value.__cause__)
        assert Run(tmp_path / "run").manifest.status == "failed"
        run = evaluate(rows(20), [judge], out=tmp_path / "run", executor=TWO)
        assert files(run.folder) == files(evaluate(rows(20), [judge], out=tmp_path / "whole").folder)

    def test_a_judge_that_cannot_travel(self, tmp_path: Path) -> None:
        class Homeless(Lengths):
            pass

        with pytest.raises(UsageError, match="what judges cannot be sent to workers"):
            evaluate(rows(2), [Homeless()], out=tmp_path / "run", executor=TWO)


class TestTheDriver:
    """By workers that are threads, and die when they are told to."""

    def same(self, tmp_path: Path, executor: ThreadExecutor) -> Run:
        run = evaluate(rows(20), [Lengths()], out=tmp_path / "run", executor=executor, concurrency=4)
        assert files(run.folder) == files(evaluate(rows(20), [Lengths()], out=tmp_path / "whole").folder)
        return run

    def test_deaths_cost_nothing_that_is_finished(self, tmp_path: Path) -> None:
        executor = ThreadExecutor(deadly={"d17": 2, "d19": 1}, lost=(0,))
        self.same(tmp_path, executor)
        times = Counter(document for bundle in executor.sent.values() for document in bundle)
        assert executor.sent[0] == ["d0"]
        assert (times["d0"], times["d17"]) == (1, 3)

    def test_when_the_disk_of_one_worker_is_full(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """All its bundles end so, and it is let go once."""
        self.same(tmp_path, ThreadExecutor(full=("worker 2",)))
        told = [entry.getMessage() for entry in caplog.records]
        assert sum("worker 2 cannot write its work and is let go" in text for text in told) == 1
        assert any("No space left on device" in text for text in told)

    def test_the_other_bundles_of_a_worker_that_was_let_go(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its events that wait already are heard after it is let go."""
        handle = Driver._handle

        async def late(driver: Driver, event: Any) -> None:
            await handle(driver, event)
            if isinstance(event, Ended) and event.worker == "worker 2":
                await handle(driver, event)

        monkeypatch.setattr(Driver, "_handle", late)
        self.same(tmp_path, ThreadExecutor(full=("worker 2",)))
        told = [entry.getMessage() for entry in caplog.records]
        assert sum("worker 2 cannot write its work and is let go" in text for text in told) == 1

    def test_when_all_disks_are_full(self, tmp_path: Path) -> None:
        with pytest.raises(WriteError, match=r"cannot be written: .*No space left on device"):
            self.same(tmp_path, ThreadExecutor(full=("worker 1", "worker 2")))
        assert Run(tmp_path / "run").manifest.status == "failed"
        self.same(tmp_path, ThreadExecutor())

    def test_one_document_that_kills_every_worker_is_given_up(self, tmp_path: Path) -> None:
        executor = ThreadExecutor(deadly={"d5": 99})
        run = evaluate(rows(8), [Lengths()], out=tmp_path / "run", executor=executor)
        assert run.manifest.status == "incomplete"
        failures = list(run.failures())
        assert {(failure.document_id, failure.system) for failure in failures} == {("d5", "a"), ("d5", "b")}
        assert "workers died while judging only this document" in failures[0].reason
        assert run.manifest.counts == {"ok": 28, "error": 2}

    def test_workers_that_always_die(self, tmp_path: Path) -> None:
        executor = ThreadExecutor(deadly={f"d{n}": 99 for n in range(20)})
        with pytest.raises(WorkerError, match=r"10 workers, one after another, died .* the same again carries on"):
            self.same(tmp_path, executor)

    def test_workers_that_cannot_begin(self, tmp_path: Path) -> None:
        with pytest.raises(WorkerError, match=r"3 workers, one after another, could not begin \(the last: no room\)"):
            self.same(tmp_path, ThreadExecutor(broken=True))

    def test_workers_that_do_not_see_the_run_hand_their_work_to_the_driver(self, tmp_path: Path) -> None:
        executor = ThreadExecutor(elsewhere=("worker 1", "worker 2"), deadly={"d17": 1}, lost=(0,))
        self.same(tmp_path, executor)
        assert executor.sent[0] == ["d0"]
        assert not (tmp_path / "elsewhere").exists()

    def test_when_the_disk_of_their_driver_is_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(file: Path, text: bytes) -> None:
            raise OSError(28, "No space left on device", str(file))

        with monkeypatch.context() as patched:
            patched.setattr("summeter.engine.executors.drive.write_part", full)
            with pytest.raises(WriteError, match=r"cannot be written: .*No space left on device"):
                self.same(tmp_path, ThreadExecutor(elsewhere=("worker 1", "worker 2")))
        self.same(tmp_path, ThreadExecutor(elsewhere=("worker 2",)))

    def test_a_worker_of_another_version(self, tmp_path: Path) -> None:
        setup = Setup(jobs=(), networks=(), parts=str(tmp_path), session="s", slots=1, threads=1)
        with pytest.raises(UsageError, match="install the same"):
            Member(replace(setup, version="0"), unasked, alone=False)


def test_workers_read_the_data_no_more_often_than_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data in shards are read from disk each time."""
    read = Dataset.items
    times: Counter[str] = Counter()

    def items(data: Dataset) -> Any:
        times[place] += 1
        return read(data)

    monkeypatch.setattr(Dataset, "items", items)
    for place, executor in (("here", None), ("workers", ThreadExecutor())):
        evaluate(rows(3), [Lengths()], out=tmp_path / place, executor=executor)
    assert times["workers"] <= times["here"]


def test_what_a_bundle_takes_is_not_what_it_waits(tmp_path: Path) -> None:
    """The second bundle waits for the only slot; else a worker with much to do would seem slow."""
    judge = Killer(flags=str(tmp_path), documents=("d0", "d1"), kind="slow")
    data = load(rows(2))
    work = jobs([judge], {}, splitter(data), {})
    (tmp_path / PARTS).mkdir()
    (tmp_path / PARTS / "s").touch()
    setup = Setup(jobs=tuple(work), networks=(), parts=str(tmp_path / PARTS), session="s", slots=1, threads=1)
    member = Member(setup, unasked, alone=False)
    begin = time.monotonic()
    bundles = [
        member.judge(Assignment(number, (unit,), {}))
        for number, unit in enumerate(units(data, work, frozenset(), None))
    ]
    outcomes = [bundle.result(60) for bundle in bundles]
    took = time.monotonic() - begin
    assert all(outcome.seconds > 0.0 for outcome in outcomes)
    assert sum(outcome.seconds for outcome in outcomes) <= took


SCRIPT = """
import sys
from pathlib import Path
from engine.judges import Killer, rows
from summeter.engine.api import evaluate
from summeter.engine.executors.fleet import Setup
from summeter.engine.executors.member import Member
from summeter.engine.executors.processes import ProcessExecutor

out, flags = sys.argv[1:]
judge = Killer(flags=flags, documents=tuple(f"d{n}" for n in range(30)), kind="slow")
if __name__ == "__main__":
    evaluate(rows(30), [judge], out=out, executor=ProcessExecutor(workers=2), concurrency=1)
"""


def begun(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A run by workers, well under way, in a group of processes of its own."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = str(Path(__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "run"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path}, start_new_session=True, stderr=subprocess.PIPE,
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


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_takes_its_workers_along_and_is_carried_on(tmp_path: Path, sent: signal.Signals) -> None:
    child = begun(tmp_path)
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
    judge = Killer(flags=str(tmp_path), documents=tuple(f"d{n}" for n in range(30)), kind="slow")
    with Journal(tmp_path / "run") as journal:
        journal.repair(Run(tmp_path / "run").manifest.judges)
        taken = len(journal.done)
    left = list((tmp_path / "run" / PARTS).glob("*.part")) if (tmp_path / "run" / PARTS).exists() else []
    assert taken > 0 or left
    before = {file.name for file in tmp_path.glob("d*")}
    run = evaluate(rows(30), [judge], out=tmp_path / "run")
    assert run.manifest.status == "complete"
    assert not (run.folder / PARTS).exists()
    assert before < {file.name for file in tmp_path.glob("d*")}  # there was something left
    assert files(run.folder) == files(evaluate(rows(30), [judge], out=tmp_path / "whole").folder)


OWN = "class Own(Killer):\n    pass\n\n\njudge = Own"


@pytest.mark.parametrize("own", [False, True])
def test_a_script_needs_a_main_guard_where_it_defines_judges(tmp_path: Path, *, own: bool) -> None:
    script = tmp_path / "script.py"
    text = SCRIPT.replace('if __name__ == "__main__":', "if True:").replace("range(30)", "range(0)")
    script.write_text(text.replace("judge = Killer", OWN) if own else text)
    command = [sys.executable, str(script), str(tmp_path / "run"), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(command, env=env, capture_output=True, check=False, timeout=60)
    assert ended.returncode == (1 if own else 0), ended.stderr
    assert (b"must do so under `if __name__ == '__main__':`" in ended.stderr) is own
    assert (b"WorkerError" in ended.stderr) is own
    assert Run(tmp_path / "run").manifest.status == ("failed" if own else "complete")


def test_judges_that_no_process_can_find_are_told_at_once(tmp_path: Path) -> None:
    text = SCRIPT.replace("range(30)", "range(2)").replace("judge = Killer", OWN)
    command = [sys.executable, "-", str(tmp_path / "run"), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(command, input=text.encode(), env=env, capture_output=True, check=False, timeout=60)
    assert b"UsageError: judges that are defined in a notebook, at a prompt" in ended.stderr, ended.stderr
    assert b"died" not in ended.stderr


@pytest.mark.parametrize("executor", ["ray", ProcessExecutor])
def test_what_is_no_executor_is_a_usage_error(tmp_path: Path, executor: Any) -> None:
    with pytest.raises(UsageError, match="executor is a ProcessExecutor"):
        evaluate(rows(1), [Lengths()], out=tmp_path / "run", executor=executor)
    assert not (tmp_path / "run").exists()


class TestParts:
    """What a worker hands over, and how often it counts."""

    def part(self, run: Run, system: str = "a", value: float = 1.0) -> Part:
        judge = run.manifest.judges[0]
        part = Part()
        target = Target(document_id="d0", system=system, unit="summary")
        judgment = Judgment(
            target=target, aspect="faithfulness", judge=judge.name, signature=judge.signature, value=value, status="ok"
        )
        part.judged(judge, ("d0", system, None), [judgment])
        return part

    @pytest.fixture
    def run(self, tmp_path: Path) -> Run:
        run = evaluate(rows(1), [Lengths()], out=tmp_path / "run")
        with Journal(run.folder) as journal:
            journal.drop(run.manifest.judges[0])
        (run.folder / PARTS).mkdir()
        return Run(run.folder)

    def test_an_item_counts_once_in_however_many_parts(self, run: Run) -> None:
        with Journal(run.folder) as journal, ResultStore() as results:
            journal.repair(run.manifest.judges)
            taker = PartTaker(journal, run.manifest.judges, results)
            first, second = self.part(run), self.part(run, value=0.0)
            first.results({"model": {b"key": b"\n\x00value"}})
            for number, part in enumerate((first, first, second, self.part(run, "b"))):
                write_part(run.folder / PARTS / f"s-{number}.part", part.text())
            assert taker.take_left() == []
            assert results.get([b"key"]) == {b"key": b"\n\x00value"}
        text = next((run.folder / "judgments").iterdir()).read_text()
        assert [row.value for row in map(Judgment.model_validate_json, text.splitlines())] == [1.0, 1.0]
        assert not (run.folder / PARTS).exists()

    def test_a_failure_counts_once_too(self, run: Run) -> None:
        judge = run.manifest.judges[0]
        failure = Failure(
            document_id="d0", system="a", judge=judge.name, signature=judge.signature, aspects=("faithfulness",),
            status="error", reason="down", at="2026-01-01T00:00:00+00:00",
        )  # fmt: skip
        part = Part()
        part.failed(failure)
        with Journal(run.folder) as journal:
            journal.repair(run.manifest.judges)
            for _ in range(2):
                (run.folder / PARTS).mkdir(exist_ok=True)
                write_part(run.folder / PARTS / "s-1.part", part.text())
                PartTaker(journal, run.manifest.judges, None).take_left()
        assert [row.reason for row in run.failures()] == ["down"]

    @pytest.mark.parametrize("damage", [slice(0, -9), slice(3, None), slice(0, 0)])
    def test_a_damaged_part_is_named_and_not_taken(self, run: Run, damage: slice) -> None:
        file = run.folder / PARTS / "s-1.part"
        file.write_bytes(self.part(run).text()[damage])
        (run.folder / PARTS / "s-2.part.unfinished").write_bytes(b"half")
        with Journal(run.folder) as journal:
            journal.repair(run.manifest.judges)
            (told,) = PartTaker(journal, run.manifest.judges, None).take_left()
            assert len(journal.done) == 0
        assert "s-1.part: is not as it was written" in told
        assert not (run.folder / PARTS).exists()
