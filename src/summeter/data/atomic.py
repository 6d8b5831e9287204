"""Write files and folders atomically.

Output is written next to its destination and renamed at the end. A crash, a full disk or an interrupt therefore leaves
either the old content or nothing.
"""

from __future__ import annotations

import errno
import gzip
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from summeter.data.remote import check_local
from summeter.records import Parameter, UsageError


def check_file(path: str | Path, *, force: bool = False) -> None:
    """Raise UsageError if `path` is an existing file, unless `force` is true."""
    if Path(path).is_file() and not force:
        raise UsageError(f"{path} exists; choose another name, or replace it with ", Parameter("force", "True"))


_FILES = frozenset({".csv", ".gz", ".htm", ".html", ".json", ".jsonl", ".parquet", ".tsv", ".xlsx", ".yaml"})


def check_folder_name(path: str | Path) -> None:
    """Raise UsageError if the name of a new folder has a file extension."""
    if Path(path).suffix.lower() in _FILES and not Path(path).exists():
        raise UsageError(f"{path} has a file suffix, but a folder is written; choose another name")


def check_folder(
    path: str | Path,
    kind: str = "empty",
    is_kind: Callable[[Path], bool] = lambda _: False,
    *,
    force: bool = False,
) -> None:
    """Raise UsageError if no folder can be written to `path`.

    The path must either not exist or be an empty folder. With `force`, it may also be a folder for which `is_kind`
    returns true; `kind` names this kind of folder in messages ("a dataset").
    """
    target = Path(path)
    check_folder_name(target)
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not target.is_dir() or not is_kind(target):
        raise UsageError(f"{path} exists and is not {kind}; nothing was written: choose another folder")
    if not force:
        raise UsageError(
            f"{path} already contains {kind}; choose another folder, or replace it with ", Parameter("force", "True")
        )


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, replacing an existing file."""
    with writing(Path(path)) as handle:
        handle.write(text.encode("utf-8"))


def write_lines(path: str | Path, lines: Iterable[str]) -> int:
    """Write lines as UTF-8 and return the number of lines.

    A file with the suffix `.gz` is compressed. Compressed files contain neither a timestamp nor a file name, so
    identical lines produce identical files.
    """
    target = Path(path)
    with writing(target) as handle:
        if target.suffix != ".gz":
            return _put(handle, lines)
        with gzip.GzipFile(filename="", mode="wb", fileobj=handle, mtime=0) as packed:
            return _put(packed, lines)


@contextmanager
def building(folder: str | Path) -> Iterator[Path]:
    """Yield a new folder, which replaces `folder` when the block ends without an error.

    The caller must check whether an existing folder may be replaced.
    """
    check_local(folder)
    target = Path(folder).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent, target.name)
    fresh = _beside(target, "new")
    fresh.mkdir()
    try:
        yield fresh
        if target.exists():
            old = _beside(target, "old")
            target.rename(old)
            try:
                fresh.rename(target)
            except OSError:
                old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file, which replaces `path` when the block ends without an error."""
    check_local(path)
    if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
        with path.open("wb") as handle:
            yield handle
        return
    target = path.resolve()  # follow a symbolic link
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target.parent, target.name)
    fresh = _beside(target, "tmp")
    try:
        with fresh.open("xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        fresh.replace(target)
    except OSError as error:
        if (error.errno == errno.EFBIG and error.filename is None) or error.filename == str(fresh):
            error.filename = str(path)
        raise
    finally:
        fresh.unlink(missing_ok=True)


def _beside(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.{kind}")


_LEFT = re.compile(r"\.(.+)\.(\d+)-[0-9a-f]{8}\.(tmp|new|old)")


def half_built(name: str, *of: str) -> bool:
    """Return whether `name` is the name of a temporary copy of one of the files `of`.

    >>> half_built(".run.json.17-0123abcd.tmp", "run.json"), half_built("run.json", "run.json")
    (True, False)
    """
    return name.startswith(tuple(f".{each}." for each in of))


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove temporary files and folders that killed processes left in `folder`.

    Only temporary copies of `name` are removed, or all of them if `name` is None. A folder that was moved away but not
    replaced is restored.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            left = _LEFT.fullmatch(entry.name)
            if left is None or name not in (None, left[1]) or _is_running(int(left[2])):
                continue
            if left[3] == "old" and not (original := folder / left[1]).exists():
                Path(entry.path).rename(original)
            elif entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                Path(entry.path).unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _put(handle: BinaryIO | gzip.GzipFile, lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        handle.write(line.encode("utf-8") + b"\n")
        count += 1
    return count
