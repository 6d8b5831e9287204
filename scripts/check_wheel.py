"""Build the wheel, install it for several Python versions, and use it without access to the checkout.

    python scripts/check_wheel.py [PYTHON...]

PYTHON are interpreters; by default, those of python3.11 to python3.14 that are on the PATH and run. The check runs the
demo, a report, the lists and the creation of an annotation campaign with the installed command only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
LISTS = ("evaluators", "models", "presets", "datasets", "aspects")
CAMPAIGN = """name: wheel
task_type: rating
data: {data}
aspects: [coherence]
answers_per_item: 1
platform: {{name: local, accounts: [anna]}}
select: {{limit: 2}}
"""


def pythons() -> list[str]:
    """Return the available interpreters that summeter supports."""
    found = []
    for version in VERSIONS:
        # The command on the PATH may be a version manager's shim for a version that is not selected.
        installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        paths = [path for path in (shutil.which(f"python{version}"), *map(str, installed)) if path]
        found.extend([path for path in paths if works(path)][:1])
    return found or [sys.executable]


def works(python: str) -> bool:
    """Return whether an interpreter runs and can create environments."""
    return subprocess.run([python, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0


def run(words: list[str | Path], folder: Path) -> str:
    """Return the output of a command; exits if it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"failed with {done.returncode}: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(wheel: Path, python: str, folder: Path) -> str:
    """Install the wheel into a new environment, use it there, and return a line about the result."""
    run([python, "-m", "venv", folder / "venv"], folder)
    programs = folder / "venv" / "bin"
    run([programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[annotate]"], folder)
    module = run([programs / "python", "-c", "import summeter; print(summeter.__file__)"], folder).strip()
    if ROOT in Path(module).parents:
        raise SystemExit(f"summeter was imported from the checkout: {module}")
    command = programs / "summeter"
    for what in LISTS:
        rows = json.loads(run([command, "list", what, "--json"], folder))["rows"]
        if not rows:
            raise SystemExit(f"summeter list {what} printed no rows")
    run([command, "demo"], folder)
    run([command, "report", "runs/demo", "-o", "page.html"], folder)
    data = folder / "venv" / "data.jsonl"
    run([command, "data", "export", "runs/demo/data", "-o", data], folder)
    (folder / "campaign.yaml").write_text(CAMPAIGN.format(data=data), encoding="utf-8")
    run([command, "annotate", "new", "campaign.yaml", "-o", "campaign"], folder)
    for name in ("runs/demo/report.html", "page.html", "campaign/tasks.jsonl"):
        if not (folder / name).is_file():
            raise SystemExit(f"{name} was not written")
    return f"{run([programs / 'python', '--version'], folder).strip()}: demo, report, list, annotate new: passed"


def main() -> None:
    interpreters = sys.argv[1:] or pythons()
    with tempfile.TemporaryDirectory(prefix="summeter-wheel-") as temporary:
        work = Path(temporary)
        run([interpreters[0], "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", work / "dist", ROOT], work)
        (wheel,) = (work / "dist").glob("summeter-*.whl")
        folders = [work / str(number) for number in range(len(interpreters))]
        for folder in folders:
            folder.mkdir()
        with ThreadPoolExecutor(2) as pool:  # most of the time is spent on downloading and unpacking
            for line in pool.map(check, [wheel] * len(interpreters), interpreters, folders):
                print(line, flush=True)


if __name__ == "__main__":
    main()
