"""Late answers to a closed batch count, and finish the batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.stages import end_overdue

ANNA = made.who("anna")
Task = dict[str, Any]


def folder_of(tmp_path: Path, *, exclude: bool = True, pass_share: float = 0.6, **plan: Any) -> CampaignFolder:
    """Open a campaign with batches of six tasks and six attention checks."""
    return made.make(
        tmp_path,
        made.rows(4, 2, 4),
        answers_per_item=plan.get("answers_per_item", 3),
        batch={"size": 6, "lease_minutes": 10, "per_annotator": plan.get("per_annotator", 1)},
        attention={"rate": 0.5, "judge_after": 2, "pass_share": pass_share, "exclude": exclude},
        pay={"per_batch": 1.0, "bonus": {"amount": 0.5, "checks_at_least": 0.5}},
    )


def take(service: CampaignService) -> tuple[list[Task], list[Task]]:
    """Return the work and the checks of a new batch."""
    tasks: list[Task] = service.request("batch", ANNA)["batch"]["tasks"]
    person = service.state.people["anna"]
    checks = person.batches[len(person.batches)].checks
    parts: tuple[list[Task], list[Task]] = [], []
    for task in tasks:
        parts[service.folder.task_key(person, task["id"]) in checks].append(task)
    return parts


def send(service: CampaignService, tasks: Sequence[Task], *, passing: bool = True) -> None:
    for task in tasks:
        answer = made.right(service, "anna", task) if passing else made.plain(task)
        body = made.body(task, answer, seconds=5)
        service.request("answers", ANNA, body)


def standing(service: CampaignService) -> tuple[int, str | None, bool]:
    person = service.state.people["anna"]
    return person.finished, person.ended, person.excluded


def test_answers_after_an_expired_lease_finish_the_batch(tmp_path: Path) -> None:
    clock = made.Clock()
    with CampaignService(folder_of(tmp_path), clock=clock) as service:
        work, checks = take(service)
        clock.now += 601
        send(service, [*work, *checks])
        assert standing(service) == (1, "completed", False)
        assert pay_of(service.campaign, service.state.people["anna"]) == (1.0, 0.5)
        reply = service.request("batch", ANNA)
        assert (reply["batch"], reply["done"]["outcome"]) == (None, "completed")
        kinds = [event.kind for event in service.log.events()]
        assert (kinds.count("finished"), kinds.count("ended")) == (1, 1)


def test_checks_of_a_returned_batch_count(tmp_path: Path) -> None:
    with CampaignService(folder_of(tmp_path, per_annotator=None)) as service:
        work, checks = take(service)
        service.request("return", ANNA)
        assert standing(service) == (0, None, False)
        send(service, [*work, *checks], passing=False)
        assert standing(service) == (1, "failed_checks", True)
        assert service.request("batch", ANNA)["batch"] is None


def test_one_late_answer_finishes_the_batch(tmp_path: Path) -> None:
    with CampaignService(folder_of(tmp_path)) as service:
        work, _ = take(service)
        service.request("return", ANNA)
        send(service, work[:1])
        assert standing(service) == (1, "completed", False)
        assert service.request("batch", ANNA)["batch"] is None
        send(service, work[1:])  # all are kept
        assert len(service.state.people["anna"].answers) == 6


@pytest.mark.parametrize("returned", [True, False])
def test_late_checks_of_a_partial_batch_count(tmp_path: Path, returned: bool) -> None:
    clock = made.Clock()
    with CampaignService(folder_of(tmp_path), clock=clock) as service:
        work, checks = take(service)
        send(service, work[:1])
        if returned:
            service.request("return", ANNA)
        clock.now += 0 if returned else 601
        service.log.do(lambda one: end_overdue(one, service.campaign))
        assert standing(service) == (1, "completed", False)
        send(service, [*work[1:], *checks], passing=False)
        assert standing(service) == (1, "failed_checks", True)


def test_unanswered_checks_count_as_passed(tmp_path: Path) -> None:
    with CampaignService(folder_of(tmp_path)) as service:
        _, checks = take(service)
        service.request("return", ANNA)
        send(service, checks[:2], passing=False)  # 0 of 2, and 4 of 6 at best
        assert standing(service) == (1, "completed", False)
        send(service, checks[2:])
        assert standing(service) == (1, "completed", False)


def test_omitting_a_check_does_not_avoid_exclusion(tmp_path: Path) -> None:
    with CampaignService(folder_of(tmp_path, exclude=False)) as service:
        work, checks = take(service)
        service.request("return", ANNA)
        send(service, [*work, *checks[:2]], passing=False)
        assert standing(service) == (1, "completed", False)
        send(service, checks[2:3], passing=False)  # 3 of 6 at best
        assert standing(service) == (1, "failed_checks", False)


def test_late_answers_during_another_batch(tmp_path: Path) -> None:
    """One window answers a task that another window returned before taking the next batch."""
    with CampaignService(folder_of(tmp_path, per_annotator=2, pass_share=0.56, answers_per_item=1)) as service:
        late, first = take(service)
        send(service, first)
        service.request("return", ANNA)
        made.do_batch(service, "ben")  # the work that was given back: she gets other
        work, second = take(service)
        assert not {task["id"] for task in [*late, *first]} & {task["id"] for task in [*work, *second]}
        send(service, second[:5], passing=False)
        send(service, late)  # 6 of 11, and 7 of 12 at best
        assert standing(service) == (1, None, False)
        assert service.request("session", ANNA)["stage"] == "work"
        send(service, [*work, *second[5:]])
        service.request("finish", ANNA)
        assert standing(service) == (2, "completed", False)
        assert service.request("batch", ANNA)["batch"] is None


def test_a_late_answer_completes_the_campaign(tmp_path: Path) -> None:
    clock = made.Clock()
    folder = made.make(tmp_path, answers_per_item=1, batch={"size": 50, "lease_minutes": 10}, attention={"rate": 0})
    with CampaignService(folder, clock=clock) as service:
        work, _ = take(service)
        clock.now += 601
        made.do_batch(service, "ben")
        assert service.request("batch", ANNA)["done"]["outcome"] == "no_more_items"
        send(service, work)
        assert standing(service) == (1, "completed", False)


def test_returned_checks_can_be_shown_again(tmp_path: Path) -> None:
    attention = {"rate": 0.3, "judge_after": 2, "pass_share": 0.6}
    with CampaignService(made.make(tmp_path, made.rows(4, 2, 4), batch={"size": 6}, attention=attention)) as service:
        for _ in range(12):  # 14 checks there are, and two or three come with a batch
            work, checks = take(service)
            assert (len(work), len(checks) in (2, 3)) == (6, True)
            service.request("return", ANNA)
        made.do_batch(service, "anna", passing=False)
        assert standing(service) == (1, "failed_checks", True)
