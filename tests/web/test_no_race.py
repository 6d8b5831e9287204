"""Browser tests neither sleep nor assert on a single look at the page: both fail on a slower machine."""

from __future__ import annotations

import ast
from pathlib import Path

from together import together

FILES = sorted(Path(__file__).parent.glob("*.py"))
LOOKS = {
    "all", "all_inner_texts", "all_text_contents", "count", "get_attribute", "inner_html", "inner_text", "input_value",
    "is_checked", "is_disabled", "is_editable", "is_enabled", "is_hidden", "is_visible", "text_content", "title",
}  # fmt: skip
"""Methods of Playwright that look once; `expect` has a retrying form of each."""


def called(node: ast.AST) -> list[str]:
    """Return the names of the methods that a syntax tree calls."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    return [one.func.attr for one in calls if isinstance(one.func, ast.Attribute)]


def races(source: str) -> list[int]:
    """Return the lines that assert on a single look, or sleep."""
    tree = list(ast.walk(ast.parse(source)))
    found = [one.lineno for one in tree if isinstance(one, ast.Assert) and LOOKS & set(called(one.test))]
    return found + [one.lineno for one in tree if isinstance(one, ast.Expr) and "wait_for_timeout" in called(one)]


@together("file", FILES)
def test_the_browser_tests_neither_sleep_nor_look_once(file: Path) -> None:
    # `steps.until` may sleep: it is a loop that waits for a condition.
    allowed = 1 if file.name == "steps.py" else 0
    assert len(races(file.read_text(encoding="utf-8"))) == allowed


def test_finds_single_looks_and_sleeps() -> None:
    source = "assert page.locator('em').is_visible()\nassert [1].index(1) == 0\npage.wait_for_timeout(500)\n"
    assert races(source) == [1, 3]
