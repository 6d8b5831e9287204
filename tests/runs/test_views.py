"""The views of a pairwise run: pairs.jsonl and the pairs of summary.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from summeter.engine.api import evaluate
from summeter.engine.outputs import import_outputs
from summeter.engine.runs import Run, rescore
from summeter.runs.views import SCORE_COLUMNS
from summeter.tables import csv_line

# Values by the order of showing; None where the reply cannot be read.
Verdicts = Mapping[tuple[str, str, str], str]


def rows(documents: int = 3) -> list[dict[str, Any]]:
    return [
        {"doc_id": f"d{n}", "system": system, "document": f"It rained on day {n}.", "summary": f"Rain, says {system}."}
        for n in range(documents)
        for system in ("aster", "birch")
    ]


def judge(folder: Path, verdicts: Verdicts) -> str:
    """A judge that answers as told by document and order, else that both are equal."""
    rules: list[dict[str, Any]] = [
        {"regex": f"(?s)day {document[1:]}\\..*says {first}.*says {second}", "reply": reply}
        for (document, first, second), reply in verdicts.items()
    ]
    file = folder / "script.jsonl"
    file.write_text("".join(json.dumps(rule) + "\n" for rule in [*rules, {"reply": '{"answer": "C"}'}]))
    return f"scripted/{file}"


FIRST, SECOND = '{"answer": "A"}', '{"answer": "B"}'
VERDICTS = {
    ("d0", "aster", "birch"): FIRST, ("d0", "birch", "aster"): SECOND,  # aster both times: 1
    ("d1", "aster", "birch"): FIRST, ("d1", "birch", "aster"): FIRST,  # turns: 0.5
}  # fmt: skip  # d2: equal both times: 0.5


def views(folder: Path) -> dict[str, bytes]:
    names = ("scores.jsonl", "scores.csv", "pairs.jsonl", "summary.json")
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


def test_preferences_and_their_means_stand_in_the_views(tmp_path: Path) -> None:
    run = evaluate(rows(), ["h2h"], models=judge(tmp_path, VERDICTS), out=tmp_path / "run")
    found = [json.loads(line) for line in (run.folder / "pairs.jsonl").read_text().splitlines()]
    assert [(one["doc_id"], one["system"], one["rival"], one["value"], one["flipped"]) for one in found] == [
        ("d0", "aster", "birch", 1.0, False), ("d1", "aster", "birch", 0.5, True), ("d2", "aster", "birch", 0.5, False),
    ]  # fmt: skip
    summary = json.loads((run.folder / "summary.json").read_text())
    assert (summary["rows"], summary["ranking"]) == ([], [])
    (pair,) = summary["pairs"]
    assert (pair["value"], pair["n"], pair["missing"], pair["aspect"]) == ((1 + 0.5 + 0.5) / 3, 3, 0, "coherence")
    assert (pair["flips"], pair["twice"], pair["flip_rate"]) == (1, 3, 1 / 3)
    assert [one.model_dump() for one in run.pairs()] == summary["pairs"]


def test_rescoring_makes_the_same_bytes(tmp_path: Path) -> None:
    run = evaluate(rows(), ["h2h", "abstractiveness"], models=judge(tmp_path, VERDICTS), out=tmp_path / "run", seed=7)
    before = views(run.folder)
    assert len(before) == 4
    assert "seed 7" in json.loads(before["summary.json"])["pairs"][0]["interval"]
    for name in before:
        (run.folder / name).unlink()
    rescore(run.folder)
    assert views(run.folder) == before


def test_without_pairs_there_is_no_file_and_an_old_one_goes(tmp_path: Path) -> None:
    run = evaluate(rows(), ["abstractiveness"], out=tmp_path / "run")
    assert not (run.folder / "pairs.jsonl").exists()
    assert json.loads((run.folder / "summary.json").read_text())["pairs"] == []
    assert not run.pairs()
    (run.folder / "pairs.jsonl").write_text("{}\n")
    rescore(run.folder)
    assert not (run.folder / "pairs.jsonl").exists()


def test_pairs_that_all_failed_are_rows_without_a_value(tmp_path: Path) -> None:
    verdicts = {(f"d{n}", *order): "no idea" for n in range(3) for order in (("aster", "birch"), ("birch", "aster"))}
    run = Run(evaluate(rows(), ["h2h"], models=judge(tmp_path, verdicts), out=tmp_path / "run").folder)
    (pair,) = run.pairs()
    assert (pair.value, pair.n, pair.missing, pair.flip_rate) == (None, 0, 3, None)
    assert len((run.folder / "pairs.jsonl").read_text().splitlines()) == 3


def test_the_views_are_the_records_of_the_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tmp_path / "raw.jsonl"
    values = [0.1, 1e22, 1e-7, 5e-324, 3.0, -2.5, 0.1 + 0.2, 123456789.123456789]
    names = ["aster", "=1+1", 'a "b", c', "ü ñ", "", "-x", "\\", "birch"]
    given = [
        {"doc_id": f"d{n}", "system": name or "none", "document": "x", "summary": "y"} for n, name in enumerate(names)
    ]
    judged = [
        {"doc_id": row["doc_id"], "system": row["system"], "evaluator": "mine", "aspect": "a", "value": value}
        for row, value in zip(given, values, strict=True)
    ]
    raw.write_text("".join(json.dumps(row) + "\n" for row in judged[1:]))
    monkeypatch.setattr("summeter.runs.views._CHUNK", 3)
    run = import_outputs([*given, {**given[0], "system": "second"}], raw, tmp_path / "run")
    scores = run.scores()
    assert (run.folder / "scores.jsonl").read_bytes().decode() == "".join(
        score.model_dump_json() + "\n" for score in scores
    )
    lines = [csv_line(SCORE_COLUMNS)] + [csv_line(getattr(score, name) for name in SCORE_COLUMNS) for score in scores]
    assert (run.folder / "scores.csv").read_bytes().decode() == "".join(f"{line}\n" for line in lines)
