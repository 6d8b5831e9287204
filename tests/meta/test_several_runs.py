"""Judges of several runs are studied together, on the summaries that all runs have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import load
from summeter.engine.outputs import import_outputs
from summeter.meta import compare, correlate
from summeter.records import UsageError
from summeter.runs.run import RunFolder

ROWS = [
    {"doc_id": f"d{i}", "system": system, "document": f"It rained {i} times.", "summary": f"Rain by {system}.",
     "human": {"ratings": {"coherence": {"a": (i + place) % 4 + 1}, "fluency": {"a": i % 3 + 1}}}}
    for i in range(8) for place, system in enumerate("AB")
]  # fmt: skip


def run_of(
    folder: Path, judges: dict[str, Sequence[str]], rows: Sequence[dict[str, Any]] = ROWS, *, noise: int = 0
) -> RunFolder:
    """Return a run in which each judge has a score of each summary on its aspects."""
    raw = folder.with_suffix(".jsonl")
    raw.parent.mkdir(exist_ok=True)
    data = load(list(rows))
    scores = [
        {"doc_id": row["doc_id"], "system": row["system"], "evaluator": judge, "aspect": aspect,
         "value": (int(row["doc_id"][1:]) * (noise + 3) + len(aspect)) % 5}
        for judge, aspects in judges.items() for aspect in aspects for row in rows
    ]  # fmt: skip
    raw.write_text("".join(json.dumps(score) + "\n" for score in scores))
    import_outputs(data, raw, folder, "strict")
    return RunFolder(folder)


def test_rows_are_those_of_each_run_alone(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a", {"one": ["coherence"]})
    b = run_of(tmp_path / "b", {"one": ["coherence"], "two": ["coherence", "fluency"]}, noise=4)
    both = correlate([a, b], a.data, resamples=50)
    assert len({row.details["run"] for row in both}) == 2
    for run in (a, b):
        alone = correlate(run, a.data, resamples=50).to_dicts()
        mine = [row for row in both.to_dicts() if row["details"].pop("run") == run.folder.name]
        assert mine == alone
    assert {line[0] for line in both.table().rows} == {f"one ({a.folder.name})", f"one ({b.folder.name})", "two"}


def test_a_run_can_be_given_by_its_path(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", {"one": ["coherence"]})
    expected = correlate(run, run.data, resamples=0).to_dicts()
    assert correlate(str(run.folder), run.data, resamples=0).to_dicts() == expected
    assert len(compare([run.folder, run_of(tmp_path / "b", {"one": ["coherence"]}).folder], run.data, resamples=9)) > 0
    with pytest.raises(UsageError, match=r"gold is a path; read the data with sm.load\('gold.jsonl'\)"):
        correlate(run, "gold.jsonl", resamples=0)  # type: ignore[arg-type]


def test_runs_of_equal_names_have_distinct_names(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name / "run", {"one": ["coherence"]}) for name in ("first", "second")]
    study = correlate(runs, runs[0].data, resamples=0)
    assert {row.details["run"] for row in study} == {"first/run", "second/run"}


def test_judges_without_an_aspect_are_named(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a", {"one": ["coherence"]})
    b = run_of(tmp_path / "b", {"two": ["coherence", "fluency"], "three": ["words"]}, noise=4)
    notes = correlate([a, b], a.data, resamples=0).notes
    assert "three did not judge coherence: left out" in notes
    assert "one, three did not judge fluency: left out" in notes
    # Of fluency there is only one judge, so that nothing is compared.
    compared = compare([a, b], a.data, resamples=0, permutations=20)
    assert {row.gold_aspect for row in compared} == {"coherence"}
    assert any("fluency: only two" in note for note in compared.notes)


def test_a_selected_judge_is_the_only_one_named(tmp_path: Path) -> None:
    run = run_of(tmp_path / "a", {"one": ["coherence"], "two": ["coherence", "fluency"]})
    assert "one did not judge fluency: left out" in correlate(run, run.data, resamples=0).notes
    assert correlate(run, run.data, judge="two", resamples=0).notes == ()


def test_different_texts_are_refused(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a", {"one": ["coherence"]})
    changed = [{**row, "summary": "Other."} if row["doc_id"] == "d3" else row for row in ROWS]
    b = run_of(tmp_path / "b", {"two": ["coherence"]}, changed)
    with pytest.raises(UsageError, match=r"different texts \(another text: 2 summaries \(d3 by A, d3 by B\)\)"):
        correlate([a, b], a.data)
    elsewhere = run_of(
        tmp_path / "c", {"two": ["coherence"]}, [{**row, "doc_id": f"e{row['doc_id'][1:]}"} for row in ROWS]
    )
    with pytest.raises(UsageError, match="have no summaries in common"):
        correlate([a, elsewhere], a.data)


def test_the_common_part_is_stated(tmp_path: Path) -> None:
    a = run_of(tmp_path / "a", {"one": ["coherence"]})
    b = run_of(tmp_path / "b", {"two": ["coherence"]}, ROWS[:12], noise=4)
    study = correlate([a, b], a.data, resamples=0)
    assert {(row.n, row.missing) for row in study} == {(12, 0)}
    (note,) = [note for note in study.notes if "studied on the 12 summaries that all have" in note]
    assert f"only in {a.folder.name}: 2 documents (d6, d7)" in note
