"""Runs from data to scores: the files, resuming, and refusals."""

from __future__ import annotations

import asyncio
import csv
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine.judges import Lengths, Moody, calls, rows

from summeter.data.dataset import load
from summeter.engine.api import evaluate, evaluate_async
from summeter.engine.runs import Run, rescore
from summeter.records import UsageError
from summeter.runs.journal import Journal


def files(folder: Path, *names: str) -> dict[str, bytes]:
    wanted = [*names] or ["judgments", "prepared", "scores.jsonl", "scores.csv", "summary.json", "progress.jsonl"]
    found = {}
    for name in wanted:
        place = folder / name
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            found[str(file.relative_to(folder))] = file.read_bytes()
    return found


class TestWhatARunHolds:
    def test_scores_are_the_arithmetic_of_its_judgments(self, tmp_path: Path) -> None:
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        values = {(score.doc_id, score.system): score.value for score in run.scores()}
        # a: "It rained." and "We read." are short; b: the second sentence has 8 words.
        assert values == {(f"d{n}", s): v for n in range(3) for s, v in (("a", 1.0), ("b", 0.5))}
        assert run.manifest.status == "complete"
        assert run.manifest.counts == {"ok": 12}
        assert run.manifest.coverage == 1.0

    def test_the_views_say_the_same(self, tmp_path: Path) -> None:
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        with (run.folder / "scores.csv").open(newline="") as lines:
            table = list(csv.DictReader(lines))
        assert [row["system"] for row in table] == ["a", "b"] * 3
        assert {row["signature"] for row in table} == {"lengths|split:rules-1|v:1"}
        assert [float(row["value"]) for row in table] == [1.0, 0.5] * 3
        summary = json.loads((run.folder / "summary.json").read_text())
        means = {(row["system"], row["domain"]): row["value"] for row in summary["rows"]}
        assert means["b", None] == 0.5
        assert ("b", "news") in means
        assert summary["ranking"] == ["a", "b"]

    def test_prepared_is_derived_once_a_document_and_named_by_its_judgments(self, tmp_path: Path) -> None:
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        assert calls == {"prepare": 3, "judge": 6}
        (file,) = (run.folder / "prepared").iterdir()
        stored = {json.loads(line)["id"] for line in file.read_text().splitlines()}
        assert {judgment.prepared for judgment in run.judgments()} == stored

    def test_two_settings_of_one_evaluator_stand_side_by_side(self, tmp_path: Path) -> None:
        run = evaluate(rows(1), [Lengths(), Lengths(most=9)], out=tmp_path / "run")
        assert [judge.signature for judge in run.manifest.judges] == [
            "lengths|split:rules-1|v:1",
            "lengths|most:9|split:rules-1|v:1",
        ]
        assert {score.signature: score.value for score in run.scores() if score.system == "b"} == {
            "lengths|split:rules-1|v:1": 0.5,
            "lengths|most:9|split:rules-1|v:1": 1.0,
        }

    def test_equal_runs_have_equal_files_whatever_the_concurrency(self, tmp_path: Path) -> None:
        one = evaluate(rows(9), [Lengths()], out=tmp_path / "one", concurrency=1)
        many = evaluate(rows(9), [Lengths()], out=tmp_path / "many", concurrency=64)
        assert files(one.folder) == files(many.folder)

    def test_limit_takes_whole_documents(self, tmp_path: Path) -> None:
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run", limit=2)
        assert {score.doc_id for score in run.scores()} == {"d0", "d1"}
        assert len(run.scores()) == 4


class TestEmptyTexts:
    def test_an_empty_summary_is_skipped_with_a_reason(self, tmp_path: Path) -> None:
        data = rows(1)
        data[1]["summary"] = " "
        run = evaluate(data, [Lengths()], out=tmp_path / "run")
        (score,) = [score for score in run.scores() if score.system == "b"]
        assert (score.value, score.status, score.reason) == (None, "skipped", "the summary is empty")
        (mean,) = [row for row in run.summary() if row.system == "b"]
        assert (mean.value, mean.n, mean.missing) == (None, 0, 1)

    def test_an_empty_document_is_skipped_with_a_reason(self, tmp_path: Path) -> None:
        run = evaluate([{"document": "", "summary": "It rained."}], [Lengths()], out=tmp_path / "run")
        assert [judgment.reason for judgment in run.judgments()] == ["the document is empty"]


class TestFailures:
    @pytest.mark.parametrize(
        ("kind", "reason"),
        [("model", "the model is down"), ("bug", "ZeroDivisionError: oops"), ("cancelled", "CancelledError")],
    )
    def test_one_items_failure_ends_nothing_and_is_no_number(self, tmp_path: Path, kind: str, reason: str) -> None:
        run = evaluate(rows(), [Moody(kind=kind)], out=tmp_path / "run")
        assert run.manifest.status == "incomplete"
        found = {(score.system, score.status, score.value) for score in run.scores()}
        assert found == {("a", "ok", 1.0), ("b", "error", None)}
        assert [reason in failure.reason for failure in run.failures()] == [True] * 3

    def test_carrying_on_tries_only_what_failed(self, tmp_path: Path) -> None:
        evaluate(rows(), [Moody()], out=tmp_path / "run")
        calls.clear()
        evaluate(rows(), [Moody()], out=tmp_path / "run")
        assert calls == {}  # the three failed again before they counted; nothing finished was repeated

    def test_a_failure_that_was_mended_is_no_longer_missing(self, tmp_path: Path, monkeypatch: Any) -> None:
        evaluate(rows(), [Moody()], out=tmp_path / "run")
        monkeypatch.setattr(Moody, "judge", Lengths.judge)
        run = evaluate(rows(), [Moody()], out=tmp_path / "run")
        assert run.manifest.counts == {"ok": 12}
        assert all(score.value is not None for score in run.scores())
        assert len(list(run.failures())) == 3  # the record of what went wrong stays


class TestCarryingOn:
    def test_a_finished_run_repeats_nothing(self, tmp_path: Path) -> None:
        first = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        before = files(first.folder)
        calls.clear()
        evaluate(rows(), [Lengths()], out=tmp_path / "run")
        assert calls == {}
        assert files(first.folder) == before

    def test_another_evaluator_joins_without_repeating_the_first(self, tmp_path: Path) -> None:
        evaluate(rows(), [Lengths()], out=tmp_path / "run")
        calls.clear()
        run = evaluate(rows(), [Lengths(most=9)], out=tmp_path / "run")
        assert calls["judge"] == 6
        assert len({score.signature for score in run.scores()}) == 2

    def test_more_documents_join_when_the_limit_is_lifted(self, tmp_path: Path) -> None:
        evaluate(rows(), [Lengths()], out=tmp_path / "run", limit=1)
        calls.clear()
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        assert calls == {"prepare": 2, "judge": 4}
        whole = evaluate(rows(), [Lengths()], out=tmp_path / "whole")
        assert files(run.folder) == files(whole.folder)

    @pytest.mark.parametrize("cut", [1, 7, 40, 200, 900])
    def test_whatever_a_killed_writer_left_behind(self, tmp_path: Path, cut: int) -> None:
        whole = evaluate(rows(), [Lengths()], out=tmp_path / "whole")
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        # Judgments that no line of progress confirms, and torn last lines, are what a kill -9 can leave.
        progress = run.folder / "progress.jsonl"
        progress.write_bytes(progress.read_bytes()[: -min(cut, progress.stat().st_size)])
        for name in ("judgments", "prepared"):
            (file,) = (run.folder / name).iterdir()
            with file.open("ab") as torn:
                torn.write(file.read_bytes().splitlines()[0][:cut])
        again = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        assert files(again.folder) == files(whole.folder)

    def test_a_kill_before_the_first_manifest_locks_nobody_out(self, tmp_path: Path) -> None:
        run = tmp_path / "run"
        for name in ("judgments", "prepared", "data", ".data.1234.new"):
            (run / name).mkdir(parents=True)
        (run / ".lock").touch()
        assert evaluate(rows(), [Lengths()], out=run).manifest.status == "complete"
        assert not (run / ".data.1234.new").exists()

    def test_other_data_are_refused_with_the_differences(self, tmp_path: Path) -> None:
        evaluate(rows(3), [Lengths()], out=tmp_path / "run")
        first, *others = rows(3)
        changed = [first | {"summary": "Other."}, *(row for row in others if row["doc_id"] != "d2")]
        with pytest.raises(UsageError) as caught:
            evaluate([*changed, first | {"doc_id": "new"}], [Lengths()], out=tmp_path / "run")
        words = "another text: 1 summary (d0 by a); only before: 1 document (d2); only now: 1 document (new)"
        assert words in str(caught.value)

    def test_ratings_and_columns_can_be_added_to_a_run(self, tmp_path: Path) -> None:
        before = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        given = [row | {"id": number} for number, row in enumerate(rows())]
        ratings = [{"id": 0, "rater": "ann", "coherence": 4}]
        judged = calls["judge"]
        evaluate(load(given, ratings=ratings, on="id"), [Lengths()], out=tmp_path / "run")
        evaluate(rows(), [Lengths()], out=tmp_path / "run")  # does not remove them
        assert calls["judge"] == judged
        data = Run(tmp_path / "run").data
        assert [vote.value for vote in data.judgments("human.raw")] == [4]
        assert [summary.extra["id"] for summary in data.summaries] == list(range(6))
        assert data.hash == before.manifest.data.hash

    def test_a_folder_of_something_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("dear")
        with pytest.raises(UsageError, match="is not empty and is not a run"):
            evaluate(rows(), [Lengths()], out=tmp_path)

    def test_two_writers_are_refused(self, tmp_path: Path) -> None:
        run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
        with Journal(run.folder), pytest.raises(UsageError, match="another process is writing to this run"):
            evaluate(rows(), [Lengths()], out=tmp_path / "run")


KILLED = """
import asyncio, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from engine.judges import Lengths, rows
from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.evaluators.base import Tools

class Deadly(Lengths):
    async def judge(self, item, prepared, tools):
        found = await super().judge(item, prepared, tools)
        flag = sys.argv[2]
        if item.document.id == sys.argv[3] and not os.path.exists(flag):
            open(flag, "w").close()
            os.kill(os.getpid(), int(sys.argv[4]))
            await asyncio.sleep(5)
        return found

evaluate(rows(12), [Deadly()], out=sys.argv[1], concurrency=3)
"""


def attempt(out: Path, flag: Path, document: str, sent: int) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", KILLED, str(out), str(flag), document, str(sent)]
    return subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, check=False)


def test_kill_nine_four_times_then_the_same_judgments(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for document in ["d2", "d5", "d8", "d11"]:
        got = attempt(out, tmp_path / document, document, signal.SIGKILL)
        assert got.returncode == -signal.SIGKILL, got.stderr.decode()
    assert attempt(out, tmp_path / "none", "none", 0).returncode == 0
    whole = evaluate(rows(12), [Lengths()], out=tmp_path / "whole")
    assert files(out) == files(whole.folder)


def test_an_interrupted_run_says_so_and_carries_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    got = attempt(out, tmp_path / "flag", "d5", signal.SIGINT)
    assert b"KeyboardInterrupt" in got.stderr
    assert Run(out).manifest.status == "interrupted"
    assert attempt(out, tmp_path / "flag", "d5", 0).returncode == 0
    assert Run(out).manifest.status == "complete"
    whole = evaluate(rows(12), [Lengths()], out=tmp_path / "whole")
    assert files(out) == files(whole.folder)


class TestCallers:
    def test_it_works_inside_a_running_loop(self, tmp_path: Path) -> None:
        async def caller() -> Run:
            return evaluate(rows(1), [Lengths()], out=tmp_path / "run")

        assert asyncio.run(caller()).manifest.status == "complete"

    def test_the_async_form_can_be_awaited(self, tmp_path: Path) -> None:
        run = asyncio.run(evaluate_async(rows(1), [Lengths()], out=tmp_path / "run"))
        assert len(run.scores()) == 2

    def test_no_evaluators_and_no_model_are_usage_errors(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no evaluators were given"):
            evaluate(rows(), [], out=tmp_path / "run")
        with pytest.raises(UsageError, match=r"Give one with models=\{'judge': 'PROVIDER/MODEL'\}"):
            evaluate(rows(), ["finesure"], out=tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_one_evaluator_or_the_default(self, tmp_path: Path) -> None:
        named = evaluate(rows(1), "support", out=tmp_path / "named")
        assert [evaluator.name for evaluator in named.specs] == ["support"]
        one = evaluate(rows(1), Lengths(), out=tmp_path / "one")
        assert [judge.name for judge in one.manifest.judges] == ["lengths"]
        default = evaluate(rows(1), out=tmp_path / "default")
        assert [evaluator.name for evaluator in default.specs] == ["support", "abstractiveness"]
        replayed = evaluate(rows(1), replay=named.folder, out=tmp_path / "replayed")
        assert [evaluator.name for evaluator in replayed.specs] == ["support"]

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [({"evaluators": Lengths}, r"not the class Lengths; give Lengths\(\)"), ({"evaluators": [3]}, "not 3"),
         ({"models": ["openai/gpt-4o"]}, "models takes the name of a model"), ({"data": 3}, "the data are int; give"),
         ({"evaluators": "suport"}, "did you mean support")],
    )  # fmt: skip
    def test_wrong_types_are_usage_errors(self, wrong: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            evaluate(**{"data": rows(1), "evaluators": "support", **wrong})

    def test_what_cannot_start_changes_nothing(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        run = evaluate(rows(1), [Lengths()], out=tmp_path / "run")
        before = files(run.folder, "run.json")
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            evaluate(rows(1), ["finesure"], models="openai/gpt-4o", out=tmp_path / "run")
        assert files(run.folder, "run.json") == before
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            evaluate(rows(1), ["finesure"], models="openai/gpt-4o", out=tmp_path / "new")
        assert not (tmp_path / "new").exists()

    def test_specs_can_be_run_again(self, tmp_path: Path) -> None:
        run = evaluate(rows(1), ["abstractiveness"], out=tmp_path / "run")
        again = evaluate(rows(1), run.specs, out=tmp_path / "again")
        assert files(run.folder) == files(again.folder)


def test_rescoring_rebuilds_the_views_from_the_facts(tmp_path: Path) -> None:
    run = evaluate(rows(), [Lengths()], out=tmp_path / "run")
    before = files(run.folder)
    for name in ("scores.jsonl", "scores.csv", "summary.json"):
        (run.folder / name).unlink()
    rescore(run.folder)
    assert files(run.folder) == before
