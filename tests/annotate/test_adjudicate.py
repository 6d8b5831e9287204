"""Disputes and decisions on the pages and on the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_cli import run
from annotate.test_server import enter, serve

from summeter.annotate.analysis.adjudicate import (
    adjudicate,
    decision_of_row,
    disputes,
    queue_lines,
    read_decisions,
)
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import ADJUDICATOR, Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.security import CSRF
from summeter.records import InputError, UsageError

LEAD = Visitor(ADJUDICATOR, "lead")


def split(tmp_path: Path) -> CampaignFolder:
    """Answers 2:1 on the first task, 1:1 on the second, and equal on the third."""
    folder = made.make(tmp_path)
    with CampaignService(folder) as service:
        keys = [one.key for one in service.tasks.work[:3]]
        crowds.say(service, keys[0], {"anna": crowds.YES, "ben": crowds.NO, "cleo": crowds.YES})
        crowds.say(service, keys[1], {"anna": crowds.NO, "ben": crowds.YES})
        crowds.say(service, keys[2], {"anna": crowds.YES, "ben": crowds.YES})
    return folder


def test_disputes_without_a_majority_come_first(tmp_path: Path) -> None:
    with CampaignService(split(tmp_path), readonly=True) as service:
        keys = [one.key for one in service.tasks.work]
        assert [(one.task.key, one.even, one.why) for one in disputes(service)] == [
            (keys[1], True, "label: 1 not_supported, 1 supported"),
            (keys[0], False, "label: 2 supported, 1 not_supported"),
        ]


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_an_annotators_answer_can_be_adopted_in_every_task_type(
    task_type: str, mixed: Callable[[str], CampaignFolder], tmp_path: Path
) -> None:
    folder = CampaignFolder(shutil.copytree(mixed(task_type).folder, tmp_path / "copy"))
    with CampaignService(folder) as service:
        found = disputes(service)
        assert found
        for one in found:
            row = {"task": one.task.key, "as": one.answers[-1].annotator}
            adjudicate(service, [decision_of_row(service, row, "lead")])
        assert disputes(service) == []
        assert len(disputes(service, include_adjudicated=True)) == len(found)
        assert made.replayed(service) == service.state.digest()


def test_an_invalid_decision_stores_nothing(tmp_path: Path) -> None:
    with CampaignService(split(tmp_path)) as service:
        key, before = service.tasks.work[0].key, service.log.last_seq
        for row in (
            {"task": "fv/none", "answer": crowds.YES},
            {"task": service.tasks.checks[0].key, "answer": crowds.YES},
            {"task": key, "answer": {"values": {"label": "supported", "error_types": ["entity error"]}}},
            {"task": key, "answer": {"values": {"label": "perhaps"}}},
            {"task": key, "as": "eve"},
            {"task": "fv/none", "as": "anna"},
            {"task": key},
            {"task": key, "as": "anna", "answer": crowds.YES},
        ):
            with pytest.raises(UsageError):
                decision_of_row(service, row, "lead")
        good = decision_of_row(service, {"task": key, "as": "anna"}, "lead")
        with pytest.raises(UsageError):
            adjudicate(service, [good, good._replace(task="fv/none")])
        assert service.log.last_seq == before


def test_decisions_are_read_from_a_filled_in_queue(tmp_path: Path) -> None:
    folder = split(tmp_path)
    queue = tmp_path / "queue.jsonl"
    assert run("adjudicate", folder.folder, "--write", queue) == 0
    rows = [json.loads(one) for one in queue.read_text().splitlines()]
    with CampaignService(folder) as service:
        assert read_decisions(service, queue, "lead") == []
        rows[0]["as"] = "ben"
        rows[1] |= {"answer": crowds.NO, "reason": "the date", "by": "second"}
        queue.write_text("\n".join(map(json.dumps, rows)))
        found = read_decisions(service, queue, "lead")
        assert [(one.answer.values["label"], one.answer.comment, one.by) for one in found] == [
            ("supported", None, "lead"), ("not_supported", "the date", "second"),
        ]  # fmt: skip
        rows[0]["answer"] = crowds.NO
        rows.append({"task": "fv/none", "as": "ben"})
        queue.write_text("\n".join(map(json.dumps, rows)))
        with pytest.raises(InputError) as error:
            read_decisions(service, queue, "lead")
        assert [fault.line for fault in error.value.faults] == [1, 3]
        assert len(queue_lines(disputes(service))) == 2


def test_adjudication_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = split(tmp_path)
    with CampaignService(folder, readonly=True) as service:
        key = service.tasks.work[1].key
    assert run("adjudicate", folder.folder, "--set", key, "--as", "ben", "--reason", "read again", "--by", "lead") == 0
    capsys.readouterr()
    assert run("adjudicate", folder.folder, "--all", "--json") == 0
    row = next(row for row in json.loads(capsys.readouterr().out)["rows"] if row["task"] == key)
    assert (row["adjudicated"]["by"], row["adjudicated"]["answer"]["comment"]) == ("lead", "read again")
    for faulty in (["--as", "ben"], ["--set", key], ["--set", key, "--answer", "{"], ["--set", "no", "--as", "ben"]):
        assert run("adjudicate", folder.folder, *faulty) == 2


def test_a_later_decision_replaces_an_earlier_one(tmp_path: Path) -> None:
    with CampaignService(split(tmp_path)) as service:
        key = service.tasks.work[1].key
        counted = [answer.annotator for answer in service.state.counted_answers(key)]
        for by, answer in (("lead", crowds.YES), ("second", crowds.NO), ("lead", crowds.YES)):
            adjudicate(service, [decision_of_row(service, {"task": key, "answer": answer, "reason": by}, by)])
        assert service.state.adjudicated[key].answer.values == crowds.YES["values"]
        assert service.state.adjudicated[key].annotator == "adjudicator:lead"
        written = [one for one in service.log.events() if (one.annotator or "").startswith(ADJUDICATOR)]
        assert [one.data["answer"]["comment"] for one in written if one.kind == "answered"] == [
            "lead",
            "second",
            "lead",
        ]
        # An adjudicator takes no slot and is not an annotator.
        assert [answer.annotator for answer in service.state.counted_answers(key)] == counted
        assert set(service.state.people) == {"anna", "ben", "cleo"}
        assert made.replayed(service) == service.state.digest()


NAMES = ("system-nought", "system-one", "anna-maria", "benedict", "not so sure")


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_the_adjudication_page_hides_systems_and_annotators(task_type: str, tmp_path: Path) -> None:
    """Letters in answers are stored as systems."""
    rows = [{**one, "system": NAMES[int(one["system"][1:])]} for one in made.rows(4)]
    rows = [json.loads(json.dumps(one).replace(" by s0", "").replace(" by s1", "")) for one in rows]
    folder = made.make(
        tmp_path,
        rows,
        task_type=task_type,
        platform={"name": "local", "accounts": list(NAMES[2:4])},
        attention={"rate": 0},
    )
    with CampaignService(folder) as service:
        for task in service.tasks.work:
            shown = {
                "body": service.task_type.shown(task.body, task.systems),
                "task_type": task_type,
                "assistance": None,
            }
            good, bad = (
                service.task_type.read(made.plain(shown, good=good), task, task.systems).to_json()
                for good in (True, False)
            )
            crowds.say(service, task.key, {NAMES[2]: good, NAMES[3]: {**bad, "comment": NAMES[4]}})
        batch = service.request("batch", LEAD)["batch"]
        assert len(batch["tasks"]) == len(service.tasks.work)
        sent = json.dumps([batch, service.request("session", LEAD)])
        assert [name for name in NAMES[:4] if name in sent] == []
        assert NAMES[4] in sent
        (lead,) = service.state.adjudicators.values()
        letters: set[tuple[str, ...]] = set()
        for shown in batch["tasks"]:
            task = service.tasks.by_key[folder.task_key(lead, shown["id"]) or ""]
            letters.add(folder.letters(lead.annotator, task))
            given = {answer.annotator: answer.answer for answer in service.state.counted_answers(task.key)}
            for one in shown["answers"]:
                # Names such as `not_supported` are for files; annotators read labels.
                assert not any("_" in text for part in one["parts"] for text in part)
                body = made.body(shown, one["answer"], seconds=0)
                service.request("answers", LEAD, body)
                stored = service.state.adjudicated[task.key].answer
                (who,) = (name for name, answer in given.items() if answer.values == stored.values
                          and answer.summaries == stored.summaries)  # fmt: skip
                assert one["comment"] == given[who].comment
        for names in {tuple(sorted(order)) for order in letters if len(order) > 1}:
            orders = {folder.names.order(lead.annotator, str(number), names) for number in range(64)}
            assert len(orders) > 1, "the letters are shuffled"


def test_adjudication_over_http_requires_its_link(tmp_path: Path) -> None:
    folder = split(tmp_path)

    async def body(service: CampaignService, browser: Callable[[], Any]) -> None:
        eve, lead = browser(), browser()
        for token in ("", "?token=", f"?token={folder.names.account('anna')}"):
            assert (await eve.get(f"/admin/adjudicate{token}")).status == 401
        assert (await lead.get(f"/admin?token={folder.adjudication_link().rpartition('=')[2]}")).status == 401
        reply = await lead.get(f"/{folder.adjudication_link()}&name=lead", allow_redirects=False)
        assert (await lead.get("/admin")).status == 401, "an adjudicator is not the researcher"
        assert (reply.status, reply.headers["Location"]) == (303, "/work")
        assert (await lead.get("/work")).status == 200
        session = await (await lead.get("/api/session")).json()
        head = {CSRF: session["csrf"]}
        assert (session["stage"], session["adjudicates"], session["annotator"]) == (
            "work",
            True,
            "adjudicator:lead",
        )
        batch = (await (await lead.post("/api/batch", json={}, headers=head)).json())["batch"]
        assert [len(task["answers"]) for task in batch["tasks"]] == [2, 3]
        assert batch["seconds_left"] is None
        shown = batch["tasks"][0]
        key = service.tasks.work[1].key

        async def decide(answer: Any) -> Any:
            given = made.body(shown, answer, seconds=0.5)
            return await lead.post("/api/answers", json=given, headers=head)

        assert (await decide({"values": {"label": "perhaps"}})).status == 422
        assert (await decide({**crowds.NO, "comment": "read it again"})).status == 200
        assert service.state.adjudicated[key].answer.comment == "read it again"
        assert (await lead.post("/api/finish", json={}, headers=head)).status == 200
        assert (await decide(crowds.YES)).status == 200
        assert service.state.adjudicated[key].answer.values == {"label": "supported"}
        again = (await (await lead.get("/api/session")).json())["batch"]["tasks"][0]
        assert again["answer"]["values"] == {"label": "supported"}
        assert (await lead.post("/api/reopen", json={"task": shown["id"]}, headers=head)).status == 200
        assert service.state.adjudicated == {}
        # What annotators come to differ on later joins the same batch.
        crowds.say(service, service.tasks.work[2].key, {"cleo": crowds.NO})
        batch = (await (await lead.post("/api/batch", json={}, headers=head)).json())["batch"]
        assert (batch["number"], len(batch["tasks"])) == (1, 3)
        # No annotator has the role.
        anna = browser()
        token = await enter(anna, folder, "anna")
        mine = (await (await anna.post("/api/batch", json={}, headers=token)).json())["batch"]["tasks"]
        assert all("answers" not in task for task in mine)
        assert (await anna.post("/api/reopen", json={"task": mine[0]["id"]}, headers=token)).status == 403
        assert made.replayed(service) == service.state.digest()

    serve(folder, body)
