"""Data on remote storage, by fsspec: `s3://BUCKET/PATH`, `gs://...`, `az://...` (and fsspec's own `memory://`).

Flat files are read as a stream. Nothing is written there.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from summeter.records import InputError, InstallError, UsageError
from summeter.records.addresses import masked

PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "memory": "fsspec"}
"""The package that reads each kind of storage."""
_ADDRESS = re.compile(r"([a-z][a-z0-9+]*)://")


def is_remote(path: object) -> bool:
    """Whether a path names remote storage. Raises UsageError for a kind that is not read.

    >>> is_remote("s3://bucket/rows.jsonl"), is_remote("rows.jsonl")
    (True, False)
    """
    found = _ADDRESS.match(str(path))
    if found is None:
        return False
    if found[1] not in PACKAGES:
        kinds = ", ".join(f"{kind}://" for kind in PACKAGES if kind != "memory")
        raise UsageError(f"cannot read {masked(str(path))}: of remote storage there are {kinds}")
    return True


_WRITTEN = re.compile(r"([a-z][a-z0-9+]+):/+")


def check_local(path: str | Path) -> None:
    """Raise UsageError where what is to be written here names remote storage: as a path of this machine, `s3://B/RUN`
    would be the folder `s3:`."""
    if (match := _WRITTEN.match(str(path))) is not None:
        address = f"{match[1]}://{str(path)[match.end() :]}"
        raise UsageError(f"cannot write {address}: results are written to folders of this machine; copy them there")


def _storage(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path there. Raises InstallError without the package for it."""
    package = PACKAGES[address.partition("://")[0]]
    try:
        from fsspec.core import url_to_fs

        # What another program wrote since is seen.
        system, path = url_to_fs(address, **({"use_listings_cache": False} if package == "s3fs" else {}))
    except ImportError:
        if package in {"gcsfs", "adlfs"}:
            message = f"{address} needs {package}, which is not installed; add it with: pip install fsspec {package}"
            raise InstallError(message) from None
        raise InstallError.missing(package, "remote") from None
    return system, path


def files(address: str) -> list[str]:
    """The objects in a folder, or those that fit a pattern, by address. Raises InputError where the storage does not
    answer."""
    with _as_input_errors(address):
        system, path = _storage(address)
        found = system.glob(path) if any(sign in path for sign in "*?[") else system.find(path, maxdepth=1)
        kind = address.partition("://")[0]
        return [f"{kind}://{str(name).lstrip('/')}" for name in sorted(found)]


@contextmanager
def opened(address: str) -> Iterator[BinaryIO]:
    """An object, to be read. Raises FileNotFoundError where there is none, OSError where it cannot be read."""
    system, path = _storage(address)
    try:
        stream = system.open(path, "rb")
    except OSError:
        raise
    except Exception as error:  # each kind of storage has errors of its own
        raise OSError(str(error) or type(error).__name__) from error
    with io.BufferedReader(stream) as handle:  # whose lines may have a limit, as those of fsspec may not
        yield handle


@contextmanager
def _as_input_errors(address: str) -> Iterator[None]:
    """Errors of the storage as InputError with the address."""
    try:
        yield
    except FileNotFoundError:
        raise InputError.at(address, None, None, "no such file") from None
    except (InstallError, InputError):
        raise
    except Exception as error:  # each kind of storage has errors of its own
        raise InputError.at(address, None, None, f"cannot be read: {error or type(error).__name__}") from error
