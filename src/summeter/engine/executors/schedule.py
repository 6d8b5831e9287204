"""Which worker gets which units of work, and when. Pure: no input or output, no clock; callers pass the time in.

    scheduler = Scheduler(units, cost=cost_of, total=1_000)
    scheduler.join("worker-1", now, slots=8)
    while not scheduler.finished:
        for bundle in scheduler.assign(now):
            ...                                  # send bundle.units to bundle.worker
        ...                                      # wait until something happens, then one of
        scheduler.done(bundle.id, now, took)     # its results are safe
        scheduler.leave("worker-1", why="killed by signal 9")
        scheduler.join("worker-2", now, slots=8)

Units go out in bundles of a few seconds each, by the seconds that work took so far. The first bundles hold one unit,
the last ones share out what is left. Each worker has a second bundle waiting, so that it need not wait for the next.

The units of a worker that died go out again before others: first each in a bundle of its own; after a second death
alone on a worker. So one unit that kills its workers is told apart from those beside it, and is given up for good only
where workers died of it that did nothing else.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic, TypeVar

from summeter.engine.plan import Unit

T = TypeVar("T")

SECONDS = 3.0
"""What a bundle should take its worker, where there are few workers."""

RATE = 50.0
"""Bundles a second that the driver should have to do with: many workers get larger ones."""

GROWTH = 4.0
"""A bundle costs at most so many times what the most costly finished one did: the first measurements are rough."""

ROUNDS = 8
"""A worker with several slots gets bundles that fill all of them so many times, or else single units: a bundle takes as
long as its longest unit, and until then nobody knows which of its slots are idle. Two times are enough where single
units would be more than `BUSY` bundles a second."""

BUSY = 200.0

MEMORY = 10 * SECONDS
"""A measurement of so many seconds ago counts 1/e."""

PAGE = 4_000
"""Characters of text that cost as much as a summary costs for being there."""


def cost_of(unit: Unit) -> float:
    """What a unit should take, in no particular measure: by its summaries, and by the texts that are read for each."""
    document = len(unit.document.text)
    return sum(1 + (document + len(item.summary.text)) / PAGE for items in unit.todo.values() for item in items)


@dataclass(frozen=True)
class Bundle(Generic[T]):
    """Units that go to a worker together, and are acknowledged together."""

    id: int
    worker: str
    units: tuple[T, ...]


@dataclass(frozen=True)
class GivenUp(Generic[T]):
    """A unit that is not handed out again, and why."""

    unit: T
    reason: str


@dataclass(eq=False)
class _Task(Generic[T]):
    unit: T
    cost: float
    deaths: int = 0
    deaths_alone: int = 0


@dataclass(eq=False)
class _Pace:
    """Seconds for a cost of one, of late."""

    seconds: float = 0.0
    cost: float = 0.0

    def add(self, seconds: float, cost: float, memory: float) -> None:
        keep = math.exp(-seconds / memory)
        self.seconds = self.seconds * keep + seconds
        self.cost = self.cost * keep + cost

    @property
    def rate(self) -> float | None:
        """None where nothing was measured."""
        return self.seconds / self.cost if self.cost else None


@dataclass(eq=False)
class _Worker(Generic[T]):
    name: str
    slots: int
    measured: float
    """Until when its work was measured."""
    bundles: dict[int, _Sent[T]] = field(default_factory=dict)
    units: int = 0
    cost: float = 0.0
    pace: _Pace = field(default_factory=_Pace)
    place: int = 0
    """Of its latest place in the queue; earlier ones are void."""

    @property
    def suspected(self) -> bool:
        """Whether it works on a unit whose worker died before."""
        return any(task.deaths for sent in self.bundles.values() for task in sent.tasks[:1])

    @property
    def isolated(self) -> bool:
        """Whether it works on a unit that is to be alone."""
        return self.units == 1 and any(sent.tasks[0].deaths > 1 for sent in self.bundles.values())


@dataclass(eq=False)
class _Sent(Generic[T]):
    worker: _Worker[T]
    tasks: list[_Task[T]]
    cost: float
    at: float


class Scheduler(Generic[T]):
    """Hands out each unit until it is acknowledged or given up. Draws units as they are needed.

    `total` is the number of units, where it is known: the last bundles can then be shared out without looking far
    ahead. `seconds` is what a bundle should take (longer where many workers would ask for
    more than `RATE` bundles a second), `largest` the most units in one, `in_flight` the most units that
    are out at a time (but no fewer than keep every worker busy); as many may have been drawn ahead. A unit is given
    up after `deaths` deaths of a worker that had only this unit.

    >>> scheduler = Scheduler(["a", "b", "c"], total=3)
    >>> scheduler.join("worker-1", now=0.0)
    >>> [bundle.units for bundle in scheduler.assign(now=0.0)]
    [('a',), ('b',)]
    >>> scheduler.done(0, now=2.0)
    True
    >>> [bundle.units for bundle in scheduler.assign(now=2.0)], scheduler.finished
    ([], False)
    >>> scheduler.done(1, now=4.0)
    True
    >>> [bundle.units for bundle in scheduler.assign(now=4.0)]
    [('c',)]
    >>> scheduler.leave("worker-1", why="killed by signal 9")  # nothing is given up yet
    []
    >>> scheduler.join("worker-2", now=6.0)
    >>> [bundle.units for bundle in scheduler.assign(now=6.0)]
    [('c',)]
    >>> scheduler.done(3, now=8.0), scheduler.finished
    (True, True)
    """

    def __init__(
        self, units: Iterable[T], *, cost: Callable[[T], float] = lambda _: 1.0, total: int | None = None,
        seconds: float = SECONDS, largest: int = 256, in_flight: int = 8_000, deaths: int = 3,
    ) -> None:  # fmt: skip
        self.paused = False
        """While True, nothing is handed out."""
        self.deaths_since_result = 0
        """Workers that died, one after another, with no bundle acknowledged in between."""
        self._source: Iterator[T] = iter(units)
        self._cost, self._total = cost, total
        self._seconds, self._largest, self._in_flight, self._deaths = seconds, largest, in_flight, deaths
        self._exhausted = self._stopped = False
        self._drawn, self._drawn_cost = 0, 0.0
        self._fresh: deque[_Task[T]] = deque()
        self._fresh_cost = 0.0
        self._suspects: deque[_Task[T]] = deque()  # their worker died once
        self._isolated: deque[_Task[T]] = deque()  # their workers died more than once
        self._workers: dict[str, _Worker[T]] = {}
        self._slots = 0
        self._reserved: set[str] = set()  # workers that get nothing more until they can take an isolated unit
        self._queue: list[tuple[float, int, _Worker[T]]] = []  # who may want a bundle, the least busy first
        self._places = 0
        self._sent: dict[int, _Sent[T]] = {}
        self._out = 0
        self._ids = 0
        self._pace = _Pace()
        self._costliest = 0.0  # of the bundles that came back

    @property
    def finished(self) -> bool:
        """Whether every unit is acknowledged or given up; after `stop`, whether nothing is out any more."""
        return not self._sent and (self._stopped or not self._look_ahead())

    @property
    def out(self) -> int:
        """How many units are handed out and neither acknowledged nor given up."""
        return self._out

    @property
    def held(self) -> int:
        """How many units are held here: those that are out, and those that were drawn and wait."""
        return self._out + self._waiting

    def join(self, worker: str, now: float, slots: int = 1) -> None:
        """A worker is ready; it works on `slots` units at a time. ValueError where one of that name is here."""
        if worker in self._workers:
            raise ValueError(f"there is a worker {worker!r} already")
        self._workers[worker] = _Worker(worker, slots, now)
        self._slots += slots
        self._enqueue(self._workers[worker])

    def leave(self, worker: str, *, why: str = "it died", blame: bool = True) -> list[GivenUp[T]]:
        """A worker is gone, and its units go to others; returns those that are given up.

        With `blame` its units are suspected of its death; without, it was taken away (its node went, say). A worker
        that is not known changes nothing.
        """
        gone = self._workers.pop(worker, None)
        if gone is None:
            return []
        gone.place = -1
        self._slots -= gone.slots
        self._reserved.discard(worker)
        tasks = [task for sent in gone.bundles.values() for task in sent.tasks]
        for bundle in gone.bundles:
            del self._sent[bundle]
        self._out -= len(tasks)
        if blame:
            self.deaths_since_result += 1
            for task in tasks:
                task.deaths += 1
                task.deaths_alone += len(tasks) == 1
        given_up = [task for task in tasks if task.deaths_alone >= self._deaths]
        self._return([task for task in tasks if task.deaths_alone < self._deaths])
        return [
            GivenUp(task.unit, f"{task.deaths_alone} workers died while judging only this document (the last: {why})")
            for task in given_up
        ]

    def done(self, bundle: int, now: float, took: float | None = None) -> bool:
        """A bundle's results are safe. False where it is not out: its worker was given up, or it came twice.

        `took` is what it took the worker by the worker's own clock, in seconds: from when it began, or from the end of
        the bundle before where that was later. Without it, messages and a busy driver count as work.
        """
        sent = self._forget(bundle)
        if sent is None:
            return False
        self.deaths_since_result = 0
        worker = sent.worker
        if took is None:
            took = max(0.0, now - max(sent.at, worker.measured))
        worker.measured = now
        worker.pace.add(took, sent.cost, MEMORY)
        self._pace.add(took, sent.cost, MEMORY * len(self._workers))
        self._costliest = max(self._costliest, sent.cost)
        return True

    def give_back(self, bundle: int) -> bool:
        """A worker returns a bundle that it did not finish. False where it is not out."""
        sent = self._forget(bundle)
        if sent is not None:
            self._return(sent.tasks)
        return sent is not None

    def stop(self) -> None:
        """Hand out nothing more; what is out may still be acknowledged."""
        self._stopped = True

    def assign(self, now: float) -> list[Bundle[T]]:
        """The bundles to send now. Call it after every `join`, `leave`, `done` and `give_back`."""
        bundles: list[Bundle[T]] = []
        idle: list[_Worker[T]] = []
        while not self._stopped and not self.paused and self._look_ahead() and self._queue:
            _, place, worker = heappop(self._queue)
            if place != worker.place:
                continue
            tasks = self._take(worker)
            if tasks:
                bundles.append(self._send(worker, tasks, now))
            elif not worker.bundles:
                idle.append(worker)
        for worker in idle:
            self._enqueue(worker)
        return bundles

    # What there is to hand out.

    @property
    def _waiting(self) -> int:
        return len(self._fresh) + len(self._suspects) + len(self._isolated)

    def _look_ahead(self) -> bool:
        """Draw as far ahead as the end of the work must be seen: by as much as is out, where it was not told; returns
        whether there is anything to hand out."""
        wanted = 1 if self._total is not None else max(1, min(self._out, self._in_flight))
        while not self._exhausted and len(self._fresh) < wanted:
            try:
                unit = next(self._source)
            except StopIteration:
                self._exhausted = True
                break
            task = _Task(unit, self._cost(unit))
            self._fresh.append(task)
            self._fresh_cost += task.cost
            self._drawn += 1
            self._drawn_cost += task.cost
        return self._waiting > 0

    def _left(self) -> tuple[float, float]:
        """How many units wait to be handed out, and their cost; infinite where it is not known."""
        if self._exhausted:
            undrawn = 0
        elif self._total is None:
            return math.inf, math.inf
        else:
            undrawn = max(0, self._total - self._drawn)
        mean = self._drawn_cost / self._drawn if self._drawn else 1.0
        return self._waiting + undrawn, self._fresh_cost + undrawn * mean

    def _return(self, tasks: list[_Task[T]]) -> None:
        """Put tasks before all others of their kind."""
        for task in reversed(tasks):
            if task.deaths == 0:
                self._fresh.appendleft(task)
                self._fresh_cost += task.cost
            else:
                (self._suspects if task.deaths == 1 else self._isolated).appendleft(task)

    # Who gets it.

    def _enqueue(self, worker: _Worker[T]) -> None:
        self._places += 1
        worker.place = self._places
        heappush(self._queue, (worker.units / worker.slots, worker.place, worker))

    def _take(self, worker: _Worker[T]) -> list[_Task[T]]:
        """What a worker gets now; nothing where it has enough."""
        if worker.isolated:
            return []
        if self._isolated:
            if not worker.bundles:
                self._reserved.discard(worker.name)
                return [self._isolated.popleft()]
            if worker.name in self._reserved:
                return []
            if len(self._reserved) < min(len(self._isolated), max(1, len(self._workers) // 2)):
                self._reserved.add(worker.name)
                return []
        else:
            self._reserved.clear()
        if self._suspects:
            return [self._suspects.popleft()] if worker.units < worker.slots else []
        return self._take_fresh(worker)

    def _take_fresh(self, worker: _Worker[T]) -> list[_Task[T]]:
        units_left, cost_left = self._left()
        rate = worker.pace.rate if worker.pace.rate is not None else self._pace.rate
        if worker.suspected or units_left <= self._slots:
            room = worker.slots - worker.units  # nothing waits behind a suspect, or where another could begin it
        else:
            room = max(worker.slots + 1, self._in_flight // len(self._workers)) - worker.units
        seconds = max(self._seconds, len(self._workers) / RATE)
        if rate is not None:
            seconds = min(seconds, cost_left * (self._pace.rate or rate) / (2 * len(self._workers)))
        if worker.units > worker.slots and (rate is None or worker.cost * rate > seconds):
            return []
        most = 0.0 if rate is None else GROWTH * self._costliest
        if rate:
            wanted = seconds / rate
            mean = self._drawn_cost / self._drawn
            rounds = ROUNDS if len(self._workers) / (rate * mean) <= BUSY else 2
            if worker.slots > 1 and wanted < rounds * worker.slots * mean:
                wanted = 0.0
            most = min(most, wanted)
        tasks: list[_Task[T]] = []
        cost = 0.0
        while len(tasks) < min(room, self._largest) and self._look_ahead() and self._fresh:
            if tasks and cost + self._fresh[0].cost > most:
                break
            task = self._fresh.popleft()
            self._fresh_cost -= task.cost
            cost += task.cost
            tasks.append(task)
        return tasks

    def _send(self, worker: _Worker[T], tasks: list[_Task[T]], now: float) -> Bundle[T]:
        sent = _Sent(worker, tasks, sum(task.cost for task in tasks), now)
        bundle = Bundle(self._ids, worker.name, tuple(task.unit for task in tasks))
        self._ids += 1
        self._sent[bundle.id] = worker.bundles[bundle.id] = sent
        worker.units += len(tasks)
        worker.cost += sent.cost
        self._out += len(tasks)
        self._enqueue(worker)
        return bundle

    def _forget(self, bundle: int) -> _Sent[T] | None:
        """Take a bundle off its worker, which may now want another."""
        sent = self._sent.pop(bundle, None)
        if sent is not None:
            worker = sent.worker
            del worker.bundles[bundle]
            worker.units -= len(sent.tasks)
            worker.cost = worker.cost - sent.cost if worker.bundles else 0.0
            self._out -= len(sent.tasks)
            self._enqueue(worker)
        return sent
