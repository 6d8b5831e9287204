"""How a browser takes a report: CPU seconds to open it, to turn a page, to filter, order and search; and memory.

    python benchmarks/page.py runs/mine/report.html ...

Every page is opened from disk by a fresh headless Chromium (on the PATH; `make web` installs what drives it). CPU
seconds are those of all its processes; on a busy machine they say more than the wall beside them. `heap` is what the
page's script holds, before and after the first search; `process` the largest resident set of any process. Linux only:
both are read from /proc.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-precise-memory-info")
WINDOW = {"width": 1280, "height": 844}
SETTLED = "new Promise((done) => setTimeout(() => requestAnimationFrame(() => setTimeout(done))))"
COUNT = "document.querySelector('.pager span')?.textContent ?? ''"
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 300.0


class Process(NamedTuple):
    """A process of the browser: its CPU seconds, and its largest resident set in MB."""

    cpu: float
    peak: float


def processes() -> list[Process]:
    """The browser's processes: those below this one that bear its name."""
    children: dict[int, list[int]] = {}
    found: dict[int, Process] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            status = (folder / "status").read_text()
        except OSError:  # it has ended meanwhile
            continue
        fields = rest.split()
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        if "chrom" in name:
            peak = re.search(r"VmHWM:\s+(\d+) kB", status)
            cpu = (int(fields[11]) + int(fields[12])) / TICKS
            found[int(folder.name)] = Process(cpu, int(peak[1]) * 1024 / 1e6 if peak else 0.0)
    below, left = [], [os.getpid()]
    while left:
        more = children.get(left.pop(), [])
        below += more
        left += more
    return [found[one] for one in below if one in found]


class Watch:
    """Steps of a visit, each with the CPU seconds it took until the page showed what was asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def count(self) -> str:
        """What the page says of how many summaries it shows."""
        return str(self.page.evaluate(COUNT))

    def step(self, name: str, act: Callable[[], object], done: Callable[[str], bool] = bool) -> None:
        """Do something, and wait until the page says that it is done."""
        before, start = sum(one.cpu for one in processes()), time.perf_counter()
        act()
        self.page.evaluate(SETTLED)
        while not done(self.count()):
            if time.perf_counter() - start > PATIENCE:
                raise SystemExit(f"{name}: the page does not show it; it says {self.count()!r}")
            time.sleep(0.02)
        wall = time.perf_counter() - start
        taken = sum(one.cpu for one in processes()) - before
        print(f"    {name:<28} {taken:6.2f} s CPU  {wall:6.2f} s wall", flush=True)

    def heap(self) -> float:
        """MB that the page's script holds."""
        return float(self.page.evaluate("performance.memory.usedJSHeapSize")) / 1e6


def visit(driver: Any, browser: str, file: Path, word: str) -> None:
    """Open a page and use it."""
    opened = driver.chromium.launch(executable_path=browser, args=list(ARGUMENTS))
    page = opened.new_context(viewport=WINDOW).new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto("about:blank")
    watch = Watch(page)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    watch.step("open", lambda: page.goto(file.resolve().as_uri()))
    whole = watch.count()
    turn = page.get_by_role("button", name="Next").first
    if turn.count():
        watch.step("next page", turn.click, lambda said: said != whole)
    watch.step("only those with errors", lambda: page.locator("[name=show]").select_option("wrong"))
    watch.step("all again", lambda: page.locator("[name=show]").select_option(""), lambda said: said == whole)
    watch.step("in another order", lambda: page.locator("[name=order]").select_option(index=1))
    first = watch.heap()
    search = page.locator("[name=text]")
    watch.step(f"first search ({word})", lambda: search.fill(word), lambda said: said != whole)
    some = watch.count()
    watch.step("another search", lambda: search.fill(f"{word} no-such-word"), lambda said: said != some)
    peak = max(one.peak for one in processes())
    print(f"    {some}; heap {first:.0f} MB, {watch.heap():.0f} MB after a search; process {peak:.0f} MB", flush=True)
    opened.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="+", metavar="PAGE")
    parser.add_argument("--word", default="garden", help="what is searched for: some summaries hold it, and not all")
    arguments = parser.parse_args()
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        parser.error(f"no browser on the PATH ({', '.join(BROWSERS)})")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        for file in arguments.pages:
            visit(driver, browser, file, arguments.word)


if __name__ == "__main__":
    main()
