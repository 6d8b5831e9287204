"""No browser test asserts on what it looked at once, or sleeps: both fail on a slower machine."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.glob("*.py"))
LOOKS = {
    "all", "all_inner_texts", "all_text_contents", "count", "get_attribute", "inner_html", "inner_text", "input_value",
    "is_checked", "is_disabled", "is_editable", "is_enabled", "is_hidden", "is_visible", "text_content", "title",
}  # fmt: skip
"""What Playwright answers at once; `expect` has a retrying form of each."""


def called(node: ast.AST) -> list[str]:
    """The methods that a piece of code calls."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [one.func.attr for one in calls if isinstance(one.func, ast.Attribute)]


def races(source: str) -> list[int]:
    """Lines that assert on one look, or that sleep."""
    tree = list(ast.walk(ast.parse(source)))
    found = [one.lineno for one in tree if isinstance(one, ast.Assert) and LOOKS & set(called(one.test))]
    return found + [one.lineno for one in tree if isinstance(one, ast.Expr) and "wait_for_timeout" in called(one)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_test_waits(file: Path) -> None:
    # The one loop that may: it waits for a condition between its naps.
    allowed = 1 if file.name == "steps.py" else 0
    assert len(races(file.read_text(encoding="utf-8"))) == allowed


def test_a_race_is_seen() -> None:
    source = "assert page.locator('em').is_visible()\nassert [1].index(1) == 0\npage.wait_for_timeout(500)\n"
    assert races(source) == [1, 3]
