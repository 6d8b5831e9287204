"""Tables and JSON of `summeter meta correlate`, `classify`, `errors` and `compare`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from summeter.cli.main import app
from summeter.data.dataset import load
from summeter.engine.outputs import import_outputs
from summeter.meta.results import CONTRACT
from summeter.records import UsageError

Call = Callable[..., Result]


@pytest.fixture
def call() -> Call:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["meta", *arguments], catch_exceptions=True)

    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with six documents, three systems, ratings and sentence labels of two annotators, and one judge."""
    rows, raw = [], []
    for i in range(6):
        for place, system in enumerate("ABC"):
            good = (i + place) % 3
            human = {
                "ratings": {"coherence": {"a": good + 2, "b": good + 1 + i % 2}},
                "sentence_labels": [{"a": 1, "b": 1}, {"a": int(good > 0), "b": int(good > 1)}],
                "sentence_error_types": [
                    {"a": "NoE", "b": "NoE"}, {"a": "NoE" if good else "EntE", "b": "NoE" if good > 1 else "EntE"},
                ],
            }  # fmt: skip
            rows.append({
                "doc_id": f"d{i}", "system": system, "document": "It rained. We stayed.", "human": human,
                "summary": "It rained. We sat.", "sentences": ["It rained.", "We sat."],
                "domain": "news" if i < 3 else "chat", "split": "dev" if i < 2 else "test",
            })  # fmt: skip
            about = {"doc_id": f"d{i}", "system": system, "evaluator": "mine"}
            raw.append({**about, "aspect": "coherence", "value": good + 0.1 * place})
            raw.extend({**about, "aspect": "faithfulness", "unit": "sentence", "index": index, "value": score}
                       for index, score in enumerate((0.9, 0.2 + 0.3 * good)))  # fmt: skip
    file = tmp_path / "raw.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in raw))
    import_outputs(load(rows), file, tmp_path / "run", "strict")
    return tmp_path / "run"


def rows_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["schema"] == "summeter/1"
    return list(found["rows"])


def test_correlate_prints_a_table_and_json(call: Call, run: Path) -> None:
    text = call("correlate", str(run), "--aspect", "coherence", "--resamples", "50").stdout
    assert "mine" in text
    assert "people: human.ratings|merge:mean|v:1" in text
    rows = rows_of(call("correlate", str(run), "--level", "system", "--json", "--resamples", "50", "--by", "domain"))
    assert all(list(row)[: len(CONTRACT)] == list(CONTRACT) for row in rows)
    assert {row["domain"] for row in rows} == {None, "news", "chat"}
    assert {row["study"] for row in rows} == {"correlation"}
    assert {row["statistic"] for row in rows} == {"pearson", "spearman", "kendall_b"}


def test_classify_with_a_tuned_threshold(call: Call, run: Path) -> None:
    rows = rows_of(call("classify", str(run), "--tune", "dev", "--json", "--resamples", "50"))
    found = {row["statistic"]: row for row in rows}
    assert found["balanced_accuracy"]["details"]["tuned_on"] == "split=dev"
    assert found["balanced_accuracy"]["n"] == 24
    assert found["success_ratio"]["value"] == 1.0


def test_errors_need_error_types_of_a_judge(call: Call, run: Path) -> None:
    failed = call("errors", str(run))
    assert isinstance(failed.exception, UsageError)
    assert "no judge of the run assigned error types" in str(failed.exception)


@pytest.mark.parametrize(
    "command", ["correlate", "classify", "prefer", "stability", "reliability", "compare", "agree", "estimate", "bias"]
)
def test_judges_of_two_runs_are_studied_together(call: Call, run: Path, command: str) -> None:
    other = Path(shutil.copytree(run, run.parent / "other"))
    aspect = "faithfulness" if command == "classify" else "coherence"
    draws = [] if command == "estimate" else ["--resamples", "0"]
    rows = rows_of(call(command, str(run), str(other), *draws, "--aspect", aspect, "--json"))
    named = {row["details"].get("run") for row in rows if (row["judge"] or "").startswith("mine")}
    assert named == {"run", "other", *(["run + other"] if command == "reliability" else [])}


def test_partial_runs_and_other_data_are_stated(call: Call, run: Path, tmp_path: Path) -> None:
    manifest = json.loads((run / "run.json").read_text("utf-8"))
    del manifest["checksums"]
    (run / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    gold = tmp_path / "gold.jsonl"
    human = {"ratings": {"coherence": 1}}
    rows = [
        {"doc_id": doc_id, "system": "A", "document": "It rained. We stayed.", "summary": "It rained.", "human": human}
        for doc_id in ("d0", "other")
    ]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = call("correlate", str(run), "--gold", str(gold), "--json")
    assert shown.exit_code == 0, shown.exception
    notes = json.loads(shown.stdout)["notes"]
    assert any("1 of 2 summaries that people judged" in note and "other by A" in note for note in notes)
    assert any("is interrupted, not complete" in note for note in notes)
    gold.write_text(json.dumps({**rows[0], "human": {}}) + "\n")
    refused = call("correlate", str(run), "--gold", str(gold))
    assert "give data that have them with " in str(refused.exception)


def test_a_run_given_twice_is_refused(call: Call, run: Path) -> None:
    assert "is given twice" in str(call("correlate", str(run), str(run)).exception)


def test_an_unknown_aspect_lists_the_known_ones(call: Call, run: Path) -> None:
    failed = call("correlate", str(run), "--aspect", "grammar")
    assert isinstance(failed.exception, UsageError)
    assert "the judges have no 'grammar'; they have: coherence, faithfulness" in str(failed.exception)


def test_a_comparison_of_many_systems_is_a_matrix(call: Call, tmp_path: Path) -> None:
    rows = [
        {"doc_id": f"d{i}", "system": f"s{n:02}", "document": "It rained.", "summary": f"Rain {n}.",
         "human": {"ratings": {"coherence": n // 13 + (i * n) % 3 / 10}}}
        for i in range(20) for n in range(25) if n or i
    ]  # fmt: skip
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = ("compare", "--of", "people", "--gold", str(data))
    printed = call(*asked)
    assert printed.exit_code == 0, printed.output
    lines = printed.stdout.splitlines()
    assert lines[0] == "coherence by people"
    assert len(lines) < 40
    assert sum(line.split()[1].startswith("s") for line in lines[2:27]) == 25
    assert "of 300 pairs differ on coherence" in printed.stdout
    assert "s00 19, s24 20" in printed.stdout
    assert "Ranked on the" in printed.stdout
    assert len([row for row in rows_of(call(*asked, "--json")) if row["pair"]]) == 300
