"""What the SQLite files of a run share."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from summeter.runs.results import ResultStore
from summeter.runs.sqlite import KeyValueFile, connect


class Store(KeyValueFile):
    """A store of one table."""

    MARK, SCHEMA = 0x5355, ("CREATE TABLE IF NOT EXISTS calls (id INTEGER)",)
    TABLE, CONTENT, NAME = "calls", "recorded calls", "call store"


class Meanwhile:
    """A connection; as soon as it has asked who made the file, another process tries to lay the store out."""

    def __init__(self, path: Path) -> None:
        self.own, self.other = connect(path.as_uri()), connect(path.as_uri())
        self.other.execute("PRAGMA busy_timeout = 0")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def execute(self, sql: str) -> sqlite3.Cursor:
        found = self.own.execute(sql)
        if sql == "PRAGMA application_id":
            row = found.fetchone()
            with suppress(sqlite3.OperationalError):  # it may have to wait
                Store.lay_out(self.other)
            return self.own.execute("SELECT ?", row)
        return found


def test_a_new_file_that_another_process_lays_out_meanwhile_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    both: Any = Meanwhile(path)
    assert Store.version(both, path, new=True) == 0
    Store.lay_out(both.other)
    assert Store.version(both.own, path, new=True) == Store.VERSION
    both.own.close()
    both.other.close()


def test_a_changed_result_is_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "results.sqlite"
    with ResultStore(path) as store:
        store.put("m", {b"k": b"1", b"l": b"2"})
        store.write(lambda connection: connection.execute("UPDATE results SET value = ? WHERE key = ?", (b"3", b"k")))
        assert store.get([b"k", b"l"]) == {b"l": b"2"}
        assert "is damaged" in caplog.text
        store.put("m", {b"k": b"1"})
        assert store.get([b"k"]) == {b"k": b"1"}
