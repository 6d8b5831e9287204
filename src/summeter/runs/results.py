"""Store the results of local models in one SQLite file, by hash of model, weights and input.

The result store corresponds to the call store for LLMs: it is the cache of a run, saves a resumed run from repeating
computations, and is the source of a replay. Results are never removed. The values are bytes, whose meaning is defined
by the models.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Protocol

from summeter.runs.sqlite import KeyValueFile, checksum_of

RESULTS = "results.sqlite"
BATCH = 500


def result_key(model: str, task: str, request: str) -> bytes:
    """Return the key of a result: a 16-byte hash of the model id, the task and the request.

    The model id identifies the weights. The lengths are hashed too, so that different divisions of the same text have
    different keys.
    """
    key = hashlib.blake2b(digest_size=16)
    for text in (model, task, request):
        data = text.encode("utf-8", "surrogatepass")
        key.update(len(data).to_bytes(8, "little"))
        key.update(data)
    return key.digest()


class Results(Protocol):
    """Store of the results of local models."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the stored values by key, without keys that are not stored."""

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Store the values of a model by key. Existing values are not replaced."""


class ResultStore(KeyValueFile):
    """A content-addressed store of results.

    `put` commits before it returns, and does not replace existing values. If `path` is None, results are stored in
    memory.

    >>> with ResultStore() as store:
    ...     store.put("m", {b"k": b"1"})
    ...     store.put("m", {b"k": b"2"})
    ...     store.get([b"k", b"other"])
    {b'k': b'1'}
    """

    MARK = 0x534D5253  # "SMRS"
    SCHEMA = (
        "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        """CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, model INTEGER NOT NULL, value BLOB NOT NULL,
        checksum INTEGER NOT NULL)
        WITHOUT ROWID""",
    )
    ABSORB = (
        "INSERT OR IGNORE INTO models (name) SELECT name FROM other.models ORDER BY id",
        """INSERT OR IGNORE INTO results SELECT theirs.key, main.models.id, theirs.value, theirs.checksum
        FROM other.results AS theirs JOIN other.models AS named ON named.id = theirs.model
        JOIN main.models ON main.models.name = named.name""",
    )
    TABLE, VALUE, CONTENT, NAME = "results", "value", "stored results", "result store"

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the stored values by key, without keys that are not stored."""
        unique = list(dict.fromkeys(keys))
        values: dict[bytes, bytes] = {}
        for start in range(0, len(unique), BATCH):
            values.update(self.values(unique[start : start + BATCH]))
        return values

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Store the values of a model by key, in one commit."""

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
            number = connection.execute("SELECT id FROM models WHERE name = ?", (model,)).fetchone()[0]
            rows = [(key, number, value, checksum_of(key, value)) for key, value in values.items()]
            connection.executemany("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", rows)

        self.write(insert)

    def counts(self) -> dict[str, int]:
        """Return the number of results by model name."""
        return dict(
            self.rows("SELECT name, count(*) FROM results JOIN models ON models.id = model GROUP BY name ORDER BY name")
        )
