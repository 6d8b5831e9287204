"""A file of values by key, in SQLite: what the call store and the result store of a run both are.

The first value of a key stays. Safe for several threads, and for several processes on one file. Every value has a
checksum of key and value, so that a damaged one is never taken for what was stored.
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
    """A connection for several threads (who use it one at a time) that commits when it is told to."""
    return sqlite3.connect(
        target, uri=target != ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, also to a file on a medium that nobody can write to."""
    uri = path.resolve().as_uri()
    connection = connect(f"{uri}?mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
    except sqlite3.OperationalError:
        # SQLite cannot make its helper files there; nobody else writes either.
        connection.close()
        log = Path(f"{path}-wal")
        return _with_log(path, log) if log.is_file() and log.stat().st_size else connect(f"{uri}?mode=ro&immutable=1")
    return connection


def _with_log(path: Path, log: Path) -> sqlite3.Connection:
    """In memory, what a file and the log of a killed writer hold together."""
    memory = connect(":memory:")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        with closing(connect(copy.as_uri())) as recovered:
            recovered.backup(memory)
    return memory


def keep_log(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on. While another process does the same, SQLite refuses it without waiting: we wait."""
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
    """All of what is done inside, or nothing; what only reads, and sees one state, may be DEFERRED."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:  # whatever it was, the next transaction could not begin in this one
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def checksum_of(key: str | bytes, value: str | bytes) -> int:
    """The checksum that is stored beside a value."""
    parts = (part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in (key, value))
    return crc32(b"\0".join(parts))


class KeyValueFile:
    """Values by key in one SQLite file; what is written is committed when the call returns. `path` None keeps them in
    memory. Raises UsageError where a file that is only read is not there, InputError for a file of another kind.

    `MARK` and `VERSION` tell the files of a store from any others; `TABLE` has the columns `key`, `checksum` and
    `VALUE`; `ABSORB` copies what a database `other` has beyond it; `CONTENT` and
    `NAME` are for messages."""

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
            raise UsageError(f"{self.path}: there are no {self.CONTENT}; a replay needs the {self.path.name} of a run")
        try:
            self._connection = self._connect()
            self._prepare()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            raise self._fault(error) from error
        except SummeterError:
            self.close()
            raise

    def __contains__(self, key: object) -> bool:
        return bool(self.rows(f"SELECT 1 FROM {self.TABLE} WHERE key = ?", (key,)))  # noqa: S608 - a name of ours

    def values(self, keys: Sequence[object]) -> dict[Any, Any]:
        """The values of those keys that are there. A value that is not what was stored counts as not there, with a
        warning, so that it is made again; in a file that is only read, InputError."""
        marks = ",".join("?" * len(keys))
        sql = f"SELECT key, {self.VALUE}, checksum FROM {self.TABLE} WHERE key IN ({marks})"  # noqa: S608 - names of ours
        values = {}
        for key, value, stored in self.rows(sql, keys):
            if stored == checksum_of(key, value):
                values[key] = value
            else:
                self._drop(key)
        return values

    def _drop(self, key: Any) -> None:
        name = key.hex() if isinstance(key, bytes) else key
        where = f"the {self.VALUE} stored under {name[:12]} is not as it was written"
        if self.readonly:
            raise InputError.at(self.path or "memory", None, None, f"{where}; restore the file, or make a new run")
        log.warning("%s: %s; it is made anew", self.path, where)
        self.write(lambda connection: connection.execute(f"DELETE FROM {self.TABLE} WHERE key = ?", (key,)))  # noqa: S608

    def __len__(self) -> int:
        """How many values there are."""
        return int(self.rows(f"SELECT count(*) FROM {self.TABLE}")[0][0])  # noqa: S608 - a name of ours

    def damaged(self) -> list[str]:
        """The keys of the values that are not as they were stored. InputError for damaged pages."""
        ((state,), *_) = self.rows("PRAGMA quick_check(1)")
        if state != "ok":
            raise self._unreadable(state)
        sql = f"SELECT key, {self.VALUE}, checksum FROM {self.TABLE}"  # noqa: S608 - names of ours

        def walk(connection: sqlite3.Connection) -> list[str]:
            return [
                key.hex() if isinstance(key, bytes) else key
                for key, value, checksum in connection.execute(sql)
                if checksum != checksum_of(key, value)
            ]

        return self._locked(walk)

    def absorb(self, file: Path) -> None:
        """Take in what another file of the same kind holds; the value that is here already stays."""
        with self._attached(file):
            self.write(lambda connection: [connection.execute(sql) for sql in self.ABSORB])

    @contextmanager
    def _attached(self, file: Path) -> Iterator[None]:
        """A copy of another file of the same kind, as the database `other`."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / file.name
            with type(self)(file, readonly=True) as other:
                other.copy_to(copy)
            type(self)(copy).close()  # of the present version
            self.rows("ATTACH ? AS other", (str(copy),))
            try:
                yield
            finally:
                self.rows("DETACH other")

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows a statement gives."""
        return self._locked(lambda connection: connection.execute(sql, values).fetchall())

    def write(self, work: Callable[[sqlite3.Connection], T], *, at_once: bool = True) -> T:
        """What `work` returns; what it writes is committed all `at_once`, or statement by statement. WriteError where
        it cannot be written, which `broken` then is."""
        if self.readonly:
            raise UsageError(f"{self.path}: the {self.NAME} is open for reading only")

        def inside(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                return work(connection)

        try:
            with self._lock:
                return (inside if at_once else work)(self._connection)
        except sqlite3.ProgrammingError as error:
            raise self._fault(error) from error
        except sqlite3.Error as error:
            self.broken = WriteError.of(self.path or "memory", f"the {self.NAME}", error)
            raise self.broken from error

    def copy_to(self, file: Path) -> None:
        """Write all that is there to another file; somebody else may be writing here. InputError for damaged pages."""
        ((state,), *_) = self.rows("PRAGMA quick_check(1)")
        if state != "ok":
            raise self._unreadable(state)
        try:
            with closing(sqlite3.connect(file)) as copy:
                self._connection.backup(copy)
        except sqlite3.Error as error:
            file.unlink(missing_ok=True)
            raise WriteError.of(file, f"the copy of {self.path}", error) from error

    def close(self) -> None:
        """Let go of the file. Closing twice is harmless."""
        # One that never opened has no connection.
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

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return connect(":memory:")
        if self.readonly:
            return connect_readonly(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return connect(self.path.resolve().as_uri())

    def _prepare(self) -> None:
        version = self.version(self._connection, self.path, new=not self.readonly)
        if self.readonly:
            return
        # With a write-ahead log, NORMAL loses nothing when the process dies: each commit is in the file by then.
        keep_log(self._connection)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if not version:
            self.lay_out(self._connection)

    @classmethod
    def version(cls, connection: sqlite3.Connection, path: Path | None, *, new: bool) -> int:
        """The version of the store in a file, 0 where there is none yet. InputError for a file of another kind or of a
        newer version; where no `new` one may be made, for an empty file too."""
        # One look at all three: between two of them another process may lay the store out.
        with transaction(connection, "DEFERRED"):
            mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
            version: int = connection.execute("PRAGMA user_version").fetchone()[0]
            tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != cls.MARK and (mark or not new or tables):
            raise InputError.at(path or "memory", None, None, f"is an SQLite file, but not one of {cls.CONTENT}")
        if version > cls.VERSION:
            newer = f"was written by a newer summeter (store version {version}, this one reads {cls.VERSION}); upgrade"
            raise InputError.at(path or "memory", None, None, newer)
        return version

    @classmethod
    def lay_out(cls, connection: sqlite3.Connection) -> None:
        """Make the tables of a new store, and mark its file."""
        with transaction(connection):
            connection.execute(f"PRAGMA application_id = {cls.MARK}")
            connection.execute(f"PRAGMA user_version = {cls.VERSION}")
            for sql in cls.SCHEMA:
                connection.execute(sql)

    def _unreadable(self, why: object) -> InputError:
        what = f"is not a readable {self.NAME} ({why}); move it away or restore it"
        return InputError.at(self.path or "memory", None, None, what)

    def _fault(self, error: sqlite3.Error | UnicodeDecodeError) -> SummeterError:
        where, name = self.path or "memory", self.NAME
        code = getattr(error, "sqlite_errorname", "") or ""
        # SQLite's own message of a garbled schema repeats the garbage, which Python cannot decode.
        if code.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")) or isinstance(error, UnicodeDecodeError):
            return self._unreadable(error)
        if code.startswith("SQLITE_BUSY"):
            return SummeterError(f"{where}: another process has held the {name} for {BUSY_SECONDS:.0f} s")
        if isinstance(error, sqlite3.ProgrammingError):
            return UsageError(f"{where}: the {name} is closed ({error})")
        return SummeterError(f"{where}: the {name} cannot be used: {error}")
