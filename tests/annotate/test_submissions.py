"""Submissions of crowd platforms, one row each, and their approval."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from annotate import campaigns as made
from annotate.test_cli import run

from summeter.annotate.analysis.export import (
    export_events,
    import_events,
    import_submissions,
    write_bonuses,
    write_study_settings,
    write_submissions,
)
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.service import CampaignService
from summeter.records import InputError, UsageError

PAY = {"per_batch": 2.0, "bonus": {"amount": 0.5, "checks_at_least": 0.5}}


def work(service: CampaignService, visitor: Visitor, *, most: int | None = None, passing: bool = True) -> None:
    """Answer at most `most` tasks of a batch, and finish it if complete."""
    service.request("session", visitor)
    name = service.names.annotator(visitor)
    tasks = service.request("batch", visitor)["batch"]["tasks"]
    for task in [one for one in tasks if one["answer"] is None][:most]:
        given = made.right(service, name, task) if passing else made.plain(task)
        service.request("answers", visitor, made.body(task, given, seconds=9))
    if most is None:
        service.request("finish", visitor)


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_each_assignment_of_a_worker_has_a_row(tmp_path: Path) -> None:
    folder = made.make(tmp_path, platform={"name": "mturk"}, batch={"size": 4}, attention={"rate": 0.2}, pay=PAY)
    with CampaignService(folder) as service:
        first, second = (Visitor("mturk", "W1", hit, one) for hit, one in (("H1", "A1"), ("H2", "A2")))
        work(service, first)
        work(service, first, most=2)  # given up there, and gone on with under the next assignment
        work(service, second)
        service.request("session", Visitor("mturk", "W1", "H3", "A3"))  # accepted, nothing done
        write_submissions(service, tmp_path / "out.csv")
        rows = rows_of(tmp_path / "out.csv")
        assert [(row["AssignmentId"], row["HITId"], row["WorkerId"]) for row in rows] == [
            ("A1", "H1", "W1"), ("A2", "H2", "W1"), ("A3", "H3", "W1")
        ]  # fmt: skip
        assert [row["Batches"] for row in rows] == ["1", "1", "0"]
        total = len(next(iter(service.state.people.values())).answers)
        assert sum(int(row["Answered"]) for row in rows) == total
        assert [row["Bonus"] for row in rows] == ["0.50", "0.50", "0.00"]
        assert [row["Approve"] for row in rows] == ["", "", ""]  # nothing has ended yet
        assert write_bonuses(service, tmp_path / "bonus.csv") == 2
        paid = rows_of(tmp_path / "bonus.csv")
        assert [(one["WorkerId"], one["AssignmentId"], one["BonusAmount"]) for one in paid] == [
            ("W1", "A1", "0.50"), ("W1", "A2", "0.50")
        ]  # fmt: skip
        assert len({one["UniqueRequestToken"] for one in paid}) == 2
        (tmp_path / "in.csv").write_text(
            "AssignmentId,WorkerId,AssignmentStatus\nA1,W1,Approved\nA2,W1,Rejected\nA9,W1,Approved\n", encoding="utf-8"
        )
        for _ in range(2):  # noted once
            assert import_submissions(service, tmp_path / "in.csv") == (2, 1)
        assert next(iter(service.state.people.values())).platform_status == {"A1": "approved", "A2": "rejected"}
        assert sum(one.kind == "platform" for one in service.log.events()) == 2
        export_events(service, tmp_path / "events.jsonl")
        moved = shutil.copytree(folder.folder, tmp_path / "moved", ignore=shutil.ignore_patterns("events.sqlite*"))
        with CampaignService(CampaignFolder(moved)) as other:
            import_events(other, tmp_path / "events.jsonl")
            assert other.state.digest() == service.state.digest()


def test_approved_and_rejected_submissions(tmp_path: Path) -> None:
    attention = {"rate": 0.5, "judge_after": 1, "pass_share": 0.5}
    folder = made.make(
        tmp_path, platform={"name": "prolific"}, batch={"size": 4, "per_annotator": 1}, attention=attention, pay=PAY
    )
    with CampaignService(folder) as service:
        work(service, Visitor("prolific", "P1", "S", "X1"))
        work(service, Visitor("prolific", "P2", "S", "X2"), passing=False)
        service.request("session", Visitor("prolific", "P1", "S", "X3"))  # sees the code again, did nothing for it
        write_submissions(service, tmp_path / "out.csv")
        rows = {row["Submission id"]: row for row in rows_of(tmp_path / "out.csv")}
        assert [rows[one]["Outcome"] for one in ("X1", "X3", "X2")] == ["completed", "completed", "failed_checks"]
        assert [rows[one]["Approve"] for one in ("X1", "X3", "X2")] == ["X", "", ""]
        assert [rows[one]["Reject"] for one in ("X1", "X3")] == ["", ""]
        assert "attention checks were not passed" in rows["X2"]["Reject"]
        assert write_bonuses(service, tmp_path / "bonus.txt") == 1
        assert (tmp_path / "bonus.txt").read_text() == "P1,0.50\n"


def test_automatic_exclusions_can_be_reverted_by_rule(tmp_path: Path) -> None:
    attention = {"rate": 0.5, "judge_after": 2, "pass_share": 0.6}
    folder = made.make(tmp_path, made.rows(6, 2), answers_per_item=1, attention=attention)
    with CampaignService(folder) as service:
        made.do_batch(service, "anna", passing=False)
        assert service.state.people["anna"].excluded
    assert run("reinstate", folder.folder, "--rule", "checks", "--reason", "the checks were faulty") == 0
    with CampaignService(folder) as service:
        anna = service.state.people["anna"]
        assert (anna.excluded, anna.ended) == (False, "completed")


def test_reinstated_annotators_are_approved_and_continue(tmp_path: Path) -> None:
    attention = {"rate": 0.5, "judge_after": 2, "pass_share": 0.6}
    folder = made.make(tmp_path, platform={"name": "mturk"}, batch={"size": 4}, attention=attention, pay=PAY)
    with CampaignService(folder) as service:
        first, second = (Visitor("mturk", "W1", hit, one) for hit, one in (("H1", "A1"), ("H2", "A2")))
        name = service.names.annotator(first)
        work(service, first, passing=False)
        assert service.request("session", second)["done"]["outcome"] == "failed_checks"
        write_submissions(service, tmp_path / "out.csv")
        assert "were not passed" in rows_of(tmp_path / "out.csv")[0]["Reject"]
        service.reinstate(name, "the checks were faulty", by="lead")
        write_submissions(service, tmp_path / "out.csv")
        rows = rows_of(tmp_path / "out.csv")
        assert [(row["Approve"], row["Reject"], row["Answer.outcome"]) for row in rows] == [
            ("X", "", "completed"), ("", "", "completed")
        ]  # fmt: skip
        done = service.request("session", second)["done"]
        assert (done["outcome"], done["code"], done["more"]) == ("completed", folder.campaign.codes.completed, True)
        work(service, second)  # passes all checks of this batch: those of the first are not judged again
        person = service.state.people[name]
        assert (person.checks_seen, person.checks_passed) == (8, 4)
        assert (person.excluded, person.ended) == (False, None)
        work(service, second, passing=False)  # 4 of 8 since then
        assert (person.excluded, person.ended) == (True, "failed_checks")
        assert service.state.exclusions[-1].data["reason"] == "passed 4 of 8 attention checks"


def test_reinstating_reverts_only_the_exclusion(tmp_path: Path) -> None:
    attention = {"rate": 0.5, "judge_after": 2, "pass_share": 0.6, "exclude": False}
    with CampaignService(made.make(tmp_path, batch={"size": 4}, attention=attention)) as service:
        made.do_batch(service, "anna", passing=False)
        assert service.state.people["anna"].ended == "failed_checks"
        service.exclude("anna", "asked to", by="lead")
        service.reinstate("anna", "asked again", by="lead")
        assert service.state.people["anna"].ended == "failed_checks"  # as without that exclusion


def test_local_accounts_have_no_bonuses_file(tmp_path: Path) -> None:
    with (
        CampaignService(made.make(tmp_path)) as service,
        pytest.raises(UsageError, match="the platform local pays no bonuses"),
    ):
        write_bonuses(service, tmp_path / "b.csv")


def test_settings_and_statuses_in_the_formats_of_platforms(tmp_path: Path) -> None:
    turk = made.make(tmp_path / "t", platform={"name": "mturk", "prerequisites": {"locales": ["US"]}})
    with CampaignService(turk) as service:
        write_study_settings(service, tmp_path / "study.json")
        (tmp_path / "bad.csv").write_text("a,b\n", encoding="utf-8")
        with pytest.raises(InputError) as caught:
            import_submissions(service, tmp_path / "bad.csv")
    rules = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))["qualification_requirements"]
    assert rules[0] == {
        "QualificationTypeId": "000000000000000000L0", "Comparator": "GreaterThan", "IntegerValues": [95]
    }  # fmt: skip
    assert rules[2]["LocaleValues"] == [{"Country": "US"}]
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(1, "WorkerId")]
    with CampaignService(made.make(tmp_path / "p", platform={"name": "prolific"})) as service:
        service.request("batch", Visitor("prolific", "P1", "S", "X"))
        (tmp_path / "in.csv").write_text("Participant id,Status\nP1,RETURNED\n", encoding="utf-8")
        assert import_submissions(service, tmp_path / "in.csv") == (1, 0)
        assert next(iter(service.state.people.values())).platform_status == {"": "returned"}
