"""What lies in a run's folder, and in a folder of runs; taking one away."""

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

_KINDS = {
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
"""The first part of a file's or folder's name -> what it is; the rest is "other"."""


class JudgeState(Record):
    """How far a judge is: `done` of `of` items. `of` is None for one that compares, whose pairs are not counted."""

    judge: str
    signature: str
    model: str | None
    done: int
    of: int | None


class RunState(Record):
    """What lies in a run's folder. `status` is that of run.json, or "damaged" (`reason` says how); `writing`, whether a
    process has it open; `bytes` are by kind: data, judgments (with what
    was prepared, progress and failures), calls, results, views, other. Times are in ISO 8601, UTC."""

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
        """Bytes in all."""
        return sum(self.bytes.values())


def state(folder: Path) -> RunState:
    """What lies in a run's folder. Raises UsageError for a folder that is no run; a damaged one is a state too."""
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}")
    sizes = _sizes(folder)
    about = {"run": str(folder), "bytes": sizes, "writing": is_being_written(folder)}
    try:
        manifest = read_manifest(folder)
        progress = ProgressTable.read(folder / PROGRESS)
    except InputError as error:
        return RunState(**about, status="damaged", reason=str(error))
    judges = []
    for judge in manifest.judges:
        rows = progress.of_judge(judge.signature)
        pairs = not progress.rival.take(rows).equal(None).all()
        of = None if pairs else manifest.data.summaries
        judges.append(JudgeState(judge=judge.name, signature=judge.signature, model=judge.model, done=len(rows), of=of))
    return RunState(
        **about,
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
    """The runs that lie in a folder, at any depth but not in each other, by name; the folder itself where it is one."""
    if (folder / MANIFEST).is_file():
        yield folder
        return
    for inside in sorted(folder.iterdir()):
        if inside.is_dir() and not inside.is_symlink() and not inside.name.startswith("."):
            yield from runs_in(inside)


def check_removable(folder: Path) -> None:
    """UsageError for what is no run, for a symbolic link to one, and for a run that a process is writing."""
    if folder.is_symlink():
        raise UsageError(
            f"{folder} is a symbolic link to {folder.resolve()}; nothing was removed. Name that folder, or remove the "
            f"link alone: unlink {folder}"
        )
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is not a run: it has no {MANIFEST}; nothing was removed")
    if is_being_written(folder):
        raise UsageError(f"{folder}: another process is writing this run; nothing was removed. Wait for it")


def remove(folder: Path) -> None:
    """Remove a run. Raises UsageError for what is no run, for a link to one, and where another process writes it."""
    check_removable(folder)
    target = folder.resolve()
    with Journal(target):  # nobody else writes it
        # Renamed first, to a name that is swept: a kill leaves the whole run, or none.
        gone = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
        target.rename(gone)
    shutil.rmtree(gone)


def _sizes(folder: Path) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            first = file.relative_to(folder).parts[0].split(".")[0]
            sizes[_KINDS.get(first, "other")] += file.stat().st_size
    return dict(sorted(sizes.items()))
