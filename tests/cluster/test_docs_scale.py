"""The commands of docs/scale.md work as described, on two Ray nodes of this machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import carry_out

ADDRESS = "10.0.0.1:6379"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def begins(command: str, printed: str, expected: str) -> None:
    assert printed.startswith(expected), command


def test_the_page_is_true(nodes: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(root / "examples")
    text = (root / "docs" / "scale.md").read_text("utf-8")
    assert ADDRESS in text
    page = tmp_path / "scale.md"
    page.write_text(PYTHON.sub("", text).replace(ADDRESS, nodes.address), encoding="utf-8")
    carry_out(page, begins)
    for script in PYTHON.findall(text):
        Path("script.py").write_text(script, encoding="utf-8")
        subprocess.run([sys.executable, "script.py"], check=True)
    # What the page promises: whoever did the work, the judgments are the same.
    names = ("two", "python", "ray")
    judgments = [{file.name: file.read_bytes() for file in Path("runs", name, "judgments").iterdir()} for name in names]
    assert judgments[0]
    assert all(each == judgments[0] for each in judgments)
    assert not list(Path("runs").glob("*/parts"))
