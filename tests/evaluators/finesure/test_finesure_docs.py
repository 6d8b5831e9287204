"""The page about FineSurE runs, and names what is there."""

from __future__ import annotations

import doctest
from importlib import import_module, resources
from pathlib import Path

import pytest

from summeter.evaluators.finesure.align import Align
from summeter.evaluators.finesure.bundle import FineSurE


def test_the_page_runs(root: Path) -> None:
    failed, tried = doctest.testfile(str(root / "docs" / "finesure.md"), module_relative=False)
    assert tried > 10
    assert failed == 0


def test_the_page_names_every_template_and_setting(root: Path) -> None:
    page = (root / "docs" / "finesure.md").read_text("utf-8")
    folder = resources.files("summeter.evaluators.finesure") / "prompts"
    for file in folder.iterdir():
        assert f"`{file.name}`" in page
    for field in {**FineSurE.model_fields, **Align.model_fields}:
        assert f"| `{field}` |" in page


@pytest.mark.parametrize(
    "name", ["replies", "finesure.verdicts", "finesure.key_facts", "finesure.bundle", "finesure.legacy"]
)
def test_examples_in_docstrings(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"summeter.evaluators.{name}"))
    assert tried
    assert failed == 0
