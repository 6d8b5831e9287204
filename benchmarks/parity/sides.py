"""Environments of the released packages, and runs of peer.py in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple


class Package(NamedTuple):
    """Requirements of a package. torch is listed so that a wheel without CUDA is used if it is available."""

    name: str
    requirements: tuple[str, ...]


PACKAGES = {
    "fenice": Package("fenice 0.1.14", ("torch==2.13.0", "fenice==0.1.14", "numpy<2")),
    "summac": Package("summac 0.0.4", ("torch==2.13.0", "summac==0.0.4", "numpy<2")),
    "bert-score": Package("bert-score 0.3.13", ("torch==2.13.0", "bert-score==0.3.13", "transformers<5")),
}


def interpreter(peers: Path | None, package: str, *, install: bool = False) -> Path | None:
    """Return the interpreter of the environment PEERS/PACKAGE, or None if it is missing and cannot be created."""
    if peers is None:
        return None
    python = peers / package / "bin" / "python"
    if not python.is_file() and install:
        print(f"installing {PACKAGES[package].name} ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(peers / package)], check=True)
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES[package].requirements], check=False)
        if done.returncode:
            print(f"{PACKAGES[package].name} could not be installed with {sys.executable} (see above)")
    known = (
        python.is_file()
        and not subprocess.run(
            [str(python), "-c", f"import importlib.metadata as m; m.version({package!r})"],
            check=False,
            capture_output=True,
        ).returncode
    )
    return python if known else None


def peer(python: Path, package: str, tasks: list[dict[str, Any]], threads: int = 1) -> list[dict[str, Any]]:
    """Return the result of peer.py for each task; raises RuntimeError, with its output, if it fails."""
    # Do not add this project to the import path of the other environment.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), str(Path(__file__).with_name("peer.py")), package],
        input=json.dumps(tasks), capture_output=True, text=True, check=False,
        env={**inherited, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{package} failed:\n{done.stderr[-3000:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
