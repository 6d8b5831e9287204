"""A kind of task from outside, one module and one script: built, served, answered, adjudicated and exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from annotate import campaigns as made
from annotate.own_kind import Headline
from annotate.test_cli import run
from annotate.test_server import Client, enter, opened

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.tasks import kind_named, kind_names
from summeter.data.dataset import load
from summeter.records import InputError, UsageError

OWN = "annotate.own_kind:Headline"


def test_an_own_kind_from_yaml_to_judgments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made.make(tmp_path, made.rows(6, 2), kind=OWN, attention={"rate": 0.25, "pass_share": 0})
    assert run("simulate", folder.folder, "--annotators", 3, "--accuracy", 0.8) == 0
    assert "12 of 12 tasks complete" in capsys.readouterr().out
    assert run("status", folder.folder) == 0
    assert "agreement on headline: alpha_nominal" in capsys.readouterr().out
    assert run("adjudicate", folder.folder, "--json") == 0
    queue = json.loads(capsys.readouterr().out)["rows"]
    assert queue
    assert {answer["said"] for dispute in queue for answer in dispute["answers"]} == {"fits", "does not fit"}
    chosen = ["--set", queue[0]["task"], "--answer", '{"fits": true}']
    assert run("adjudicate", folder.folder, *chosen) == 0
    assert run("export", folder.folder, "--data", tmp_path / "gold") == 0
    data = load(tmp_path / "gold")
    assert {one.aspect for one in data.judgments("human.raw")} == {"headline"}
    assert len(data.judgments("human.raw")) == 36
    assert len(data.judgments("human.merged")) == 12
    assert data.judgments("human.adjudicated")[0].label == 1


def test_its_script_is_served_and_an_answer_stored(tmp_path: Path) -> None:
    folder = made.make(tmp_path, made.rows(2, 2), kind=OWN, attention={"rate": 0})
    with opened(folder) as serve:

        async def body(service: CampaignService, browser: Callable[[], Client]) -> None:
            client = browser()
            head = await enter(client, folder, "anna")
            page = await (await client.get("/work")).text()
            assert 'data-kind="headline"' in page
            script = await client.get("/static/task_headline.js")
            assert script.status == 200
            assert script.content_type.endswith("javascript")
            assert await script.text() == Headline().script.read_text(encoding="utf-8")
            assert "script-src 'self'" in script.headers["Content-Security-Policy"]
            assert (await client.get("/static/task_rating.js")).status == 404
            batch = (await (await client.post("/api/batch", json={}, headers=head)).json())["batch"]
            task = batch["tasks"][0]
            answer = {"answer_id": made.answer_id(), "task": task["id"], "answer": {"fits": False}, "seconds": 4}
            assert (await client.post("/api/answers", json=answer, headers=head)).status == 200
            wrong = {**answer, "answer_id": made.answer_id(), "answer": {"fits": "yes"}}
            reply = await client.post("/api/answers", json=wrong, headers=head)
            assert (await reply.json())["error"]["field"] == "answer.fits"
            assert [one.answer["fits"] for one in service.state.people["anna"].answers.values()] == [False]

        serve(body)


def test_every_kind_has_its_script_beside_it() -> None:
    assert set(kind_names()) == set(made.KINDS)
    for name in kind_names():
        assert kind_named(name).name == name
        assert kind_named(name).script.name == f"{name}.js"


def test_what_is_no_kind_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plan.yaml:1: kind: .*did you mean rating\?"):
        made.make(tmp_path, kind="ratings")
    for name, why in (
        ("annotate.own_kind:Nothing", "cannot be loaded"),
        ("annotate.nowhere:Kind", "cannot be loaded"),
        ("annotate.own_kind:HeadlineAnswer", "is no Kind"),
    ):
        with pytest.raises(UsageError, match=why):
            kind_named(name)
