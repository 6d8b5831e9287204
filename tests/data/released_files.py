"""Helpers that write files in released layouts and return the faults of reading them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import load
from summeter.records import InputError


def write(path: Path, content: str | bytes) -> Path:
    """Write a file and its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def put(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write a JSON Lines file."""
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def table(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def faults(data: Any, preset: str, **how: Any) -> list[str]:
    """Return the faults of data that a preset refuses."""
    with pytest.raises(InputError) as caught:
        load(data, preset=preset, **how)
    return [str(fault) for fault in caught.value.faults]
