"""The local judge under test, and the table of what it answered."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Server(NamedTuple):
    """Where the judge answers, and the model string that asks it."""

    url: str
    model: str


class Row(NamedTuple):
    """What became of one evaluator's calls. `valid` of those that were `whole` (not cut by the length limit)."""

    name: str
    calls: int
    whole: int
    valid: int
    cut: int
    judged: int
    judgments: int
    seconds: float


TABLE: pytest.StashKey[list[Row]] = pytest.StashKey()


def _script(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "local_judge.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def server(root: Path) -> Iterator[Server]:
    """The server that runs already, else one of our own; the test skips, visibly, where none is built."""
    if _script(root, "path").returncode != 0:
        pytest.skip("no local judge is built; build one with `make local-judge`")
    found = json.loads(_script(root, "status", "--json").stdout)
    own = not found["running"]
    if own:
        started = _script(root, "start")
        assert started.returncode == 0, started.stderr
        found = json.loads(_script(root, "status", "--json").stdout)
    yield Server(found["url"], f"llamacpp/{found['model']}")
    if own:
        _script(root, "stop")


@pytest.fixture
def table(request: pytest.FixtureRequest) -> list[Row]:
    """Rows added here are printed when all tests are done."""
    return request.config.stash.setdefault(TABLE, [])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A line an evaluator: calls, replies that fit their schema, replies cut by the length limit, seconds."""
    rows = config.stash.get(TABLE, [])
    if not rows:
        return
    terminalreporter.section("replies of the local judge")
    wide = max(len(row.name) for row in rows)
    head = f"{'evaluator':<{wide}}  calls  valid/whole   cut  judgments ok  seconds"
    terminalreporter.write_line(head)
    for row in rows:
        fit, ok = f"{row.valid}/{row.whole}", f"{row.judged}/{row.judgments}"
        terminalreporter.write_line(
            f"{row.name:<{wide}}  {row.calls:>5}  {fit:>11}  {row.cut:>4}  {ok:>12}  {row.seconds:>7.1f}"
        )
    total = [sum(row[i] for row in rows) for i in (1, 2, 3, 4, 5, 6, 7)]
    fit, ok = f"{total[2]}/{total[1]}", f"{total[4]}/{total[5]}"
    terminalreporter.write_line(f"{'all':<{wide}}  {total[0]:>5}  {fit:>11}  {total[3]:>4}  {ok:>12}  {total[6]:>7.1f}")
