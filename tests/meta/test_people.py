"""Agreement of judges with the human judgments of a run: by hand, and verdicts against chance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from meta.duels import sound
from meta.makers import judgment, people, ratings, sentences, voted

from summeter.data.dataset import load
from summeter.engine.api import evaluate
from summeter.engine.outputs import import_outputs
from summeter.meta import agreement_elsewhere, agreement_lines, agreement_with_people

# Ten documents of two sentences each: people call the first supported, the second an error.
TRUE = {(f"d{i}", "A"): [{"x": 1, "y": 1}, {"x": 0, "y": 0}] for i in range(10)}


def test_decisions_on_sentences_by_hand() -> None:
    # Right on all of the supported ones, on 8 of 10 errors: (1 + .8) / 2.
    judged = sentences({(f"d{i}", "A"): [1, int(i < 2)] for i in range(10)})
    study = agreement_with_people(judged, voted(TRUE), resamples=200)
    sound(study)
    (row,) = study.rows
    assert (row.statistic, row.level, row.n, row.missing) == ("balanced_accuracy", "sentence", 20, 0)
    assert row.value == pytest.approx(0.9)
    assert (row.details["chance"], row.details["verdict"]) == (0.5, "above chance")
    assert agreement_lines(study)[0].startswith("j on faithfulness: balanced accuracy 0.90 [0.")
    assert agreement_lines(study)[0].endswith("], above chance (20 sentences)")


def test_verdicts_at_and_below_chance() -> None:
    coin = sentences({(f"d{i}", "A"): [i % 2, (i + i // 2) % 2] for i in range(10)}, judge="coin")
    liar = sentences({(f"d{i}", "A"): [0, 1] for i in range(10)}, judge="liar")
    study = agreement_with_people([*coin, *liar], voted(TRUE), resamples=200)
    sound(study)
    assert study.one(judge="coin").details["verdict"] == "cannot be told from chance"
    assert ", cannot be told from chance (" in agreement_lines(study)[0]
    assert study.one(judge="liar").details["verdict"] == "below chance"


def test_ratings_are_correlated() -> None:
    table = {f"d{i}": {"A": float(i), "B": float(i) / 2} for i in range(8)}
    votes = people({(d, s): {"x": value} for d, row in table.items() for s, value in row.items()})
    judged = ratings({d: {s: v * 2 for s, v in row.items()} for d, row in table.items()})
    study = agreement_with_people(judged, votes, resamples=100)
    sound(study)
    (row,) = study.rows
    assert (row.statistic, row.level, row.n, row.value) == ("spearman", "summary", 16, pytest.approx(1.0))
    assert (row.details["chance"], row.details["verdict"]) == (0.0, "above chance")


def test_undefined_agreement_has_a_reason() -> None:
    constant = ratings({f"d{i}": {"A": 3.0} for i in range(4)})
    votes = people({(f"d{i}", "A"): {"x": float(i)} for i in range(4)})
    study = agreement_with_people(constant, votes)
    sound(study)
    (row,) = study.rows
    assert (row.value, row.details["verdict"]) == (None, None)
    assert "is undefined, " in agreement_lines(study)[0]
    # One document: a value, no interval.
    judged = [judgment("d", system, value) for system, value in zip("ABC", (1.0, 2, 3), strict=True)]
    rated = people({("d", system): {"x": value} for system, value in zip("ABC", (1.0, 2, 5), strict=True)})
    alone = agreement_with_people(judged, rated)
    assert (alone.rows[0].value, alone.rows[0].status) == (1.0, "no_interval")
    assert alone.rows[0].details["verdict"] == "cannot be told from chance"
    huge = agreement_with_people(ratings({"d0": {"A": 1e308}}), votes)
    assert (huge.rows, "1e+100" in huge.notes[0]) == ((), True)
    # Another aspect, or nobody: nothing to say.
    assert agreement_with_people(ratings({"d": {"A": 1.0}}, "fluency"), votes).rows == ()


def test_human_judgments_in_the_run_are_used(tmp_path: Path) -> None:
    rows = [
        {"doc_id": f"d{i}", "system": "A", "document": "It rained.", "summary": "Rain.",
         "human": {"ratings": {"coherence": {"x": i % 5 + 1, "y": i % 5 + 1}}}}
        for i in range(12)
    ]  # fmt: skip
    outputs = [
        {"doc_id": f"d{i}", "system": "A", "evaluator": "toy", "aspect": "coherence", "value": i % 5} for i in range(12)
    ]
    file = tmp_path / "outputs.jsonl"
    file.write_text("\n".join(map(json.dumps, outputs)), encoding="utf-8")
    run = import_outputs(load(rows), file, out=tmp_path / "run")
    study = agreement_with_people(run, resamples=50)
    assert study.one(judge="toy").value == pytest.approx(1.0)
    bare = [{key: value for key, value in row.items() if key != "human"} for row in rows]
    assert agreement_with_people(import_outputs(load(bare), file, out=tmp_path / "bare")).rows == ()


def test_agreement_on_other_data_is_reported_for_aspects_that_people_did_not_judge(tmp_path: Path) -> None:
    row = {"document": "It rained in May.", "summary": "It rained.", "key_facts": ["It rained."]}
    run = evaluate([row], ["support", "length"], out=tmp_path / "run")
    lines = agreement_elsewhere(run)
    assert [line.partition(":")[0] for line in lines] == ["support on faithfulness", "support on completeness"]

    labelled = [{**row, "doc_id": f"d{label}", "human": {"sentence_labels": [label]}} for label in (0, 1)]
    (line,) = agreement_elsewhere(evaluate(labelled, ["support"], out=tmp_path / "labelled"))
    assert line.startswith("support on completeness: ")
