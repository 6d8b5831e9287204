"""The call store: every request and its raw reply, by the request's hash, in one SQLite file.

It is the cache of a run, what a resumed run does not ask again, and the source of a replay. Requests
and replies are JSON texts here; their types belong to the models. No key and no header gets into it.
"""

from __future__ import annotations

import contextlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from summeter.runs.sqlite import KeyValueFile, checksum_of, connect

MOVED_EVERY = 500
# Should the mover not keep up, the log is moved by whoever writes, at 64 MiB.
LOG_PAGES = 16_384

_COLUMNS = "key, created, model, request, completion, checksum"
_INSERT = "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)"
# A call may be made again, and its reply be turned away again.
_INSERT_TURNED_AWAY = "INSERT OR IGNORE INTO turned_away VALUES (?, ?, ?, ?, ?)"


class Call(NamedTuple):
    """One stored call. `request` and `completion` are JSON; `created` is seconds since 1970; `model` a model string."""

    key: str
    created: float
    model: str
    request: str
    completion: str


MOST_TOKENS = 10**9
"""The largest number of tokens that is believed of one call: no model reads or writes as many."""


def token_count(value: object) -> int | None:
    """A number of tokens as an endpoint told it; None for what cannot be one.

    >>> token_count(12), token_count(-1), token_count(2.5), token_count(2**63)
    (12, None, None, None)
    """
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


class CallTokens(NamedTuple):
    """The tokens of one stored call, None where the endpoint told none; `tokens_cached` and `tokens_written` are parts
    of `tokens_in`. `batch` is the id of the batch it came in, if it did."""

    key: str
    model: str
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    tokens_written: int | None = None
    batch: str | None = None


class CallStore(KeyValueFile):
    """Content-addressed calls.

    A reply is committed before `put` returns, so a killed process loses no reply that anyone has seen.
    The first reply stored for a key stays. `path` None keeps the calls in memory.

    >>> with CallStore() as store:
    ...     store.put("k", request="{}", completion='{"text":"a"}')
    ...     store.put("k", request="{}", completion='{"text":"b"}')
    '{"text":"a"}'
    '{"text":"a"}'
    """

    MARK = 0x534D5452  # "SMTR"
    SCHEMA = (
        """CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, created REAL NOT NULL, model TEXT NOT NULL,
        request TEXT NOT NULL, completion TEXT NOT NULL, checksum INTEGER NOT NULL)""",
        """CREATE TABLE IF NOT EXISTS turned_away (key TEXT NOT NULL, created REAL NOT NULL, model TEXT NOT NULL,
        request TEXT NOT NULL, completion TEXT NOT NULL, PRIMARY KEY (key, created))""",
        "CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    )
    ABSORB = (
        f"INSERT OR IGNORE INTO calls SELECT {_COLUMNS} FROM other.calls ORDER BY other.calls.rowid",  # noqa: S608
        """INSERT OR IGNORE INTO turned_away SELECT key, created, model, request, completion
        FROM other.turned_away ORDER BY other.turned_away.rowid""",
    )
    TABLE, VALUE, CONTENT, NAME = "calls", "completion", "recorded calls", "call store"

    def __init__(
        self, path: str | Path | None = None, *, readonly: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._mover: threading.Thread | None = None
        self._unmoved = 0
        super().__init__(path, readonly=readonly)
        if not readonly:
            self.rows(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")

    def get(self, key: str) -> str | None:
        """The completion stored under `key`, or None."""
        completion: str | None = self.values((key,)).get(key)
        return completion

    def request(self, key: str) -> str:
        """The request stored under `key`, answered or turned away. KeyError where there is none."""
        both = "SELECT request FROM calls WHERE key = ?1 UNION ALL SELECT request FROM turned_away WHERE key = ?1"
        rows = self.rows(f"{both} LIMIT 1", (key,))
        if not rows:
            raise KeyError(key)
        return str(rows[0][0])

    def put(self, key: str, request: str, completion: str, model: str = "") -> str:
        """Store a call, committed on return. Returns the completion that counts: the first one stored."""
        return self.put_many([(key, request, completion, model)])[0]

    def put_many(self, calls: Sequence[tuple[str, str, str, str]]) -> list[str]:
        """Store (key, request, completion, model) in one commit; what `put` returns, for each."""
        now = self._clock()
        rows = [(key, now, model, _utf8(request), _utf8(completion)) for key, request, completion, model in calls]

        def insert(connection: sqlite3.Connection) -> list[bool]:
            return [connection.execute(_INSERT, (*row, checksum_of(row[0], row[-1]))).rowcount > 0 for row in rows]

        added = self.write(insert, at_once=len(rows) > 1)
        # Now and then the log is moved into the file, beside the run: it waits for the disk.
        self._unmoved += len(rows)
        if self.path is not None and self._unmoved >= MOVED_EVERY and not (self._mover and self._mover.is_alive()):
            self._unmoved = 0
            self._mover = threading.Thread(target=_move, args=(self.path.resolve().as_uri(),), daemon=True)
            self._mover.start()
        return [call[2] if new else self.get(call[0]) or call[2] for call, new in zip(calls, added, strict=True)]

    def turn_away(self, key: str, request: str, completion: str, model: str = "") -> None:
        """Store a call whose reply was paid for and cannot be used. It answers nothing; only its tokens count."""
        row = (key, self._clock(), model, _utf8(request), _utf8(completion))
        self.write(lambda connection: connection.execute(_INSERT_TURNED_AWAY, row))

    def replace(self, file: Path, keys: Iterable[str]) -> None:
        """Take the calls with these keys from another call store, also where another reply is stored here."""
        sql = f"INSERT OR REPLACE INTO calls SELECT {_COLUMNS} FROM other.calls WHERE key = ?"  # noqa: S608 - our names
        with self._attached(file):
            self.write(lambda connection: connection.executemany(sql, [(key,) for key in keys]))

    def fence_secret(self) -> str | None:
        """The secret that keys the fences around judged texts, made once a store; None where a store without one is
        only read. Keys of calls do not depend on it."""
        if not self.readonly:
            insert = "INSERT OR IGNORE INTO secrets VALUES ('fence', ?)"
            self.write(lambda connection: connection.execute(insert, (secrets.token_hex(32),)))
        rows = self.rows("SELECT value FROM secrets WHERE name = 'fence'")
        return str(rows[0][0]) if rows else None

    def tokens(self, table: Literal["calls", "turned_away"] = "calls") -> list[CallTokens]:
        """The tokens of every call that was answered, or whose reply could not be used (`turned_away`), in the order
        of storing."""
        sound = "CASE WHEN json_valid(completion) THEN completion END"
        read = ", ".join(f"json_extract({sound}, '$.{name}')" for name in CallTokens._fields[2:])
        rows = self.rows(f"SELECT key, model, {read} FROM {table} ORDER BY rowid")  # noqa: S608 - names of our own
        return [CallTokens._make((key, model, *map(token_count, counts), batch)) for key, model, *counts, batch in rows]

    def __iter__(self) -> Iterator[Call]:
        """Every call, in the order of storing; calls stored meanwhile may or may not be among them."""
        last = 0
        while rows := self.rows(
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
        super().close()


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
