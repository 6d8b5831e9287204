"""The page about FineSurE runs, and names what is there."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from summeter.evaluators.finesure.align import Align, FineSurE


def test_the_page_names_every_template_and_setting(root: Path) -> None:
    page = (root / "docs" / "finesure.md").read_text("utf-8")
    folder = resources.files("summeter.evaluators.finesure") / "prompts"
    for file in folder.iterdir():
        assert f"`{file.name}`" in page
    for field in {**FineSurE.model_fields, **Align.model_fields}:
        assert f"| `{field}` |" in page
