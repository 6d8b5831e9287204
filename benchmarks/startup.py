"""Start-up time of summeter, compared with `python -c pass` on the same machine.

    python benchmarks/startup.py                         nine starts of each: medians, and the time beyond bare Python

The starts are interleaved, so that a busy machine slows all of them equally. Goals on an idle machine: `--help` below
.35 s and within .3 s of bare Python, `import summeter` below .3 s.
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
    """Print one line per command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=9, help="number of starts of each command")
    spent: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(parser.parse_args().starts):
        for name, arguments in STARTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            spent[name].append(time.perf_counter() - start)
    bare = statistics.median(spent["python -c pass"])
    for name, seconds in spent.items():
        median = statistics.median(seconds)
        print(f"{name:<32} {median:.3f} s   {median - bare:+.3f} s   {median / bare:.1f} times bare")


if __name__ == "__main__":
    main()
