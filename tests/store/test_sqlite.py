"""What the SQLite stores share: a transaction is whole or is not there, whatever ended it."""

from __future__ import annotations

import sqlite3

import pytest

from summeter.store.sqlite import connect, transaction


def broken(connection: sqlite3.Connection, end: type[BaseException]) -> None:
    with transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        raise end


@pytest.mark.parametrize("end", [KeyboardInterrupt, TypeError])
def test_a_transaction_that_anything_ends_leaves_nothing_open(end: type[BaseException]) -> None:
    connection = connect(":memory:")
    connection.execute("CREATE TABLE t (a)")
    with pytest.raises(end):
        broken(connection, end)
    with transaction(connection):
        connection.execute("INSERT INTO t VALUES (2)")
    assert connection.execute("SELECT a FROM t").fetchall() == [(2,)]
    connection.close()
