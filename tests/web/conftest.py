"""Fixtures that start a browser and serve annotation campaigns to it on a loopback port."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from web import annotate_campaigns as made
from web import slow
from web.annotate_site import serving
from web.steps import PATIENCE

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def chrome() -> Iterator[Any]:
    """Yield a Chromium browser; skip the test if none is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package, which is not here")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"needs a browser ({', '.join(BROWSERS)}), and none is on the PATH")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=list(ARGUMENTS), timeout=PATIENCE * 1000)
        yield opened
        opened.close()


@pytest.fixture
def site(tmp_path: Path, example: Path) -> Iterator[Callable[..., Any]]:
    """Yield `site(task_type, rows=None, clock=time.time, **changes)`, which makes a campaign and serves it.

    `changes` are fields of the campaign's YAML file.
    """
    with ExitStack() as stack:

        def make(
            task_type: str,
            given: list[dict[str, Any]] | None = None,
            clock: Callable[[], float] = time.time,
            **changes: Any,
        ) -> Any:
            folder = tmp_path / f"{task_type}-{len(list(tmp_path.iterdir()))}"
            campaign = made.campaign(folder, task_type, made.rows(example) if given is None else given, **changes)
            return stack.enter_context(serving(campaign, clock))

        yield make


@pytest.fixture
def visit(chrome: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Yield `visit(address)`, which opens a page in a new browser context, or in the given `context`.

    After the test, no page may have contacted another host, opened a dialog, raised an error or written to the
    console, except for messages that `page.forgiven` matches.
    """
    contexts: list[Any] = []
    pages: list[Any] = []
    heard: list[tuple[Any, str]] = []

    def go(address: str, *, phone: bool = False, scheme: str = "light", context: Any = None, **options: Any) -> Any:
        if context is None:
            context = chrome.new_context(
                viewport=PHONE if phone else DESKTOP, has_touch=phone, color_scheme=scheme, reduced_motion="reduce",
                **options,
            )  # fmt: skip
            context.set_default_timeout(PATIENCE * 1000)
            contexts.append(context)
        page = context.new_page()
        page.forgiven = "(?!)"
        pages.append(page)
        origin = "/".join(address.split("/")[:3])

        def asked(call: Any) -> None:
            if not call.url.startswith((f"{origin}/", "data:image/svg+xml")):
                heard.append((page, f"request: {call.url}"))

        def dialog(one: Any) -> None:
            heard.append((page, f"dialog: {one.message}"))
            one.dismiss()

        page.on("dialog", dialog)
        page.on("console", lambda message: heard.append((page, f"console: {message.text}")))
        page.on("pageerror", lambda error: heard.append((page, f"error: {error}")))
        page.on("request", asked)
        slow.throttle(page)
        page.goto(address)
        return page

    yield go
    shots = os.environ.get("SUMMETER_SHOTS")
    for at, page in enumerate(pages):
        if shots and not page.is_closed():
            shoot(page, Path(shots), f"{request.node.name}-{at}")
    for context in contexts:
        context.close()
    assert [text for page, text in heard if not re.search(page.forgiven, text)] == []


def shoot(page: Any, folder: Path, name: str) -> None:
    """Save a screenshot of the visible part of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / (re.sub(r"[^\w-]+", "_", name) + ".png"))


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> Callable[[Any, str], None]:
    """Return `shot(page, name)`, which saves a screenshot if SUMMETER_SHOTS names a folder."""

    def take(page: Any, name: str) -> None:
        if folder := os.environ.get("SUMMETER_SHOTS"):
            shoot(page, Path(folder), f"{request.node.name}-{name}")

    return take
