"""Inspect, find and remove run folders."""

from __future__ import annotations

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from summeter.records import InputError, Record, UsageError
from summeter.runs.journal import Journal, is_being_written
from summeter.runs.progress import PROGRESS, ProgressTable
from summeter.runs.results import RESULTS
from summeter.runs.run import CALLS, MANIFEST, read_manifest

_CATEGORIES = {
    "data": "data",
    "judgments": "judgments",
    "prepared": "judgments",
    "progress": "judgments",
    "failures": "judgments",
    Path(CALLS).stem: "calls",
    Path(RESULTS).stem: "results",
    "scores": "views",
    "pairs": "views",
    "summary": "views",
    "report": "views",
}
"""Category of a file or folder by the part of the name before the first dot; all others are in the category "other"."""


class JudgeState(Record):
    """The progress of a judge, which has finished `done` of `of` items.

    `of` is None for a pairwise judge. `model` is None if the judge calls no model.
    """

    judge: str
    signature: str
    model: str | None
    done: int
    of: int | None


class RunState(Record):
    """The state of a run folder.

    `status` is the status in run.json; if the run is damaged, it is "damaged" and `reason` says why. `writing` says
    whether a process is writing the run. `bytes` maps each category to a size: data, judgments (with prepared data,
    progress and failures), calls, results, views, other. Times are in UTC and in ISO 8601 format.
    """

    run: str
    status: str
    reason: str | None = None
    writing: bool = False
    source: str | None = None
    hash: str | None = None
    documents: int = 0
    summaries: int = 0
    judges: tuple[JudgeState, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    created: str | None = None
    updated: str | None = None
    bytes: dict[str, int] = Field(default_factory=dict)

    @property
    def size(self) -> int:
        """The total size in bytes."""
        return sum(self.bytes.values())


def state(folder: Path) -> RunState:
    """Return the state of a run folder. Raises UsageError if the folder is not a run."""
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}")
    sizes: Counter[str] = Counter()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            first = file.relative_to(folder).parts[0].split(".")[0]
            sizes[_CATEGORIES.get(first, "other")] += file.stat().st_size
    common = {"run": str(folder), "bytes": dict(sorted(sizes.items())), "writing": is_being_written(folder)}
    try:
        manifest = read_manifest(folder)
        progress = ProgressTable.read(folder / PROGRESS)
    except InputError as error:
        return RunState(**common, status="damaged", reason=str(error))
    judges = []
    for judge in manifest.judges:
        rows = progress.of_judge(judge.signature)
        pairs = not progress.rival.take(rows).equal(None).all()
        of = None if pairs else manifest.data.summaries
        judges.append(JudgeState(judge=judge.name, signature=judge.signature, model=judge.model, done=len(rows), of=of))
    return RunState(
        **common,
        status=manifest.status,
        source=manifest.data.source,
        hash=manifest.data.hash,
        documents=manifest.data.documents,
        summaries=manifest.data.summaries,
        judges=tuple(judges),
        counts=manifest.counts,
        created=manifest.created,
        updated=manifest.updated,
    )


def runs_in(folder: Path) -> Iterator[Path]:
    """Yield the runs in a folder and its subfolders, sorted by name.

    If the folder is itself a run, only the folder is yielded.
    """
    if (folder / MANIFEST).is_file():
        yield folder
        return
    for inside in sorted(folder.iterdir()):
        if inside.is_dir() and not inside.is_symlink() and not inside.name.startswith("."):
            yield from runs_in(inside)


def check_removable(folder: Path) -> None:
    """Raise UsageError if the folder is not a run, is a symbolic link, or is being written by a process."""
    if folder.is_symlink():
        raise UsageError(
            f"{folder} is a symbolic link to {folder.resolve()}; nothing was removed. Name that folder, or remove only "
            f"the link: unlink {folder}"
        )
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}. Nothing was removed")
    if is_being_written(folder):
        raise UsageError(f"{folder}: another process is writing to this run. Nothing was removed. Wait for it to end")


def remove(folder: Path) -> None:
    """Remove a run. Raises UsageError under the conditions of `check_removable`."""
    check_removable(folder)
    target = folder.resolve()
    with Journal(target):  # locks the run
        # The folder is first renamed to a temporary name, so that a crash leaves either a complete run or none.
        removed = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
        target.rename(removed)
    shutil.rmtree(removed)
