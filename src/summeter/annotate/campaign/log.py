"""EventLog: the append-only log of a campaign in one SQLite file, and the state that follows from it.

A command is a function of a `Transaction`: it reads the state, emits events and returns a reply. One thread decides all
commands that wait in one transaction of the file: catch up with what other processes wrote, decide, insert, commit.
Only then are they answered, so that a busy server writes to the disk once for many answers.
"""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from summeter.annotate.campaign.events import KINDS, Event, packed
from summeter.annotate.campaign.state import State
from summeter.records import InputError, SummeterError, UsageError
from summeter.runs.sqlite import connect, connect_readonly, keep_log, transaction

MOST = 256
"""Commands in one commit."""
SHORT = 40
"""Event data of at most this many characters are parsed once."""
VERSION = 1
"""The file's `user_version`."""
RESTORE = "the log was changed or damaged: restore it from a backup or an export"
_EVENTS = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, annotator TEXT, task TEXT,
    batch INTEGER, token TEXT, data TEXT NOT NULL, checksum INTEGER NOT NULL, UNIQUE (annotator, token)
)
"""
"""AUTOINCREMENT has SQLite remember the last seq, also when events are taken from the end. A person's token is unique,
so a retry is never stored twice."""
_SELECT = "SELECT seq, at, kind, annotator, task, batch, token, data, checksum FROM events WHERE seq > ? ORDER BY seq"
_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
T = TypeVar("T")


class StoreError(SummeterError):
    """The log could not be written. Nothing of the command was kept; it may be tried again."""


class Transaction:
    """What a command may use: the state, `now` (milliseconds), `last` (the latest seq), and `emit`.

    Events emitted before `keep()` stand even if the command fails later.
    """

    def __init__(self, state: State, now: int, last: int) -> None:
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.last = last
        self.kept = 0

    def keep(self) -> None:
        """Keep what was emitted so far, whatever becomes of the command."""
        self.kept = len(self.events)

    def emit(
        self,
        kind: str,
        annotator: str | None = None,
        *,
        task: str | None = None,
        batch: int | None = None,
        token: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> Event:
        """Add an event and apply it to the state; it is stored when the transaction commits."""
        if kind not in KINDS:
            raise UsageError(f"there is no event {kind!r}; there are: {', '.join(KINDS)}")
        event = Event(self.last + 1, self.now, kind, annotator, task, batch, token, data or {})
        packed(event.data)  # what cannot be stored must not come into the state
        self.last += 1
        self.events.append(event)
        self.state.apply(event)
        return event


class _Job(NamedTuple):
    command: Callable[[Transaction], Any]
    future: Future[Any]


class _HalfDoneError(Exception):
    """A command that failed after its events had changed the state."""

    def __init__(self, job: _Job) -> None:
        super().__init__("a command failed halfway")
        self.job = job


class EventLog:
    """The log of one campaign and the state that follows from it.

    `fresh` makes an empty state; `owner` names the campaign, and the log of another is refused. Safe for several
    threads, and for several processes on one machine. Without `durable` a commit does not wait for the disk: for logs
    that can be made again after a power cut.
    """

    def __init__(
        self,
        file: Path,
        fresh: Callable[[], State],
        *,
        owner: str,
        readonly: bool = False,
        durable: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.file = file
        self.readonly = readonly
        self._fresh, self._owner, self._clock = fresh, owner, clock
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self.state = fresh()
        self.last_seq = 0
        self.broken: str | None = None
        """Where the log is not as it was written, in words; None for an undamaged log."""
        if readonly and not file.is_file():
            raise UsageError(f"{file}: there is no log yet; start the campaign with `summeter annotate serve`")
        try:
            self._connection = connect_readonly(file) if readonly else connect(file.resolve().as_uri())
            try:
                self._prepare(durable=durable)
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.OperationalError):
                raise SummeterError(f"{file}: the log cannot be used: {error}") from error
            raise InputError.at(file, None, None, f"is not a readable log ({error}); restore it") from error
        self._thread = threading.Thread(target=self._work, name="summeter-log", daemon=True)
        self._thread.start()

    def submit(self, command: Callable[[Transaction], T]) -> Future[T]:
        """Have a command decided; the future is done once its events are committed."""
        future: Future[T] = Future()
        with self._gate:
            if self._closed:
                raise StoreError("the log is closed")
            self._jobs.put(_Job(command, future))
        return future

    def do(self, command: Callable[[Transaction], T]) -> T:
        """`submit`, and wait."""
        return self.submit(command).result()

    def append(self, kind: str, annotator: str | None = None, **parts: Any) -> Event:
        """Add one event; `parts` are task, batch, token and data."""
        return self.do(lambda transaction: transaction.emit(kind, annotator, **parts))

    def refresh(self) -> None:
        """Read what other processes have added."""
        self.do(lambda _: None)

    def events(self, after: int = 0) -> Iterator[Event]:
        """The committed events with a seq above `after`, in order."""
        with closing(connect_readonly(self.file)) as connection:
            for event, _ in self._read(connection, after):
                yield event

    def extend(self, events: Sequence[Event]) -> None:
        """Add events that were exported elsewhere, with their own seq and time, in one commit."""

        def command(transaction: Transaction) -> None:
            for event in events:
                transaction.state.apply(event)
                transaction.events.append(event)

        self.do(command)

    def backup(self, file: Path) -> None:
        """Write a consistent copy of the log to a new file, while others write to it."""
        with closing(connect_readonly(self.file)) as source, closing(sqlite3.connect(file)) as target:
            source.backup(target)

    def close(self) -> None:
        """Commit what was submitted, then close the file. Closing twice is harmless."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _prepare(self, *, durable: bool) -> None:
        """Create the tables where there are none, and read the log."""
        connection = self._connection
        if not self.readonly:
            keep_log(connection)
            # A commit that was acknowledged survives a power cut too, not only the end of the process.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
            with transaction(connection):
                if _value(connection, "SELECT count(*) FROM sqlite_master") == 0:
                    connection.execute(_EVENTS)
                    connection.execute("CREATE TABLE campaign (owner TEXT NOT NULL)")
                    connection.execute("INSERT INTO campaign VALUES (?)", (self._owner,))
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        with transaction(connection, "DEFERRED"):
            if _value(connection, "PRAGMA user_version") != VERSION:
                raise InputError.at(self.file, None, None, "is not a log that this version of summeter reads")
            if _value(connection, "SELECT owner FROM campaign") != self._owner:
                raise UsageError(f"{self.file}: holds the log of another campaign; give each campaign its own")
            self._catch_up()
            written = _value(connection, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'events'") or 0
            if written > self.last_seq:
                self._break(f"it ends at event {self.last_seq}, and {written} were written")

    def _read(self, connection: sqlite3.Connection, after: int) -> Iterator[tuple[Event, bool]]:
        """Events, each with whether it is as it was written."""
        for seq, at, kind, annotator, task, batch, token, data, checksum in connection.execute(_SELECT, (after,)):
            fields = seq, at, kind, annotator, task, batch, token
            try:
                parsed = _parsed(data) if len(data) <= SHORT else json.loads(data)
            except (TypeError, ValueError) as error:
                raise self._damaged(f"event {seq} cannot be read ({error})") from error
            yield Event(seq, at, kind, annotator, task, batch, token, parsed), checksum == _checksum(fields, data)

    def _catch_up(self) -> None:
        for event, intact in self._read(self._connection, self.last_seq):
            if event.seq != self.last_seq + 1:
                self._break(f"event {self.last_seq + 1} is missing")
            elif not intact:
                self._break(f"event {event.seq} is not as it was written")
            try:
                self.state.apply(event)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise self._damaged(f"event {event.seq} does not follow from those before it ({error})") from error
            self.last_seq = event.seq

    def _break(self, what: str) -> None:
        self.broken = self.broken or what

    def _damaged(self, what: str) -> SummeterError:
        return InputError.at(self.file, None, None, f"{self.broken or what}; {RESTORE}")

    def _work(self) -> None:
        ended = False
        while not ended:
            job = self._jobs.get()
            group: list[_Job] = []
            while job is not None:
                if job.future.set_running_or_notify_cancel():
                    group.append(job)
                if len(group) >= MOST or self._jobs.empty():
                    break
                job = self._jobs.get()
            ended = job is None
            while group:
                group = self._commit(group)

    def _commit(self, group: list[_Job]) -> list[_Job]:
        """Decide, commit and answer a group; the jobs that have to be decided again because another failed halfway."""
        try:
            outcomes = self._decide(group)
        except Exception as error:  # noqa: BLE001 - nothing was committed, and every caller must hear
            # The state may hold what was not committed: start from the log. If that fails too, the next command tries.
            self.state, self.last_seq = self._fresh(), 0
            if isinstance(error, _HalfDoneError):
                error.job.future.set_exception(_not_stored(error.__cause__ or error))
                return [job for job in group if job is not error.job]
            for job in group:
                job.future.set_exception(_not_stored(error))
            return []
        for job, (reply, refused) in zip(group, outcomes, strict=True):
            if refused is None:
                job.future.set_result(reply)
            else:
                job.future.set_exception(refused)
        return []

    def _decide(self, group: list[_Job]) -> list[tuple[Any, SummeterError | None]]:
        """One transaction: catch up, decide, insert. A command that refuses or fails before its first event fails
        alone."""
        outcomes: list[tuple[Any, SummeterError | None]] = []
        events: list[Event] = []
        with transaction(self._connection, "DEFERRED" if self.readonly else "IMMEDIATE"):
            self._catch_up()
            last = self.last_seq
            for job in group:
                own = Transaction(self.state, int(self._clock() * 1000), last)
                try:
                    outcomes.append((job.command(own), None))
                except SummeterError as error:
                    outcomes.append((None, error))
                except Exception as error:
                    if len(own.events) > own.kept:
                        raise _HalfDoneError(job) from error
                    outcomes.append((None, _not_stored(error)))
                events += own.events
                last = events[-1].seq if events else last
            if events and self.readonly:
                raise StoreError("the log is open for reading only")
            rows = ((*event[:-1], packed(event.data)) for event in events)
            self._connection.executemany(_INSERT, ((*row, _checksum(row[:-1], row[-1])) for row in rows))
        self.last_seq = last
        return outcomes


def _not_stored(error: BaseException) -> StoreError:
    fault = error if isinstance(error, StoreError) else StoreError(f"nothing was stored: {error}")
    fault.__cause__ = error
    return fault


def _checksum(fields: Sequence[Any], data: Any) -> int:
    """Of an event's other fields and its data as stored."""
    return crc32(repr((*fields, data)).encode())


def _value(connection: sqlite3.Connection, query: str) -> Any:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]


@lru_cache(maxsize=256)
def _parsed(data: str) -> Any:
    """Most events hold only `{}` or `{"check":false}`. Events never change, so they can share it."""
    return json.loads(data)
