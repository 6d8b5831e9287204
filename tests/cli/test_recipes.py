"""docs/recipes.md and docs/first-hour.md: what they do works as written."""

from __future__ import annotations

from pathlib import Path

import pytest
from data.test_docs import same
from pages import carry_out


@pytest.mark.parametrize("page", ["first-hour", "recipes"])
def test_a_page_as_a_newcomer_follows_it(
    page: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(root / "examples")
    carry_out(root / "docs" / f"{page}.md", same)
