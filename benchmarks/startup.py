"""How long summeter takes to start, beside a bare `python -c pass` in the same minute.

    python benchmarks/startup.py                         nine starts of each: medians, and what they take beyond bare

The starts are interleaved, so that a busy machine slows all of them alike. Wanted on a quiet one: `--help` under .35 s
and within .3 s of bare Python, `import summeter` under .3 s.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

STARTS = {
    "python -c pass": ["-c", "pass"],
    "import summeter": ["-c", "import summeter"],
    "summeter --help": ["-m", "summeter", "--help"],
    "summeter score --help": ["-m", "summeter", "score", "--help"],
    "summeter meta correlate --help": ["-m", "summeter", "meta", "correlate", "--help"],
}


def main() -> None:
    """Print a line a start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=9, help="how often each is started")
    took: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(parser.parse_args().starts):
        for name, arguments in STARTS.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            took[name].append(time.perf_counter() - began)
    bare = statistics.median(took["python -c pass"])
    for name, seconds in took.items():
        median = statistics.median(seconds)
        print(f"{name:<32} {median:.3f} s   {median - bare:+.3f} s   {median / bare:.1f} times bare")


if __name__ == "__main__":
    main()
