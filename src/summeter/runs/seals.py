"""Checksums of a run's facts, recorded when it has ended, and whether they still hold.

    RUN/checksums.json   the SHA-256 of every file of facts, and of the views but for the report, which may be rendered
                         again at any time; of the stores how much is in them, since their files change without their
                         content; none while the run is written

run.json and the data have checksums of their own, and so have stored calls and results, one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from summeter.data.atomic import write_text
from summeter.data.folder import CARD, check_intact, file_hash, hash_differences, is_dataset
from summeter.records import Fault, InputError, SummeterError
from summeter.runs.batches import BATCHES
from summeter.runs.calls import CallStore
from summeter.runs.journal import LOCK, SEALS
from summeter.runs.progress import PROGRESS
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import CALLS, FAILURES, MANIFEST, RunFolder, read_manifest
from summeter.runs.sqlite import KeyValueFile
from summeter.runs.views import VIEWS

_SCHEMA = "summeter-checksums/1"
_FOLDERS = ("judgments", "prepared", "prompts", "files")
_STORES: dict[str, type[KeyValueFile]] = {CALLS: CallStore, RESULTS: ResultStore}
INJECTION = "injection.json"
"""The study of an injection audit, which is written after the run has ended."""
_OTHERS = frozenset({MANIFEST, SEALS, LOCK, INJECTION, *VIEWS})
_PAGES = (".html", ".htm")
_WITHOUT = "remove it, and the run is checked without it"
_AGAIN = "bring it back as it was, or give the command that made the run again"


def facts(folder: Path) -> list[Path]:
    """The files of a run that hold facts, but run.json, the data and the stores."""
    single = [folder / name for name in (PROGRESS, FAILURES, BATCHES)]
    inside = [file for name in _FOLDERS for file in sorted((folder / name).rglob("*"))]
    return [file for file in (*single, *inside) if file.is_file() and not file.name.startswith(".")]


def seal(folder: Path) -> None:
    """Record the checksums of a run that has ended."""
    files, views = _hashes(folder, facts(folder)), _hashes(folder, _views(folder))
    stores = {}
    for name, kind in _STORES.items():
        if (folder / name).is_file():
            with kind(folder / name, readonly=True) as store:
                stores[name] = len(store)
    _write(folder, {"schema": _SCHEMA, "files": files, "views": views, "stores": stores})


def seal_views(folder: Path) -> None:
    """Record the checksums of views that were rebuilt; those of the facts stay, or are recorded if there are none."""
    recorded = _recorded(folder)
    if recorded is None:
        seal(folder)
    else:
        _write(folder, {**recorded, "views": _hashes(folder, _views(folder))})


def _views(folder: Path) -> list[Path]:
    return [folder / name for name in VIEWS if (folder / name).is_file()]


def _hashes(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    return {str(file.relative_to(folder)): file_hash(file) for file in files}


def _write(folder: Path, recorded: dict[str, Any]) -> None:
    write_text(folder / SEALS, json.dumps(recorded, ensure_ascii=False, indent=1) + "\n")


def verify(folder: Path) -> list[Fault]:
    """What is not as it was when the run ended, file by file; nothing where all is.

    A run without recorded checksums (one that was killed) is named too, and compared with its lines of progress.
    Raises UsageError for a folder that is no run, InputError where run.json itself is damaged.
    """
    manifest = read_manifest(folder)
    faults = [*_of_data(folder), *_of_stores(folder, recorded := _recorded(folder))]
    if recorded is not None:
        rebuild = f"rebuild it: summeter rescore {folder}"
        return [
            *_compared(folder, recorded["files"], _hashes(folder, facts(folder)), _AGAIN),
            *_compared(folder, recorded["views"], _hashes(folder, _views(folder)), rebuild),
            *faults,
            *_added(folder),
        ]
    why = "the run has not ended, or was killed" if manifest.status == "running" else f"{SEALS} is missing"
    message = f"{why}: there are no recorded checksums; only its lines of progress were checked"
    faults.append(Fault(str(folder), None, None, message))
    try:
        run = RunFolder(folder)
        for _ in run.tables():
            pass
        run.check_prepared()
    except InputError as error:
        faults = [*error.faults, *faults]
    return faults


def _recorded(folder: Path) -> dict[str, Any] | None:
    file = folder / SEALS
    if not file.is_file():
        return None
    try:
        recorded = json.loads(file.read_bytes())
        if recorded["schema"] != _SCHEMA or not all(
            isinstance(recorded[name], dict) for name in ("files", "views", "stores")
        ):
            raise ValueError(f"not of the form {_SCHEMA}")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError.at(file, None, None, f"damaged: {error}; {_WITHOUT}") from error
    return dict(recorded)


def _compared(folder: Path, recorded: Mapping[str, str], there: Mapping[str, str], again: str) -> Iterator[Fault]:
    """What differs between the recorded hashes of files, by name, and those that are `there`."""
    messages = {
        "removed": f"is missing; {again}",
        "changed": f"is not as it was when the run ended; {again}",
        "added": "was added after the run had ended; take it out",
    }
    for name, what in hash_differences(recorded, there):
        yield Fault(str(folder / name), None, None, messages[what])


def _added(folder: Path) -> Iterator[Fault]:
    """What lies in the folder and is no file of a run; the folders of facts and the data are checked by their lists."""
    known = {file.relative_to(folder).parts[0] for file in facts(folder)} | {*_OTHERS, *_FOLDERS, "data"}
    for file in sorted(folder.iterdir()):
        if file.name not in known and not file.name.startswith(tuple(_STORES)) and file.suffix not in _PAGES:
            yield Fault(str(file), None, None, "was added after the run had ended; take it out")


def _of_data(folder: Path) -> Iterator[Fault]:
    data = folder / "data"
    if not data.is_dir():
        yield Fault(str(data), None, None, f"is missing; {_AGAIN}")
    elif not is_dataset(data):
        yield Fault(str(data), None, None, f"holds no {CARD}; {_AGAIN}")
    else:
        try:
            check_intact(data)
        except InputError as error:
            yield from error.faults


def _of_stores(folder: Path, recorded: dict[str, Any] | None) -> Iterator[Fault]:
    known: dict[str, int] = {} if recorded is None else recorded["stores"]
    for name, kind in _STORES.items():
        file = folder / name
        if not file.is_file():
            if name in known:
                yield Fault(str(file), None, None, f"is missing; {_AGAIN}")
            continue
        try:
            with kind(file, readonly=True) as store:
                there, damaged = len(store), store.damaged()
        except SummeterError as error:
            yield Fault(str(file), None, None, f"cannot be read: {error}")
            continue
        if damaged:
            more = f" and {len(damaged) - 1:,} more" if len(damaged) > 1 else ""
            yield Fault(str(file), None, None, f"{damaged[0][:12]}{more} not as stored; {_AGAIN}")
        if there < known.get(name, 0):
            yield Fault(str(file), None, None, f"holds {there:,} of {known[name]:,} {kind.CONTENT}; {_AGAIN}")
