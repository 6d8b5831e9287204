"""Output, exit codes and messages of the commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from engine.judges import rows
from engine.llm import answer
from models.server import Call, Reply, StubServer, fail, ok

from summeter.cli.main import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Ended]
JUDGED = ("-e", "finesure.fact_check", "-m", "openai-api/stub/m")
LABELS = ["judged", "coverage", "result", "cost", "report", "next"]


def labels(out: str) -> list[str]:
    """The labels of the lines of a summary; wrapped lines are indented."""
    return [line.partition(":")[0] for line in out.splitlines() if not line.startswith("  ")]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run command lines in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUB_API_KEY", "k")

    def run(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        return Ended(int(end.value.code or 0), found.out, found.err)

    return run


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return file


class TestScore:
    def test_score_ends_in_six_lines(self, command: Command, flat: Path) -> None:
        got = command("score", flat, "-e", "abstractiveness", "-o", "run")
        assert got.code == 0
        assert labels(got.out) == LABELS
        lines = [line for line in got.out.splitlines() if not line.startswith("  ")]
        assert lines[0] == "judged: 6 summaries by 2 systems, 3 documents; judges: abstractiveness"
        assert lines[1] == "coverage: 100 %: 6 of 6 judgments usable."
        assert lines[3:5] == ["cost: none, no model was called", "report: run/report.html"]
        page = Path("run/report.html").read_text()
        assert page.startswith("<!doctype html>")
        # The result is the sentence at the head of the page, without its markup.
        (sentence,) = re.findall(r'<p class="verdict">(.*?)</p>', page)
        assert unescape(sentence) in " ".join(got.out.split())
        next_command = lines[5].removeprefix("next: summeter ").split()
        full = command(*next_command)
        assert "abstractiveness|v:1" in full.out
        assert full.out.endswith(got.out)
        again = command("score", flat, "-e", "abstractiveness", "-o", "run", "--full")
        assert again.out.replace("reused: 6 judgments of an earlier session\n", "") == full.out
        assert command("score", flat, "-e", "abstractiveness", "-o", "run", "--quiet").out == f"{lines[4]}\n"

    def test_the_summary_counts_calls_and_what_is_missing(self, command: Command, flat: Path) -> None:
        def behave(call: Call) -> Reply:
            return ok("no") if "day 0" in call.prompt else ok(answer(call.prompt))

        with StubServer(behave) as server:
            got = command("score", flat, *JUDGED, "--base-url", server.url, "-o", "run")
        said = " ".join(got.out.split())
        # Three documents with two summaries of two sentences each; those of d0 have no usable reply, even repaired.
        assert "coverage: 66.7 %: 8 of 12 judgments usable, 4 unparsed. 2 of 6 scores are missing" in said
        assert "8 calls to openai-api/stub/m" in said

    def test_without_an_output_the_run_is_named_after_the_data(self, command: Command, flat: Path) -> None:
        assert command("score", flat, "-e", "abstractiveness").code == 0
        assert Path("runs/rows/run.json").is_file()

    def test_names_may_be_listed_with_commas(self, command: Command, flat: Path) -> None:
        got = command("score", flat, "-e", "rouge[stemmer=true,measure=recall],abstractiveness", "-o", "run", "--json")
        signatures = {row["signature"] for row in json.loads(got.out)["rows"]}
        assert signatures == {"rouge|measure:recall|stemmer:yes|split:rules-1|v:1", "abstractiveness|v:1"}

    def test_json_is_one_object_and_nothing_else(self, command: Command, flat: Path) -> None:
        got = command("score", flat, "-e", "abstractiveness", "-o", "run", "--json")
        found = json.loads(got.out)
        assert found["schema"] == "summeter/1"
        assert (found["coverage"], found["pairs"]) == (1.0, [])
        assert {"system", "aspect", "value", "low", "high", "n", "missing", "signature"} <= set(found["rows"][0])

    def test_the_same_command_resumes_a_run_and_says_what_it_reuses(self, command: Command, flat: Path) -> None:
        first = command("score", flat, "-e", "abstractiveness", "-o", "run", "--limit", "2")
        assert "reused" not in first.out
        for number in (4, 6):
            again = command("score", flat, "-e", "abstractiveness", "-o", "run")
            assert f"reused: {number} judgments of an earlier session\n" in again.out

    def test_a_dry_run_writes_nothing_and_needs_no_key(self, command: Command, flat: Path) -> None:
        got = command("score", flat, "-e", "finesure", "-m", "openai/gpt-4o", "--dry-run", "-o", "run")
        assert got.code == 0
        assert "finesure.fact_check: 6 summaries; 6 calls" in got.out
        assert not Path("run").exists()
        for malformed in ("openai-api/MODEL", "opnai/gpt-4o"):
            assert command("score", flat, "-e", "finesure", "-m", malformed, "--dry-run").code == 2

    def test_a_run_of_comparisons_prints_pairs(self, command: Command, flat: Path) -> None:
        with StubServer(lambda _: ok('{"answer": "A"}')) as server:
            arguments = ["score", flat, "-e", "h2h", "-m", "openai-api/stub/m", "--base-url", server.url, "-o", "run"]
            # 3 documents, 2 systems, both orders: 6 comparisons.
            planned = command(*arguments, "--dry-run")
            assert "h2h: 6 pairs; 6 calls" in planned.out
            got = command(*arguments, "--full")
            carried_on = command(*arguments, "--json")
        lines = got.out.splitlines()
        assert lines[0] == "Head to head on coherence (h2h)"
        # The summary that is shown first always wins, so every verdict flips.
        # Three documents are too few for an interval that holds over all pairs.
        assert lines[1] == "  a over b  0.50  n=3  flips 100%"
        assert "Nothing has been scored yet" not in got.out
        assert command("rescore", "run", "--full") == got
        for again in (carried_on, command("rescore", "run", "--json")):
            found = json.loads(again.out)
            assert found["rows"] == []
            assert [(one["value"], one["n"], one["flip_rate"]) for one in found["pairs"]] == [(0.5, 3, 1.0)]

    def test_systems_are_printed_before_pairs(self, command: Command, flat: Path) -> None:
        with StubServer(lambda _: ok('{"answer": "C"}')) as server:
            got = command("score", flat, "-e", "h2h,abstractiveness", "-m", "openai-api/stub/m",
                          "--base-url", server.url, "-o", "run", "--full")  # fmt: skip
        assert got.out.index("abstractiveness") < got.out.index("Head to head on coherence (h2h)")
        assert "flips 0%" in got.out

    def test_stdin(self, command: Command, flat: Path, monkeypatch: Any) -> None:
        got = subprocess.run(
            [sys.executable, "-m", "summeter", "score", "-", "-e", "abstractiveness", "-o", "run", "--json"],
            input=flat.read_bytes(), capture_output=True, check=True,
        )  # fmt: skip
        assert json.loads(got.stdout)["coverage"] == 1.0


class TestExitCodes:
    def test_bad_rows_are_named_and_nothing_is_written(self, command: Command, tmp_path: Path) -> None:
        (tmp_path / "bad.jsonl").write_text(
            '{"document": "x", "summary": null}\n{"document": 3, "summary": "y"}\n{oops\n'
        )
        got = command("score", "bad.jsonl", "-o", "run")
        assert got.code == 2
        for place in ("bad.jsonl:1: summary:", "bad.jsonl:2: document:", "bad.jsonl:3:"):
            assert place in got.err
        assert not Path("run").exists()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["score", "nosuch.jsonl"], "no such file"),
            (["score", "rows.jsonl", "-e", "rogue"], "no evaluator 'rogue'"),
            (["score", "rows.jsonl", "-e", "finesure"], "-m judge=PROVIDER/MODEL"),
            (["score", "rows.jsonl", "-e", "finesure", "-m", "gpt-4o"], "is not PROVIDER/MODEL"),
            (["score", "rows.jsonl", "-e", "finesure", "-m", "opnai/gpt-4o"], "did you mean openai"),
            (["score", "rows.jsonl", "--temperature", "warm"], "--temperature 'warm'"),
            (["score", "rows.jsonl", "--map", "document"], "not FIELD=COLUMN"),
            (["score", "rows.jsonl", "--map", "document=a", "--map", "document=b"], "gives document two values"),
            (["score", "rows.jsonl", "--limit", "0"], "--limit"),
            (["report", "nosuch"], "is not a run"),
            (["rescore", "nosuch"], "is not a run"),
            (["frobnicate"], "No such command"),
        ],
    )
    def test_usage_errors_exit_with_2_and_a_message(
        self, command: Command, flat: Path, arguments: list[str], said: str
    ) -> None:
        got = command(*arguments)
        assert got.code == 2
        assert said in got.err
        assert "Traceback" not in got.err

    def test_a_missing_key_is_an_error_before_any_request(self, command: Command, flat: Path, monkeypatch: Any) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        got = command("score", flat, "-e", "finesure", "-m", "openai/gpt-4o", "-o", "run")
        assert got.code == 2
        assert "OPENAI_API_KEY" in got.err

    def test_low_coverage_exits_with_4(self, command: Command, flat: Path) -> None:
        def half(call: Call) -> Any:
            return ok("no idea") if "It rained on day 1" in call.prompt else ok(answer(call.prompt))

        with StubServer(half) as server:
            arguments = ["score", flat, *JUDGED, "--base-url", server.url, "-o", "run"]
            assert command(*arguments).code == 0
            got = command(*arguments, "--min-coverage", "0.9")
        assert got.code == 4
        assert "coverage 66.7% is below 90.0% (8 of 12 judgments are usable)" in got.err

    def test_a_run_without_usable_judgments_exits_with_4(self, command: Command, flat: Path) -> None:
        for reply, total, reason in ((fail(500), 6, "answered 500"), (ok("no"), 12, "no JSON")):
            with StubServer(lambda _, reply=reply: reply) as server:
                got = command("score", flat, *JUDGED, "--base-url", server.url, "--max-retries", 0, "-o", "run")
            # The second session fails for another reason, and the first one is not repeated.
            assert got.code == 4
            assert f"none of {total} judgments is usable. The most common reason: " in got.err
            assert reason in got.err
            assert ("500" in got.err) == (total == 6)

    def test_help_and_version(self, command: Command) -> None:
        assert command("--version").out.startswith("summeter 0.")
        assert "Exit codes" in command("--help").out


class TestViews:
    def test_report_and_rescore_reproduce_the_page(self, command: Command, flat: Path) -> None:
        command("score", flat, "-e", "abstractiveness", "-o", "run")
        page = Path("run/report.html").read_bytes()
        assert command("report", "run", "-o", "page.html").out == "report: page.html\n"
        assert Path("page.html").read_bytes() == page
        assert command("rescore", "run").code == 0

    def test_two_runs_make_one_page(self, command: Command, flat: Path) -> None:
        command("score", flat, "-e", "rouge[measure=recall]", "-e", "abstractiveness", "-o", "one")
        command("score", flat, "-e", "abstractiveness", "-o", "two")
        assert command("report", "one", "two", "-o", "both.html").code == 0

    @pytest.mark.parametrize("what", ["evaluators", "models", "presets", "datasets", "aspects"])
    def test_lists(self, command: Command, what: str) -> None:
        assert command("list", what).out.strip()
        assert json.loads(command("list", what, "--json").out)["rows"]

    def test_doctor_passes_in_this_environment(self, command: Command) -> None:
        got = command("doctor")
        assert got.code == 0, got.out
        assert "embedded evaluator" in got.out


class TestOutputs:
    def test_replies_of_an_earlier_experiment(self, command: Command, flat: Path, tmp_path: Path) -> None:
        verdicts = [{"sentence": "x", "reason": "y", "category": name} for name in ("no error", "Entity error")]
        about = {"doc_id": "d0", "evaluator": "finesure.fact_check", "aspect": "faithfulness", "model": "m"}
        raw = [
            {**about, "system": "a", "output": json.dumps(verdicts)},
            {**about, "system": "b", "output": "I cannot."},
        ]
        (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in raw))
        got = command("outputs", "import", flat, "raw.jsonl", "-o", "run", "--json")
        (found,) = json.loads(got.out)["rows"]
        assert (found["rows"], found["ok"], found["failed"], found["absent"]) == (2, 1, 1, 4)

    def test_replies_on_pairs(self, command: Command, flat: Path, tmp_path: Path) -> None:
        asked = {"evaluator": "h2h", "aspect": "coherence", "model": "m", "system": "a", "rival": "b"}
        raw = [{**asked, "doc_id": f"d{n}", "order": order, "output": "A" if order == "ab" else "B"}
               for n in range(3) for order in ("ab", "ba")]  # fmt: skip
        (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in raw))
        got = command("outputs", "import", flat, "raw.jsonl", "-o", "run", "--full")
        # a when it is shown first, and when it is shown second: 1 on each of three documents.
        assert got.out.splitlines()[1] == "  a over b  1.00  n=3  flips 0%"
        again = command("outputs", "import", flat, "raw.jsonl", "-o", "again", "--json")
        assert [one["value"] for one in json.loads(again.out)["pairs"]] == [1.0]

    def test_bare_values_of_any_metric(self, command: Command, flat: Path, tmp_path: Path) -> None:
        raw = [{"doc_id": f"d{n}", "system": s, "evaluator": "my-metric", "aspect": "overall", "value": n / 2}
               for n in range(3) for s in "ab"]  # fmt: skip
        (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in raw))
        got = command("outputs", "import", flat, "raw.jsonl", "-o", "run")
        assert got.code == 0
        assert labels(got.out) == LABELS
        full = command("outputs", "import", flat, "raw.jsonl", "-o", "again", "--full")
        assert "my-metric|source:import: 6 rows: 6 usable, 0 not" in full.out


@pytest.mark.parametrize("what", ["import summeter", "main(['--help'])", "main(['--version'])"])
def test_import_and_overview_load_no_heavy_module(what: str) -> None:
    heavy = ["aiohttp", "duckdb", "jinja2", "numpy", "pandas", "polars", "pydantic", "rich", "scipy", "yaml"]
    code = f"""
import sys
import summeter
from summeter.cli.main import COMMANDS, app, main
try:
    {what}
except SystemExit:
    pass
print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
print([name for name in sys.modules if name.startswith("summeter.cli.")], file=sys.stderr)
"""
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert got.stderr.splitlines() == ["[]", "['summeter.cli.common', 'summeter.cli.main']"]


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("raport", "'report'"),
        ("meta corelate", "'correlate'"),
        ("correlate run", "`summeter meta correlate`"),  # a command of a group
        ("score --quite rows.jsonl", "--quiet"),
        ("help raport", "'report'"),
    ],
)
def test_an_unknown_command_or_option_names_the_nearest(command: Command, words: str, near: str) -> None:
    got = command(*words.split())
    assert (got.code, f"Did you mean {near}" in got.err) == (2, True)


def test_help_and_version_are_commands(command: Command) -> None:
    assert command("version") == command("--version")
    assert command("help") == command("--help")
    assert command("help", "meta", "correlate") == command("meta", "correlate", "--help")


@pytest.mark.parametrize(
    ("words", "found"),
    [("summeter rescor", "rescore"), ("summeter meta corr", "correlate"), ("summeter score --min-c", "--min-coverage")],
)
def test_bash_completes(tmp_path: Path, words: str, found: str) -> None:
    program = tmp_path / "summeter"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m summeter "$@"\n')
    program.chmod(0o700)
    script = f'''
eval "$({program} --show-completion)"
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_summeter_completion {program}
echo "${{COMPREPLY[@]}}"'''
    got = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True)
    assert got.stdout.split() == [found]
