"""docs/recipes.md: the recipes that call no model work as written."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.test_docs import same
from pages import carry_out


def test_the_recipes(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(root / "examples")
    carry_out(root / "docs" / "recipes.md", same)
