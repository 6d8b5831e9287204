"""The oldest versions that pyproject.toml allows are those that `make lowest` and `make lowest-neural` install."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

Version = tuple[int, ...]


def bounds(wanted: list[str]) -> dict[str, Version]:
    """The lowest version of each package that has one; where two extras name a package, the higher one counts."""
    found: dict[str, Version] = {}
    for one in wanted:
        if told := re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", one):
            found[told[1]] = max(found.get(told[1], (0,)), version(told[2]))
    return found


def version(text: str) -> Version:
    return tuple(map(int, [*text.split("."), "0", "0"][:3]))


def pinned(root: Path, file: str) -> dict[str, Version]:
    lines = (root / "constraints" / file).read_text("utf-8").splitlines()
    return {name: version(at) for name, _, at in (line.partition("==") for line in lines if not line.startswith("#"))}


def test_what_is_tested_is_what_is_allowed(root: Path) -> None:
    told: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    core, extras = told["project"]["dependencies"], told["project"]["optional-dependencies"]
    networks = [*extras["local"], *extras["torch"], *extras["parse"], *extras["train"]]
    apart = {"torch", "train", "parse", "build", "ray", "remote"}  # what `build` needs works with NumPy 2 alone
    others = [one for name, its in extras.items() if name not in apart for one in its]
    assert pinned(root, "lowest.txt") == bounds([*core, *others])
    besides = [one for one in (*core, *told["dependency-groups"]["neural"]) if one.startswith(("numpy>", "onnx>"))]
    assert pinned(root, "lowest-neural.txt") == bounds([*networks, *besides])
