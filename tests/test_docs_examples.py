"""Every example runs: those of the pages, and those of the docstrings."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
NEEDS_SETUP = {"extending.md"}
"""Pages whose examples use code written on the page: their own tests run them."""
PAGES = sorted(page.name for page in (ROOT / "docs").glob("*.md") if re.search(r"^>>> ", page.read_text("utf-8"), re.M))
MODULES = sorted(
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for file in SOURCE.rglob("*.py")
    if re.search(r"^\s*>>> (?!.*doctest: \+SKIP)", file.read_text("utf-8"), re.M)
)


@pytest.mark.parametrize("page", sorted({*PAGES} - NEEDS_SETUP))
def test_the_examples_of_a_page_run(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = doctest.testfile(
        str(ROOT / "docs" / page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.attempted
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert result.failed == 0
