"""Benchmarks of a few steps, run by the command from a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from summeter.benchmark.step import MANIFEST, file_hashes
from summeter.cli.main import main
from summeter.data.folder import file_hash


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file, which may be missing."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


def write_lines(path: Path, *rows: object) -> Path:
    """Write a JSON Lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def command(*arguments: object) -> int:
    """The exit code of a summeter command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(str(end.value.code or 0))


def bench(folder: Path, sections: dict[str, Any], *options: object, **shared: object) -> int:
    """The exit code of `summeter bench run` on a file with these sections; each step's folder is FOLDER/out/STEP."""
    fields = {"name": "town", **{name: str(value) for name, value in shared.items()}, **sections}
    (folder / "BENCH.yaml").write_text(json.dumps(fields, default=str, indent=1) + "\n", "utf-8")  # JSON is YAML
    return command("bench", "run", folder / "BENCH.yaml", "-o", folder / "out", *options)


def edited(name: str, change: Callable[[list[dict[str, Any]]], None]) -> Callable[[Path], None]:
    """Change the rows of a JSON Lines file."""

    def tamper(release: Path) -> None:
        rows = lines(release / name)
        change(rows)
        write_lines(release / name, *rows)

    return tamper


def renew_hashes(release: Path) -> None:
    """Renew all hashes, as an attacker who knows the format would."""
    card = json.loads((release / "dataset.json").read_text())
    card["files"] = {name: file_hash(release / name) for name in card["files"] if (release / name).exists()}
    (release / "dataset.json").write_text(json.dumps(card, ensure_ascii=False, indent=2) + "\n")
    manifest = json.loads((release / MANIFEST).read_text())
    manifest["files"] = file_hashes(release)
    (release / MANIFEST).write_text(json.dumps(manifest))
