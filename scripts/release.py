"""Prepare a release: set the version, date the changelog, build and check the distributions, and list what they need.

    python scripts/release.py VERSION [--date YYYY-MM-DD] [--dry-run] [-o dist]

The version is written to `src/summeter/_version.py` and `CITATION.cff`, and the heading of the changelog gets the date.
Then the wheel and the source distribution are built in a copy of the checkout, checked by twine, and installed into a
new environment, of which `sbom.json` (CycloneDX) lists all packages with their licences. With --dry-run, the checkout
is left unchanged and everything is built in a temporary folder. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGES = {
    "src/summeter/_version.py": (r'__version__ = "[^"]+"', '__version__ = "{version}"'),
    "CHANGELOG.md": (r"## [\w.]+ \(unreleased\)", "## {version} ({date})"),
    "CITATION.cff": (r"version: .+\ndate-released: .+", "version: {version}\ndate-released: {date}"),
}
"""For each file, a pattern that must occur once, and its replacement."""
LARGEST = 3_000_000
"""Largest size of the wheel in bytes."""
TOOLS = ("build>=1.2", "twine>=6.1", "cyclonedx-bom>=7")


def changed(root: Path, version: str, date: str) -> dict[Path, str]:
    """Return the new text of each file of `CHANGES`. Exits if a pattern does not occur exactly once."""
    texts = {}
    for name, (pattern, replacement) in CHANGES.items():
        text = (root / name).read_text(encoding="utf-8")
        new, number = re.subn(pattern, replacement.format(version=version, date=date), text)
        if number != 1:
            raise SystemExit(f"{name}: {number} places match {pattern!r}, not one")
        texts[root / name] = new
    return texts


def run(*words: str | Path, folder: Path) -> None:
    """Run a command; exits if it fails."""
    if subprocess.run([str(word) for word in words], cwd=folder, check=False).returncode:
        raise SystemExit(f"failed: {' '.join(map(str, words))}")


def build(root: Path, out: Path) -> None:
    """Build both distributions of a checkout into `out`, check them, and write `sbom.json`."""
    with tempfile.TemporaryDirectory(prefix="summeter-release-") as temporary:
        tools, clean = Path(temporary) / "tools", Path(temporary) / "clean"
        for place in (tools, clean):
            run(sys.executable, "-m", "venv", place, folder=root)
        program = tools / "bin" / "python"
        run(program, "-m", "pip", "install", "--quiet", *TOOLS, folder=root)
        run(program, "-m", "build", "--outdir", out, root, folder=root)
        wheel, source = next(out.glob("*.whl")), next(out.glob("*.tar.gz"))
        run(program, "-m", "twine", "check", "--strict", wheel, source, folder=root)
        if wheel.stat().st_size > LARGEST:
            raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {LARGEST:,}")
        run(clean / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, folder=root)
        run(
            tools / "bin" / "cyclonedx-py",
            "environment",
            clean / "bin" / "python",
            "-o",
            out / "sbom.json",
            folder=root,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Prepare a release.")
    parser.add_argument("version", help="version, such as 0.2.0")
    parser.add_argument(
        "--date", default=datetime.datetime.now(datetime.UTC).date().isoformat(), help="date of release"
    )
    parser.add_argument("--dry-run", action="store_true", help="change nothing in the checkout")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="folder of the distributions")
    options = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", options.version):
        parser.error(f"{options.version} is not a version such as 0.2.0 or 0.2.0rc1")
    try:
        datetime.date.fromisoformat(options.date)
    except ValueError:
        parser.error(f"--date {options.date} is not a date such as 2026-11-28")
    options.output = options.output.resolve()
    if not options.dry_run and options.output.is_dir() and any(options.output.iterdir()):
        parser.error(f"{options.output} is not empty; remove what an earlier release left there")
    with tempfile.TemporaryDirectory(prefix="summeter-release-") as temporary:
        copy = Path(temporary) / "checkout"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", ".*_cache", "dist", "runs", "__pycache__")
        )
        out = Path(temporary) / "dist" if options.dry_run else options.output
        out.mkdir(parents=True, exist_ok=True)
        for path, text in changed(copy, options.version, options.date).items():
            path.write_text(text, encoding="utf-8")
        build(copy, out)
        for file in sorted(out.iterdir()):
            print(f"{file.name}: {file.stat().st_size:,} bytes")
        if not options.dry_run:
            for path, text in changed(ROOT, options.version, options.date).items():
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
