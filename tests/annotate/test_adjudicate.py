"""Disputes and decisions: at the service, from the terminal, from a file, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_cli import run
from annotate.test_server import opened

from summeter.annotate.analysis.adjudicate import (
    ADJUDICATOR,
    Blind,
    Decision,
    Overtaken,
    adjudicate,
    answer_of,
    disputes,
    queue_lines,
    queue_page,
    read_decisions,
    reopen,
)
from summeter.annotate.analysis.aggregate import judgments_of
from summeter.annotate.analysis.export import export_events, import_events
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.requests import read_answer
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.server.security import CSRF
from summeter.annotate.tasks.simulation import Profile
from summeter.records import InputError, UsageError


def split(tmp_path: Path) -> CampaignFolder:
    """The first task 2 against 1, the second 1 against 1, the third agreed."""
    folder = made.make(tmp_path)
    with CampaignService(folder) as service:
        keys = [one.key for one in service.tasks.work[:3]]
        crowds.say(service, keys[0], {"anna": crowds.YES, "ben": crowds.NO, "cleo": crowds.YES})
        crowds.say(service, keys[1], {"anna": crowds.NO, "ben": crowds.YES})
        crowds.say(service, keys[2], {"anna": crowds.YES, "ben": crowds.YES})
    return folder


def test_the_queue_begins_with_what_has_no_majority(tmp_path: Path) -> None:
    with CampaignService(split(tmp_path), readonly=True) as service:
        keys = [one.key for one in service.tasks.work]
        found = disputes(service)
        assert [(one.task.key, one.even, one.why) for one in found] == [
            (keys[1], True, "1 not supported, 1 supported"), (keys[0], False, "2 supported, 1 not supported"),
        ]  # fmt: skip
        shown = found[0].to_json()["answers"]
        assert [(one["annotator"], one["said"]) for one in shown] == [
            ("anna", "not supported (entity error)"), ("ben", "supported"),
        ]  # fmt: skip


@pytest.mark.parametrize("kind", made.KINDS)
def test_every_kind_can_be_decided_with_an_annotators_answer(kind: str, tmp_path: Path) -> None:
    profiles = [Profile(accuracy=0.5)] * 3
    folder = crowds.done(tmp_path, profiles, kind=kind, attention={"rate": 0.2, "exclude": False, "judge_after": 999})
    with CampaignService(folder) as service:
        found = disputes(service)
        assert found
        for one in found:
            who = one.answers[-1].annotator
            adjudicate(service, [Decision(one.task.key, answer_of(service.state, one.task.key, who), None, "lead")])
        assert disputes(service) == []
        assert len(disputes(service, settled=True)) == len(found)
        rebuilt = service.empty_state()
        for event in service.log.events():
            rebuilt.apply(event)
        assert rebuilt.digest() == service.state.digest()


def test_a_decision_that_does_not_fit_stores_nothing(tmp_path: Path) -> None:
    with CampaignService(split(tmp_path)) as service:
        key, before = service.tasks.work[0].key, service.log.last_seq
        good = Decision(key, crowds.YES, None, "lead")
        for bad, why in (
            (Decision("fv/none", crowds.YES, None, "x"), "has no task"),
            (Decision(service.tasks.checks[0].key, crowds.YES, None, "x"), "has no task"),
            (Decision(key, {"label": "supported", "error_types": ["entity error"]}, None, "x"), "has no error"),
            (Decision(key, {"label": "perhaps"}, None, "x"), "answer.label"),
        ):
            with pytest.raises(UsageError, match=why):
                adjudicate(service, [good, bad])
        with pytest.raises(UsageError, match="'eve' gave no answer"):
            answer_of(service.state, key, "eve")
        with pytest.raises(UsageError, match="the campaign has no task 'fv/none'"):
            answer_of(service.state, "fv/none", "anna")
        assert service.log.last_seq == before


def test_a_queue_written_filled_in_and_read(tmp_path: Path) -> None:
    folder = split(tmp_path)
    queue = tmp_path / "queue.jsonl"
    assert run("adjudicate", folder.folder, "--write", queue) == 0
    rows = [json.loads(one) for one in queue.read_text().splitlines()]
    assert all(row["as"] is None and row["answer"] is None for row in rows)
    with CampaignService(folder) as service:
        assert read_decisions(service, queue, "lead") == []
        rows[0]["as"] = "ben"
        rows[1] |= {"answer": crowds.NO, "reason": "the date", "by": "second"}
        queue.write_text("\n".join(map(json.dumps, rows)))
        found = read_decisions(service, queue, "lead")
        assert [(one.answer["label"], one.by) for one in found] == [("supported", "lead"), ("not_supported", "second")]
        rows[0]["answer"] = crowds.NO
        rows.append({"task": "fv/none", "as": "ben"})
        queue.write_text("\n".join(map(json.dumps, rows)))
        with pytest.raises(InputError) as error:
            read_decisions(service, queue, "lead")
        assert len(error.value.faults) == 2
        assert len(queue_lines(disputes(service))) == 2


def test_a_queue_brought_back_late_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = split(tmp_path)
    queue = tmp_path / "queue.jsonl"

    def written() -> list[dict[str, Any]]:
        assert run("adjudicate", folder.folder, "--all", "--write", queue) == 0
        return [json.loads(line) | {"as": "ben", "by": "second"} for line in queue.read_text().splitlines()]

    def read(rows: list[dict[str, Any]]) -> tuple[int, str]:
        queue.write_text("\n".join(map(json.dumps, rows)))
        capsys.readouterr()
        return run("adjudicate", folder.folder, "--from", queue), capsys.readouterr().err

    def decided() -> dict[str, str]:
        with CampaignService(folder, readonly=True) as service:
            return {key: event.data["by"] for key, event in service.state.adjudicated.items()}

    early = written()
    first, second = (row["task"] for row in early)
    assert run("adjudicate", folder.folder, "--set", second, "--as", "ben", "--by", "lead") == 0
    code, err = read(early)
    assert (code, decided()) == (2, {second: "lead"})
    assert "queue.jsonl:2: meanwhile this was decided by lead" in err
    now = written()
    assert [row["adjudicated"] is None for row in now] == [True, False]
    with CampaignService(folder) as service:
        reopen(service, second, "lead")
    code, err = read(now)
    assert (code, decided()) == (2, {})
    assert "queue.jsonl:2: meanwhile this was taken back" in err
    old = {**now[1], "adjudicated": {"by": "lead"}}
    assert read([now[0], old])[0] == 2
    code, err = read([*early, early[0]])
    assert (code, decided()) == (2, {})
    assert "queue.jsonl:3" in err
    assert f"{first} is decided on line 1 already" in err
    assert read(early)[0] == 0
    assert read([row | {"by": "third"} for row in written()])[0] == 0
    assert decided() == dict.fromkeys((first, second), "third")
    by_hand = [{"task": first, "as": "ben", "by": "fourth"}]
    assert read(by_hand)[0] == 0
    assert decided()[first] == "fourth"


def test_from_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = split(tmp_path)
    assert run("adjudicate", folder.folder) == 0
    said = capsys.readouterr().out
    assert "2 tasks on which annotators differ, 1 of them without a majority" in said
    key = said.partition(":")[0]
    assert run("adjudicate", folder.folder, "--set", key, "--as", "ben", "--reason", "the date") == 0
    assert run("adjudicate", folder.folder, "--set", key) == 2
    assert "--as ANNOTATOR or with --answer JSON" in capsys.readouterr().err
    assert run("adjudicate", folder.folder, "--set", key, "--answer", "{") == 2
    assert run("adjudicate", folder.folder, "--as", "ben") == 2
    capsys.readouterr()
    assert run("adjudicate", folder.folder, "--all", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [one["adjudicated"] and one["adjudicated"]["said"] for one in rows] == [None, "supported"]
    assert run("status", folder.folder, "--quick") == 0
    assert run("status", folder.folder, "--quick", "--json") == 0
    assert "annotators differ on 1 task," in capsys.readouterr().out
    assert run("status", folder.folder) == 0
    assert "annotators differ on 1 task, 1 is adjudicated" in capsys.readouterr().out


def test_a_decision_is_taken_back(tmp_path: Path) -> None:
    with CampaignService(split(tmp_path)) as service:
        key = service.tasks.work[1].key
        with pytest.raises(UsageError, match="nobody has decided"):
            reopen(service, key, "lead")
        (event,) = adjudicate(service, [Decision(key, crowds.NO, "the date", "lead")])
        assert [one.task.key for one in disputes(service)] == [service.tasks.work[0].key]
        with pytest.raises(Overtaken, match="decided by lead"):
            reopen(service, key, "second", follows=event.seq + 7)
        with pytest.raises(Overtaken, match="decided by lead"):
            adjudicate(service, [Decision(key, crowds.YES, None, "second", follows=0)])
        assert judgments_of(service, adjudicated=True)[0].reason == "the date"
        reopen(service, key, "lead", reason="a slip", follows=event.seq)
        assert next(one.task.key for one in disputes(service)) == key
        assert judgments_of(service, adjudicated=True) == []
        with pytest.raises(Overtaken, match="taken back"):
            adjudicate(service, [Decision(key, crowds.YES, None, "second", follows=event.seq)])
        rebuilt = service.empty_state()
        for one in service.log.events():
            rebuilt.apply(one)
        assert rebuilt.digest() == service.state.digest()
        assert export_events(service, tmp_path / "log.jsonl") == service.log.last_seq
        assert import_events(service, tmp_path / "log.jsonl") == 0


def test_undo_restores_the_decision_before_as_it_was_made(tmp_path: Path) -> None:
    folder = split(tmp_path)
    with opened(folder) as start:

        async def body(service: CampaignService, browser: Callable[[], Any]) -> None:
            lead, key = browser(), service.tasks.work[1].key
            name = Blind(folder).task_id(service.tasks.work[1])
            (first,) = adjudicate(service, [Decision(key, crowds.NO, "the date", "lead")])
            await lead.get(f"/admin?token={folder.keys.admin}")
            head = {CSRF: (await (await lead.get("/api/admin/session")).json())["csrf"]}
            given = {"task": name, "reason": None, "blind": True, "follows": first.seq}
            given["answer"] = (await (await lead.get(f"/api/admin/dispute?task={name}")).json())["answer"]
            seq = (await (await lead.post("/api/admin/adjudicate", json=given, headers=head)).json())["seq"]
            undo = {"task": name, "follows": seq, "restore": True}
            bad = await lead.post("/api/admin/reopen", json={**undo, "restore": 1}, headers=head)
            assert (bad.status, service.log.last_seq) == (422, seq)
            reply = await (await lead.post("/api/admin/reopen", json=undo, headers=head)).json()
            assert service.state.adjudicated[key] == first
            assert "blind" not in first.data
            assert (reply["decided"]["by"], reply["decided"]["reason"]) == ("lead", "the date")
            assert (reply["decided"]["seq"], reply["answer"]) == (first.seq, given["answer"])
            assert (await lead.post("/api/admin/reopen", json=undo, headers=head)).status == 409
            rebuilt = service.empty_state()
            for event in service.log.events():
                rebuilt.apply(event)
            assert rebuilt.digest() == service.state.digest()
            # Nothing stood before the first decision, nor before one that was made after all was taken back.
            reopen(service, key, "lead", restore=True)
            assert service.state.adjudicated == {}
            adjudicate(service, [Decision(key, crowds.NO, None, "lead")])
            reopen(service, key, "lead")
            adjudicate(service, [Decision(key, crowds.YES, None, "lead")])
            reopen(service, key, "lead", restore=True)
            assert service.state.adjudicated == {}
            with pytest.raises(ValueError, match="did not stand before"):
                rebuilt.apply(first._replace(kind="reopened", data={"restores": 7}))

        start(body)


NAMES = ("system-nought", "system-one", "anna-maria", "benedict", "not so sure")


@pytest.mark.parametrize("kind", made.KINDS)
def test_the_page_gets_no_system_and_no_annotator_unless_asked(kind: str, tmp_path: Path) -> None:
    """Nor the other way round: what it sends back under letters is stored under systems."""
    rows = [{**one, "system": NAMES[int(one["system"][1:])]} for one in made.rows(4)]
    rows = [json.loads(json.dumps(one).replace(" by s0", "").replace(" by s1", "")) for one in rows]
    folder = made.make(
        tmp_path, rows, kind=kind, platform={"name": "local", "accounts": list(NAMES[2:4])}, attention={"rate": 0}
    )
    with CampaignService(folder) as service:
        for task in service.tasks.work:
            shown = {"body": service.kind.shown(task.body, task.systems), "kind": kind, "assistance": None}
            good, bad = (
                service.kind.read(service.kind.unlettered(made.plain(shown, good=good), task.systems), task)
                for good in (True, False)
            )
            crowds.say(service, task.key, {NAMES[2]: good, NAMES[3]: {**bad, "comment": NAMES[4]}})
        queue = queue_page(service)
        assert queue["open"] == len(queue["tasks"]) == len(service.tasks.work)
        view = Blind(folder)
        letters: set[tuple[str, ...]] = set()
        for dispute in disputes(service):
            task = dispute.task
            page = view.page(dispute, named=False)
            sent = json.dumps([page, queue])
            assert [name for name in NAMES[:4] if name in sent] == []
            assert task.key not in sent
            assert NAMES[4] in sent
            letters.add(folder.letters(ADJUDICATOR, task))
            named = view.page(dispute, named=True)
            assert {one["annotator"] for one in named["answers"]} == set(NAMES[2:4])
            assert named["names"]["system"] == task.system
            for given in page["answers"]:
                stored = read_answer(folder, ADJUDICATOR, task, given["answer"])
                (event,) = adjudicate(service, [Decision(task.key, stored, None, "lead", blind=True)])
                matches = [one.annotator for one in dispute.answers
                           if {**one.answer, "comment": None} == {"comment": None, **event.data["answer"]}]  # fmt: skip
                assert len(matches) == 1
                shown = next(one for one in named["answers"] if one["annotator"] == matches[0])
                assert [part for part in shown["parts"] if part[0] != "comment"] == [
                    part for part in given["parts"] if part[0] != "comment"
                ]
        for names in {tuple(sorted(order)) for order in letters if len(order) > 1}:
            orders = {folder.names.order(ADJUDICATOR, str(number), names) for number in range(64)}
            assert len(orders) > 1, "the letters are shuffled"


def test_over_http_for_the_researcher_only(tmp_path: Path) -> None:
    folder = split(tmp_path)
    with opened(folder) as start:

        async def body(service: CampaignService, browser: Callable[[], Any]) -> None:
            eve, lead = browser(), browser()
            for path in ("/api/admin/disputes", "/api/admin/quality"):
                assert (await eve.get(path)).status == 401
            for path in ("/admin/quality", "/admin/adjudicate"):
                assert (await eve.get(path)).status == 401
            await lead.get(f"/admin?token={folder.keys.admin}")
            assert (await lead.get("/admin/adjudicate")).status == 200
            found = await (await lead.get("/api/admin/disputes")).json()
            assert (found["open"], len(found["tasks"])) == (2, 2)
            name = found["tasks"][0]["id"]
            key = service.tasks.work[1].key
            assert (await eve.get(f"/api/admin/dispute?task={name}")).status == 401
            shown = await (await lead.get(f"/api/admin/dispute?task={name}")).json()
            assert [one["annotator"] for one in shown["answers"]] == [None, None]
            answer = next(one["answer"] for one in shown["answers"] if one["answer"]["label"] == "not_supported")
            given = {"task": name, "answer": answer, "reason": "read it again", "blind": True, "follows": 0}
            assert (await lead.post("/api/admin/adjudicate", json=given)).status == 403
            head = {CSRF: (await (await lead.get("/api/admin/session")).json())["csrf"]}
            for path in ("adjudicate", "reopen"):
                assert (await eve.post(f"/api/admin/{path}", json=given, headers=head)).status == 401
            flaw = {**answer, "error_types": ["flaw"]}
            for bad in ({"task": key}, {"task": 3}, {"answer": None}, {"answer": "supported"}, {"answer": flaw},
                        {"reason": 4}, {"blind": None}, {"follows": True}):  # fmt: skip
                reply = await lead.post("/api/admin/adjudicate", json={**given, **bad}, headers=head)
                assert reply.status == 422, bad
            reply = await lead.post("/api/admin/adjudicate", json=given, headers=head)
            seq = (await reply.json())["seq"]
            assert seq == service.log.last_seq
            data = service.state.adjudicated[key].data
            assert (data["by"], data["blind"], data["reason"]) == ("admin", True, "read it again")
            assert (await lead.post("/api/admin/adjudicate", json=given, headers=head)).status == 409
            assert (await (await lead.get("/api/admin/disputes")).json())["open"] == 1
            assert (await lead.get("/api/admin/dispute?task=none")).status == 422
            undo = {"task": name, "follows": seq}
            assert (await lead.post("/api/admin/reopen", json=undo, headers=head)).status == 200
            assert (await lead.post("/api/admin/reopen", json=undo, headers=head)).status == 422
            assert (await (await lead.get("/api/admin/disputes")).json())["open"] == 2
            assert (await lead.post("/api/admin/adjudicate", json=given, headers=head)).status == 200
            looked = await (await lead.get("/api/admin/quality")).json()
            assert looked["last_seq"] == service.log.last_seq
            assert {one["annotator"] for one in looked["annotators"]} == {"anna", "ben", "cleo"}

        start(body)
