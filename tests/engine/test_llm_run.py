"""FineSurE runs end to end: against a misbehaving server, killed, replayed, estimated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows
from engine.llm import MODEL, behave
from engine.test_run import files
from models.server import Call, Reply, StubServer, fail, ok

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.records import AccessError, ReplayMiss, UsageError


def run_on(server: StubServer, data: Any, out: Path, **options: Any) -> Run:
    settings = {"max_retries": 8, "timeout": 5.0, **options}
    return evaluate(data, ["finesure"], models=MODEL, out=out, base_url=server.url, **settings)


def test_a_server_that_works(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        run = run_on(server, rows(4), tmp_path / "run")
    # 4 documents: one extraction each; 8 summaries: a fact check and an alignment each.
    assert len(server.calls) == 4 + 8 + 8
    assert set(run.manifest.counts) == {"ok"}
    assert {score.aspect for score in run.scores()} == {"faithfulness", "completeness", "conciseness", "composite"}
    assert all(score.value is not None for score in run.scores())
    assert "judge:openai-api/stub/judge-1|t:0" in run.scores()[0].signature


def test_a_turned_down_key_stops_the_run_at_once(tmp_path: Path) -> None:
    with StubServer(lambda _: fail(401, "bad key")) as server, pytest.raises(AccessError, match="401"):
        run_on(server, rows(50), tmp_path / "run", concurrency=2)
    assert len(server.calls) < 10
    assert Run(tmp_path / "run").manifest.status == "failed"


class TestReplay:
    def test_it_gives_the_same_files_and_opens_no_socket(self, tmp_path: Path, monkeypatch: Any) -> None:
        with StubServer(behave) as server:
            run = run_on(server, rows(4), tmp_path / "run")
        asked = len(server.calls)
        monkeypatch.delenv("STUB_API_KEY")
        again = evaluate(rows(4), run.specs, models=MODEL, replay=run.folder, out=tmp_path / "again")
        assert len(server.calls) == asked
        assert files(again.folder) == files(run.folder)
        third = evaluate(rows(4), run.specs, models=MODEL, replay=again.folder, out=tmp_path / "third")
        assert files(third.folder) == files(run.folder)

    def test_an_unrecorded_call_is_an_error(self, tmp_path: Path) -> None:
        with StubServer(behave) as server:
            run = run_on(server, rows(2), tmp_path / "run")
        with pytest.raises(ReplayMiss):
            evaluate(rows(3), run.specs, models=MODEL, replay=run.folder, out=tmp_path / "again")

    def test_a_folder_that_is_no_run_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is not a run"):
            evaluate(rows(1), ["finesure"], models=MODEL, replay=tmp_path, out=tmp_path / "again")


def test_all_judgments_of_a_judge_name_the_models_of_the_manifest(tmp_path: Path) -> None:
    """Also where it asks several models, of which a failure needed one, and a summary without text none."""
    data = [*rows(2), {**rows(1)[0], "system": "empty", "summary": ""}]

    def claims_at_times(call: Call) -> Reply:
        if call.body["model"] == "drawer":
            return ok("no JSON" if "danced" in json.dumps(call.body) else json.dumps({"claims": ["It rained."]}))
        return ok(json.dumps({"1": {"quote": "It rained", "reason": "so", "supported": "yes"}}))

    models = {"judge": MODEL, "extractor": "openai-api/stub/drawer"}
    with StubServer(claims_at_times) as server:
        run = evaluate(data, ["factscore"], models=models, out=tmp_path / "run", base_url=server.url, max_retries=0)
    (judge,) = run.manifest.judges
    judgments = run.judgments()
    assert {row.status for row in judgments} == {"ok", "unparsed", "skipped"}
    assert {row.model for row in judgments} == {judge.model} == {",".join(judge.models.values())}
    assert {score.model for score in run.scores()} == {judge.model}
