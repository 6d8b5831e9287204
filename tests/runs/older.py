"""Runs as versions before the checksums wrote them."""

from __future__ import annotations

import json
from pathlib import Path

NEW = ("checksum", "prepared")


def without_checksums(folder: Path) -> None:
    """Take the checksums out of a run's folder."""
    for name in ("progress.jsonl", "failures.jsonl"):
        file = folder / name
        if file.exists():
            rows = [json.loads(line) for line in file.read_bytes().splitlines()]
            kept = [{key: value for key, value in row.items() if key not in NEW} for row in rows]
            file.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept), encoding="utf-8")
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    del manifest["checksum"], manifest["checksums"]
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
