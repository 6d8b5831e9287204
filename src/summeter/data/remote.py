"""Read flat files from remote storage (`s3://`, `gs://`, `az://`) with fsspec."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from summeter.records import InputError, InstallError, UsageError
from summeter.records.addresses import masked

PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "memory": "fsspec"}
"""The package that is required for each kind of storage."""
_ADDRESS = re.compile(r"([a-z][a-z0-9+]*)://")


def is_remote(path: object) -> bool:
    """Return whether a path is on remote storage. Raises UsageError for unsupported storage.

    >>> is_remote("s3://bucket/rows.jsonl"), is_remote("rows.jsonl")
    (True, False)
    """
    found = _ADDRESS.match(str(path))
    if found is None:
        return False
    if found[1] not in PACKAGES:
        kinds = ", ".join(f"{kind}://" for kind in PACKAGES if kind != "memory")
        raise UsageError(f"cannot read {masked(str(path))}: supported remote storage is {kinds}")
    return True


_WRITTEN = re.compile(r"([a-z][a-z0-9+]+):/+")


def check_local(path: str | Path) -> None:
    """Raise UsageError if an output path is on remote storage."""
    if (match := _WRITTEN.match(str(path))) is not None:
        address = f"{match[1]}://{str(path)[match.end() :]}"
        raise UsageError(f"cannot write {address}: results are written to local folders; copy them there")


def _storage(address: str) -> tuple[Any, str]:
    """Return the file system of an address and the path in it.

    Raises InstallError if the package for this storage is missing.
    """
    package = PACKAGES[address.partition("://")[0]]
    try:
        from fsspec.core import url_to_fs

        # without a cache, so that files written by other programs are seen
        system, path = url_to_fs(address, **({"use_listings_cache": False} if package == "s3fs" else {}))
    except ImportError:
        if package in {"gcsfs", "adlfs"}:
            message = f"{address} needs {package}, which is not installed; add it with: pip install fsspec {package}"
            raise InstallError(message) from None
        raise InstallError.missing(package, "remote") from None
    return system, path


def files(address: str) -> list[str]:
    """Return the addresses of the objects in a folder, or of those that match a pattern.

    Raises InputError if the storage cannot be read.
    """
    with _as_input_errors(address):
        system, path = _storage(address)
        found = system.glob(path) if any(sign in path for sign in "*?[") else system.find(path, maxdepth=1)
        kind = address.partition("://")[0]
        return [f"{kind}://{str(name).lstrip('/')}" for name in sorted(found)]


@contextmanager
def open_object(address: str) -> Iterator[io.BufferedReader]:
    """Yield a binary file from which an object is read. Raises OSError if it cannot be read."""
    system, path = _storage(address)
    try:
        stream = system.open(path, "rb")
    except OSError:
        raise
    except Exception as error:  # each kind of storage has its own exceptions
        raise OSError(str(error) or type(error).__name__) from error
    with io.BufferedReader(stream) as handle:  # supports a limit in readline, unlike the files of fsspec
        yield handle


@contextmanager
def _as_input_errors(address: str) -> Iterator[None]:
    """Convert errors of the storage to InputError with the address."""
    try:
        yield
    except FileNotFoundError:
        raise InputError.at(address, "no such file") from None
    except (InstallError, InputError):
        raise
    except Exception as error:  # each kind of storage has its own exceptions
        raise InputError.at(address, f"cannot be read: {error or type(error).__name__}") from error
