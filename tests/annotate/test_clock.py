"""Times that browsers report and that the server measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annotate import campaigns as made
from annotate.test_service import refused

from summeter.annotate.analysis.quality import annotator_statistics
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService


def begun(service: CampaignService) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = service.request("batch", made.who("anna"))["batch"]["tasks"]
    return tasks


def test_impossible_times_are_refused(tmp_path: Path) -> None:
    clock, anna = made.Clock(), made.who("anna")
    with CampaignService(made.make(tmp_path, minimum_seconds=10), clock=clock) as service:
        first, second, third, *_ = begun(service)
        clock.now += 7.9  # with 2 s of grace not yet the 10 s of one answer
        assert refused("too_fast", service, "answers", anna, made.body(first, seconds=30)).field == "seconds"
        clock.now += 0.1
        service.request("answers", anna, made.body(first, seconds=30))
        service.request(
            "answers", anna, made.body(first, seconds=11)
        )  # the same task again needs no second ten seconds
        refused("too_fast", service, "answers", anna, made.body(second, seconds=30))
        clock.now += 10  # 18 s and 2 of grace for two answers
        service.request("answers", anna, made.body(second, seconds=30))
        refused("too_fast", service, "answers", anna, made.body(third, seconds=30))


def test_answers_that_waited_for_the_network_are_accepted(tmp_path: Path) -> None:
    clock, anna = made.Clock(), made.who("anna")
    with CampaignService(made.make(tmp_path, minimum_seconds=10), clock=clock) as service:
        tasks = begun(service)
        clock.now += 15.0 * len(tasks)
        for task in tasks:
            service.request("answers", anna, made.body(task, seconds=15.0))
        person = service.state.people["anna"]
        assert not any(one.contradicted for one in person.answers.values())
        (row,) = annotator_statistics(service)
        assert (row["seconds_median"], row["seconds_waited"], row["contradicted"]) == (15.0, 15.0 * len(tasks), 0)


def test_impossible_total_times_are_flagged(tmp_path: Path) -> None:
    clock, anna = made.Clock(), made.who("anna")
    with CampaignService(made.make(tmp_path), clock=clock) as service:
        first, second, third, *_ = begun(service)
        clock.now += 20
        service.request("opened", anna, {"task": first["id"]})
        clock.now += 10
        service.request(
            "answers", anna, made.body(first, seconds=25)
        )  # 25 of 30 s: begun before the server heard of it, and possible
        clock.now += 1
        service.request("answers", anna, made.body(second, seconds=9))  # 34 of 31 s
        clock.now += 100
        service.request("answers", anna, made.body(third, seconds=40))  # 74 of 131 s
        answers = list(service.state.people["anna"].answers.values())
        assert [one.contradicted for one in answers] == [False, True, False]
        assert [one.waited for one in answers] == [10.0, 31.0, 131.0]
        assert [one.seconds for one in answers] == [25, 9, 40]
        (row,) = annotator_statistics(service)
        assert (row["contradicted"], row["seconds_waited"]) == (1, 31.0)


def test_a_reassigned_task_is_opened_again(tmp_path: Path) -> None:
    clock, anna = made.Clock(), made.who("anna")
    plan = {"batch": {"size": 3, "lease_minutes": 10}, "attention": {"rate": 0}}
    with CampaignService(made.make(tmp_path, **plan), clock=clock) as service:
        first = begun(service)
        for task in first:
            service.request("opened", anna, {"task": task["id"]})
        clock.now += 3600
        batch = service.request("batch", anna)["batch"]
        assert batch["number"] == 2
        assert [task["id"] for task in batch["tasks"]] == [task["id"] for task in first]
        assert not any(task["opened"] for task in batch["tasks"])
        for task in first:  # nine minutes before each: without a sign of life the lease would be over
            clock.now += 540
            service.request("opened", anna, {"task": task["id"]})
            service.request("opened", anna, {"task": task["id"]})
        held = service.request("session", anna)["batch"]
        assert (held["number"], held["seconds_left"]) == (2, 600)
        assert all(task["opened"] for task in held["tasks"])
        assert sum(event.kind == "opened" for event in service.log.events()) == 6
        clock.now += 30
        service.request("answers", anna, made.body(first[2], seconds=25))
        (answer,) = service.state.people["anna"].answers.values()
        assert (answer.waited, answer.contradicted) == (30.0, False)


def test_viewing_a_task_again_counts_as_activity(tmp_path: Path) -> None:
    clock, anna = made.Clock(), made.who("anna")
    with CampaignService(made.make(tmp_path, batch={"lease_minutes": 10}), clock=clock) as service:
        first, *_ = begun(service)
        for wait, events in ((5, 1), (59, 1), (1, 2), (540, 3), (540, 4)):
            clock.now += wait
            service.request("opened", anna, {"task": first["id"]})
            assert sum(event.kind == "opened" for event in service.log.events()) == events
        assert service.request("session", anna)["batch"]["seconds_left"] == 600
        service.request("answers", anna, made.body(first, seconds=20))
        assert service.state.people["anna"].answers.popitem()[1].waited == 1140.0  # from the first time on


def test_simulated_annotators_require_the_secret(tmp_path: Path) -> None:
    folder = made.make(tmp_path, platform={"name": "prolific"})
    with CampaignService(folder, clock=made.Clock()) as service:
        true = Visitor("prolific", "p1", service.names.simulated_study("prolific", "p1"))
        for visitor in (true, Visitor("prolific", "p2", true.study), Visitor("prolific", "p3", "simulated")):
            task = service.request("batch", visitor)["batch"]["tasks"][0]
            service.request("answers", visitor, made.body(task, seconds=500))
        people = list(service.state.people.values())
        assert [one.simulated for one in people] == [True, False, False]
        flags = [[one.contradicted for one in person.answers.values()] for person in people]
        assert flags == [[False], [True], [True]]
        assert [row["seconds_waited"] for row in annotator_statistics(service)] == [None, 0.0, 0.0]
