"""Write a cache folder in the layout of huggingface_hub: refs, blobs by hash, and snapshots with relative links."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

COMMIT = "a" * 40


def fill(
    root: Path, repo: str, files: Mapping[str, str | bytes], *, revision: str = "main", commit: str = COMMIT
) -> Path:
    """Write the files of one commit to the cache. Return the folder of the repository."""
    home = root / f"datasets--{repo.replace('/', '--')}"
    reference = home / "refs" / revision
    reference.parent.mkdir(parents=True, exist_ok=True)
    reference.write_text(commit, encoding="utf-8")
    (home / "blobs").mkdir(exist_ok=True)
    for name, content in files.items():
        raw = content.encode() if isinstance(content, str) else content
        blob = home / "blobs" / hashlib.sha256(raw).hexdigest()
        blob.write_bytes(raw)
        link = home / "snapshots" / commit / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return home
