"""docs/first-hour.md, as a newcomer follows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.test_docs import same
from pages import carry_out


def test_the_first_hour(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    carry_out(root / "docs" / "first-hour.md", same)
