"""Makes annotate-*.png, the pictures of docs/annotate.md, from the campaign of that page.

    python docs/images/annotate.py CAMPAIGN docs/images

CAMPAIGN is the folder `study` as it is after step 3 of the page. Needs playwright and a Chromium on the PATH.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
PAGES = (
    ("dashboard", "/admin", "table.people", 700),
    ("quality", "/admin/quality", "meter", 1000),
    ("adjudicate", "/admin/adjudicate", "form.task", 640),
)


def main(campaign: Path, target: Path) -> None:
    """A picture of each page."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-u", "-m", "summeter", "annotate", "serve", str(campaign), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:  # noqa: S603 - our own
        try:
            link = next(line.split()[1] for line in server.stdout or () if re.match("admin: ", line))
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
            page = browser.new_page(viewport={"width": 1060, "height": 700}, color_scheme="light")
            page.goto(link)
            for name, path, ready, height in PAGES:
                _take(page, link.partition("/admin")[0] + path, ready, height, target / f"annotate-{name}.png")
            browser.close()
        finally:
            server.terminate()


def _take(page: Any, address: str, ready: str, height: int, file: Path) -> None:
    page.set_viewport_size({"width": 1060, "height": height})
    page.goto(address)
    page.locator(f"{ready} >> visible=true").first.wait_for()
    page.screenshot(path=str(file))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
