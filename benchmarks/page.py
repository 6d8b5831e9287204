"""Size and time of the page of a large run: what `summeter report` needs, and when a browser shows it.

    python benchmarks/page.py [--sizes 10000x5 12000x6] [--folder FOLDER]

The documents have the length of news (25 to 50 sentences of 10 to 22 words), the summaries have three to five
sentences, and the judges are `support`, `rouge` and `abstractiveness`. A size is a number of summaries, and the number
of systems. FOLDER keeps the runs for the next measurement. Browser times are milliseconds after the address is opened:
until text is painted, and until the first summaries can be read. They are medians of five visits by Chromium, which
needs the package `playwright`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory import DOMAINS, EVALUATORS, sentence, vocabulary

SYSTEMS = ("aster", "birch", "cedar", "dogwood", "elder", "fir", "ginkgo", "hazel", "iris", "juniper")
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# The script draws the first summaries before the document is interactive.
READ = "performance.getEntriesByType('navigation')[0].domInteractive"


def rows(count: int, systems: int) -> Iterator[dict[str, Any]]:
    """Yield flat rows."""
    rng = random.Random(0)
    words = vocabulary()
    for number in range(count // systems):
        sentences = [sentence(rng, words) for _ in range(rng.randint(25, 50))]
        for system in SYSTEMS[:systems]:
            chosen = [
                rng.choice(sentences) if rng.random() < 0.5 else sentence(rng, words) for _ in range(rng.randint(3, 5))
            ]
            yield {
                "doc_id": f"d-{number:05}", "system": system, "domain": DOMAINS[number % len(DOMAINS)],
                "document": " ".join(sentences), "summary": " ".join(chosen),
                "reference": " ".join(rng.sample(sentences, 3)),
            }  # fmt: skip


def visit(page: Path) -> tuple[float, float]:
    """Return the median milliseconds until text is painted, and until summaries can be read."""
    from playwright.sync_api import sync_playwright

    browser = next(found for name in ("chromium", "google-chrome") if (found := shutil.which(name)))
    painted, read = [], []
    with sync_playwright() as driver, driver.chromium.launch(executable_path=browser, args=["--no-sandbox"]) as opened:
        for _ in range(5):
            tab = opened.new_page(viewport={"width": 1440, "height": 900})
            tab.goto(page.as_uri())
            tab.locator(".card").first.wait_for()
            painted.append(tab.evaluate(PAINTED))
            read.append(tab.evaluate(READ))
            tab.close()
    return statistics.median(painted), statistics.median(read)


def main() -> None:
    """Write the runs and their pages, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["10000x5", "12000x6"], help="summaries x systems")
    parser.add_argument("--folder", type=Path, help="folder that keeps the runs")
    options = parser.parse_args()
    print("| summaries | systems | listed | page | `summeter report`: memory | CPU | painted | read |")
    print("| --: | --: | --: | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as name:
        for size in options.sizes:
            count, systems = map(int, size.split("x"))
            run, page = (options.folder or Path(name)) / f"news-{size}", Path(name) / "page.html"
            if not run.exists():
                from summeter.engine.api import evaluate

                evaluate(list(rows(count, systems)), EVALUATORS, out=run)
            before = os.times()
            command = [sys.executable, "-m", "summeter", "report", str(run), "-o", str(page)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                peak = 0
                while process.poll() is None:
                    status = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()
                    peak = int(status[0]) if status else peak
                    time.sleep(0.05)
            after = os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            listed, mb = page.read_text(encoding="utf-8").count('id="summary-'), page.stat().st_size / 1e6
            painted, read = visit(page)
            print(
                f"| {count:,} | {systems} | {listed:,} | {mb:.1f} MB | {peak / 1024:.0f} MiB | {cpu:.1f} s | "
                f"{painted:.0f} ms | {read:.0f} ms |", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
