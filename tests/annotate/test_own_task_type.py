"""A custom task type is built, served, answered, adjudicated and exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from annotate import campaigns as made
from annotate.test_cli import run

from summeter.annotate.tasks import task_type_named
from summeter.data.dataset import load
from summeter.records import UsageError

OWN = "annotate.own_task_type:Headline"


def test_a_custom_task_type_from_campaign_file_to_judgments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path, made.rows(6, 2), task_type=OWN, attention={"rate": 0.25, "pass_share": 0})
    assert run("simulate", folder.folder, "--annotators", 3, "--accuracy", 0.8) == 0
    assert "12 of 12 tasks complete" in capsys.readouterr().out
    assert run("status", folder.folder) == 0
    assert "agreement on fits: alpha_nominal" in capsys.readouterr().out
    assert run("adjudicate", folder.folder, "--json") == 0
    queue = json.loads(capsys.readouterr().out)["rows"]
    assert queue
    assert {answer["said"] for dispute in queue for answer in dispute["answers"]} == {"fits: yes", "fits: no"}
    chosen = ["--set", queue[0]["task"], "--answer", '{"values": {"fits": true}}']
    assert run("adjudicate", folder.folder, *chosen) == 0
    assert run("export", folder.folder, "--data", tmp_path / "gold") == 0
    data = load(tmp_path / "gold")
    assert {one.aspect for one in data.judgments("human.raw")} == {"fits"}
    assert len(data.judgments("human.raw")) == 36
    assert len(data.judgments("human.merged")) == 12
    assert data.judgments("human.adjudicated")[0].label == 1


def test_invalid_task_types_are_refused() -> None:
    for name in ("annotate.own_task_type:Nothing", "annotate.nowhere:Headline", "annotate.own_task_type:Question"):
        with pytest.raises(UsageError):
            task_type_named(name)
