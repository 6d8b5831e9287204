"""EventLog: commands decided one after another by a single thread, committed in groups, and only then answered.

A command is a function of a `Transaction`: it looks at the state, emits events, returns a reply. All that wait are
decided and committed together, so a busy server writes to the disk once for many answers. Before that, the thread reads
what other processes have added: whoever commits has seen everything committed before.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from summeter.annotate.campaign import schema
from summeter.annotate.campaign.events import KINDS, Event, link, packed
from summeter.records import InputError, SummeterError, UsageError

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST = 256
"""Commands in one commit."""
SHORT = 40
"""Data of up to so many characters is parsed once."""
HEAD = "head"
"""The fact that says how far the log has come: the last seq and its hash."""


RESTORE = "the log was changed or damaged: restore it from a copy or an export"
_WRONG_URL = ("failed to resolve host", "invalid port number", "invalid connection option", "invalid URI")


class StoreError(SummeterError):
    """The log could not be written. Nothing of the command was kept; it may be tried again."""


class View(Protocol):
    """What is rebuilt from the log."""

    def apply(self, event: Event) -> None:
        """Take in the next event."""


S = TypeVar("S", bound=View)
T = TypeVar("T")


class Transaction(Generic[S]):
    """A command's hold on the state: `now` (milliseconds), `last` (the latest seq), and `emit` (applied at once).

    What was emitted before `keep()` stands, whatever becomes of the command.
    """

    def __init__(self, state: S, now: int, last: int) -> None:
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.last = last
        self.kept = 0

    def keep(self) -> None:
        """What was emitted so far is whole by itself."""
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
        """Add an event; it is kept if the group commits."""
        if kind not in KINDS:
            raise UsageError(f"there is no event {kind!r}; there are: {', '.join(KINDS)}")
        event = Event(self.last + 1, self.now, kind, annotator, task, batch, token, data or {})
        packed(event.data)  # what cannot be stored must not come into the state
        self.last += 1
        self.events.append(event)
        self.state.apply(event)
        return event


class _Job(NamedTuple):
    command: Callable[[Transaction[Any]], Any]
    future: Future[Any]


class _HalfDoneError(Exception):
    """A command that broke off with events of its own in the state."""

    def __init__(self, job: _Job) -> None:
        super().__init__("a command broke off")
        self.job = job


def _not_stored(error: BaseException) -> StoreError:
    fault = error if isinstance(error, StoreError) else StoreError(f"nothing was stored: {error}")
    fault.__cause__ = error
    return fault


class EventLog(Generic[S]):
    """The log of one campaign and the state that follows from it.

    `fresh` makes an empty state; `owner` names the campaign, and a database of another is refused. Safe for several
    threads; several processes may have one log open. Without `durable` a commit does not wait for the disk: for logs
    that are made anew where the machine stops.
    """

    def __init__(
        self,
        place: Path | str,
        fresh: Callable[[], S],
        *,
        owner: str,
        readonly: bool = False,
        durable: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.place = place
        self.readonly = readonly
        self._fresh, self._owner, self._clock = fresh, owner, clock
        self._engine = schema.engine_for(place, readonly=readonly, durable=durable)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self.state: S = fresh()
        self.last_seq = 0
        self.broken: str | None = None
        """Where the log is not as it was written, in words; None where it is. The chain of hashes tells."""
        self._chain = ""
        self._chained = True
        self._prepare()
        self._thread = threading.Thread(target=self._work, name="summeter-log", daemon=True)
        self._thread.start()

    def submit(self, command: Callable[[Transaction[S]], T]) -> Future[T]:
        """Have a command decided; the future is done once its events are committed."""
        future: Future[T] = Future()
        with self._gate:
            if self._closed:
                raise StoreError("the log is closed")
            self._jobs.put(_Job(command, future))
        return future

    def do(self, command: Callable[[Transaction[S]], T]) -> T:
        """`submit`, and wait."""
        return self.submit(command).result()

    def append(self, kind: str, annotator: str | None = None, **parts: Any) -> Event:
        """Add one event; `parts` are task, batch, token and data."""
        return self.do(lambda transaction: transaction.emit(kind, annotator, **parts))

    def refresh(self) -> None:
        """Take in what other processes have added."""
        self.do(lambda _: None)

    def events(self, after: int = 0) -> Iterator[Event]:
        """The committed events with a seq above `after`, in order."""
        with self._engine.connect() as connection:
            for event, _, _ in self._read(connection, after):
                yield event

    def extend(self, events: Sequence[Event]) -> None:
        """Add events that were exported elsewhere, with their own seq and time, in one commit."""

        def command(transaction: Transaction[S]) -> None:
            for event in events:
                transaction.state.apply(event)
                transaction.events.append(event)

        self.do(command)

    def close(self) -> None:
        """Commit what was submitted, then let go. Closing twice is harmless."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._engine.dispose()

    def _prepare(self) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            if not self.readonly:
                self._migrate()
            with self._engine.connect() as connection:
                self._is_ours(connection)
                self._chained = schema.is_chained(connection)
                head = _fact(connection, HEAD)
                self._catch_up(connection)
                self._check_end(head)
        except SQLAlchemyError as error:
            self._engine.dispose()
            raise _fault(self.place, error) from error
        except SummeterError:
            self._engine.dispose()
            raise

    def _migrate(self) -> None:
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            schema.take_turn(connection)
            schema.migrate(connection)
            if not self._is_ours(connection):
                connection.execute(schema.facts_table().insert().values(name="owner", value=self._owner))

    def _is_ours(self, connection: Connection) -> bool:
        """Whether the log is marked as this campaign's; False where nobody's mark is on it. Refuses another's."""
        owner = _fact(connection, "owner")
        if owner is not None and owner != self._owner:
            raise UsageError("this database holds the log of another campaign; give each campaign its own")
        return owner is not None

    def _read(self, connection: Connection, after: int) -> Iterator[tuple[Event, str, str | None]]:
        """Events with their data and chained hash as stored."""
        rows = connection.execute(schema.events_after(chained=self._chained), {"after": after})
        for seq, at, kind, annotator, task, batch, token, data, chain in rows:
            try:
                given = _parsed(data) if len(data) <= SHORT else json.loads(data)
            except (TypeError, ValueError) as error:
                raise self._damaged(f"event {seq} cannot be read ({error})") from error
            yield Event(seq, at, kind, annotator, task, batch, token, given), data, chain

    def _catch_up(self, connection: Connection) -> None:
        for event, data, stored in self._read(connection, self.last_seq):
            chain = link(self._chain, event, data)
            if event.seq != self.last_seq + 1:
                self._break(f"event {self.last_seq + 1} is missing")
            elif stored is not None and stored != chain:
                self._break(f"event {event.seq} or one before it is not as it was written")
            try:
                self.state.apply(event)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise self._damaged(f"event {event.seq} does not follow from those before it ({error})") from error
            self.last_seq, self._chain = event.seq, stored or chain

    def _check_end(self, head: str | None) -> None:
        """The facts say how far the log had come: events taken from its end are missed."""
        written = int((head or "0").partition(" ")[0])
        if written > self.last_seq:
            self._break(f"it ends at event {self.last_seq}, and {written} were written")

    def _break(self, what: str) -> None:
        self.broken = self.broken or what

    def _damaged(self, what: str) -> SummeterError:
        place = self.place if isinstance(self.place, Path) else "the database"
        return InputError.at(place, None, None, f"{self.broken or what}; {RESTORE}")

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
            if group:
                self._commit(group)

    def _commit(self, group: list[_Job]) -> None:
        while group:
            try:
                replies = self._try(group)
            except _HalfDoneError as error:
                self._rebuild()
                error.job.future.set_exception(_not_stored(error.__cause__ or error))
                group = [job for job in group if job is not error.job]
                continue
            except Exception as error:  # noqa: BLE001 - nothing was committed, and every caller must hear
                self._rebuild()
                for job in group:
                    job.future.set_exception(_not_stored(error))
                return
            for job, (reply, refused) in zip(group, replies, strict=True):
                if refused is None:
                    job.future.set_result(reply)
                else:
                    job.future.set_exception(refused)
            return

    def _try(self, group: list[_Job]) -> list[tuple[Any, SummeterError | None]]:
        """Decide and commit. A command that refuses or breaks off fails alone."""
        replies: list[tuple[Any, SummeterError | None]] = []
        events: list[Event] = []
        with self._engine.connect().execution_options(writes=not self.readonly) as connection, connection.begin():
            if not self.readonly:
                schema.take_turn(connection)
            self._catch_up(connection)
            last, chain = self.last_seq, self._chain
            for job in group:
                transaction = Transaction(self.state, int(self._clock() * 1000), last)
                try:
                    replies.append((job.command(transaction), None))
                except SummeterError as error:
                    replies.append((None, error))
                except Exception as error:
                    if len(transaction.events) > transaction.kept:
                        raise _HalfDoneError(job) from error
                    replies.append((None, _not_stored(error)))
                events += transaction.events
                last = events[-1].seq if events else last
            if events:
                chain = self._insert(connection, events)
        self.last_seq, self._chain = last, chain
        return replies

    def _insert(self, connection: Connection, events: list[Event]) -> str:
        """Write the events, and in the facts how far the log has come; the last hash."""
        if self.readonly:
            raise StoreError("the log is open for reading only")
        chain, rows = self._chain, []
        for event in events:
            data = packed(event.data)
            chain = link(chain, event, data)
            rows.append({**event._asdict(), "data": data, "chain": chain})
        connection.execute(schema.events_table().insert(), rows)
        facts, head = schema.facts_table(), f"{events[-1].seq} {chain}"
        if not connection.execute(facts.update().where(facts.c.name == HEAD).values(value=head)).rowcount:
            connection.execute(facts.insert().values(name=HEAD, value=head))
        return chain

    def _rebuild(self) -> None:
        """The state may hold what was not committed: start from the log. If that fails too, the next command tries."""
        self.state, self.last_seq, self._chain = self._fresh(), 0, ""


@lru_cache(maxsize=256)
def _parsed(data: str) -> Any:
    """Most events say no more than `{}` or `{"check":false}`. An event is never changed, so they may share it."""
    return json.loads(data)


def _fact(connection: Connection, name: str) -> str | None:
    table = schema.facts_table()
    row = connection.execute(table.select().where(table.c.name == name)).first()
    return None if row is None else str(row.value)


def _fault(place: Path | str, error: Exception) -> SummeterError:
    cause = getattr(error, "orig", None) or error
    if isinstance(place, Path):
        if "not a database" in str(cause) or "malformed" in str(cause):
            return InputError.at(place, None, None, f"is not a readable log ({cause}); move it away or restore it")
        return SummeterError(f"{place}: the log cannot be used: {cause}")
    text = str(cause).strip()
    wrong_url = type(cause).__name__ == "ProgrammingError" or any(mark in text for mark in _WRONG_URL)
    return (UsageError if wrong_url else SummeterError)(f"the database cannot be used: {text}")
