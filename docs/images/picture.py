"""Makes report.png, the README's picture, from a report: its head in light beside one summary in dark.

    python docs/images/picture.py REPORT.html docs/images/report.png ITEM SENTENCE

ITEM is the number in a summary's link (#item-12), SENTENCE the sentence to open, from 1. Needs playwright and a
Chromium on the PATH.
"""

from __future__ import annotations

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
STEADY = "document.documentElement.style.scrollBehavior = 'auto'"


def main(report: Path, target: Path, item: int, sentence: int) -> None:
    """Two views of the page, set side by side."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        head = _page(browser, report.as_uri(), "light")
        left = head.screenshot()
        card = _page(browser, f"{report.as_uri()}#item-{item}", "dark")
        card.evaluate(STEADY)
        card.locator(f"#item-{item} .hit").nth(sentence - 1).click()
        card.locator(f"#item-{item}").evaluate("node => { node.blur(); node.scrollIntoView({ block: 'start' }) }")
        card.mouse.move(0, 0)
        right = card.screenshot()
        both = browser.new_page(viewport={"width": 1416, "height": 766})
        images = "".join(f'<img src="data:image/png;base64,{base64.b64encode(one).decode()}">' for one in (left, right))
        style = "body{margin:0;display:flex;gap:24px;padding:16px;background:#d9dee3}img{width:680px}"
        both.set_content(f"<style>{style}</style>{images}")
        both.wait_for_function("[...document.images].every((image) => image.complete)")
        both.screenshot(path=str(target))
        browser.close()


def _page(browser: Any, address: str, scheme: str) -> Any:
    context = browser.new_context(viewport={"width": 1060, "height": 1135}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    return page


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
