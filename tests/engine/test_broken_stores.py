"""A run whose files cannot be written ends at once, sends no more requests, and resumes without loss."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows
from engine.llm import MODEL
from engine.llm import behave as at_once
from engine.test_run import files
from models.server import Call, Reply, StubServer

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.runs import Run
from summeter.models.providers.http import HttpLLM
from summeter.records import InputError, WriteError
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal

AT_A_TIME = 4
DATA = rows(12)


def behave(call: Call) -> Reply:
    return at_once(call)._replace(delay=0.02)


def judge(out: Path, server: StubServer, **options: Any) -> Run:
    return evaluate(DATA, ["finesure"], models=MODEL, out=out, base_url=server.url, concurrency=AT_A_TIME, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The files of a run in which nothing failed, and the number of its requests."""
    out = tmp_path_factory.mktemp("whole") / "run"
    with StubServer(behave) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUB_API_KEY", "sk-secret-stub")
        return files(judge(out, server).folder), len(server.calls)


class Broken:
    """A write that fails from the nth on; `at` is when it first did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: str, nth: int) -> None:
        self.at: float | None = None
        self.writes = 0
        self.patch = monkeypatch
        if where == "calls":
            self._calls(nth)
        else:
            self._journal(where, nth)

    def _fails(self, nth: int) -> bool:
        self.writes += 1
        if self.writes < nth:
            return False
        self.at = self.at or time.monotonic()
        return True

    def _calls(self, nth: int) -> None:
        put_many = CallStore.put_many

        def put(store: CallStore, calls: Any) -> list[str]:
            if self._fails(nth):
                store.rows("PRAGMA max_page_count = 1")  # it grows no more: SQLite's own way to be on a full disk
                calls = [(*call[:2], call[2] + " " * 500_000, call[3]) for call in calls]
            return put_many(store, calls)

        self.patch.setattr(CallStore, "put_many", put)

    def _journal(self, where: str, nth: int) -> None:
        append = Journal._append

        def failing(journal: Journal, path: Path, lines: Any) -> None:
            if where in str(path.relative_to(journal.folder)) and self._fails(nth):
                journal.broken = journal.broken or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            append(journal, path, lines)

        self.patch.setattr(Journal, "_append", failing)


def times_of_sending(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    times: list[float] = []
    within = HttpLLM._within

    async def timed(llm: HttpLLM, *request: Any) -> Any:
        times.append(time.monotonic())
        return await within(llm, *request)

    monkeypatch.setattr(HttpLLM, "_within", timed)
    return times


@pytest.mark.parametrize("nth", [1, 7])
@pytest.mark.parametrize("where", ["calls", "judgments", "prepared", "progress"])
def test_after_the_first_failed_write_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[dict[str, bytes], int], where: str, nth: int
) -> None:
    expected, questions = whole
    with StubServer(behave) as server:
        broken, sent = Broken(monkeypatch, where, nth), times_of_sending(monkeypatch)
        with pytest.raises((WriteError, OSError), match=r"cannot be written|No space left") as caught:
            judge(tmp_path / "run", server)
        if where == "calls":
            assert "calls.sqlite: the call store cannot be written: database or disk is full" in str(caught.value)
        assert broken.at is not None
        assert sent
        assert max(sent) < broken.at
        monkeypatch.undo()
        monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")
        assert Run(tmp_path / "run").manifest.status == "failed"
        again = judge(tmp_path / "run", server)
        # Paid for twice is what was on its way, and the replies that were to be written.
        assert len(server.calls) <= questions + 2 * AT_A_TIME
    assert files(again.folder) == expected


def _mounted(place: Path, *options: str) -> bool:
    command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(place)]
    return bool(shutil.which("mount")) and subprocess.run(command, capture_output=True).returncode == 0  # noqa: PLW1510


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A disk of its own: first of a size, later remounted as one likes."""
    place = tmp_path / "disk"
    place.mkdir()
    if not _mounted(place, "-o", "size=64m"):
        pytest.skip("mounting is not allowed here")

    def remount(options: str) -> Path:
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)
        return place

    yield remount
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("kib", [64, 192])
def test_a_disk_that_is_full_ends_the_command_with_one_line(
    tmp_path: Path, disk: Callable[[str], Path], whole: tuple[dict[str, bytes], int], kib: int
) -> None:
    expected, questions = whole
    flat = tmp_path / "rows.jsonl"
    flat.write_text("".join(json.dumps(row) + "\n" for row in DATA))

    def score(out: Path, url: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "summeter", "score", flat, "-e", "finesure", "-m", MODEL, "-o", out, "--quiet"]
        return subprocess.run(
            [str(part) for part in [*command, "--base-url", url, "--max-connections", AT_A_TIME]],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    with StubServer(behave) as server:
        place = disk(f"size={kib}k")
        ended = score(place / "run", server.url)
        assert ended.returncode == 1
        assert ended.stderr.startswith("summeter: ")
        assert ended.stderr.count("\n") == 1
        sent = len(server.calls)
        assert not sent or "to resume" in ended.stderr
        disk("size=64m")
        assert score(place / "run", server.url).returncode == 0
        assert len(server.calls) <= questions + 2 * AT_A_TIME
        assert sent < questions
    assert files(place / "run") == expected


def test_a_run_on_a_medium_that_is_only_read_answers_a_replay_and_a_dry_run(
    tmp_path: Path, disk: Callable[[str], Path]
) -> None:
    with StubServer(behave) as server:
        place = disk("size=64m")
        run = judge(place / "run", server)
        disk("ro")
        asked = len(server.calls)
        again = evaluate(DATA, ["finesure"], replay=place / "run", out=tmp_path / "again")
        estimates = dry_run(DATA, ["finesure"], models=MODEL, out=place / "run", base_url=server.url)
        assert len(server.calls) == asked
    assert [row.line for row in again.judgments()] == [row.line for row in run.judgments()]
    assert not any(estimate.calls for estimate in estimates)


def test_calls_that_only_the_log_of_a_killed_writer_holds_are_replayed(
    tmp_path: Path, disk: Callable[[str], Path]
) -> None:
    place = disk("size=64m")
    code = (
        "import os, sys; from summeter.runs.calls import CallStore; store = CallStore(sys.argv[1]);"
        "store.put('k', '{}', '{\"text\": \"a\"}'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(place / "calls.sqlite")], check=False)
    (place / "calls.sqlite-shm").unlink()
    disk("ro")
    with CallStore(place / "calls.sqlite", readonly=True) as store:
        assert store.get("k") == '{"text": "a"}'


def test_a_replay_of_damaged_calls_names_them(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        file = judge(tmp_path / "run", server).folder / "calls.sqlite"
    data = bytearray(file.read_bytes())
    data[4096:8192] = bytes(4096)
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"run/calls\.sqlite: is not a readable call store"):
        evaluate(DATA, ["finesure"], replay=tmp_path / "run", out=tmp_path / "again")


def test_a_replay_onto_a_full_disk_says_so(tmp_path: Path, disk: Callable[[str], Path]) -> None:
    with StubServer(behave) as server:
        judge(tmp_path / "run", server)
    place = disk("size=96k")
    with pytest.raises((WriteError, OSError), match=r"cannot be written|No space left"):
        evaluate(DATA, ["finesure"], replay=tmp_path / "run", out=place / "again")


def test_a_store_that_cannot_be_opened_leaves_a_finished_run_finished(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        run = judge(tmp_path / "run", server)
        before = (run.folder / "run.json").read_bytes()
        assert run.manifest.status == "complete"
        (run.folder / "calls.sqlite").write_bytes(b"garbage" * 1000)
        with pytest.raises(InputError):
            judge(run.folder, server)
    assert (run.folder / "run.json").read_bytes() == before
