"""The service: stages, repeated requests, and every task type from data to judgments."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made

from summeter.annotate.analysis.export import export_events, import_events
from summeter.annotate.campaign.bodies import Refusal
from summeter.annotate.campaign.log import StoreError
from summeter.annotate.campaign.pay import pay_of
from summeter.annotate.campaign.people import PREVIEW, Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.records import InputError

STEPS: dict[str, Any] = {
    "consent": "Do you agree?", "instructions": "Read.",
    "qualification": {"questions": [{"question": "?", "choices": ["no", "yes"], "answer": 1}] * 2, "attempts": 2},
    "training": {"made": 2},
}  # fmt: skip


def refused(code: str, service: CampaignService, name: str, *arguments: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        service.request(name, *arguments)
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_checks_look_like_work_and_detect_trust(task_type: str, tmp_path: Path) -> None:
    folder = made.make(tmp_path, task_type=task_type, attention={"rate": 0.5, "judge_after": 1000})
    with CampaignService(folder) as service:
        batch = service.request("batch", made.who("anna"))["batch"]
        person = service.state.people["anna"]
        roles = {service.tasks.by_key[service.folder.task_key(person, one["id"]) or ""].role for one in batch["tasks"]}
        assert roles == {"work", "check"}
        assert len({tuple(sorted(one)) for one in batch["tasks"]}) == 1
        assert len({tuple(sorted(one["body"])) for one in batch["tasks"]}) == 1
        for task in service.tasks.checks:  # who answers every task alike, with trust in what is shown, fails
            body = service.task_type.shown(task.body, task.systems)
            seen = {"task_type": task_type, "body": body, "assistance": task.assistance}
            good = service.task_type.read(made.plain(seen), task, task.systems)
            service.task_type.read(made.plain(seen, good=False), task, task.systems)
            assert task_type in {"key_fact_alignment", "pairwise"} or not service.task_type.passed(task, good)


def test_stages_are_ordered_and_repeatable(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path, **STEPS)) as service:
        anna = made.who("anna")
        assert service.request("session", anna)["stages"] == [
            "consent",
            "instructions",
            "qualification",
            "training",
            "work",
        ]
        refused("wrong_stage", service, "batch", anna)
        refused("wrong_stage", service, "instructions", anna)
        assert service.log.last_seq == 0
        for _ in range(2):
            assert service.request("consent", anna, {"agreed": True})["stage"] == "instructions"
            assert service.state.people["anna"].agreed
        for _ in range(2):
            assert service.request("instructions", anna)["stage"] == "qualification"
        wrong = {"answers": {"q0": 1, "q1": 0}, "answer_id": made.answer_id()}
        for _ in range(2):  # the retry uses up no attempt
            assert service.request("qualification", anna, wrong)["attempts_left"] == 1
        assert service.request("qualification", anna, {"answers": {"q0": 1, "q1": 1}})["stage"] == "training"
        for task in service.request("session", anna)["training"]["tasks"]:
            body = made.body(task, seconds=1)
            first = service.request("training", anna, body)
            assert first["passed"] is False
            assert "another text" in first["feedback"]
            assert service.request("training", anna, body)["feedback"] == first["feedback"]
        assert service.request("session", anna)["stage"] == "work"


def test_refusing_or_failing_screens_out(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path, **STEPS)) as service:
        assert service.request("consent", made.who("anna"), {"agreed": False})["stage"] == "done"
        service.request("consent", made.who("ben"), {"agreed": True})
        service.request("instructions", made.who("ben"))
        for _ in range(2):
            service.request("qualification", made.who("ben"), {"answers": {"q0": 0, "q1": 1}})
        for name in ("anna", "ben"):
            assert service.request("session", made.who(name))["done"]["outcome"] == "screened_out"
            assert service.request("batch", made.who(name))["batch"] is None


def test_a_preview_shows_a_sample_and_writes_nothing(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path, **STEPS)) as service:
        nobody = Visitor("local", PREVIEW)
        seen = service.request("session", nobody)
        assert seen["preview"]
        assert seen["sample"]["task"]["body"]
        body = {"answer_id": made.answer_id(), "task": seen["sample"]["task"]["id"], "answer": {}, "seconds": 1}
        refused("preview", service, "consent", nobody, {"agreed": True})
        refused("preview", service, "instructions", nobody)
        refused("preview", service, "training", nobody, body)
        refused("preview", service, "batch", nobody)
        refused("preview", service, "answers", nobody, body)
        assert service.log.last_seq == 0


def test_an_answer_is_stored_once(tmp_path: Path) -> None:
    clock = made.Clock()
    with CampaignService(made.make(tmp_path, minimum_seconds=3), clock=clock) as service:
        anna, ben = made.who("anna"), made.who("ben")
        first, second, *_ = service.request("batch", anna)["batch"]["tasks"]
        clock.now += 60
        body = {"answer_id": "answer-one", "task": first["id"], "answer": made.plain(first), "seconds": 5, "at": 17}
        reply = service.request("answers", anna, body)
        assert service.request("answers", anna, {**body, "seconds": 9}) == reply
        refused("answer_id_reused", service, "answers", anna, {**body, "answer": made.plain(first, good=False)})
        refused(
            "answer_id_reused", service, "answers", anna, {**body, "task": second["id"], "answer": made.plain(second)}
        )
        refused("too_fast", service, "answers", anna, {**body, "answer_id": "answer-two", "seconds": 2.9})
        service.request("batch", ben)
        refused("not_yours", service, "answers", ben, {**body, "answer_id": "answer-ben"})
        assert refused("invalid", service, "answers", anna, {**body, "answer_id": "x"}).field == "answer_id"
        changed = {**body, "answer_id": "answer-new", "answer": made.plain(first, good=False)}
        assert service.request("answers", anna, changed)["seq"] > reply["seq"]
        shown = service.request("session", anna)["batch"]["tasks"][0]["answer"]
        assert shown["values"]["label"] == "not_supported"
        assert [one.kind for one in service.log.events()].count("answered") == 2
        refused("unfinished", service, "finish", anna)


def test_the_unassisted_arm_sees_no_assistance(tmp_path: Path) -> None:
    names = [f"p{index}" for index in range(12)]
    platform = {"name": "local", "accounts": names}
    folder = made.make(tmp_path, assistance={"hide_for": 0.5}, answers_per_item=12, platform=platform)
    with CampaignService(folder) as service:
        shown = {}
        for name in names:
            tasks = service.request("batch", made.who(name))["batch"]["tasks"]
            arm = service.state.people[name].arm
            shown[arm] = {one["assistance"] is None for one in tasks}
            joined = next(one for one in service.log.events() if one.annotator == name)
            assert joined.data["arm"] == arm
    assert shown == {"assisted": {False}, "unassisted": {True}}


def test_letters_are_shuffled_by_annotator(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(8, 4, 1), task_type="rating", attention={"rate": 0})
    with CampaignService(folder) as service:
        orders = {service.folder.letters(name, task) for name in ("anna", "ben") for task in service.tasks.work}
        assert len(orders) > 4
        task = service.request("batch", made.who("anna"))["batch"]["tasks"][0]
        given = made.plain(task)
        given["summaries"]["B"] = dict.fromkeys(given["summaries"]["B"], 1)
        given["values"]["best"] = "C"
        service.request(
            "answers",
            made.who("anna"),
            made.body(task, given, seconds=1),
        )
        assert (
            service.request("session", made.who("anna"))["batch"]["tasks"][0]["answer"]["summaries"]
            == given["summaries"]
        )
        stored = next(iter(service.state.people["anna"].answers.values()))
        letters = service.folder.letters("anna", service.tasks.by_key[stored.task])
        assert stored.answer.values["best"] == letters[2]
        assert set(stored.answer.summaries[letters[1]].values()) == {1}


def test_pay_and_bonus(tmp_path: Path) -> None:
    pay = {"per_batch": 2.0, "bonus": {"amount": 0.5, "checks_at_least": 0.9}}
    folder = made.make(tmp_path, made.rows(10, 2, 4), pay=pay, batch={"size": 4}, attention={"judge_after": 99})
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
        made.do_batch(service, "anna", passing=False)
        task = service.request("batch", made.who("anna"))["batch"]["tasks"][0]
        body = made.body(task, seconds=1)
        service.request("answers", made.who("anna"), body)
        service.request("return", made.who("anna"))
        earned = pay_of(service.campaign, service.state.people["anna"])
    # Batches of 4 and one check: 4 * .2 / .8 = 1. Two whole ones (2 + 2) and one task of five (2 * 1/5).
    assert earned.base == pytest.approx(4.4)
    # The bonus is for the first batch alone: the second fails its check, the third is not whole.
    assert earned.bonus == pytest.approx(0.5)


def test_the_bonus_is_shown_only_at_the_end(tmp_path: Path) -> None:
    pay = {"per_batch": 2.0, "bonus": {"amount": 0.5}}
    folder = made.make(tmp_path, made.rows(10, 2, 4), pay=pay, batch={"size": 4, "per_annotator": 2})
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
        assert service.request("session", made.who("anna"))["pay"] == {"currency": "USD", "earned": 2.0, "bonus": None}
        made.do_batch(service, "anna")
        assert service.request("session", made.who("anna"))["pay"] == {"currency": "USD", "earned": 4.0, "bonus": 1.0}


def test_export_and_import_restore_the_log(tmp_path: Path) -> None:
    folder, other = (made.make(tmp_path / name, **STEPS) for name in "ab")
    one, torn = tmp_path / "one.jsonl", tmp_path / "torn.jsonl"
    with CampaignService(folder) as service, CampaignService(other) as second:
        service.request("consent", made.who("anna"), {"agreed": True})
        service.exclude("anna", "\x00\ud800é</script>", by="test")
        count = export_events(service, one)
        assert [import_events(second, one) for _ in range(2)] == [count, 0] == [3, 0]
        assert second.state.digest() == service.state.digest()
        second.request("consent", made.who("ben"), {"agreed": True})
        service.request("consent", made.who("cleo"), {"agreed": True})
        lines = one.read_text()
        export_events(service, one)
        for file, text, line in ((one, one.read_text(), 5), (torn, lines[:-20], 4), (torn, "[]\n", 1),
                                 (torn, lines.replace('"layout"', '"lay"'), 1), (torn, lines.replace("made:", "m:"), 1),
                                 (torn, lines.replace('"seq":2', '"seq":7'), 3),
                                 (torn, lines.replace('"token"', '"t"'), 2)):  # fmt: skip
            file.write_text(text)
            with pytest.raises(InputError) as caught:
                import_events(second, file)
            assert [fault.line for fault in caught.value.faults] == [line]


def test_unstorable_data_does_not_change_the_state(tmp_path: Path) -> None:
    with CampaignService(made.make(tmp_path)) as service:
        made.do_batch(service, "anna")
        before = service.state.digest()
        with closing(sqlite3.connect(service.log.file)) as other:
            full = "SELECT RAISE(ABORT, 'No space left on device')"
            other.execute(f"CREATE TRIGGER full AFTER INSERT ON events WHEN NEW.annotator = 'ben' BEGIN {full}; END")
            with pytest.raises(StoreError, match="No space left"):
                service.request("batch", made.who("ben"))
            other.execute("DROP TRIGGER full")
        service.log.refresh()
        assert service.state.digest() == before
        assert "ben" not in service.state.people
        assert service.request("batch", made.who("ben"))["batch"] is not None
    with pytest.raises(StoreError, match="closed"):
        service.log.refresh()
