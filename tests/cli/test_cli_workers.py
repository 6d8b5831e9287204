"""The options of the executors."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows

from summeter.cli.executor_options import executor_of
from summeter.cli.main import main
from summeter.engine.executors.processes import ProcessExecutor
from summeter.engine.executors.ray import RayExecutor
from summeter.records import UsageError


def test_options_select_an_executor() -> None:
    assert executor_of(None, None, None, None, None) is None
    assert executor_of("local", None, None, None, None) is None
    assert executor_of(None, 3, None, None, None) == ProcessExecutor(workers=3)
    assert executor_of("processes", 3, None, 2.0, None) == ProcessExecutor(workers=3, threads=2)
    assert executor_of(None, 8, "head:6379", None, None) == RayExecutor(address="head:6379", workers=8)
    assert executor_of("ray", None, None, 0.5, 0.25) == RayExecutor(cpus_per_worker=0.5, gpus_per_worker=0.25)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("local", 2, None, None, None), "--workers needs --executor processes or"),
        ((None, None, None, 2.0, None), "--cpus-per-worker needs --executor processes"),
        (("processes", None, "head:6379", None, None), "--ray-address needs --executor ray"),
        (("processes", None, None, None, 1.0), "--gpus-per-worker needs --executor ray"),
        (("processes", None, None, 1.5, None), "must be a whole number"),
        (("ray", None, None, 0.0, None), "--cpus-per-worker is 0"),
        (("ray", None, None, math.inf, None), "--cpus-per-worker is inf"),
        (("ray", None, None, None, math.inf), "--gpus-per-worker is inf"),
        (("ray", None, None, None, -1.0), "--gpus-per-worker is -1"),
        (("local", None, None, None, 1.0), "--gpus-per-worker needs --executor ray"),
    ],
)
def test_contradicting_options_are_refused(
    given: tuple[Any, int | None, str | None, float, float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        executor_of(*given)


def test_ray_is_imported_on_first_use() -> None:
    code = "import sys, summeter as sm, summeter.cli.score; sm.RayExecutor(workers=2); sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_ray_is_an_error_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(1)))
    monkeypatch.setattr("summeter.engine.executors.ray.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        main(["score", str(data), "-e", "support", "-o", str(tmp_path / "run"), "--executor", "ray"])
    assert ended.value.code == 2
    assert "pip install 'summeter[ray]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
