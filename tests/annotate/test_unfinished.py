"""Unfinished campaigns: merged labels and missing answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from annotate import campaigns as made
from annotate import crowds
from annotate.test_cli import run

from summeter.annotate.analysis.adjudicate import Decision, adjudicate
from summeter.annotate.analysis.aggregate import incomplete, merged_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.records import Judgment


def by_index(service: CampaignService, *, complete_only: bool) -> dict[tuple[str, str, int | None], Judgment]:
    found = merged_of(service, complete_only=complete_only)
    return {(one.target.document_id, one.target.system, one.target.index): one for one in found}


def test_incomplete_tasks_are_counted_and_can_be_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path, made.rows(1, 1, 4), attention={"rate": 0}, order="as_given")
    with CampaignService(folder) as service:
        three, two, one, _ = (task.key for task in service.tasks.work)
        crowds.say(service, three, dict.fromkeys("abc", crowds.YES))
        crowds.say(service, two, {"a": crowds.NO, "b": crowds.NO})
        crowds.say(service, one, {"a": crowds.YES})
        assert incomplete(service) == {0: 1, 1: 1, 2: 1}
        loose, strict = (by_index(service, complete_only=only) for only in (False, True))
        assert [loose["doc0", "s0", index].label for index in range(3)] == [1, 0, 1]
        assert ("doc0", "s0", 3) not in loose
        assert strict["doc0", "s0", 0] == loose["doc0", "s0", 0]
        shown = [(strict["doc0", "s0", index].status, strict["doc0", "s0", index].reason) for index in (1, 2)]
        assert shown == [("skipped", "2 of 3 answers"), ("skipped", "1 of 3 answers")]
        assert strict["doc0", "s0", 1].label is strict["doc0", "s0", 1].value is None
        adjudicate(service, [Decision(two, TaskAnswer(**crowds.NO), "lead")])
        assert incomplete(service) == {0: 1, 1: 1}
        assert by_index(service, complete_only=True)["doc0", "s0", 1].label == 0
    assert run("status", folder.folder, "--json") == 0
    status = json.loads(capsys.readouterr().out)["status"]
    assert (status["complete_items"], status["items"]) == (2, 4)  # one with three answers, one adjudicated
    assert run("export", folder.folder) == 0
    said = capsys.readouterr().err
    assert "note: 1 tasks have fewer than 3 answers (1 with 1) and are merged" in said
    assert "note: 1 tasks have no answer and no label" in said
    assert run("export", folder.folder, "--complete-only", "--data", tmp_path / "gold") == 0
    assert "and have no merged label" in capsys.readouterr().err
    skipped = [one for one in (folder.folder / "judgments/human.merged.jsonl").read_text().splitlines()
               if '"1 of 3 answers"' in one]  # fmt: skip
    assert len(skipped) == 1


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_only_incomplete_tasks_lose_labels(task_type: str, tmp_path: Path) -> None:
    folder = made.make(tmp_path, task_type=task_type, answers_per_item=2, attention={"rate": 0}, batch={"size": 2})
    with CampaignService(folder) as service:
        made.do_batch(service, "anna")
        assert Counter(one.status for one in merged_of(service, complete_only=True)).keys() <= {"skipped"}
        while made.do_batch(service, "anna"):
            pass
        made.do_batch(service, "ben")
        done = {key for key, slots in service.state.items.items() if len(slots.counted) == 2}
        documents = {service.tasks.by_key[key].document_id for key in done}
        found = merged_of(service, complete_only=True)
        # Who is shown which summary as A is drawn from the campaign's secret: two who chose A may differ.
        whole = [one for one in found if one.status == "ok" or (one.reason or "").startswith("a tie")]
        assert whole
        assert {one.target.document_id for one in whole} <= documents
        assert sum(incomplete(service).values()) == len(service.tasks.work) - len(done)
        while made.do_batch(service, "ben"):
            pass
        assert incomplete(service) == {}
        assert merged_of(service, complete_only=True) == merged_of(service)
