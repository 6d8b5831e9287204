"""The number of answers per task is exact for any order of leases, answers, returns, exclusions and crashes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.stages import end_overdue

PEOPLE = ("anna", "ben", "cleo", "dora")
OVERLAP = 2


@pytest.fixture
def clock() -> made.Clock:
    return made.Clock()


@pytest.fixture
def service(tmp_path: Path, clock: made.Clock) -> Any:
    folder = made.make(tmp_path, answers_per_item=OVERLAP, batch={"size": 3, "lease_minutes": 10})
    with CampaignService(folder, clock=clock) as opened:
        yield opened


class Campaign(RuleBasedStateMachine):
    """Annotators join, leave, answer late and repeatedly; the process is killed between commits."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder: CampaignFolder = made.make(
            self.place, made.rows(2, 2, 2), answers_per_item=OVERLAP, batch={"size": 3, "lease_minutes": 10},
            attention={"rate": 0.2, "judge_after": 3},
        )  # fmt: skip
        self.clock = made.Clock()
        self.service: CampaignService = CampaignService(self.folder, clock=self.clock)
        self.batches: dict[str, list[dict[str, Any]]] = {name: [] for name in PEOPLE}
        self.acknowledged: dict[str, tuple[str, dict[str, Any], int]] = {}

    def teardown(self) -> None:
        self.service.close()
        shutil.rmtree(self.place)

    @rule(name=st.sampled_from(PEOPLE))
    def take(self, name: str) -> None:
        batch = self.service.request("batch", made.who(name))["batch"]
        if batch is not None:
            self.batches[name] += batch["tasks"]

    @rule(name=st.sampled_from(PEOPLE), which=st.integers(0, 30), good=st.booleans())
    def answer(self, name: str, which: int, good: bool) -> None:
        """Answer any task that was ever assigned."""
        tasks = self.batches[name]
        if not tasks:
            return
        task = tasks[which % len(tasks)]
        body = made.body(task, made.plain(task, good=good), seconds=5)
        reply = self._allowing({"closed"}, "answers", made.who(name), body)
        if reply is not None:
            self.acknowledged[body["answer_id"]] = (name, body, reply["seq"])

    def _allowing(self, codes: set[str], name: str, *arguments: Any) -> Any:
        """Return the reply of a call, or None for an allowed refusal."""
        try:
            return self.service.request(name, *arguments)
        except Refusal as refusal:
            if refusal.code not in codes:
                raise
            return None

    @precondition(lambda self: self.acknowledged)
    @rule(data=st.data())
    def again(self, data: st.DataObject) -> None:
        """Repeat an answer, which returns the same reply and adds nothing."""
        name, body, seq = self.acknowledged[data.draw(st.sampled_from(sorted(self.acknowledged)))]
        self.service.log.refresh()
        reply = self.service.request("answers", made.who(name), body)
        assert reply["seq"] == seq

    @rule(name=st.sampled_from(PEOPLE))
    def stop(self, name: str) -> None:
        self._allowing({"wrong_stage"}, "return", made.who(name))

    @rule(name=st.sampled_from(PEOPLE))
    def finish(self, name: str) -> None:
        self._allowing({"wrong_stage", "unfinished"}, "finish", made.who(name))

    @rule(minutes=st.integers(1, 15))
    def wait(self, minutes: int) -> None:
        self.clock.now += minutes * 60
        self.service.log.do(lambda one: end_overdue(one, self.service.campaign))

    @rule(name=st.sampled_from(PEOPLE))
    def turn_exclusion(self, name: str) -> None:
        person = self.service.state.people.get(name)
        if person is not None:
            (self.service.reinstate if person.excluded else self.service.exclude)(name, "a test", by="test")

    @rule()
    def crash(self) -> None:
        """Reopen the log from disk."""
        fresh = CampaignService(self.folder, clock=self.clock)
        assert fresh.state.digest() == self.service.state.digest()
        self.service.close()
        self.service = fresh

    @invariant()
    def never_more_than_k(self) -> None:
        for slots in self.service.state.items.values():
            assert len(slots.held) + len(slots.counted) <= OVERLAP
            assert not slots.held & slots.counted
            assert not slots.counted & set(slots.surplus)

    @invariant()
    def never_fewer_possible(self) -> None:
        """A slot is open only if no surplus answer can fill it, and open tasks are offered."""
        state = self.service.state
        for key, slots in state.items.items():
            waiting = [one for one in slots.surplus if not state.people[one].excluded]
            assert slots.open == 0 or not waiting
            assert (slots.open > 0) == (state.position[key] in state.open_positions)

    @invariant()
    def a_person_fills_one_slot(self) -> None:
        for key, slots in self.service.state.items.items():
            for name in [*slots.counted, *slots.surplus]:
                assert key in self.service.state.people[name].answers

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        tokens = {token for person in self.service.state.people.values() for token in person.tokens}
        assert set(self.acknowledged) <= tokens


Campaign.TestCase.settings = settings(max_examples=25, stateful_step_count=40)
TestCampaign = Campaign.TestCase


def test_a_third_annotator_finds_no_free_slot(service: CampaignService) -> None:
    for name in ("anna", "ben"):
        while made.do_batch(service, name):
            pass
    # 3 documents x 2 systems x 2 sentences = 12 tasks, each with exactly two answers.
    assert [len(one.counted) for one in service.state.items.values()] == [2] * 12
    assert service.request("batch", made.who("cleo"))["done"]["outcome"] == "no_more_items"
    assert service.request("session", made.who("anna"))["done"]["outcome"] == "completed"


def test_a_late_answer_after_an_expired_lease_is_surplus(service: CampaignService, clock: made.Clock) -> None:
    late = service.request("batch", made.who("anna"))["batch"]["tasks"]
    clock.now += 601  # the lease is of ten minutes
    keys = {service.folder.task_key(service.state.people["anna"], one["id"]) for one in late}
    for name in ("ben", "cleo"):
        while made.do_batch(service, name):
            pass
    for task in late:
        given = made.right(service, "anna", task)
        body = made.body(task, given, seconds=5)
        assert service.request("answers", made.who("anna"), body)["ok"]
    work = [service.state.items[key] for key in keys if key in service.state.items]
    assert work
    assert all(slots.counted == {"ben", "cleo"} and slots.surplus == ["anna"] for slots in work)
    service.exclude("ben", "slept", by="test")
    assert all(slots.counted == {"anna", "cleo"} and slots.surplus == ["ben"] for slots in work)
    service.reinstate("ben", "was ill", by="test")
    assert all(slots.counted == {"anna", "cleo"} for slots in work)


def test_a_batch_stays_assigned_until_its_lease_expires(service: CampaignService, clock: made.Clock) -> None:
    first = service.request("batch", made.who("anna"))["batch"]
    clock.now += 599
    again = service.request("batch", made.who("anna"))["batch"]
    assert [one["id"] for one in again["tasks"]] == [one["id"] for one in first["tasks"]]
    service.request(
        "opened", made.who("anna"), {"task": first["tasks"][0]["id"]}
    )  # a sign of life: ten minutes from now
    clock.now += 599
    assert service.request("batch", made.who("anna"))["batch"]["number"] == 1
    clock.now += 2
    assert service.request("batch", made.who("anna"))["batch"]["number"] == 2


def test_attention_checks_have_the_configured_rate(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(20, 2, 5), answers_per_item=1, attention={"rate": 0.2}, batch={"size": 10})
    with CampaignService(folder) as service:
        while made.do_batch(service, "anna"):
            pass
        person = service.state.people["anna"]
    # 200 tasks of work in batches of 10: 10 * .2 / .8 = 2.5 checks a batch, two and three in transaction, so 50 of 250.
    shown = sum(len(one.tasks) for one in person.batches.values())
    assert shown - 200 == person.checks_seen == 50
    counts = [len(one.checks) for one in person.batches.values()]
    assert counts in ([2, 3] * 10, [3, 2] * 10)
    assert len({key for one in person.batches.values() for key in one.checks}) == person.checks_seen
    places = [one.tasks.index(key) for one in person.batches.values() for key in one.checks]
    assert len(set(places)) > 6


def test_small_batches_have_the_configured_rate_of_checks(tmp_path: Path) -> None:
    plan = {"answers_per_item": 3, "attention": {"rate": 0.1, "judge_after": 99}, "batch": {"size": 1}}
    with CampaignService(made.make(tmp_path, made.rows(9, 2, 4), **plan)) as service:
        for name in PEOPLE[:3]:
            shown = 0
            for work in range(1, 73):
                shown += made.do_batch(service, name) - 1
                assert abs(shown - work / 9) < 1  # one check to nine tasks of the work
            assert shown == 8


def test_failed_checks_exclude_an_annotator_and_reopen_tasks(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path, made.rows(10, 2, 4), answers_per_item=1, attention={"rate": 0.3, "judge_after": 2, "pass_share": 0.7}
    )
    with CampaignService(folder) as service:
        made.do_batch(service, "anna", passing=False)
        person = service.state.people["anna"]
        assert person.ended == "failed_checks"
        assert person.excluded
        assert all(slots.open == 1 for slots in service.state.items.values())
        assert service.state.exclusions[0].data["rule"] == "checks"
        done = service.request("session", made.who("anna"))["done"]
        assert (done["outcome"], done["code"]) == ("failed_checks", folder.campaign.codes.failed_checks)
        assert service.request("batch", made.who("anna"))["batch"] is None
        service.reinstate("anna", "the checks were wrong", by="test")
        assert sum(len(slots.counted) for slots in service.state.items.values()) == 10


def test_one_annotator_gets_all_key_facts_of_a_summary(tmp_path: Path) -> None:
    folder = made.make(
        tmp_path, task_type="key_fact_alignment", answers_per_item=1, batch={"size": 3}, attention={"rate": 0}
    )
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
        made.do_batch(service, "ben")
        made.do_batch(service, "anna")
        groups = {service.tasks.by_key[key].group for key in service.state.people["anna"].answers}
        assert len(service.state.people["anna"].answers) == 6
        assert len(groups) <= 4  # 3 key-fact tasks a batch, 2 key facts a summary: what was begun goes first
