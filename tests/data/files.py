"""Helpers that write files in many formats, and return the faults of reading them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import load
from summeter.records import InputError


def write(path: Path, content: Any) -> Path:
    """Write a file and its parent folders: text, bytes, or by its suffix rows, sheets or JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, list(dict.fromkeys(column for row in content for column in row)))
            writer.writeheader()
            writer.writerows(content)
    elif path.suffix in {".xlsx", ".xlsm"}:
        book = pytest.importorskip("openpyxl").Workbook()
        book.remove(book.active)
        for title, rows in content.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(path)
    elif path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist(content), path)
    elif path.suffix == ".jsonl":
        put(path, content)
    else:
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def put(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write JSON Lines, whatever the suffix."""
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def faults(data: Any, preset: str, **how: Any) -> list[str]:
    """Return the faults of data that a preset refuses."""
    with pytest.raises(InputError) as caught:
        load(data, preset=preset, **how)
    return [str(fault) for fault in caught.value.faults]
