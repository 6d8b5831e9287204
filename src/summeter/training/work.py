"""Store the intermediate results of a training for resumption, and log evaluations of test sets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from summeter.data.atomic import write_text, writing
from summeter.engine.progress import Progress
from summeter.interrupt import checkpoint
from summeter.records import UsageError

KEY = "key"
EVALUATIONS = "test-looks.jsonl"
"""The file next to the trained folders with one line for each training that evaluated a test set."""

Array = NDArray[Any]


class Work:
    """The folder `.NAME.training` next to the folder `NAME` that a training will write.

    It contains computed arrays, the last checkpoint, and a file `key` with the digest of everything that affects the
    result. If the key differs, the contents are removed, and `discarded` is True. Raises UsageError if the disk has
    fewer than `space` bytes left.
    """

    def __init__(self, out: Path, key: str, space: int = 0) -> None:
        target = out.resolve()
        existing = next(folder for folder in target.parents if folder.exists())
        if (free := shutil.disk_usage(existing).free) < space:
            raise UsageError(
                f"{existing} has {free / 1e6:,.0f} MB left, but the training needs about {space / 1e6:,.0f} MB; free "
                "some space, or choose another disk"
            )
        self.folder = target.parent / f".{target.name}.training"
        key_file = self.folder / KEY
        previous = key_file.read_text("utf-8") if key_file.is_file() else None
        self.discarded = previous not in (None, key)
        if previous != key:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(key_file, key)

    def rows(
        self, name: str, total: int, compute: Callable[[range], Array], at_once: int = 128, show: Progress | None = None
    ) -> Array:
        """Return an array of `total` rows, which is computed and stored in chunks of `at_once` rows."""
        chunks = []
        for start in range(0, total, at_once):
            checkpoint()
            rows = range(start, min(start + at_once, total))
            file = self.folder / f"{name}-{start:08d}.npy"
            if not file.is_file():
                with writing(file) as handle:
                    np.save(handle, compute(rows), allow_pickle=False)
            chunks.append(np.load(file, allow_pickle=False))
            if show is not None:
                for _ in rows:
                    show.advance(ok=True)
        return np.concatenate(chunks)

    def remove(self) -> None:
        """Remove the folder, which is no longer needed after the training."""
        shutil.rmtree(self.folder, ignore_errors=True)


def record_evaluation(out: Path, test: str, key: str) -> int:
    """Log that the training `key` evaluates the test set with the hash `test`.

    Returns the number of different trainings with folders next to `out` that have evaluated this test set, up to and
    including this one.
    """
    file = out.resolve().parent / EVALUATIONS
    entries = map(json.loads, file.read_text("utf-8").splitlines()) if file.is_file() else ()
    keys = list(dict.fromkeys(entry["key"] for entry in entries if entry["test"] == test))
    if key not in keys:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps({"test": test, "key": key, "folder": out.name}) + "\n")
        keys.append(key)
    return keys.index(key) + 1
