"""Record the checksums of a run's files when the run has ended, and verify them.

    RUN/checksums.json   the SHA-256 of every file of facts and of the views, except the report, which may be rendered
                         again at any time; for the stores, the number of entries, because their files change even if
                         their contents do not. checksums.json does not exist while a run is written.

run.json, the data, and every stored call and result have checksums of their own.
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
from summeter.runs.journal import CHECKSUM_FILE, LOCK
from summeter.runs.progress import PROGRESS
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import BY_SOURCE, CALLS, FAILURES, MANIFEST, RunFolder
from summeter.runs.sqlite import KeyValueFile
from summeter.runs.views import VIEWS

_SCHEMA = "summeter-checksums/1"
_FOLDERS = ("judgments", "prepared", "prompts", "files")
_STORES: dict[str, type[KeyValueFile]] = {CALLS: CallStore, RESULTS: ResultStore}
INJECTION, SENSITIVITY = "injection.json", "sensitivity.json"
"""Names of the files with the study of an audit, which are written after the run has ended."""
_OTHERS = frozenset({MANIFEST, CHECKSUM_FILE, LOCK, INJECTION, SENSITIVITY, *VIEWS})
_PAGES = (".html", ".htm")
_RESTORE = "Restore it, or rerun the command that created the run"


def facts(folder: Path) -> list[Path]:
    """Return the files of facts of a run, except run.json, the data and the stores."""
    single = [folder / name for name in (PROGRESS, FAILURES, BATCHES)]
    inside = [file for name in _FOLDERS for file in sorted((folder / name).rglob("*"))]
    return [file for file in (*single, *inside) if file.is_file() and not file.name.startswith(".")]


def record_checksums(folder: Path) -> None:
    """Record the checksums of the views of a run that has ended, and those of the facts if they are missing."""
    if (recorded := _recorded(folder)) is None:
        stores = {}
        for name, store_class in _STORES.items():
            if (folder / name).is_file():
                with store_class(folder / name, readonly=True) as store:
                    stores[name] = len(store)
        recorded = {"schema": _SCHEMA, "files": _hashes(folder, facts(folder)), "views": {}, "stores": stores}
    recorded["views"] = _hashes(folder, _views(folder))
    write_text(folder / CHECKSUM_FILE, json.dumps(recorded, ensure_ascii=False, indent=1) + "\n")


def _views(folder: Path) -> list[Path]:
    return [folder / name for name in VIEWS if (folder / name).is_file()]


def _hashes(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    return {str(file.relative_to(folder)): file_hash(file) for file in files}


def verify(folder: Path) -> list[Fault]:
    """Return a fault for each file that has changed since the run ended.

    Missing checksums, for example of a killed run, are also a fault; the judgments are then compared with the lines of
    progress. Raises UsageError if the folder is not a run, and InputError if run.json is damaged.
    """
    run = RunFolder(folder)
    manifest = run.manifest
    faults = [*_check_data(folder), *_check_stores(folder, recorded := _recorded(folder))]
    if (inside := run.by_source()) is not None:
        faults += verify(inside.folder)
    if recorded is not None:
        rebuild = f"Rebuild it: summeter rescore {folder}"
        known = {file.relative_to(folder).parts[0] for file in facts(folder)} | {*_OTHERS, *_FOLDERS, "data", BY_SOURCE}
        added = [
            Fault(str(file), None, None, _ADDED)
            for file in sorted(folder.iterdir())
            if file.name not in known and not file.name.startswith(tuple(_STORES)) and file.suffix not in _PAGES
        ]
        return [
            *_compare(folder, recorded["files"], _hashes(folder, facts(folder)), _RESTORE),
            *_compare(folder, recorded["views"], _hashes(folder, _views(folder)), rebuild),
            *faults,
            *added,
        ]
    why = "the run has not ended, or was killed" if manifest.status == "running" else f"{CHECKSUM_FILE} is missing"
    message = f"{why}. There are no recorded checksums, so only the lines of progress were checked"
    faults.append(Fault(str(folder), None, None, message))
    try:
        for _ in run.tables():
            pass
        run.check_prepared()
    except InputError as error:
        faults = [*error.faults, *faults]
    return faults


def _recorded(folder: Path) -> dict[str, Any] | None:
    file = folder / CHECKSUM_FILE
    if not file.is_file():
        return None
    try:
        recorded = json.loads(file.read_bytes())
        if recorded["schema"] != _SCHEMA or not all(
            isinstance(recorded[name], dict) for name in ("files", "views", "stores")
        ):
            raise ValueError(f"not of the format {_SCHEMA}")
    except (ValueError, KeyError, TypeError) as error:
        message = f"damaged: {error}. Remove it to check the run without it"
        raise InputError.at(file, message) from error
    return dict(recorded)


_ADDED = "was added after the run had ended. Remove it"


def _compare(folder: Path, recorded: Mapping[str, str], current: Mapping[str, str], fix: str) -> Iterator[Fault]:
    """Yield a fault for each file whose current hash differs from the recorded one.

    `recorded` and `current` map file names to hashes; `fix` is the advice in the message.
    """
    messages = {
        "removed": f"is missing. {fix}",
        "changed": f"was changed after the run had ended. {fix}",
        "added": _ADDED,
    }
    for name, what in hash_differences(recorded, current):
        yield Fault(str(folder / name), None, None, messages[what])


def _check_data(folder: Path) -> Iterator[Fault]:
    data = folder / "data"
    if not data.is_dir():
        yield Fault(str(data), None, None, f"is missing. {_RESTORE}")
    elif not is_dataset(data):
        yield Fault(str(data), None, None, f"has no {CARD}. {_RESTORE}")
    else:
        try:
            check_intact(data)
        except InputError as error:
            yield from error.faults


def _check_stores(folder: Path, recorded: dict[str, Any] | None) -> Iterator[Fault]:
    sizes: dict[str, int] = {} if recorded is None else recorded["stores"]
    for name, store_class in _STORES.items():
        file = folder / name
        if not file.is_file():
            if name in sizes:
                yield Fault(str(file), None, None, f"is missing. {_RESTORE}")
            continue
        try:
            with store_class(file, readonly=True) as store:
                size, damaged = len(store), store.damaged()
        except SummeterError as error:
            yield Fault(str(file), None, None, f"cannot be read: {error}")
            continue
        if damaged:
            more = f" and {len(damaged) - 1:,} more" if len(damaged) > 1 else ""
            yield Fault(str(file), None, None, f"has damaged entries: {damaged[0][:12]}{more}. {_RESTORE}")
        if size < sizes.get(name, 0):
            message = f"has {size:,} of {sizes[name]:,} {store_class.CONTENT}. {_RESTORE}"
            yield Fault(str(file), None, None, message)
