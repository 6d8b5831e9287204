"""Steps that browser tests share. Each waits for the state it needs, however slow the machine.

A page is drawn in pieces, its modules and answers come over the network, and Playwright's `is_visible`, `count` or
`inner_text` look only once: a test that asserts on what they say fails on a slower machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds: nothing that works takes as long, and a page pauses at most 34 between two tries to reach its server."""


def expect(what: Any) -> Any:
    """Playwright's retrying `expect`; imported late, for these tests are collected where Playwright is absent too."""
    from playwright.sync_api import expect as retrying

    retrying.set_options(timeout=PATIENCE * 1000)
    return retrying(what)


def until(page: Any, condition: Callable[[], bool], about: object = "") -> None:
    """Waits for what no locator sees: what the server stored, a measure (a page's policy forbids waiting inside it)."""
    last = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > last:
            raise AssertionError(f"it did not come to pass within {PATIENCE:g} seconds {about}")
        page.wait_for_timeout(50)


def begins(text: str) -> re.Pattern[str]:
    """What an expected text begins with."""
    return re.compile(f"^{re.escape(text)}")


def heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def reach(page: Any, title: str) -> None:
    """Waits for the stage whose heading holds `title`.

    A page comes with its campaign's title as a heading; the script draws another, and gives it the focus, in one go
    with all that stands below it and the keys it takes. So the focus says that a stage is ready; its text does not.
    """
    expect(page.locator("h1:focus", has_text=title)).to_be_visible()


def press(page: Any, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def task(page: Any) -> None:
    """Waits for a task to answer."""
    expect(page.locator("form.task")).to_be_visible()


def moving_on(page: Any, act: Callable[[], None]) -> None:
    """Does what ends a task, and waits for the page that comes after."""
    task(page)
    before = heading(page)
    act()
    expect(page.locator("h1")).not_to_have_text(before)


def sent(place: Any, count: int, page: Any, who: str = "anna") -> list[dict[str, Any]]:
    """The answers of a person, once the server has `count` of them."""
    until(page, lambda: len(place.answers(who)) >= count)
    return list(place.answers(who))


def fits(page: Any) -> None:
    """Nothing lies outside the window sideways."""
    until(page, lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def resize(page: Any, width: int, height: int = 844) -> None:
    """Another window, once the page knows of it."""
    page.set_viewport_size({"width": width, "height": height})
    until(page, lambda: page.evaluate("innerWidth") == width)
