"""The append-only event log of a campaign, in one SQLite file.

A command is a function that takes a `Transaction`, reads the state, emits events and returns a reply. One thread
executes all waiting commands in one SQLite transaction: it reads the events of other processes, runs the commands,
inserts their events and commits. Callers get the replies after the commit, so a busy server syncs the disk once for
many answers.
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

from summeter.annotate.campaign.state import KINDS, Event, State, packed
from summeter.records import InputError, SummeterError, UsageError
from summeter.runs.sqlite import connect, connect_readonly, keep_log, transaction

COMMANDS_PER_COMMIT = 256
CACHED_LENGTH = 40
"""Maximum number of characters of event data that are cached after parsing."""
VERSION = 1
"""Version of the format, stored as the `user_version` of the SQLite file."""
RESTORE = "the log was changed or damaged; restore it from a backup or an export"
_EVENTS = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, annotator TEXT, task TEXT,
    batch INTEGER, token TEXT, data TEXT NOT NULL, checksum INTEGER NOT NULL, UNIQUE (annotator, token)
)
"""
"""Schema of the log. With AUTOINCREMENT, SQLite remembers the last `seq` even if events at the end are deleted. The
tokens of an annotator are unique, so that a repeated request is never stored twice."""
_SELECT = "SELECT seq, at, kind, annotator, task, batch, token, data, checksum FROM events WHERE seq > ? ORDER BY seq"
_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_cached_json = lru_cache(maxsize=256)(json.loads)
"""Parser of short event data; most is `{}` or `{"check":false}`, and because events never change, they can share it."""
T = TypeVar("T")


class StoreError(SummeterError):
    """Raised if the log cannot be written.

    No event of the command was stored, and the command can be repeated.
    """


class Transaction:
    """The interface of a command: the state, the time `now`, and `emit`.

    `now` is in milliseconds since 1970, and `last` is the number of the last event. Events that are emitted before
    `keep()` is called are stored even if the command fails later.
    """

    def __init__(self, state: State, now: int, last: int) -> None:
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.last = last
        self.kept = 0
        """Number of events that are stored even if the command fails."""

    def keep(self) -> None:
        """Store the events emitted so far even if the command fails later."""
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
        """Add an event and apply it to the state; the event is stored at the commit."""
        if kind not in KINDS:
            raise UsageError(f"unknown kind of event {kind!r}; use one of {', '.join(KINDS)}")
        event = Event(self.last + 1, self.now, kind, annotator, task, batch, token, data or {})
        packed(event.data)  # data that cannot be stored must not change the state
        self.last += 1
        self.events.append(event)
        self.state.apply(event)
        return event


class _Job(NamedTuple):
    command: Callable[[Transaction], Any]
    future: Future[Any]


class EventLog:
    """The log of a campaign and the state that follows from it.

    The log can be used by several threads, and by several processes on one machine. `fresh` returns an empty state, and
    `owner` identifies the campaign. With `durable=False`, a commit does not wait for the disk, which suits logs that
    can be generated again after a power failure. `clock` returns the time in seconds since 1970.

    Raises UsageError if the log belongs to another campaign or, with `readonly`, does not exist; InputError if it is
    damaged; and SummeterError if the file cannot be opened.
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
        """Description of the first damaged event, or None if no event is damaged."""
        if readonly and not file.is_file():
            raise UsageError(f"{file}: the log is missing; restore it from a backup or an export")
        try:
            self._connection = connect_readonly(file) if readonly else connect(file.resolve().as_uri())
            try:
                self._prepare(durable=durable)
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.OperationalError):
                raise SummeterError(f"{file}: the log cannot be opened ({error}); check its folder") from error
            raise InputError.at(file, f"is not a readable log ({error}); restore it from a backup") from error
        self._thread = threading.Thread(target=self._work, name="summeter-log", daemon=True)
        self._thread.start()

    def submit(self, command: Callable[[Transaction], T]) -> Future[T]:
        """Submit a command. The returned future is done after the events are committed."""
        future: Future[T] = Future()
        with self._gate:
            if self._closed:
                raise StoreError("the log is closed")
            self._jobs.put(_Job(command, future))
        return future

    def do(self, command: Callable[[Transaction], T]) -> T:
        """Submit a command and wait for its result."""
        return self.submit(command).result()

    def append(self, kind: str, annotator: str | None = None, **fields: Any) -> Event:
        """Add an event; `fields` are the keyword arguments of `Transaction.emit`."""
        return self.do(lambda transaction: transaction.emit(kind, annotator, **fields))

    def refresh(self) -> None:
        """Read the events that other processes have added."""
        self.do(lambda _: None)

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the committed events whose number is greater than `after`, in order."""
        with closing(connect_readonly(self.file)) as connection:
            for event, _ in self._read(connection, after):
                yield event

    def extend(self, events: Sequence[Event]) -> None:
        """Add exported events in one commit, with their original numbers and times."""

        def command(transaction: Transaction) -> None:
            for event in events:
                transaction.state.apply(event)
                transaction.events.append(event)

        self.do(command)

    def backup(self, file: Path) -> None:
        """Write a consistent copy of the log, which may be in use, to a new file."""
        with closing(connect_readonly(self.file)) as source, closing(sqlite3.connect(file)) as target:
            source.backup(target)

    def close(self) -> None:
        """Commit all submitted commands and close the file."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _prepare(self, *, durable: bool) -> None:
        """Create the tables if they do not exist, and read the log."""
        connection = self._connection
        if not self.readonly:
            keep_log(connection)
            # FULL: an acknowledged commit survives a power failure.
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
            with transaction(connection):
                if _value(connection, "SELECT count(*) FROM sqlite_master") == 0:
                    connection.execute(_EVENTS)
                    connection.execute("CREATE TABLE campaign (owner TEXT NOT NULL)")
                    connection.execute("INSERT INTO campaign VALUES (?)", (self._owner,))
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        with transaction(connection, "DEFERRED"):
            if _value(connection, "PRAGMA user_version") != VERSION:
                message = "is a log of another version of summeter; open it with that version"
                raise InputError.at(self.file, message)
            if _value(connection, "SELECT owner FROM campaign") != self._owner:
                raise UsageError(f"{self.file}: this is the log of another campaign; keep one log per campaign folder")
            self._catch_up()
            written = _value(connection, "SELECT max(seq) FROM sqlite_sequence WHERE name = 'events'") or 0
            if written > self.last_seq:
                self._mark_damaged(f"it ends at event {self.last_seq}, but {written} events were written")

    def _read(self, connection: sqlite3.Connection, after: int) -> Iterator[tuple[Event, bool]]:
        """Yield the events numbered above `after`, each with whether its checksum is right."""
        for seq, at, kind, annotator, task, batch, token, data, checksum in connection.execute(_SELECT, (after,)):
            fields = seq, at, kind, annotator, task, batch, token
            try:
                parsed = _cached_json(data) if len(data) <= CACHED_LENGTH else json.loads(data)
            except (TypeError, ValueError) as error:
                raise self._damaged(f"event {seq} cannot be read ({error})") from error
            yield Event(seq, at, kind, annotator, task, batch, token, parsed), checksum == _checksum(fields, data)

    def _catch_up(self) -> None:
        for event, intact in self._read(self._connection, self.last_seq):
            if event.seq != self.last_seq + 1:
                self._mark_damaged(f"event {self.last_seq + 1} is missing")
            elif not intact:
                self._mark_damaged(f"event {event.seq} does not match its checksum")
            try:
                self.state.apply(event)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise self._damaged(f"event {event.seq} does not follow from those before it ({error})") from error
            self.last_seq = event.seq

    def _mark_damaged(self, message: str) -> None:
        self.broken = self.broken or message

    def _damaged(self, message: str) -> SummeterError:
        return InputError.at(self.file, f"{self.broken or message}; {RESTORE}")

    def _work(self) -> None:
        ended = False
        while not ended:
            job = self._jobs.get()
            group: list[_Job] = []
            while job is not None:
                if job.future.set_running_or_notify_cancel():
                    group.append(job)
                if len(group) >= COMMANDS_PER_COMMIT or self._jobs.empty():
                    break
                job = self._jobs.get()
            ended = job is None
            while group:
                group = self._execute(group)

    def _execute(self, group: list[_Job]) -> list[_Job]:
        """Execute a group of jobs in one transaction and set their results.

        A command that fails before its first event does not affect the others. Returns the jobs that must be executed
        again because another job failed after emitting events.
        """
        outcomes: list[tuple[Any, SummeterError | None]] = []
        events: list[Event] = []
        partial: _Job | None = None
        try:
            with transaction(self._connection, "DEFERRED" if self.readonly else "IMMEDIATE"):
                self._catch_up()
                last = self.last_seq
                for job in group:
                    pending = Transaction(self.state, int(self._clock() * 1000), last)
                    try:
                        outcomes.append((job.command(pending), None))
                    except SummeterError as error:
                        outcomes.append((None, error))
                    except Exception as error:
                        if len(pending.events) > pending.kept:
                            partial = job
                            raise
                        outcomes.append((None, _not_stored(error)))
                    events += pending.events
                    last = events[-1].seq if events else last
                if events and self.readonly:
                    raise StoreError("the log is open read-only")
                rows = ((*event[:-1], packed(event.data)) for event in events)
                self._connection.executemany(_INSERT, ((*row, _checksum(row[:-1], row[-1])) for row in rows))
            self.last_seq = last
        except Exception as error:  # noqa: BLE001 - nothing was committed, and every caller must be told
            # The state may contain uncommitted events, so the next command rebuilds it from the log.
            self.state, self.last_seq = self._fresh(), 0
            for job in group if partial is None else [partial]:
                job.future.set_exception(_not_stored(error))
            return [] if partial is None else [job for job in group if job is not partial]
        for job, (reply, refusal) in zip(group, outcomes, strict=True):
            if refusal is None:
                job.future.set_result(reply)
            else:
                job.future.set_exception(refusal)
        return []


def _not_stored(error: BaseException) -> StoreError:
    store_error = error if isinstance(error, StoreError) else StoreError(f"nothing was stored: {error}")
    store_error.__cause__ = error
    return store_error


def _checksum(fields: Sequence[Any], data: Any) -> int:
    """Return the checksum of an event's fields and its data as stored."""
    return crc32(repr((*fields, data)).encode())


def _value(connection: sqlite3.Connection, query: str) -> Any:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]
