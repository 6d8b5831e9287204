"""The call store: every request and its raw reply, by the request's hash, in one SQLite file.

It is the cache of a run, what a resumed run does not ask again, and the source of a replay. Requests
and replies are JSON texts here; their types belong to the models. No key and no header gets into it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from summeter.records import InputError, SummeterError, UsageError
from summeter.runs.sqlite import BUSY_SECONDS, connect, lay_out, transaction, version_of

# "SMTR": tells a call store from any other SQLite file.
APPLICATION_ID = 0x534D5452
VERSION = 1
MOVED_EVERY = 500
# Should the mover not keep up, the log is moved by whoever writes, at 64 MiB.
LOG_PAGES = 16_384

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    created REAL NOT NULL,
    model TEXT NOT NULL,
    request TEXT NOT NULL,
    completion TEXT NOT NULL
)
"""

_INSERT = "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?)"


class Call(NamedTuple):
    """One stored call. `request` and `completion` are JSON; `created` is seconds since 1970; `model` a model string."""

    key: str
    created: float
    model: str
    request: str
    completion: str


class CallTokens(NamedTuple):
    """The tokens of one stored call, None where the endpoint told none; `tokens_cached` and `tokens_written` are parts
    of `tokens_in`. `batch` is the id of the batch it came in, if it did."""

    key: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    batch: str | None = None
    tokens_written: int | None = None


class CallStats(NamedTuple):
    """What a store holds, for one model string. `seconds` and tokens are sums over the calls that tell them."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float


class CallStore:
    """Content-addressed calls. Safe for several threads and for several processes on one file.

    A reply is committed before `put` returns, so a killed process loses no reply that anyone has seen.
    The first reply stored for a key stays. `path` None keeps the calls in memory.

    >>> with CallStore() as store:
    ...     store.put("k", request="{}", completion='{"text":"a"}')
    ...     store.put("k", request="{}", completion='{"text":"b"}')
    '{"text":"a"}'
    '{"text":"a"}'
    """

    def __init__(
        self, path: str | Path | None = None, *, readonly: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = None if path is None else Path(path)
        self.readonly = readonly
        self._clock = clock
        self._lock = threading.Lock()
        self._mover: threading.Thread | None = None
        self._unmoved = 0
        self._connection = self._open()

    def get(self, key: str) -> str | None:
        """The completion stored under `key`, or None."""
        rows = self._run("SELECT completion FROM calls WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def put(self, key: str, request: str, completion: str, model: str = "") -> str:
        """Store a call, committed on return. Returns the completion that counts: the first one stored."""
        return self.put_many([(key, request, completion, model)])[0]

    def put_many(self, calls: Sequence[tuple[str, str, str, str]]) -> list[str]:
        """Store (key, request, completion, model) in one commit; what `put` returns, for each."""
        if self.readonly:
            raise UsageError(f"{self.path}: the call store is open for reading only")
        now = self._clock()
        rows = [(key, now, model, _utf8(request), _utf8(completion)) for key, request, completion, model in calls]
        try:
            with self._lock:
                added = self._insert(rows)
        except sqlite3.Error as error:
            raise self._fault(error) from error
        self._count(len(rows))
        return [call[2] if new else self.get(call[0]) or call[2] for call, new in zip(calls, added, strict=True)]

    def tokens(self) -> list[CallTokens]:
        """The tokens of every call, in the order of storing."""
        read = ", ".join(f"json_extract(completion, '$.{name}')" for name in CallTokens._fields[2:])
        return [CallTokens(*row) for row in self._run(f"SELECT key, model, {read} FROM calls ORDER BY rowid")]  # noqa: S608 - names of our own

    def stats(self) -> list[CallStats]:
        """Counts and sums a model string, by name."""
        rows = self._run(
            "SELECT model, count(*), total(json_extract(completion, '$.tokens_in')),"
            " total(json_extract(completion, '$.tokens_out')), total(json_extract(completion, '$.seconds'))"
            " FROM calls GROUP BY model ORDER BY model"
        )
        return [CallStats(name, count, int(tin), int(tout), seconds) for name, count, tin, tout, seconds in rows]

    def __len__(self) -> int:
        return int(self._run("SELECT count(*) FROM calls")[0][0])

    def __contains__(self, key: object) -> bool:
        return bool(self._run("SELECT 1 FROM calls WHERE key = ?", (key,)))

    def __iter__(self) -> Iterator[Call]:
        """Every call, in the order of storing; calls stored meanwhile may or may not be among them."""
        last = 0
        while rows := self._run(
            "SELECT rowid, key, created, model, request, completion FROM calls"
            " WHERE rowid > ? ORDER BY rowid LIMIT 200",
            (last,),
        ):
            for row in rows:
                yield Call(*row[1:])
            last = rows[-1][0]

    def close(self) -> None:
        """Let go of the file. Closing twice is harmless."""
        if self._mover is not None:
            self._mover.join()
        with self._lock:
            self._connection.close()

    def __del__(self) -> None:
        # One that never opened has no connection.
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _insert(self, rows: Sequence[tuple[object, ...]]) -> list[bool]:
        run = self._connection.execute
        if len(rows) == 1:
            return [run(_INSERT, rows[0]).rowcount > 0]
        with transaction(self._connection):
            return [run(_INSERT, row).rowcount > 0 for row in rows]

    def _count(self, rows: int) -> None:
        """Now and then move the log into the file, beside the run: it waits for the disk."""
        self._unmoved += rows
        if self.path is not None and self._unmoved >= MOVED_EVERY and not (self._mover and self._mover.is_alive()):
            self._unmoved = 0
            self._mover = threading.Thread(target=_move, args=(self.path.resolve().as_uri(),), daemon=True)
            self._mover.start()

    def _run(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def _open(self) -> sqlite3.Connection:
        if self.path is not None and self.readonly and not self.path.is_file():
            raise UsageError(f"{self.path}: there are no recorded calls; a replay needs the calls.sqlite of a run")
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect()
            self._prepare(connection)
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise self._fault(error) from error
        except SummeterError:
            if connection is not None:
                connection.close()
            raise
        return connection

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return connect(":memory:")
        if not self.readonly:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return connect(self.path.resolve().as_uri())
        uri = self.path.resolve().as_uri()
        connection = connect(f"{uri}?mode=ro")
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.OperationalError:
            # On a medium nobody can write to, SQLite cannot make its helper files; nobody else writes either.
            connection.close()
            connection = connect(f"{uri}?mode=ro&immutable=1")
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        marks = (APPLICATION_ID, VERSION)
        version = version_of(connection, self.path, marks, "recorded calls", new=not self.readonly)
        if self.readonly:
            return
        # With a write-ahead log, NORMAL loses nothing when the process dies: each commit is in the file by then.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        if not version:
            lay_out(connection, marks, (_SCHEMA,))

    def _fault(self, error: sqlite3.Error) -> SummeterError:
        where = self.path or "memory"
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return InputError.at(
                where, None, None, f"is not a readable call store ({error}); move it away or restore it"
            )
        if name.startswith("SQLITE_BUSY"):
            return SummeterError(f"{where}: another process has held the call store for {BUSY_SECONDS:.0f} s")
        if isinstance(error, sqlite3.ProgrammingError):
            return SummeterError(f"{where}: the call store is closed ({error})")
        return SummeterError(f"{where}: the call store cannot be used: {error}")


def _move(uri: str) -> None:
    """Move what is committed from the log into the file, getting in nobody's way."""
    with contextlib.suppress(sqlite3.Error):  # the next one, or closing, will do it
        connection = connect(uri)
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            connection.close()


def _utf8(text: str) -> str:
    # A lone surrogate has no UTF-8; in JSON its escape means the same.
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
