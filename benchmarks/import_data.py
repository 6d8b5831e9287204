"""What it takes to import a large flat file, and what files that are made to hurt do to it.

    large     `summeter data import` of 100,000 rows, five systems on each of 20,000 documents, beside plain JSON
              parsing of the same file in a process of its own (every line read, parsed and thrown away)
    bombs     a gzip bomb of a gigabyte, a line of 100 MB, a cell of 100 MB, an XLSX bomb: each must end with exit
              code 2 and a message, under 1 GiB

    python benchmarks/import_data.py                     both, on one core
    python benchmarks/import_data.py --rows 10000 --only large

`seconds` are those of the wall, `CPU` the process's own, `peak` its largest resident set (VmHWM).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from memory import SYSTEMS, rows

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PLAIN = """
import json, sys
with open(sys.argv[1], encoding="utf-8") as handle:
    for line in handle:
        json.loads(line)
"""
PEAK = """
import re
print("peak", int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024, file=sys.stderr)
"""
IMPORT = """
import sys
from summeter.cli.main import main
try:
    main(["data", "import", *sys.argv[1:]])
finally:
"""


class Taken(NamedTuple):
    """What a process took: seconds of the wall and of the CPU, MiB at its peak; its exit code and its message."""

    seconds: float
    cpu: float
    peak: int
    code: int
    said: str


def measured(code: str, *arguments: str) -> Taken:
    """Run Python code in a process on one core."""
    core = min(os.sched_getaffinity(0))
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["taskset", "-c", str(core), sys.executable, "-c", code, *arguments],
        env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = done.stderr.strip().splitlines()
    peak = next((int(line.split()[1]) for line in reversed(lines) if line.startswith("peak ")), -1)
    said = next((line for line in lines if not line.startswith(("peak ", "warning"))), "")
    return Taken(seconds, cpu, peak, done.returncode, said)


def importing(*arguments: str) -> Taken:
    """`summeter data import` in a process."""
    indented = "".join(f"    {line}\n" for line in PEAK.strip().splitlines())
    return measured(IMPORT + indented, *arguments)


def large(folder: Path, count: int) -> None:
    """The table of a large import beside plain parsing."""
    file = folder / "rows.jsonl"
    with file.open("w", encoding="utf-8") as handle:
        for row in rows(count, seed=1):
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")
    documents = count // len(SYSTEMS)
    print(f"{count:,} rows, {documents:,} documents, {file.stat().st_size / 1e6:,.0f} MB")
    plain = measured(f"{PLAIN}{PEAK}", str(file))
    taken = importing(str(file), "-o", str(folder / "dataset"))
    print(f"{'':<22}{'seconds':>9}{'CPU':>8}{'peak MiB':>10}")
    for name, each in (("plain json parsing", plain), ("summeter data import", taken)):
        failed = "" if each.code == 0 else f"  exit {each.code}"
        print(f"{name:<22}{each.seconds:>9.1f}{each.cpu:>8.1f}{each.peak:>10,}{failed}")
    ratios = taken.seconds / plain.seconds, taken.cpu / plain.cpu, taken.peak / plain.peak
    print(f"{'ratio':<22}{ratios[0]:>9.1f}{ratios[1]:>8.1f}{ratios[2]:>10.1f}")


def bombs(folder: Path) -> None:
    """What files that are made to hurt do."""
    files = {
        "1 GB gzip bomb": _gzip_bomb(folder / "bomb.jsonl.gz"),
        "line of 100 MB": _long_line(folder / "line.jsonl"),
        "cell of 100 MB": _long_cell(folder / "cell.csv"),
        "XLSX bomb": _xlsx_bomb(folder / "bomb.xlsx"),
    }
    print(f"\n{'':<22}{'seconds':>9}{'CPU':>8}{'peak MiB':>10}  exit  message")
    for name, file in files.items():
        taken = importing(str(file), "-o", str(folder / "never"))
        said = taken.said.replace(str(folder) + "/", "")
        print(f"{name:<22}{taken.seconds:>9.1f}{taken.cpu:>8.1f}{taken.peak:>10,}  {taken.code:>4}  {said}")
        if (folder / "never").exists():
            raise SystemExit(f"{name}: a folder was written")


def _gzip_bomb(path: Path) -> Path:
    with gzip.open(path, "wb") as handle:
        for _ in range(1024):
            handle.write(b" " * (1 << 20))
    return path


def _long_line(path: Path) -> Path:
    path.write_text(json.dumps({"document": "x" * 100_000_000, "summary": "x"}) + "\n", "utf-8")
    return path


def _long_cell(path: Path) -> Path:
    path.write_text('document,summary\n"' + "It rained.\n" * 9_100_000 + '",x\n', "utf-8")
    return path


def _xlsx_bomb(path: Path) -> Path:
    name = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open(name, "w", force_zip64=True) as sheet:
        for _ in range(1024):
            sheet.write(b" " * (1 << 20))
    return path


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", choices=["large", "bombs"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if given.only != "bombs":
            large(Path(name), given.rows)
        if given.only != "large":
            bombs(Path(name))


if __name__ == "__main__":
    main()
