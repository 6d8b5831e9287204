"""`summeter score --replay` uses the models of the recorded run, also with several models per role."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest
from cli.commands import ends
from engine.judges import rows
from engine.llm import answer
from engine.test_run import files
from models.server import Call, Reply, StubServer, ok

from summeter.engine.runs import Run

MODELS = ("openai-api/stub/small", "openai-api/stub/large")


def behave(call: Call) -> Reply:
    """Reply with a rating or a choice that differs between the two models."""
    large = call.body["model"] == "large"
    if "key fact" in call.prompt.lower() or "[1]" in call.prompt:
        return ok(answer(call.prompt))
    return ok(json.dumps({"reason": "so", "score": 5 if large else 2, "answer": "B" if large else "D"}))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-stub")
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(2)))


SESSIONS = {
    "one judge, two models": [["-e", "rts", "-m", MODELS[0]], ["-e", "rts", "-m", MODELS[1]]],
    "two judges with one model each": [["-e", "rts", "-m", MODELS[0]], ["-e", "mcq", "-e", "rouge", "-m", MODELS[1]]],
    "models in turn": [
        ["-e", "rts[aspect=fluency]", "-m", MODELS[0]], ["-e", "mcq", "-m", MODELS[1]], ["-e", "rts", "-m", MODELS[0]],
    ],
    "two roles, then one judge": [
        ["-e", "ensemble[rts+rts@second]", "-m", MODELS[0], "-m", f"second={MODELS[1]}"],
        ["-e", "rts[aspect=fluency]", "-m", MODELS[1]],
    ],
    "a member of an ensemble later": [
        ["-e", "ensemble[rts+rts@second]", "-m", MODELS[0], "-m", f"second={MODELS[1]}"],
        ["-e", "rts", "-m", MODELS[1]],
    ],
}  # fmt: skip


@pytest.mark.parametrize("sessions", SESSIONS.values(), ids=SESSIONS)
def test_a_replay_needs_no_models_and_no_evaluators(sessions: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(behave) as server:
        for session in sessions:
            more = ["--base-url", server.url, "--quiet", "-o", "run"]
            assert ends("score", "rows.jsonl", *session, *more) == 0
    monkeypatch.delenv("STUB_API_KEY")
    recorded = Run("run").manifest
    assert {model for judge in recorded.judges for model in judge.models.values()} == set(MODELS)

    named = [name for session in sessions for option, name in zip(session[::2], session[1::2], strict=True)
             if option == "-e"]  # fmt: skip
    evaluators = [argument for name in dict.fromkeys(named) for argument in ("-e", name)]
    assert ends("score", "rows.jsonl", *evaluators, "--replay", "run", "-o", "named", "--quiet") == 0
    assert files(Path("named")) == files(Path("run"))

    page = Path("run/report.html").read_text()
    lines = [html.unescape(line) for line in re.findall(r'<code class="cmd">(.*?)</code>', page)]
    (line,) = (line for line in lines if "--replay" in line)
    assert ends(*shlex.split(line)[1:]) == 0
    again = Run("run-again")
    assert [row.line for row in again.judgments()] == [row.line for row in Run("run").judgments()]
    assert files(again.folder) == files(Path("run"))
    assert again.manifest.judges == recorded.judges
    assert again.manifest.status == "complete"


def test_a_replay_with_a_model_repeats_only_its_judge() -> None:
    with StubServer(behave) as server:
        for model in MODELS:
            assert ends("score", "rows.jsonl", "-e", "rts", "-m", model, "--base-url", server.url, "-o", "run") == 0
    assert ends("score", "rows.jsonl", "-m", MODELS[1], "--replay", "run", "-o", "large") == 0
    assert Run("large").manifest.judges == Run("run").manifest.judges[1:]
    assert {row.model for row in Run("large").judgments()} == {MODELS[1]}


def test_a_replay_of_other_data_is_bad_input() -> None:
    with StubServer(behave) as server:
        assert ends("score", "rows.jsonl", "-e", "rts", "-m", MODELS[0], "--base-url", server.url, "-o", "run") == 0
    Path("more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(3)))
    assert ends("score", "more.jsonl", "--replay", "run", "-o", "again") == 2


def test_a_replay_over_other_data_leaves_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with StubServer(behave) as server:
        assert ends("score", "rows.jsonl", "-e", "rts", "-m", MODELS[0], "--base-url", server.url, "-o", "run") == 0
    Path("others.jsonl").write_text(json.dumps({"document": "It snowed.", "summary": "It snowed."}) + "\n")
    assert ends("score", "others.jsonl", "--replay", "run", "-o", "again") == 2
    assert "does not contain this call" in capsys.readouterr().err
    assert not Path("again").exists()
    assert ends("compare", "run", "run") == 0
