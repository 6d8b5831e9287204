"""The page about G-Eval runs, and names what is there."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from summeter.evaluators.catalog import build
from summeter.evaluators.geval.geval import GEval
from summeter.evaluators.geval.plus import GEvalPlus


@pytest.fixture(scope="module")
def page(root: Path) -> Path:
    return root / "docs" / "geval.md"


def test_the_page_names_every_template_and_setting(page: Path) -> None:
    text = page.read_text("utf-8")
    for file in (resources.files("summeter.evaluators.geval") / "prompts").iterdir():
        assert f"`{file.name}`" in text
    for field in {**GEval.model_fields, **GEvalPlus.model_fields}:
        assert f"`{field}`" in text


def test_every_evaluator_the_page_names_can_be_built(page: Path) -> None:
    text = page.read_text("utf-8")
    named = {*re.findall(r'-e "([^"]+)"', text), *re.findall(r"`(geval\w*\[[^`]*\])`", text)}
    assert len(named) >= 7
    for name in named:
        build(name)
