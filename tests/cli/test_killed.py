"""A command killed at any of its first writes succeeds when it is run again, and leaves no temporary files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "examples" / "build_a_benchmark" / "bench.yaml"
DATA = '{"document": "Ana walked to the mill.", "summary": "Ana ran.", "system": "a"}\n'

# The process forks one child per run after the imports, which are slow.
SCRIPT = """
import os, signal, sys
import summeter.benchmark.chain, summeter.cli.bench, summeter.cli.data, summeter.cli.score, summeter.engine.api
from summeter.cli.main import main

WRITES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir"}

def run(command, last=0):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    writes = 0

    def hook(event, arguments):
        nonlocal writes
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        if (opens or event in WRITES) and "OUT" in str(arguments[0]):
            writes += 1
            if writes == last:
                os.kill(os.getpid(), signal.SIGKILL)

    if last:
        sys.addaudithook(hook)
    sys.stdout = open(os.devnull, "w")
    try:
        main(command)
    except SystemExit as ended:
        os._exit(ended.code or 0)
    os._exit(0)

for last in range(1, int(sys.argv[1]) + 1):
    folder = f"{last}/OUT"
    os.mkdir(str(last))
    command = [*sys.argv[2:], "-o", folder]
    killed = run(command, last)
    print(last, killed, run(command) if killed == -signal.SIGKILL else "", sorted(os.listdir(str(last))))
    if killed != -signal.SIGKILL:
        break
"""


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        (f"bench run {BENCH} --until source", 7),
        ("score data.jsonl -e length", 12),
        ("data import data.jsonl --force", 25),
        ("data shard data.jsonl --documents 1", 12),
    ],
    ids=["bench run", "score", "data import", "data shard"],
)
def test_a_command_killed_at_any_write_can_be_run_again(command: str, writes: int, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(DATA)
    script = [sys.executable, "-c", SCRIPT, str(writes), *command.split()]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) >= 7
    for place, line in enumerate(lines, 1):
        ended = "0  ['OUT']" if place == len(lines) and " -9 " not in line else "-9 0 ['OUT']"
        assert line == f"{place} {ended}", done.stderr
