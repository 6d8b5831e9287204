"""What a training keeps beside its folder while it works, so that one that is killed goes on from there; and the record
of who looked at which test part."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from summeter.data.atomic import write_text, writing
from summeter.engine.progress import Progress
from summeter.interrupt import checkpoint
from summeter.records import UsageError

KEY = "key"
LOOKS = "test-looks.jsonl"
"""Beside the trained folders: one line for each look at a test part."""

Array = NDArray[Any]


class Work:
    """The folder `.NAME.training` beside the folder `NAME` that a training will write.

    It holds arrays that were computed and the last checkpoint, under a `key` of all that bears on the result: work of
    another key is removed (`discarded` then says so). `remove` ends it.
    """

    def __init__(self, out: Path, key: str) -> None:
        target = out.resolve()
        self.folder = target.parent / f".{target.name}.training"
        named = self.folder / KEY
        before = named.read_text("utf-8") if named.is_file() else None
        self.resumed = before == key
        self.discarded = before is not None and not self.resumed
        if not self.resumed:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(named, key)

    def array(self, name: str, compute: Callable[[], Array]) -> Array:
        """The array of that name: the stored one, else the computed one, which is stored."""
        file = self.folder / f"{name}.npy"
        if not file.is_file():
            array = compute()
            with writing(file) as handle:
                np.save(handle, array, allow_pickle=False)
        stored: Array = np.load(file, allow_pickle=False)
        return stored

    def rows(
        self, name: str, total: int, compute: Callable[[range], Array], at_once: int = 128, show: Progress | None = None
    ) -> Array:
        """An array of `total` rows, computed and stored `at_once` at a time: a killed training loses one part."""
        starts = range(0, total, at_once)
        parts = []
        for start in starts:
            checkpoint()
            rows = range(start, min(start + at_once, total))
            parts.append(self.array(f"{name}-{start:08d}", partial(compute, rows)))
            if show is not None:
                for _ in rows:
                    show.advance(ok=True)
        return np.concatenate(parts)

    def remove(self) -> None:
        """The training is done: nothing is left to carry on."""
        shutil.rmtree(self.folder, ignore_errors=True)


def check_space(out: Path, needed: int) -> None:
    """UsageError where the disk of a folder has not so many bytes left."""
    place = out.resolve().parent
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < needed:
        raise UsageError(
            f"{place} has {free / 1e6:,.0f} MB left, and a training needs about {needed / 1e6:,.0f}; nothing was begun"
        )


def record_look(out: Path, test: str, key: str) -> int:
    """Note that the training `key` looks at a test part now. Returns how many different trainings whose folders lie
    beside `out` have looked at it, this one included: the same training again sees nothing new."""
    file = out.resolve().parent / LOOKS
    looks = map(json.loads, file.read_text("utf-8").splitlines()) if file.is_file() else ()
    keys = list(dict.fromkeys(look["key"] for look in looks if look["test"] == test))
    if key not in keys:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps({"test": test, "key": key, "folder": out.name}) + "\n")
        keys.append(key)
    return keys.index(key) + 1
