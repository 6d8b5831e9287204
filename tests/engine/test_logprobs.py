"""`geval` with models that give no log-probabilities: samples are chosen before the run, unless the user chose."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import pytest
from engine.llm import MODEL
from models.server import Call, Reply, StubServer, ok

from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.runs import Run
from summeter.records import CapabilityError

ROWS = [{"document": "Ana sold her boat.", "summary": "Ana sold a boat."}]
JUDGE = "geval[aspect=faithfulness,steps=tuned]"


def silent(call: Call) -> Reply:
    """Answer with scores of 2 and 5 in turn, without log-probabilities."""
    return ok(json.dumps({"score": 2 if call.number % 2 else 5}))


def weighed(call: Call) -> Reply:
    """Answer with a score of 4, and with its log-probability if it is requested."""
    text = '{"score": 4}'
    if "logprobs" not in call.body:
        return ok(text)
    top = [{"token": "4", "logprob": math.log(0.75)}, {"token": "2", "logprob": math.log(0.25)}]
    tokens = [
        {"token": '{"score": ', "logprob": 0.0, "top_logprobs": []},
        {"token": "4", "logprob": math.log(0.75), "top_logprobs": top},
        {"token": "}", "logprob": 0.0, "top_logprobs": []},
    ]
    body = json.loads(ok(text).content)
    body["choices"][0]["logprobs"] = {"content": tokens}
    return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def judged(server: StubServer, out: Path, judge: str = JUDGE) -> Run:
    return evaluate(ROWS, judge, models=MODEL, out=out, base_url=server.url)


def test_samples_are_chosen_and_said_before_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with StubServer(silent) as server, caplog.at_level(logging.WARNING, "summeter"):
        run = judged(server, tmp_path / "run")
        # One request finds out, and 20 are the samples.
        assert len(server.calls) == 21
        assert [call.body.get("top_logprobs") for call in server.calls] == [20, *[None] * 20]
        assert f"{MODEL} gives no log-probabilities, so geval takes the mean" in caplog.text
        (score,) = run.scores()
        assert score.value == 3.5  # the mean of ten 2 and ten 5
        assert "|t:1|aspect:faithfulness|scoring:sample|draws:20|" in score.signature
        # A resumed run keeps the choice and asks nothing.
        again = judged(server, tmp_path / "run")
        assert len(server.calls) == 21
        assert [judge.signature for judge in again.manifest.judges] == [score.signature]
    replayed = evaluate(ROWS, replay=tmp_path / "run", out=tmp_path / "replay")
    assert replayed.scores()[0].value == 3.5


def test_log_probabilities_are_used_if_there_are_any(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with StubServer(weighed) as server:
        (score,) = judged(server, tmp_path / "run").scores()
        assert len(server.calls) == 2
        judged(server, tmp_path / "run")
        assert len(server.calls) == 2
    assert score.value == pytest.approx(3.5)  # 4 x .75 + 2 x .25
    assert "scoring:logprob" in score.signature
    assert not caplog.records


@pytest.mark.parametrize(
    ("judge", "calls"), [("geval[single,steps=tuned,aspect=faithfulness]", 1), ("geval_plus[aspect=faithfulness]", 1)]
)
def test_no_request_is_sent_if_there_is_no_choice(judge: str, calls: int, tmp_path: Path) -> None:
    with StubServer(silent) as server:
        judged(server, tmp_path / "run", judge)
        assert len({call.raw for call in server.calls}) <= calls + 1  # at most one repair
        assert not any("logprobs" in call.body for call in server.calls)


def test_a_choice_of_the_user_is_kept(tmp_path: Path) -> None:
    with StubServer(silent) as server, pytest.raises(CapabilityError, match="without log-probabilities"):
        judged(server, tmp_path / "run", "geval[logprob,aspect=faithfulness,steps=tuned]")


def test_a_dry_run_knows_the_vendors_without_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    (estimate,) = dry_run(ROWS, JUDGE, models="anthropic/claude-opus-5", temperature=None)
    assert estimate.calls == 20
    assert "scoring:sample" in estimate.signature
