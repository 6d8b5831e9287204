"""Builds the wheel, installs it for every Python at hand, and uses it where the checkout is out of reach.

    python scripts/check_wheel.py [PYTHON...]

PYTHON are interpreters; without any, python3.11 to python3.14 as far as they are on the PATH and run. What is checked: the
demo, a report, the lists, and making an annotation campaign, each by the installed command alone.
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
    """The interpreters at hand that summeter runs on."""
    found = []
    for version in VERSIONS:
        # A version manager's shim may stand for a version that is not chosen; it then lies beside it.
        installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        paths = [path for path in (shutil.which(f"python{version}"), *map(str, installed)) if path]
        found.extend([path for path in paths if works(path)][:1])
    return found or [sys.executable]


def works(python: str) -> bool:
    """Whether an interpreter runs and can make environments."""
    return subprocess.run([python, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0


def run(words: list[str | Path], folder: Path) -> str:
    """What a command prints; a command that fails ends the check."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"failed with {done.returncode}: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(wheel: Path, python: str, folder: Path) -> str:
    """Install the wheel into an environment of its own and use it there."""
    run([python, "-m", "venv", folder / "venv"], folder)
    own = folder / "venv" / "bin"
    run([own / "python", "-m", "pip", "install", "--quiet", f"{wheel}[annotate]"], folder)
    place = run([own / "python", "-c", "import summeter; print(summeter.__file__)"], folder).strip()
    if ROOT in Path(place).parents:
        raise SystemExit(f"summeter was taken from the checkout: {place}")
    command = own / "summeter"
    for what in LISTS:
        rows = json.loads(run([command, "list", what, "--json"], folder))["rows"]
        if not rows:
            raise SystemExit(f"summeter list {what} lists nothing")
    run([command, "demo"], folder)
    run([command, "report", "runs/demo", "-o", "page.html"], folder)
    data = folder / "venv" / "data.jsonl"
    run([command, "data", "export", "runs/demo/data", "-o", data], folder)
    (folder / "campaign.yaml").write_text(CAMPAIGN.format(data=data), encoding="utf-8")
    run([command, "annotate", "new", "campaign.yaml", "-o", "campaign"], folder)
    for name in ("runs/demo/report.html", "page.html", "campaign/tasks.jsonl"):
        if not (folder / name).is_file():
            raise SystemExit(f"{name} was not written")
    return f"{run([own / 'python', '--version'], folder).strip()}: demo, report, list, annotate new: well"


def main() -> None:
    interpreters = sys.argv[1:] or pythons()
    with tempfile.TemporaryDirectory(prefix="summeter-wheel-") as folder:
        place = Path(folder)
        run([interpreters[0], "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place / "dist", ROOT], place)
        (wheel,) = (place / "dist").glob("summeter-*.whl")
        folders = [place / str(number) for number in range(len(interpreters))]
        for own in folders:
            own.mkdir()
        with ThreadPoolExecutor(2) as pool:  # most of the time goes into fetching and unpacking
            for line in pool.map(check, [wheel] * len(interpreters), interpreters, folders):
                print(line, flush=True)


if __name__ == "__main__":
    main()
