"""The scheduler: nothing is lost, nothing piles up, nobody idles while there is work."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from engine.simulation import Simulation
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from summeter.engine.executors.schedule import Bundle, Scheduler, cost_of
from summeter.engine.plan import Unit, item_of
from summeter.records import Document, Summary

SLOTS = 3
IN_FLIGHT = 12


class Cluster(RuleBasedStateMachine):
    """Workers come, die, are taken away, answer late and twice; every third unit may be one that kills."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.count = 60
        self.drawn = 0
        self.names = 0
        self.workers: set[str] = set()
        self.out: dict[int, Bundle[int]] = {}
        self.dead: list[int] = []  # bundles whose worker is gone
        self.acknowledged: Counter[int] = Counter()
        self.given_up: Counter[int] = Counter()
        self.alone: Counter[int] = Counter()  # deaths of workers that had only this unit
        self.scheduler = Scheduler(self.units(), in_flight=IN_FLIGHT, largest=4, deaths=2)

    def units(self) -> Iterator[int]:
        for number in range(self.count):
            self.drawn += 1
            yield number

    def _assign(self) -> None:
        for bundle in self.scheduler.assign(self.now):
            assert bundle.worker in self.workers
            assert bundle.id not in self.out
            self.out[bundle.id] = bundle

    def _of(self, worker: str) -> list[Bundle[int]]:
        return [bundle for bundle in self.out.values() if bundle.worker == worker]

    @precondition(lambda self: len(self.workers) < 4)
    @rule()
    def join(self) -> None:
        self.names += 1
        name = f"w{self.names}"
        self.scheduler.join(name, self.now, slots=SLOTS)
        self.workers.add(name)
        self._assign()

    @precondition(lambda self: self.out)
    @rule(which=st.integers(0, 100), seconds=st.floats(0, 20))
    def finish(self, which: int, seconds: float) -> None:
        self.now += seconds
        bundle = self.out.pop(sorted(self.out)[which % len(self.out)])
        assert self.scheduler.done(bundle.id, self.now)
        self.acknowledged.update(bundle.units)
        self.dead.append(bundle.id)
        self._assign()

    @precondition(lambda self: self.workers)
    @rule(which=st.integers(0, 100), blame=st.booleans())
    def die(self, which: int, blame: bool) -> None:
        worker = sorted(self.workers)[which % len(self.workers)]
        self.workers.remove(worker)
        bundles = self._of(worker)
        units = [unit for bundle in bundles for unit in bundle.units]
        if blame and len(units) == 1:
            self.alone[units[0]] += 1
        for bundle in bundles:
            del self.out[bundle.id]
            self.dead.append(bundle.id)
        for lost in self.scheduler.leave(worker, why="killed by signal 9", blame=blame):
            self.given_up[lost.unit] += 1
            assert "2 workers died" in lost.reason
            assert "signal 9" in lost.reason
        self._assign()

    @precondition(lambda self: self.out)
    @rule(which=st.integers(0, 100))
    def give_back(self, which: int) -> None:
        bundle = self.out.pop(sorted(self.out)[which % len(self.out)])
        assert self.scheduler.give_back(bundle.id)
        self.dead.append(bundle.id)
        self._assign()

    @precondition(lambda self: self.dead)
    @rule(which=st.integers(0, 100))
    def come_late(self, which: int) -> None:
        bundle = self.dead[which % len(self.dead)]
        assert not self.scheduler.done(bundle, self.now)
        assert not self.scheduler.give_back(bundle)

    @invariant()
    def each_unit_is_in_one_place(self) -> None:
        out = Counter(unit for bundle in self.out.values() for unit in bundle.units)
        everywhere = out + self.acknowledged + self.given_up
        assert all(times == 1 for times in everywhere.values())
        assert self.scheduler.out == out.total()
        assert self.drawn == everywhere.total() + self.scheduler.held - self.scheduler.out

    @invariant()
    def memory_is_bounded(self) -> None:
        assert self.scheduler.out <= max(IN_FLIGHT, (SLOTS + 1) * 4) + IN_FLIGHT
        assert self.scheduler.held <= 3 * IN_FLIGHT + (SLOTS + 1) * 4

    @invariant()
    def only_what_was_alone_is_given_up(self) -> None:
        assert set(self.given_up) == {unit for unit, times in self.alone.items() if times >= 2}

    @invariant()
    def nobody_idles_while_there_is_work(self) -> None:
        idle = [worker for worker in self.workers if not self._of(worker)]
        assert not idle or self.scheduler.held == self.scheduler.out

    @invariant()
    def it_knows_the_end(self) -> None:
        ended = self.acknowledged.total() + self.given_up.total() == self.count
        assert self.scheduler.finished == ended

    def teardown(self) -> None:
        """However it went, healthy workers finish the rest."""
        for number in range(2):
            self.scheduler.join(f"healthy-{number}", self.now, slots=SLOTS)
            self.workers.add(f"healthy-{number}")
        self._assign()
        while not self.scheduler.finished:
            self.finish(0, 1.0)
            self.each_unit_is_in_one_place()
        assert set(self.acknowledged) | set(self.given_up) == set(range(self.count))


Cluster.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCluster = Cluster.TestCase


def run(scheduler: Scheduler[Any], took: Any = lambda _: 0.0, worker: str = "w") -> list[tuple[Any, ...]]:
    """One worker that does one bundle after another, each unit in `took(unit)` seconds; the bundles."""
    now, seen = 0.0, []
    scheduler.join(worker, now)
    queue = scheduler.assign(now)
    while queue:
        bundle = queue.pop(0)
        seen.append(bundle.units)
        now += sum(map(took, bundle.units))
        assert scheduler.done(bundle.id, now)
        queue += scheduler.assign(now)
    return seen


def test_bundles_grow_to_the_seconds_they_should_take_and_shrink_at_the_end() -> None:
    sizes = [len(units) for units in run(Scheduler(range(1_000), total=1_000, seconds=4.0), lambda _: 0.1)]
    assert sizes[0] == 1
    assert max(sizes) == 40  # 4 seconds of a tenth each
    assert all(after <= 4 * max(sizes[: place + 1]) for place, after in enumerate(sizes[1:]))
    assert sizes[-1] <= 2
    assert sum(sizes) == 1_000


def test_without_a_total_it_looks_ahead_to_see_the_end() -> None:
    sizes = [len(units) for units in run(Scheduler(range(1_000), seconds=4.0), lambda _: 0.1)]
    assert max(sizes) == 40
    assert sizes[-1] <= 2


def test_costs_tell_what_a_unit_should_take() -> None:
    # Long units take ten times what short ones do, and cost as much.
    units = [10.0 if number % 50 < 10 else 1.0 for number in range(2_000)]
    bundles = run(Scheduler(units, cost=float, total=len(units), seconds=3.0), lambda unit: unit / 20)
    middle = bundles[10:-20]
    assert all(sum(units) / 20 <= 3.0 + 1e-9 for units in middle)
    assert all(sum(units) / 20 > 2.0 for units in middle)


def test_the_cost_of_a_unit_is_its_summaries_and_its_text() -> None:
    def unit(words: int, summaries: int) -> Unit:
        document = Document.model_construct(id="d", text="word " * words)
        summary = Summary.model_construct(document_id="d", system="s", text="Short.")
        return Unit(document, {0: (item_of(document, summary),) * summaries})

    assert cost_of(unit(100, 10)) == pytest.approx(10 * cost_of(unit(100, 1)))
    assert cost_of(unit(8_000, 1)) > 5 * cost_of(unit(100, 1))


def test_a_unit_that_kills_its_workers_is_isolated_and_then_given_up() -> None:
    """Unit 7 kills. Those beside it are done, each once; six workers die of it at most."""
    scheduler = Scheduler(range(40), total=40, deaths=3)
    now, deaths, lost, finished = 0.0, 0, [], []
    bundles = []
    for number in range(2):
        scheduler.join(f"w{number}", now, slots=4)
    while not scheduler.finished:
        bundles += scheduler.assign(now)
        now += 1
        fatal = next((bundle for bundle in bundles if 7 in bundle.units), None)
        if fatal is not None:
            bundles = [bundle for bundle in bundles if bundle.worker != fatal.worker]
            lost += scheduler.leave(fatal.worker, why="exit code 137")
            deaths += 1
            scheduler.join(f"new-{deaths}", now, slots=4)
            continue
        bundle = bundles.pop(0)
        scheduler.done(bundle.id, now)
        finished += bundle.units
    assert sorted(finished) == [number for number in range(40) if number != 7]
    assert [each.unit for each in lost] == [7]
    assert lost[0].reason == "3 workers died while judging only this document (the last: exit code 137)"
    assert deaths <= 5


def test_units_of_a_worker_that_was_taken_away_are_not_suspected() -> None:
    scheduler = Scheduler(["a"], total=1, deaths=1)
    for number in range(5):
        scheduler.join(f"w{number}", 0.0)
        assert [bundle.units for bundle in scheduler.assign(0.0)] == [("a",)]
        assert scheduler.leave(f"w{number}", blame=False) == []
    assert scheduler.deaths_since_result == 0


def test_the_units_of_the_dead_go_before_new_ones() -> None:
    scheduler = Scheduler(range(100), total=100)
    scheduler.join("a", 0.0)
    first = [bundle.units for bundle in scheduler.assign(0.0)]
    scheduler.leave("a")
    assert scheduler.deaths_since_result == 1
    scheduler.join("b", 1.0)
    (again,) = scheduler.assign(1.0)  # alone: it is suspected
    assert again.units == first[0]
    scheduler.done(again.id, 2.0)
    assert scheduler.deaths_since_result == 0
    assert scheduler.assign(2.0)[0].units == first[1]


def test_stop_and_pause() -> None:
    scheduler = Scheduler(range(100), total=100)
    scheduler.join("a", 0.0)
    scheduler.paused = True
    assert scheduler.assign(0.0) == []
    scheduler.paused = False
    first, second = scheduler.assign(0.0)
    scheduler.stop()
    scheduler.done(first.id, 1.0)
    assert scheduler.assign(1.0) == []
    assert not scheduler.finished
    scheduler.done(second.id, 1.0)
    assert scheduler.finished


def test_no_units_and_one_worker_twice() -> None:
    scheduler: Scheduler[int] = Scheduler([])
    assert scheduler.finished
    assert scheduler.assign(0.0) == []
    scheduler.join("a", 0.0)
    with pytest.raises(ValueError, match="'a'"):
        scheduler.join("a", 0.0)
    assert scheduler.leave("unknown") == []


def test_an_error_of_the_source_is_raised() -> None:
    def units() -> Iterator[int]:
        yield 1
        raise OSError("shard 2 is gone")

    scheduler = Scheduler(units())
    with pytest.raises(OSError, match="shard 2"):
        run(scheduler)


def test_documents_of_half_a_second_keep_64_slots_busy() -> None:
    outcome = Simulation([0.5] * 2_560, workers=8, slots=8, total=2_560).run()
    assert outcome.efficiency > 0.97
    rng = random.Random(6)
    units = [rng.lognormvariate(-0.7, 0.5) for _ in range(2_560)]  # half a second on average
    assert Simulation(units, workers=8, slots=8, total=2_560).run().efficiency > 0.92


def test_two_workers_share_documents_of_two_seconds() -> None:
    assert Simulation([2.0] * 40, workers=2, total=40).run().efficiency > 0.98
    rng = random.Random(4)
    assert Simulation([rng.uniform(1, 3) for _ in range(40)], workers=2, total=40).run().efficiency > 0.95


def test_a_slow_worker_gets_less() -> None:
    outcome = Simulation([0.1] * 6_000, workers=10, total=6_000, speed=lambda number: 0.2 if number == 0 else 1.0).run()
    assert outcome.efficiency > 0.95


def test_a_thousand_workers() -> None:
    rng = random.Random(5)
    outcome = Simulation((rng.expovariate(1.0) for _ in range(50_000)), workers=1_000, total=50_000).run()
    assert outcome.efficiency > 0.85  # 50 seconds a worker, of which the longest units take 10
    assert outcome.held <= 9_000


def test_a_busy_driver_does_not_make_bundles_small() -> None:
    """Else a bundle more costs it more, and so on: with more workers than it can serve, it does what it can."""
    outcome = Simulation(
        [0.1] * 40_000, workers=300, total=40_000, unit_cost=0.002, bundle_cost=0.005, latency=0.005
    ).run()
    assert outcome.driver > 0.95
    assert 40_000 / outcome.seconds > 250  # 143 where each document is a bundle, 500 without any bundles


def test_workers_that_die_every_few_minutes_lose_nothing_but_what_they_worked_on() -> None:
    outcome = Simulation([2.0] * 4_000, workers=20, total=4_000, lifetime=120.0, restart=10.0).run()
    assert outcome.deaths > 20
    assert outcome.lost <= outcome.deaths * 4 * 2.0
    assert outcome.efficiency > 0.85  # 10 seconds of 130 nobody is there


@given(st.lists(st.floats(0.001, 30), min_size=1, max_size=80), st.integers(1, 5), st.integers(1, 4), st.booleans())
def test_no_run_takes_longer_than_its_ideal_the_longest_units_and_one_queue(
    units: list[float], workers: int, slots: int, told: bool
) -> None:
    """List scheduling ends within the ideal and the longest unit (Graham, 1969); a bundle that waits adds to that."""
    outcome = Simulation(units, workers, slots, total=len(units) if told else None, latency=0.0, cost=float).run()
    assert outcome.seconds <= sum(units) / (workers * slots) + 3 * max(units) + 2 * 3.0
