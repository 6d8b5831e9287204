"""What the two SQLite files of a run, calls and results, share: a connection, a transaction, who made the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from summeter.records import InputError

BUSY_SECONDS = 30.0


def connect(target: str) -> sqlite3.Connection:
    """A connection for several threads (who use it one at a time) that commits when it is told to."""
    return sqlite3.connect(
        target, uri=target != ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


@contextmanager
def transaction(connection: sqlite3.Connection, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[None]:
    """All of what is done inside, or nothing; what only reads, and sees one state, may be DEFERRED."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:  # whatever it was, the next transaction could not begin in this one
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(
    connection: sqlite3.Connection, path: Path | None, wanted: tuple[int, int], what: str, *, new: bool
) -> int:
    """The version of the store in a file, 0 where there is none yet. `wanted` is the mark of the application and the
    newest version it reads. InputError for a file of somebody else's, or of a newer version; where no `new` one may be
    made, for an empty file too."""
    mark, newest = wanted
    # One look at all three: between two of them another process may lay the store out.
    with transaction(connection, "DEFERRED"):
        made: int = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if made != mark and (made or not new or tables):
        raise InputError.at(path or "memory", None, None, f"is an SQLite file, but not one of {what}")
    if version > newest:
        raise InputError.at(
            path or "memory", None, None,
            f"was written by a newer summeter (store version {version}, this one reads {newest}); upgrade",
        )  # fmt: skip
    return version


def lay_out(connection: sqlite3.Connection, marks: tuple[int, int], schema: tuple[str, ...]) -> None:
    """Make the tables of a new store, and mark the file with application and version."""
    mark, version = marks
    with transaction(connection):
        connection.execute(f"PRAGMA application_id = {mark}")
        connection.execute(f"PRAGMA user_version = {version}")
        for sql in schema:
            connection.execute(sql)
