"""A cluster that is only computed: the real scheduler, workers that sleep, a clock that jumps from event to event."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from summeter.engine.executors.schedule import Bundle, Scheduler


@dataclass
class Worker:
    """`slots` coroutines over the units of all bundles it holds, in the order in which they came."""

    slots: int
    speed: float = 1.0
    free: list[float] = field(default_factory=list)

    ended: float = 0.0

    def finish(self, units: Iterable[float], now: float) -> float:
        """When the last of these units, given by their seconds, is done."""
        self.free = self.free or [now] * self.slots
        end = now
        for seconds in units:
            begin = max(now, heapq.heappop(self.free))
            heapq.heappush(self.free, begin + seconds / self.speed)
            end = max(end, begin + seconds / self.speed)
        return end

    def took(self, begun: float, end: float) -> float:
        """Seconds of a bundle since it was begun, or since the one before was done."""
        took, self.ended = end - max(begun, self.ended), end
        return took


@dataclass(frozen=True)
class Outcome:
    """What a simulated run took: seconds; the share of the ideal that it reached; bundles; the most units that the
    scheduler held; the share of the time for which the driver was busy; deaths; seconds of
    units that were out with the dead."""

    seconds: float
    efficiency: float
    bundles: int
    held: int
    driver: float
    deaths: int = 0
    lost: float = 0.0


@dataclass(frozen=True)
class _Result:
    bundle: Bundle[float]
    worker: Worker
    begun: float


class Simulation:
    """Run units, given by the seconds each takes, on workers that are all there at the start.

    A message takes `latency` seconds; a bundle takes the driver, which does one thing at a time, `bundle_cost` seconds
    and `unit_cost` for each of its units. `speed` gives a worker's speed by its number. A worker lives `lifetime`
    seconds on average, and another takes its place after `restart` seconds. The ideal is all slots busy all the time.
    """

    def __init__(
        self, units: Iterable[float], workers: int, slots: int = 1, *, total: int | None = None,
        latency: float = 0.002, bundle_cost: float = 0.0, unit_cost: float = 0.0,
        speed: Callable[[int], float] = lambda _: 1.0, lifetime: float | None = None, restart: float = 20.0,
        cost: Callable[[float], float] = lambda _: 1.0,
    ) -> None:  # fmt: skip
        self.plan: Scheduler[float] = Scheduler(units, cost=cost, total=total)
        self.slots, self.latency, self.lifetime, self.restart = slots, latency, lifetime, restart
        self.bundle_cost, self.unit_cost = bundle_cost, unit_cost
        self.rng = random.Random(workers)
        self.crew: dict[str, Worker] = {}
        self.events: list[tuple[float, int, str, _Result | float]] = []
        self.count = 0
        self.names = 0
        self.work = self.busy = self.lost = 0.0
        self.bundles = self.held = self.deaths = 0
        for number in range(workers):
            self._join(0.0, speed(number))
        self.strength = sum(worker.slots * worker.speed for worker in self.crew.values())

    def run(self) -> Outcome:
        now = self._hand_out(0.0)
        while not self.plan.finished:
            at, _, name, what = heapq.heappop(self.events)
            now = max(now, at)
            if isinstance(what, _Result):
                took = what.worker.took(what.begun, at - self.latency)
                if self.plan.done(what.bundle.id, now, took):
                    self.work += sum(what.bundle.units)
                else:
                    self.lost += sum(what.bundle.units)
            elif name in self.crew:
                del self.crew[name]
                self.deaths += 1
                assert not self.plan.leave(name)
                self._later(now + self.restart, "", what)
            else:
                self._join(now, what)
            now = self._hand_out(now)
        share = self.work / self.strength / now if now else 1.0
        driver = self.busy / now if now else 0.0
        return Outcome(now, share, self.bundles, self.held, driver, self.deaths, self.lost)

    def _later(self, at: float, name: str, what: _Result | float) -> None:
        self.count += 1
        heapq.heappush(self.events, (at, self.count, name, what))

    def _join(self, now: float, speed: float) -> None:
        self.names += 1
        name = f"w{self.names}"
        self.crew[name] = Worker(self.slots, speed)
        self.plan.join(name, now, self.slots)
        if self.lifetime is not None:
            self._later(now + self.rng.expovariate(1 / self.lifetime), name, speed)

    def _hand_out(self, now: float) -> float:
        """Send what is to be sent; returns when the driver is done with it."""
        for bundle in self.plan.assign(now):
            takes = self.bundle_cost + self.unit_cost * len(bundle.units)
            now, self.busy = now + takes, self.busy + takes
            worker, begun = self.crew[bundle.worker], now + self.latency
            done = worker.finish(bundle.units, begun)
            self._later(done + self.latency, bundle.worker, _Result(bundle, worker, begun))
            self.bundles += 1
        self.held = max(self.held, self.plan.held)
        return now
