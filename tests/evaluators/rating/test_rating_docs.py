"""The page about rating judges runs, and names what is there."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from summeter.evaluators.aspects import RATED, read_aspects
from summeter.evaluators.rating.h2h import HeadToHead


@pytest.fixture(scope="module")
def page(root: Path) -> Path:
    return root / "docs" / "rating.md"


def test_the_page_names_every_template_setting_and_aspect(page: Path) -> None:
    text = page.read_text("utf-8")
    folder = resources.files("summeter.evaluators.rating") / "prompts"
    for file in folder.iterdir():
        assert f"`{file.name}`" in text
    for field in HeadToHead.model_fields:
        assert f"| `{field}` |" in text
    for aspect in RATED:
        assert aspect in text


def test_the_pages_aspect_file_is_one(page: Path, tmp_path: Path) -> None:
    file = tmp_path / "tone.yaml"
    file.write_text(page.read_text("utf-8").split("```yaml\n")[1].split("```")[0])
    assert read_aspects(file)["tone"].levels[1] == "mostly another tone"
