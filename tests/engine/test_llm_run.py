"""FineSurE runs end to end: against a misbehaving server, killed, replayed, estimated."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows
from engine.llm import answer
from engine.test_run import files
from models.server import CUT_BODY, RESET, Call, Reply, StubServer, fail, ok

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.runs import Run
from summeter.records import AccessError, ReplayMiss, UsageError

MODEL = "openai-api/stub/judge-1"


def behave(call: Call) -> Reply:
    """The replies of a server that works."""
    return ok(answer(call.prompt))


def run_on(server: StubServer, data: Any, out: Path, **options: Any) -> Run:
    settings = {"max_retries": 8, "timeout": 5.0, **options}
    return evaluate(data, ["finesure"], models=MODEL, out=out, base_url=server.url, **settings)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-secret-stub")


def test_a_server_that_works(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        run = run_on(server, rows(4), tmp_path / "run")
    # 4 documents: one extraction each; 8 summaries: a fact check and an alignment each.
    assert len(server.calls) == 4 + 8 + 8
    assert set(run.manifest.counts) == {"ok"}
    assert {score.aspect for score in run.scores()} == {"faithfulness", "completeness", "conciseness", "composite"}
    assert all(score.value is not None for score in run.scores())
    assert "judge:openai-api/stub/judge-1|t:0" in run.scores()[0].signature


def troubled(call: Call) -> Reply:
    """Refuses json_schema; a third of the rest is 429, 500, a reset, half a body; some replies are cut or empty."""
    if call.format == "json_schema":
        return fail(400, "response_format of type json_schema is not supported")
    kind = call.number % 10
    troubles = {1: fail(429, "slow down", retry_after="0"), 4: fail(500, "oops"), 7: RESET, 8: CUT_BODY}
    return troubles.get(kind) or behave(call)


def test_a_troubled_server_loses_no_item(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        good = run_on(server, rows(12), tmp_path / "good")
    with StubServer(troubled) as server:
        run = run_on(server, rows(12), tmp_path / "run")
    assert set(run.manifest.counts) == {"ok"}
    # The same scores as without trouble, though other calls were made (the server knows no json_schema).
    assert [(s.aspect, s.value) for s in run.scores()] == [(s.aspect, s.value) for s in good.scores()]


def spoilt(call: Call) -> Reply:
    """What cannot be used: cut at the length limit, a refusal, an empty reply, a verdict too few, prose."""
    good = answer(call.prompt)
    bad = {
        0: ok(good[: len(good) // 2], "length"),
        1: ok(None, refusal="I will not judge this."),
        2: ok(""),
        3: ok(json.dumps({"1": json.loads(good).get("1", "?")})),
        4: ok("Everything looks fine to me, 5 out of 5."),
        5: fail(500, "down for good"),
    }
    # By content, so that asking again changes nothing.
    return bad[sum(map(ord, call.body["messages"][1]["content"])) % 6]


def test_no_number_is_made_of_what_cannot_be_used(tmp_path: Path) -> None:
    with StubServer(spoilt) as server:
        run = run_on(server, rows(12), tmp_path / "run", max_retries=1)
    judgments = run.judgments()
    assert {judgment.status for judgment in judgments} <= {"unparsed", "refused", "error", "skipped", "ok"}
    assert all(j.value is None and j.label is None and j.reason for j in judgments if j.status != "ok")
    # A lone verdict is a whole answer only where the summary has one sentence or one key fact: nowhere here.
    assert not any(j.status == "ok" for j in judgments)
    # Every summary ends as a named failure on every aspect.
    ended = {(score.doc_id, score.system, score.aspect) for score in run.scores() if score.status != "ok"}
    wanted = {(f"d{n}", s, a) for n in range(12) for s in "ab" for a in ("faithfulness", "completeness", "conciseness")}
    assert wanted <= ended
    assert run.manifest.coverage == 0
    assert any("length limit" in (j.reason or "") for j in judgments)


def test_a_turned_down_key_stops_the_run_at_once(tmp_path: Path) -> None:
    with StubServer(lambda _: fail(401, "bad key")) as server, pytest.raises(AccessError, match="401"):
        run_on(server, rows(50), tmp_path / "run", concurrency=2)
    assert len(server.calls) < 10
    assert Run(tmp_path / "run").manifest.status == "failed"


def test_no_key_is_written_anywhere(tmp_path: Path) -> None:
    with StubServer(spoilt) as server:
        run = run_on(server, rows(3), tmp_path / "run", max_retries=0)
    assert not [file for file in run.folder.rglob("*") if file.is_file() and b"sk-secret-stub" in file.read_bytes()]


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


KILLED = """
import sys
from engine.judges import rows
from summeter.engine.api import evaluate
evaluate(rows(30), ["finesure"], models="openai-api/stub/judge-1", out=sys.argv[1], base_url=sys.argv[2], concurrency=4)
"""


def test_kill_nine_four_times_and_no_stored_call_is_made_again(tmp_path: Path) -> None:
    def slow(call: Call) -> Reply:
        return behave(call)._replace(delay=0.02)

    out = tmp_path / "run"
    with StubServer(slow) as server:
        command = [sys.executable, "-c", KILLED, str(out), server.url]
        for stop in (15, 60, 90, 120):
            with subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL) as process:
                while len(server.calls) < stop and process.poll() is None:
                    time.sleep(0.002)
                process.send_signal(signal.SIGKILL)
                process.wait()
        subprocess.run(command, cwd=Path(__file__).parents[1], check=True)
        asked = [json.dumps(call.body["messages"]) for call in server.calls]
        whole = run_on(server, rows(30), tmp_path / "whole")
    assert files(out) == files(whole.folder)
    # 30 extractions and 60 + 60 judgments. Only a call whose reply had not been stored when the kill came may
    # have been made again: at most the 4 in flight, four times over.
    assert len(set(asked)) == 150
    assert len(asked) <= 150 + 4 * 4


def test_an_estimate_sends_nothing_and_foresees_the_calls(tmp_path: Path) -> None:
    with StubServer(behave) as server:
        rows_ = dry_run(rows(4), ["finesure"], models=MODEL, base_url=server.url)
        assert server.calls == []
        assert {row.judge: row.calls for row in rows_} == {"finesure.fact_check": 8, "finesure.align": 12}
        assert all(row.tokens_in > 0 and row.tokens_out > 0 for row in rows_)
        run_on(server, rows(4), tmp_path / "run", limit=2)
        left = dry_run(rows(4), ["finesure"], models=MODEL, out=tmp_path / "run", base_url=server.url)
    assert {row.judge: row.calls for row in left} == {"finesure.fact_check": 4, "finesure.align": 6}


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
