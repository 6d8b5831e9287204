"""The result store: what local models gave, by the hash of model, weights and input, in one SQLite file.

It is to local models what the call store is to LLMs: the cache of a run, what a resumed run does not compute again,
and the source of a replay. It only grows. Values are bytes here; what they mean belongs to the models.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Protocol

from summeter.runs.sqlite import KeyValueFile, checksum_of

RESULTS = "results.sqlite"
AT_ONCE = 500


def result_key(model: str, task: str, request: str) -> bytes:
    """The key of one result: 16 bytes of a hash of the model's id (which names its weights), the task and the request.

    Lengths are hashed with the texts, so that no two splits of one text share a key.
    """
    key = hashlib.blake2b(digest_size=16)
    for text in (model, task, request):
        data = text.encode("utf-8", "surrogatepass")
        key.update(len(data).to_bytes(8, "little"))
        key.update(data)
    return key.digest()


class Results(Protocol):
    """Where local models look results up, and keep new ones."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Keep the values of a model; the first value of a key stays."""


class ResultStore(KeyValueFile):
    """Content-addressed results.

    What `put` was given is committed when it returns; the first value of a key stays. `path` None keeps the results in
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
        """The values of those keys that are there."""
        wanted = list(dict.fromkeys(keys))
        known: dict[bytes, bytes] = {}
        for start in range(0, len(wanted), AT_ONCE):
            known.update(self.values(wanted[start : start + AT_ONCE]))
        return known

    def put(self, model: str, values: Mapping[bytes, bytes]) -> None:
        """Store the values of a model, in one commit."""

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
            number = connection.execute("SELECT id FROM models WHERE name = ?", (model,)).fetchone()[0]
            rows = [(key, number, value, checksum_of(key, value)) for key, value in values.items()]
            connection.executemany("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", rows)

        self.write(insert)

    def counts(self) -> dict[str, int]:
        """How many results there are of each model, by name."""
        return dict(
            self.rows("SELECT name, count(*) FROM results JOIN models ON models.id = model GROUP BY name ORDER BY name")
        )
