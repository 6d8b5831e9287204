"""The pages on local judges name every setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from summeter.evaluators.catalog import build


@pytest.mark.parametrize(
    ("page", "names"), [("fenice.md", ["fenice", "summac"]), ("similarity.md", ["bertscore", "similarity"])]
)
def test_every_setting_has_a_line(root: Path, page: str, names: list[str]) -> None:
    text = (root / "docs" / page).read_text()
    for name in names:
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for setting in type(build(name)).model_fields:
            assert f"`{setting}`" in section, (name, setting)
        assert "**Proof: " in section
