"""docs/data.md does what it says: its files are read, its commands and Python run, its output compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import carry_out


def steady(text: str) -> str:
    """Without what changes with the splitter's version."""
    return re.sub(r"rules-\d+", "rules-N", re.sub(r"(hash )?\b[0-9a-f]{12}\b", "H", text))


def same(command: str, printed: str, expected: str) -> None:
    assert steady(printed) == steady(expected), command


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    carry_out(root / "docs" / "data.md", same)
