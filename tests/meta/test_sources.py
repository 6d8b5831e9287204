"""Which source supports each sentence, conflicts among sources, and sentences that no source supports alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.merge import merge
from summeter.meta import sources
from summeter.records import BudgetError, UsageError
from summeter.runs.run import RunFolder

REPORTS = {
    "courier": "The bridge at Holm was closed on Tuesday. Three people were injured.",
    "gazette": "The bridge at Holm was closed on Tuesday. Five people were injured, the police said.",
    "radio": "The bridge is the only one at Holm. Its repair takes two months.",
}
SENTENCES = [
    "The bridge at Holm was closed on Tuesday.",
    "Three people were injured.",
    "The closed bridge takes two months to repair.",
    "A ferry replaces it.",
]
VERDICTS = {  # by source, with those of all sources together; + supported, x contradicted, - not mentioned
    "together": "+ + + -",
    "courier": "+ + - -",
    "gazette": "+ x - -",
    "radio": "- - - -",
}
CATEGORIES = {"+": "no error", "x": "entity error", "-": "out-of-context error"}


@pytest.fixture
def news(tmp_path: Path) -> tuple[list[dict[str, Any]], str]:
    """Rows with three reports of an accident, and a scripted judge."""
    rules: list[dict[str, Any]] = []
    for source, signs in VERDICTS.items():
        shown = [REPORTS[source]] if source in REPORTS else list(REPORTS.values())
        reply = {
            str(at): {"reason": "so it says", "category": CATEGORIES[sign]} for at, sign in enumerate(signs.split(), 1)
        }
        rules.append({"match": shown, "reply": reply})
    reports = [{"id": name, "text": text} for name, text in REPORTS.items()]
    rows: list[dict[str, Any]] = [
        {"doc_id": "holm", "document": reports, "summary": " ".join(SENTENCES), "system": "A"},
        {"doc_id": "plain", "document": "It rained.", "summary": "It rained.", "system": "A"},
    ]
    rules.append({"match": "It rained", "reply": {"1": {"reason": "so it says", "category": "no error"}}})
    (tmp_path / "judge.jsonl").write_text("".join(f"{json.dumps(rule)}\n" for rule in rules))
    return rows, f"scripted/{tmp_path / 'judge.jsonl'}"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


def test_one_command_judges_sources_alone_and_the_study_joins_them(
    news: tuple[list[dict[str, Any]], str], tmp_path: Path
) -> None:
    rows, judge = news
    data, out = tmp_path / "news.jsonl", tmp_path / "run"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    arguments = ["score", data, "-e", "finesure.fact_check", "-m", judge, "-o", out, "--by-source"]
    assert "sources: faithfulness by finesure.fact_check: of 4 sentences" in " ".join(run(*arguments).split())
    found = json.loads(run("meta", "sources", out, "--json"))["rows"]
    shares = {
        (row["statistic"], row["details"].get("group")): row["value"] for row in found if row["study"] == "sources"
    }
    assert shares == {
        ("by_one_source", None): 0.5,
        ("only_together", None): 0.25,
        ("unsupported", None): 0.25,
        ("conflict", None): 0.25,
        ("supports", "courier"): 0.5,
        ("supports", "gazette"): 0.25,
        ("supports", "radio"): 0,
        ("contradicts", "courier"): 0,
        ("contradicts", "gazette"): 0.25,
        ("contradicts", "radio"): 0,
    }
    units = [row["details"] for row in found if row["study"] == "source_units"]
    assert [(unit["text"], unit["outcome"], unit["supported_by"], unit["contradicted_by"]) for unit in units] == [
        (SENTENCES[1], "conflict", ["courier"], ["gazette"]),
        (SENTENCES[2], "only together", [], []),
        (SENTENCES[3], "unsupported", [], []),
        (SENTENCES[0], "supported", ["courier", "gazette"], []),
    ]
    assert units[0]["alone"]["gazette"] == {
        "label": 0, "value": 0.0, "contradicted": True, "reason": "so it says", "evidence": [],
    }  # fmt: skip
    report = (out / "report.html").read_text()
    assert "Sources of each sentence or claim" in report
    # The scores are those of all sources together, and the run is complete and intact.
    assert RunFolder(out).totals.scores.value.tolist() == [0.75, 1.0]
    run("runs", "verify", out)
    assert "0 calls" not in run(*arguments)
    assert [row.calls for row in dry_run(data, ["finesure.fact_check"], models=judge, out=out, by_source=True)] == [
        0,
        0,
    ]


def test_the_dry_run_counts_the_calls_for_each_source(news: tuple[list[dict[str, Any]], str]) -> None:
    rows, judge = news
    estimates = dry_run(rows, ["finesure.fact_check"], models=judge, by_source=True)
    assert [(each.by_source, each.items, each.calls) for each in estimates] == [(False, 2, 2), (True, 3, 3)]


def test_a_judge_that_cannot_tell_contradictions_says_so(
    news: tuple[list[dict[str, Any]], str], tmp_path: Path
) -> None:
    study = sources(evaluate(news[0], "support", out=tmp_path / "run", by_source=True), most=1)
    row = study.one(statistic="conflict")
    assert (row.value, row.n, row.missing) == (None, 0, 4)
    assert row.reason == "the judge does not distinguish contradiction from absence"
    (unit,) = sources(tmp_path / "run", most=4).where(study="source_units").rows[3:]
    (evidence,) = unit.details["alone"]["courier"]["evidence"]
    assert REPORTS["courier"][evidence["start"] : evidence["end"]] == evidence["text"] == SENTENCES[0]
    assert len(study.where(study="source_units")) == 1


def test_a_missing_verdict_of_a_source_is_not_a_verdict(news: tuple[list[dict[str, Any]], str], tmp_path: Path) -> None:
    rows, judge = news
    file = Path(judge.removeprefix("scripted/"))
    rules = [json.loads(line) for line in file.read_text().splitlines()]
    rules[2]["reply"] = "no idea"  # the Gazette
    file.write_text("".join(f"{json.dumps(rule)}\n" for rule in rules))
    study = sources(evaluate(rows, "finesure.fact_check", models=judge, out=tmp_path / "run", by_source=True))
    # The Courier alone supports two sentences; whether the Gazette supports the others is unknown. If only the two
    # counted, the share would be 1.
    shares = {row.statistic: (row.value, row.n, row.missing) for row in study if "group" not in row.details}
    assert shares == {
        "by_one_source": (None, 0, 4),
        "only_together": (None, 0, 4),
        "unsupported": (None, 0, 4),
        "conflict": (None, 0, 4),
        "supporting_sources": (0, 2, 1),  # the last sentence
    }


def test_without_any_verdict_of_a_source_nothing_is_counted_or_said_of_the_judge(
    news: tuple[list[dict[str, Any]], str], tmp_path: Path
) -> None:
    rows, judge = news
    Path(judge.removeprefix("scripted/")).write_text('{"reply": "no idea"}\n')
    study = sources(evaluate(rows, "finesure.fact_check", models=judge, out=tmp_path / "run", by_source=True))
    assert {(row.value, row.n, row.status) for row in study} == {(None, 0, "undefined")}
    assert study.one(statistic="conflict").reason == "all values missing"


def test_merged_and_replayed_runs_keep_the_judgments_of_single_sources(
    news: tuple[list[dict[str, Any]], str], tmp_path: Path
) -> None:
    rows, judge = news
    first = evaluate(rows, "finesure.fact_check", models=judge, out=tmp_path / "first", by_source=True)
    second = evaluate(rows, "support", out=tmp_path / "second", by_source=True)
    again = evaluate(rows, replay=first.folder, out=tmp_path / "again", by_source=True)
    assert sources(again).rows == sources(first).rows
    merged = sources(merge([first.folder, second.folder], tmp_path / "merged"))
    assert merged.where(judge="finesure.fact_check").rows == sources(first).rows
    assert merged.where(judge="support").rows == sources(second).rows
    twice = sources(evaluate(rows, "finesure.fact_check", models=judge, repeats=2, out=tmp_path / "2", by_source=True))
    assert [note.partition(":")[0] for note in twice.notes] == [
        f"faithfulness by finesure.fact_check[rep={number}]" for number in (1, 2)
    ]


def test_the_budget_covers_both(news: tuple[list[dict[str, Any]], str], tmp_path: Path) -> None:
    rows, judge = news
    (first,) = dry_run(rows, "finesure.fact_check", models=judge)
    most = 2 * (first.tokens_in + first.tokens_out)
    with pytest.raises(BudgetError):
        evaluate(rows, "finesure.fact_check", models=judge, out=tmp_path / "run", by_source=True, max_tokens=most)
    assert RunFolder(tmp_path / "run").manifest.status == "complete"
    assert RunFolder(tmp_path / "run" / "by_source").manifest.status == "interrupted"
    assert "not complete" in sources(tmp_path / "run").notes[-1]
    evaluate(rows, "finesure.fact_check", models=judge, out=tmp_path / "run", by_source=True)
    assert len(sources(tmp_path / "run").where(statistic="conflict")) == 1


def test_data_without_several_sources_and_runs_without_by_source_are_refused(tmp_path: Path) -> None:
    rows = [{"document": [{"id": "a", "text": "It rained."}], "summary": "It rained."}]
    with pytest.raises(UsageError, match="no document has several sources"):
        evaluate(rows, "support", out=tmp_path / "run", by_source=True)
    assert not (tmp_path / "run").exists()
    evaluate(rows, "support", out=tmp_path / "run")
    with pytest.raises(UsageError, match="by_source"):
        sources(tmp_path / "run")
    several = [{"document": [{"id": "a", "text": "It rained."}, {"id": "b", "text": "It snowed."}], "summary": "Rain."}]
    evaluate(several, "support", out=tmp_path / "several")
    with pytest.raises(UsageError, match="no judgments of single sources"):
        evaluate(several, replay=tmp_path / "several", out=tmp_path / "again", by_source=True)
    assert not (tmp_path / "again").exists()
    with pytest.raises(UsageError, match="unknown judge 'suport'"):
        sources(evaluate(several, "support", out=tmp_path / "both", by_source=True), judge="suport")
