"""The result store: what local models gave, by the hash of model, weights and input, in one SQLite file.

It is to local models what the call store is to LLMs: the cache of a run, what a resumed run does not compute again,
and the source of a replay. It only grows. Values are bytes here; what they mean belongs to the models.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from summeter.records import InputError, SummeterError, UsageError
from summeter.runs.sqlite import connect, lay_out, transaction, version_of

RESULTS = "results.sqlite"
# "SMRS": tells a result store from any other SQLite file.
APPLICATION_ID = 0x534D5253
VERSION = 1
AT_ONCE = 500

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE IF NOT EXISTS results (
        key BLOB PRIMARY KEY, model INTEGER NOT NULL, value BLOB NOT NULL
    ) WITHOUT ROWID""",
)


def result_key(model: str, task: str, texts: Sequence[str]) -> bytes:
    """The key of one input: 16 bytes of a hash of the model's id (which names its weights), the task and the texts.

    Lengths are hashed with the texts, so that no two splits of one text share a key.
    """
    made = hashlib.blake2b(digest_size=16)
    for text in (model, task, *texts):
        data = text.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little"))
        made.update(data)
    return made.digest()


class ResultStore:
    """Content-addressed results. Safe for several threads, and for several processes on one file.

    What `put` was given is committed when it returns; the first value of a key stays. `path` None keeps the results in
    memory.

    >>> with ResultStore() as store:
    ...     store.put("m", {b"k": b"1"})
    ...     store.put("m", {b"k": b"2"})
    ...     store.get([b"k", b"other"])
    {b'k': b'1'}
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.Lock()
        try:
            self._connection = connect(":memory:" if self.path is None else self.path.resolve().as_uri())
            self._prepare()
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        for start in range(0, len(wanted), AT_ONCE):
            some = wanted[start : start + AT_ONCE]
            marks = ",".join("?" * len(some))
            found.update(self._run(f"SELECT key, value FROM results WHERE key IN ({marks})", some))  # noqa: S608 - marks
        return found

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Store the values of a model, in one commit."""
        try:
            with self._lock:
                self._insert(model, values)
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def __contains__(self, key: object) -> bool:
        return bool(self._run("SELECT 1 FROM results WHERE key = ?", (key,)))

    def counts(self) -> dict[str, int]:
        """How many results there are of each model, by name."""
        return dict(
            self._run("SELECT name, count(*) FROM results JOIN models ON models.id = model GROUP BY name ORDER BY name")
        )

    def close(self) -> None:
        """Let go of the file. Closing twice is harmless."""
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _insert(self, model: str, values: Mapping[bytes, bytes]) -> None:
        run = self._connection.execute
        with transaction(self._connection):
            run("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
            number = run("SELECT id FROM models WHERE name = ?", (model,)).fetchone()[0]
            self._connection.executemany(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?)",
                [(key, number, value) for key, value in values.items()],
            )

    def _run(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._fault(error) from error

    def _prepare(self) -> None:
        run = self._connection.execute
        marks = (APPLICATION_ID, VERSION)
        version = version_of(self._connection, self.path, marks, "stored results", new=True)
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        if not version:
            lay_out(self._connection, marks, _SCHEMA)

    def _fault(self, error: sqlite3.Error) -> SummeterError:
        where = self.path or "memory"
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return InputError.at(where, None, None, f"is not a readable result store ({error}); move it away")
        if isinstance(error, sqlite3.ProgrammingError):
            return UsageError(f"{where}: the result store is closed ({error})")
        return SummeterError(f"{where}: the result store cannot be used: {error}")
