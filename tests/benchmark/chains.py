"""Benchmarks of a few steps, run by the command from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from summeter.cli.main import main


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
