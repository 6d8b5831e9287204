"""The notebooks in examples/notebooks run, and print what is stored in them."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("name", ["evaluate", "trust", "benchmark"])
def test_the_notebook_is_true(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    file = root / "examples" / "notebooks" / f"{name}.ipynb"
    run: Any = runpy.run_path(str(root / "scripts" / "notebooks.py"))["run"]
    stored = json.loads(file.read_text(encoding="utf-8"))
    assert run(file)["cells"] == stored["cells"]
