"""A PostgreSQL server for the length of a test run, where Debian's or another one is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _program(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def _as_postgres(command: list[str]) -> list[str]:
    """The server refuses to run as root: then it runs as the user its package made."""
    if os.geteuid() != 0:
        return command
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("needs the user postgres to start a server as root, and there is none")
    return ["runuser", "-u", "postgres", "--", *command]


def _run(place: Path, command: list[str]) -> None:
    subprocess.run(_as_postgres(command), check=True, capture_output=True, cwd=place)


@contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database, reached by a socket in a folder; skips, visibly, where no server is installed."""
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("needs initdb and pg_ctl (PostgreSQL), which are not here")
    place = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path has at most 107 bytes
    if os.geteuid() == 0:
        try:
            shutil.chown(place, "postgres")
        except LookupError:
            pytest.skip("needs the user postgres to start a server as root, and there is none")
    data = str(place / "data")
    options = f"-c listen_addresses='' -c unix_socket_directories={place} -c fsync=off"
    try:
        _run(place, [initdb, "-D", data, "-U", "tester", "--auth=trust", "-E", "UTF8"])
        log = str(place / "log")
        _run(place, [pg_ctl, "-D", data, "-w", "-l", log, "-o", options, "start"])
        try:
            yield f"postgresql://tester@/postgres?host={place}"
        finally:
            _run(place, [pg_ctl, "-D", data, "-m", "immediate", "-w", "stop"])
    finally:
        shutil.rmtree(place, ignore_errors=True)


def fresh(url: str, name: str) -> str:
    """A new database on the server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.replace("/postgres?", f"/{name}?")
