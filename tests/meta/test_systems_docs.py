"""The commands of docs/meta-systems.md run and print the output of the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pages import carry_out


def begins(command: str, printed: str, expected: str) -> None:
    assert printed.startswith(expected), command


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(root / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    carry_out(root / "docs" / "meta-systems.md", begins)
