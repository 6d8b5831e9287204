"""A cluster that is only computed: the real scheduler, workers that sleep, a clock that jumps from event to event."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from summeter.engine.executors.schedule import Bundle, Scheduler


@dataclass
class Worker:
    """`slots` coroutines over the units of all bundles it holds, in the order in which they came."""

    name: str
    slots: int
    free: list[float] = field(default_factory=list)

    def finish(self, units: Iterable[float], now: float, speed: float) -> float:
        """When the last of these units, given by their seconds, is done."""
        end = now
        for seconds in units:
            begin = max(now, heapq.heappop(self.free))
            heapq.heappush(self.free, begin + seconds / speed)
            end = max(end, begin + seconds / speed)
        return end


@dataclass(frozen=True)
class Outcome:
    """What a simulated run took: seconds, the share of the ideal that was reached, bundles, the most units that the
    scheduler held, seconds for which the driver was busy."""

    seconds: float
    efficiency: float
    bundles: int
    held: int
    driver: float


def simulate(
    units: Iterable[float], workers: int, slots: int = 1, *, total: int | None = None, latency: float = 0.002,
    bundle_cost: float = 0.0, unit_cost: float = 0.0, slow: Callable[[int], float] = lambda _: 1.0,
    scheduler: Callable[..., Scheduler[float]] = Scheduler,
) -> Outcome:  # fmt: skip
    """Run units, given by the seconds each takes, on workers that are all there at the start.

    A message takes `latency` seconds; a bundle takes the driver, which does one thing at a time, `bundle_cost` and
    `unit_cost` for each of its units. `slow` gives a worker's speed. The ideal is all slots busy all the time.
    """
    plan = scheduler(units, total=total)
    crew = {}
    for number in range(workers):
        name = f"w{number}"
        crew[name] = (Worker(name, slots, [0.0] * slots), slow(number))
        plan.join(name, 0.0, slots)
    events: list[tuple[float, int, Bundle[float]]] = []
    now = driver = busy = work = 0.0
    bundles = held = 0

    def hand_out(begin: float) -> float:
        """Send what is to be sent; returns when the driver is done with it."""
        nonlocal bundles, held, work, busy
        for bundle in plan.assign(begin):
            takes = bundle_cost + unit_cost * len(bundle.units)
            begin, busy = begin + takes, busy + takes
            worker, speed = crew[bundle.worker]
            done = worker.finish(bundle.units, begin + latency, speed)
            heapq.heappush(events, (done + latency, bundle.id, bundle))
            bundles += 1
            work += sum(bundle.units)
        held = max(held, plan.held)
        return begin

    driver = hand_out(0.0)
    while not plan.finished:
        arrived, _, bundle = heapq.heappop(events)
        now = max(driver, arrived)
        assert plan.done(bundle.id, now)
        driver = hand_out(now)
    strength = sum(slots * speed for _, speed in crew.values())
    return Outcome(now, work / strength / now if now else 1.0, bundles, held, busy)
