"""Exit codes and messages after disk errors, closed pipes and interrupts."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows

from summeter.cli.main import main
from summeter.engine.runs import Run

RESUMABLE = "; finished work is saved; run the same command to resume"


def ended(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Run a command, and return its exit code and stderr."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0), capsys.readouterr().err


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return file


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("summeter.data.dataset.load", load)


class TestTheDisk:
    def test_a_run_folder_below_a_file_is_refused(self, capsys: pytest.CaptureFixture[str], flat: Path) -> None:
        code, said = ended(capsys, "score", flat, "-e", "abstractiveness", "-o", flat / "run", "--quiet")
        assert code == 2
        assert said.startswith(f"summeter: cannot write {flat}/run")
        assert said.endswith(": Not a directory\n")
        assert said.count("\n") == 1

    @pytest.mark.parametrize(
        ("error", "code", "said"),
        [
            *(
                (OSError(number, os.strerror(number), "no/such/place"), 2,
                 f"cannot write no/such/place: {os.strerror(number)}")
                for number in (errno.EACCES, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOENT, errno.EROFS)
            ),
            # A failed rename is an error of its target.
            (OSError(errno.EACCES, "Permission denied", "/a/.tmp", None, "/a/out"), 2,
             "cannot write /a/out: Permission denied"),
            (OSError(errno.EIO, "Input/output error"), 1, "Input/output error"),
            *(
                (ExceptionGroup("outer", [ExceptionGroup("inner", [OSError(number, "full", "x"), ValueError()])]), 1,
                 "no space left on device; nothing was written")
                for number in (errno.ENOSPC, errno.EDQUOT)
            ),
        ],
    )  # fmt: skip
    def test_errors_of_files(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception, code: int,
        said: str,
    ) -> None:  # fmt: skip
        failing(monkeypatch, error)
        assert ended(capsys, "data", "show", "x.jsonl") == (code, f"summeter: {said}\n")

    def test_a_missing_file_cannot_be_read(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        failing(monkeypatch, FileNotFoundError(errno.ENOENT, "No such file or directory", str(tmp_path / "gone")))
        _, said = ended(capsys, "data", "show", "x.jsonl")
        assert said == f"summeter: cannot read {tmp_path}/gone: No such file or directory\n"

    def test_unexpected_errors_are_raised(self, monkeypatch: pytest.MonkeyPatch) -> None:
        failing(monkeypatch, ZeroDivisionError("oops"))
        with pytest.raises(ZeroDivisionError):
            main(["data", "show", "x"])


@pytest.mark.parametrize(
    ("words", "stopped"),
    [
        ("score x.jsonl", RESUMABLE),
        ("--offline data import x.jsonl -o set", "; nothing was written"),
        ("data show x.jsonl", "; nothing was written"),
        ("report x", "; nothing was written"),
        ("rescore x", ""),
        ("gate x --min a=0", ""),
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_what_remains_of_a_stopped_command(
    words: str, stopped: str, full: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    error = OSError(errno.ENOSPC, "full", "x") if full else KeyboardInterrupt()
    failing(monkeypatch, error)
    monkeypatch.setattr("summeter.runs.run.read_manifest", lambda _: (_ for _ in ()).throw(error))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # set by --offline, and put back after the test
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    Path("x").mkdir()
    said = "no space left on device" if full else "interrupted"
    assert ended(capsys, *words.split()) == (1 if full else 130, f"summeter: {said}{stopped}\n")


INTERRUPTED = """
import asyncio, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
from summeter.cli.main import main
from summeter.evaluators.overlap.novelty import Abstractiveness

judge = Abstractiveness.judge

async def interrupted(self, item, prepared, tools):
    if (item.document.id, item.summary.system) == ("d1", "a"):  # only once
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        await asyncio.sleep(5)
    return await judge(self, item, prepared, tools)

Abstractiveness.judge = interrupted
main(["score", *sys.argv[2:], "-e", "abstractiveness", "--quiet"])
"""


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_an_interrupted_command_says_how_to_resume(tmp_path: Path, flat: Path, sent: str) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", INTERRUPTED, sent, str(flat), "-o", str(out)]
    got = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (got.returncode, got.stderr) == (130, f"summeter: interrupted{RESUMABLE}\n")
    assert Run(out).manifest.status == "interrupted"


@pytest.mark.parametrize("arguments", [["list", "evaluators"], ["score", "FLAT", "-e", "abstractiveness", "-o", "RUN"],
                                       ["data", "export", "FLAT", "-o", "-"], ["--help"]])  # fmt: skip
def test_a_closed_pipe_is_not_an_error(tmp_path: Path, flat: Path, arguments: list[str]) -> None:
    words = [{"FLAT": str(flat), "RUN": str(tmp_path / "run")}.get(word, word) for word in arguments]
    reader, writer = os.pipe()
    os.close(reader)  # like `| head` after its last line
    try:
        got = subprocess.run([sys.executable, "-m", "summeter", *words], stdout=writer, stderr=subprocess.PIPE,
                             check=False, text=True)  # fmt: skip
    finally:
        os.close(writer)
    assert got.returncode == 0, got.stderr
    assert "Error" not in got.stderr
    assert "Broken" not in got.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_not_reused_for_files(tmp_path: Path, flat: Path, closed: str) -> None:
    out = tmp_path / "run"
    words = [sys.executable, "-m", "summeter", "score", str(flat), "-e", "abstractiveness", "-o", str(out)]
    got = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *words], capture_output=True, check=False, text=True)
    assert (got.returncode, got.stderr) == (0, "")
    assert Run(out).manifest.status == "complete"
    missing = [*words[:-4], "-e", "abstractivness"]
    got = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *missing], capture_output=True, check=False, text=True)
    assert got.returncode == 2
    assert "Traceback" not in got.stderr


class TestRoles:
    def test_a_misspelt_role_is_an_error(self, capsys: pytest.CaptureFixture[str], flat: Path, tmp_path: Path) -> None:
        code, said = ended(capsys, "score", flat, "-e", "finesure", "-m", "judge=openai/x", "-m", "jugde=openai/x",
                           "-o", tmp_path / "run")  # fmt: skip
        assert code == 2
        assert "the role 'jugde', which no evaluator has (did you mean judge?)" in said
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("more", [[], ["--dry-run"]])
    def test_a_model_without_an_evaluator_is_an_error(
        self, capsys: pytest.CaptureFixture[str], flat: Path, tmp_path: Path, more: list[str]
    ) -> None:
        code, said = ended(capsys, "score", flat, "-m", "openai/x", "-o", tmp_path / "run", *more)
        assert code == 2
        assert "the role 'judge', but support, abstractiveness use no model" in said
        assert not (tmp_path / "run").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "summeter", "list", "evaluators"], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert ended.returncode not in {0, 2}
    assert ended.stderr.splitlines()[0] == "summeter: cannot write standard output: no space left on device"
