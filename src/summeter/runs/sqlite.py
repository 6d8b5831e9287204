"""Implement a key-value store in an SQLite file, the base of a run's call and result stores.

An existing value is never replaced. Several threads and processes may use the same file. Every entry contains a
checksum of key and value, so that damaged values are detected.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, TypeVar
from zlib import crc32

from summeter.records import InputError, SummeterError, UsageError, WriteError

log = logging.getLogger(__name__)

T = TypeVar("T")

BUSY_SECONDS = 30.0


def connect(target: str) -> sqlite3.Connection:
    """Open a connection without implicit transactions.

    Several threads may use the connection, one at a time.
    """
    return sqlite3.connect(
        target, uri=target != ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open a read-only connection, even if the file is on a read-only medium."""
    uri = path.resolve().as_uri()
    connection = connect(f"{uri}?mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
    except sqlite3.OperationalError:
        # SQLite cannot create auxiliary files there, so no other process can write either.
        connection.close()
        log = Path(f"{path}-wal")
        if not log.is_file() or not log.stat().st_size:
            return connect(f"{uri}?mode=ro&immutable=1")
        memory = connect(":memory:")  # a copy in which the file and the log that a crash left are merged
        with TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            shutil.copyfile(log, f"{copy}-wal")
            with closing(connect(copy.as_uri())) as recovered:
                recovered.backup(memory)
        return memory
    return connection


def keep_log(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log.

    If another process is doing the same, the function waits, because SQLite itself would raise an error.
    """
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def transaction(connection: sqlite3.Connection, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[None]:
    """Run a block in a transaction, which is rolled back if an error occurs.

    Use DEFERRED if the block only reads.
    """
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:  # an open transaction would prevent the next transaction
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def checksum_of(key: str | bytes, value: str | bytes) -> int:
    """Return the checksum of an entry."""
    fields = (field.encode("utf-8", "surrogatepass") if isinstance(field, str) else field for field in (key, value))
    return crc32(b"\0".join(fields))


class KeyValueFile:
    """A key-value store in an SQLite file, or in memory if `path` is None.

    A write is committed before the method returns.

    Raises UsageError if a read-only file is missing, and InputError if the file is not a store of this type. Subclasses
    set the class attributes: `MARK` and `VERSION` identify the files of a store; `SCHEMA` creates the tables; `TABLE`
    is the table with the columns `key`, `checksum` and the one named by `VALUE`; `ABSORB` contains the statements that
    copy new entries from a database `other`; `CONTENT` and `NAME` are used in messages.
    """

    MARK: ClassVar[int]
    VERSION: ClassVar[int] = 1
    SCHEMA: ClassVar[tuple[str, ...]]
    TABLE: ClassVar[str]
    VALUE: ClassVar[str]
    ABSORB: ClassVar[tuple[str, ...]]
    CONTENT: ClassVar[str]
    NAME: ClassVar[str]

    def __init__(self, path: str | Path | None = None, *, readonly: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.readonly = readonly
        self.broken: WriteError | None = None
        self._lock = threading.Lock()
        if self.path is not None and readonly and not self.path.is_file():
            raise UsageError(f"{self.path} does not exist. A replay needs the {self.path.name} of a run")
        try:
            if self.path is None:
                self._connection = connect(":memory:")
            elif readonly:
                self._connection = connect_readonly(self.path)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = connect(self.path.resolve().as_uri())
            version = self.version(self._connection, self.path, new=not readonly)
            if not readonly:
                # With a write-ahead log, NORMAL loses no commit if the process dies.
                keep_log(self._connection)
                self._connection.execute("PRAGMA synchronous = NORMAL")
                if not version:
                    self.lay_out(self._connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise self._fault(error) from error
        except SummeterError:
            self.close()
            raise

    def __contains__(self, key: object) -> bool:
        return bool(self.rows(f"SELECT 1 FROM {self.TABLE} WHERE key = ?", (key,)))  # noqa: S608 - a name of ours

    def values(self, keys: Sequence[object]) -> dict[Any, Any]:
        """Return the stored values of the keys.

        A damaged value is removed with a warning, so that it will be computed again. If the file is read-only,
        InputError is raised instead.
        """
        marks = ",".join("?" * len(keys))
        sql = f"SELECT key, {self.VALUE}, checksum FROM {self.TABLE} WHERE key IN ({marks})"  # noqa: S608 - constants
        delete = f"DELETE FROM {self.TABLE} WHERE key = ?"  # noqa: S608 - constants
        values, damaged = {}, []
        for key, value, stored in self.rows(sql, keys):
            if stored == checksum_of(key, value):
                values[key] = value
                continue
            name = key.hex() if isinstance(key, bytes) else key
            what = f"the {self.VALUE} stored under {name[:12]} is damaged"
            if self.readonly:
                raise InputError.at(self.path or "memory", f"{what}. Restore the file, or start a new run")
            log.warning("%s: %s and will be made again", self.path, what)
            damaged.append((key,))
        if damaged:
            self.write(lambda connection: connection.executemany(delete, damaged))
        return values

    def __len__(self) -> int:
        """Return the number of entries."""
        return int(self.rows(f"SELECT count(*) FROM {self.TABLE}")[0][0])  # noqa: S608 - constants

    def damaged(self) -> list[str]:
        """Return the keys of damaged values. Raises InputError if the file itself is damaged."""
        self._check()
        sql = f"SELECT key, {self.VALUE}, checksum FROM {self.TABLE}"  # noqa: S608 - constants

        def walk(connection: sqlite3.Connection) -> list[str]:
            return [
                key.hex() if isinstance(key, bytes) else key
                for key, value, checksum in connection.execute(sql)
                if checksum != checksum_of(key, value)
            ]

        return self._locked(walk)

    def absorb(self, file: Path) -> None:
        """Copy new entries from another file of the same type."""
        with self._attached(file):
            self.write(lambda connection: [connection.execute(sql) for sql in self.ABSORB])

    @contextmanager
    def _attached(self, file: Path) -> Iterator[None]:
        """Attach a copy of another file of the same type as the database `other`."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / file.name
            with type(self)(file, readonly=True) as other:
                other.copy_to(copy)
            self.rows("ATTACH ? AS other", (str(copy),))
            try:
                yield
            finally:
                self.rows("DETACH other")

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows that an SQL statement selects."""
        return self._locked(lambda connection: connection.execute(sql, values).fetchall())

    def write(self, work: Callable[[sqlite3.Connection], T], *, as_transaction: bool = True) -> T:
        """Run `work` in a transaction and return the result.

        If `as_transaction` is false, each statement is committed separately. Raises WriteError if the file cannot be
        written, and stores the error in `broken`.
        """
        if self.readonly:
            raise UsageError(f"{self.path}: the {self.NAME} is open read-only")

        def inside(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                return work(connection)

        try:
            with self._lock:
                return (inside if as_transaction else work)(self._connection)
        except sqlite3.ProgrammingError as error:
            raise self._fault(error) from error
        except sqlite3.Error as error:
            self.broken = WriteError.of(self.path or "memory", f"the {self.NAME}", error)
            raise self.broken from error

    def copy_to(self, file: Path) -> None:
        """Copy all entries to another file, even while another process is writing.

        Raises InputError if the store is damaged.
        """
        self._check()
        try:
            with closing(sqlite3.connect(file)) as copy:
                self._connection.backup(copy)
        except sqlite3.Error as error:
            file.unlink(missing_ok=True)
            raise WriteError.of(file, f"the copy of {self.path}", error) from error

    def close(self) -> None:
        """Close the file. Further calls have no effect."""
        # There is no connection if opening failed.
        if (connection := getattr(self, "_connection", None)) is not None:
            with self._lock:
                connection.close()

    def __del__(self) -> None:
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _locked(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with self._lock:
                return work(self._connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._fault(error) from error

    @classmethod
    def version(cls, connection: sqlite3.Connection, path: Path | None, *, new: bool) -> int:
        """Return the version of the store in a file, or 0 if the file is empty.

        Raises InputError if the file has another type or a newer version, or if the file is empty and `new` is false.
        """
        # The three values are read in one transaction, because another process may be creating the store.
        with transaction(connection, "DEFERRED"):
            mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
            version: int = connection.execute("PRAGMA user_version").fetchone()[0]
            tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != cls.MARK and (mark or not new or tables):
            raise InputError.at(path or "memory", f"is an SQLite file, but not one of {cls.CONTENT}")
        if version > cls.VERSION:
            newer = f"was written by a newer summeter (store version {version}, not {cls.VERSION}). Upgrade summeter"
            raise InputError.at(path or "memory", newer)
        return version

    @classmethod
    def lay_out(cls, connection: sqlite3.Connection) -> None:
        """Create the tables of a new store, and mark the file as a store of this type."""
        with transaction(connection):
            connection.execute(f"PRAGMA application_id = {cls.MARK}")
            connection.execute(f"PRAGMA user_version = {cls.VERSION}")
            for sql in cls.SCHEMA:
                connection.execute(sql)

    def _check(self) -> None:
        """Raise InputError if the file is damaged."""
        ((state,), *_) = self.rows("PRAGMA quick_check(1)")
        if state != "ok":
            raise self._unreadable(state)

    def _unreadable(self, why: object) -> InputError:
        message = f"is not a readable {self.NAME} ({why}). Move it away or restore it"
        return InputError.at(self.path or "memory", message)

    def _fault(self, error: sqlite3.Error | UnicodeDecodeError) -> SummeterError:
        where, name = self.path or "memory", self.NAME
        code = getattr(error, "sqlite_errorname", "") or ""
        # SQLite's message about a damaged schema contains bytes that Python cannot decode.
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or isinstance(error, UnicodeDecodeError):
            return self._unreadable(error)
        if code.startswith("SQLITE_BUSY"):
            return SummeterError(f"{where}: another process has locked the {name} for {BUSY_SECONDS:.0f} s")
        if isinstance(error, sqlite3.ProgrammingError):
            return UsageError(f"{where}: the {name} is closed ({error})")
        return SummeterError(f"{where}: the {name} cannot be used: {error}")
