"""Steps shared by the browser tests. Each waits for the state it needs, however slow the machine.

Pages load in several steps, and Playwright's `is_visible`, `count` and `inner_text` look only once. A test that asserts
on their results fails on a slower machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds to wait before a test fails. A page waits at most 34 seconds before it retries a request."""


def expect(what: Any) -> Any:
    """Call Playwright's retrying `expect`, imported late because Playwright may be absent when tests are collected."""
    from playwright.sync_api import expect as retrying

    retrying.set_options(timeout=PATIENCE * 1000)
    return retrying(what)


def until(page: Any, condition: Callable[[], bool], about: object = "") -> None:
    """Wait until a condition holds that no locator can check, such as what the server has stored."""
    last = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > last:
            raise AssertionError(f"the condition was not met within {PATIENCE:g} seconds {about}")
        page.wait_for_timeout(50)


def begins(text: str) -> re.Pattern[str]:
    """Return a pattern that matches texts that begin with `text`."""
    return re.compile(f"^{re.escape(text)}")


def heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def reach(page: Any, title: str) -> None:
    """Wait for the stage whose heading contains `title`.

    The stage is ready when its heading has the focus: the script draws the heading, everything below it and the keys in
    one step, and then focuses the heading. The text alone may belong to the heading that the server sent.
    """
    expect(page.locator("h1:focus", has_text=title)).to_be_visible()


def press(page: Any, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def task(page: Any) -> None:
    """Wait for a task's form."""
    expect(page.locator("form.task")).to_be_visible()


def moving_on(page: Any, act: Callable[[], None]) -> None:
    """Perform an action that ends a task, and wait for the next page."""
    task(page)
    before = heading(page)
    act()
    expect(page.locator("h1")).not_to_have_text(before)


def sent(place: Any, count: int, page: Any, who: str = "anna") -> list[dict[str, Any]]:
    """Wait until the server has `count` answers of an annotator, and return them."""
    until(page, lambda: len(place.answers(who)) >= count)
    return list(place.answers(who))


def fits(page: Any) -> None:
    """Wait until the page fits the width of the window."""
    until(page, lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def resize(page: Any, width: int, height: int = 844) -> None:
    """Resize the window, and wait until the page has the new width."""
    page.set_viewport_size({"width": width, "height": height})
    until(page, lambda: page.evaluate("innerWidth") == width)
