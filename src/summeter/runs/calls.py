"""Store the requests to LLMs and the raw replies in one SQLite file, by hash of the request.

The call store is the cache of a run, saves a resumed run from repeating calls, and is the source of a replay. Requests
and replies are JSON strings; the models define their types. The store never contains API keys or headers.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from summeter.runs.sqlite import KeyValueFile, checksum_of, connect

CHECKPOINT_EVERY = 500
# If the checkpoint thread falls behind, the writing thread makes a checkpoint at 64 MiB.
LOG_PAGES = 16_384

_COLUMNS = "key, created, model, request, completion, checksum"
_INSERT = "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)"
# A call may be repeated, and the reply may be rejected again.
_INSERT_TURNED_AWAY = "INSERT OR IGNORE INTO turned_away VALUES (?, ?, ?, ?, ?)"


MAX_TOKENS = 10**9
"""The maximum plausible number of tokens of a call."""


def token_count(value: object) -> int | None:
    """Return the number of tokens that an endpoint reported, or None if it is not plausible.

    >>> token_count(12), token_count(-1), token_count(2.5), token_count(2**63)
    (12, None, None, None)
    """
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


class CallTokens(NamedTuple):
    """The token counts of a stored call. A count is None if the endpoint did not report it.

    `created` is in seconds since 1970. `tokens_cached` and `tokens_written` are included in `tokens_in`. `batch` is the
    id of the batch of the call, or None if the call was not in a batch.
    """

    key: str
    created: float
    model: str
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    tokens_written: int | None = None
    batch: str | None = None


class StoredCall(NamedTuple):
    """A stored call: its request and its completion as parsed JSON objects.

    `created` is in seconds since 1970. `usable` is False for a reply that could not be read or was turned away.
    """

    key: str
    created: float
    model: str
    usable: bool
    request: dict[str, Any]
    completion: dict[str, Any]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """The messages of the prompt, as pairs of a role and a text."""
        return [(str(message["role"]), str(message["content"])) for message in self.request.get("messages", ())]

    @property
    def reply(self) -> str:
        """The text of the reply or refusal, or an empty string."""
        return str(self.completion.get("text") or self.completion.get("refusal") or "")


class CallStore(KeyValueFile):
    """A content-addressed store of calls.

    `put` commits before it returns, so that a crash loses no reply that was used. It does not replace an existing
    reply. If `path` is None, calls are stored in memory.

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

    def __init__(self, path: str | Path | None = None, *, readonly: bool = False) -> None:
        self._checkpointer: threading.Thread | None = None
        self._since_checkpoint = 0
        super().__init__(path, readonly=readonly)
        if not readonly:
            self.rows(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")

    def get(self, key: str) -> str | None:
        """Return the completion stored under `key`, or None if there is none."""
        completion: str | None = self.values((key,)).get(key)
        return completion

    def request(self, key: str) -> str:
        """Return the request stored under `key`, whether or not the reply was usable.

        Raises KeyError if there is no such request.
        """
        both = "SELECT request FROM calls WHERE key = ?1 UNION ALL SELECT request FROM turned_away WHERE key = ?1"
        rows = self.rows(f"{both} LIMIT 1", (key,))
        if not rows:
            raise KeyError(key)
        return str(rows[0][0])

    def stored(self, keys: Collection[str] | None = None) -> Iterator[StoredCall]:
        """Yield the calls with these keys, or all calls, in the order of their storing.

        The calls with usable replies come first.
        """
        where = "" if keys is None else "WHERE key IN (SELECT value FROM json_each(?))"
        for table, usable in (("calls", True), ("turned_away", False)):
            sql = f"SELECT key, created, model, request, completion FROM {table} {where} ORDER BY rowid"  # noqa: S608 - constants
            for key, created, model, request, completion in self.rows(
                sql, () if keys is None else (json.dumps([*keys]),)
            ):
                yield StoredCall(key, created, model, usable, json.loads(request), json.loads(completion))

    def put(self, key: str, request: str, completion: str, model: str = "") -> str:
        """Store a call, commit, and return the stored completion.

        The stored completion is the first one for the key.
        """
        return self.put_many([(key, request, completion, model)])[0]

    def put_many(self, calls: Sequence[tuple[str, str, str, str]]) -> list[str]:
        """Store calls in one commit, and return the stored completions.

        `calls` contains (key, request, completion, model).
        """
        now = time.time()
        rows = [(key, now, model, _utf8(request), _utf8(completion)) for key, request, completion, model in calls]

        def insert(connection: sqlite3.Connection) -> list[bool]:
            return [connection.execute(_INSERT, (*row, checksum_of(row[0], row[-1]))).rowcount > 0 for row in rows]

        added = self.write(insert, as_transaction=len(rows) > 1)
        # Checkpoints are made in a thread, because they wait for the disk.
        self._since_checkpoint += len(rows)
        running = self._checkpointer is not None and self._checkpointer.is_alive()
        if self.path is not None and self._since_checkpoint >= CHECKPOINT_EVERY and not running:
            self._since_checkpoint = 0
            self._checkpointer = threading.Thread(target=_checkpoint, args=(self.path.resolve().as_uri(),), daemon=True)
            self._checkpointer.start()
        return [call[2] if new else self.get(call[0]) or call[2] for call, new in zip(calls, added, strict=True)]

    def turn_away(self, key: str, request: str, completion: str, model: str = "") -> None:
        """Store a call with an unusable reply to count the tokens. `get` does not return this reply."""
        row = (key, time.time(), model, _utf8(request), _utf8(completion))
        self.write(lambda connection: connection.execute(_INSERT_TURNED_AWAY, row))

    def replace(self, file: Path, keys: Iterable[str]) -> None:
        """Copy the calls with these keys from another call store, and replace existing replies."""
        sql = f"INSERT OR REPLACE INTO calls SELECT {_COLUMNS} FROM other.calls WHERE key = ?"  # noqa: S608 - our names
        with self._attached(file):
            self.write(lambda connection: connection.executemany(sql, [(key,) for key in keys]))

    def fence_secret(self) -> str | None:
        """Return the secret from which the fences around judged texts are derived.

        If there is no secret, one is created, or None is returned if the store is read-only. The keys of calls do not
        depend on the secret.
        """
        if not self.readonly:
            insert = "INSERT OR IGNORE INTO secrets VALUES ('fence', ?)"
            self.write(lambda connection: connection.execute(insert, (secrets.token_hex(32),)))
        rows = self.rows("SELECT value FROM secrets WHERE name = 'fence'")
        return str(rows[0][0]) if rows else None

    def tokens(self, table: Literal["calls", "turned_away"] = "calls") -> list[CallTokens]:
        """Return the token counts of all calls in `table`, in order.

        The table `calls` contains the calls with usable replies, and `turned_away` those with unusable ones.
        """
        valid = "CASE WHEN json_valid(completion) THEN completion END"
        columns = ", ".join(f"json_extract({valid}, '$.{name}')" for name in CallTokens._fields[3:])
        rows = self.rows(f"SELECT key, created, model, {columns} FROM {table} ORDER BY rowid")  # noqa: S608 - constants
        return [CallTokens._make((*row[:3], *map(token_count, row[3:-1]), row[-1])) for row in rows]

    def close(self) -> None:
        """Close the file. Further calls have no effect."""
        if self._checkpointer is not None:
            self._checkpointer.join()
        super().close()


def _checkpoint(uri: str) -> None:
    """Move committed changes from the write-ahead log to the file.

    Other connections are not blocked.
    """
    with contextlib.suppress(sqlite3.Error):  # the next checkpoint, or closing the file, will move them
        connection = connect(uri)
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            connection.close()


def _utf8(text: str) -> str:
    # A lone surrogate has no UTF-8 encoding, but its JSON escape is equivalent.
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
