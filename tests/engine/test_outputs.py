"""Importing raw outputs and values: an error names the line and field, and nothing is written."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from engine.judges import rows

from summeter.data.dataset import load
from summeter.engine.outputs import ImportedRun, RawRow, import_outputs
from summeter.engine.runs import Run
from summeter.meta._gate import gate
from summeter.records import InputError, UsageError
from summeter.report import html
from summeter.report.terminal import markdown

VALUE = {"doc_id": "d0", "system": "a", "evaluator": "mine", "aspect": "overall", "value": 1}
REPLY = {"doc_id": "d0", "system": "a", "evaluator": "rts", "aspect": "coherence", "output": "Score: 4"}


def imported(folder: Path, *raw: dict[str, Any]) -> Run:
    """A run of these rows; the document d0 has two key facts, each summary two sentences, d1 has no key facts."""
    data = [{**row, "key_facts": ["It rained.", "We read."]} if row["doc_id"] == "d0" else row for row in rows(2)]
    file = folder / "raw.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in raw))
    run = import_outputs(load(data), file, folder / "run")
    assert isinstance(run, Run)
    return run


def faults(folder: Path, *raw: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        imported(folder, *raw)
    assert not (folder / "run").exists()
    return [f"{one.line}: {one.field}" for one in caught.value.faults]


KIND = {"evaluator": "stareval", "aspect": "fluency"}
FACT = {"evaluator": "finesure.fact_check", "aspect": "faithfulness", "unit": "sentence", "index": 0}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"unit": "sentence"}, "index"),
        ({"unit": "sentence", "index": 2}, "index"),  # there are two
        ({"unit": "sentence", "index": -1}, "index"),
        ({"unit": "sentence", "index": 1.0}, "index"),
        ({"unit": "key_fact"}, "index"),
        ({"unit": "key_fact", "index": 2}, "index"),
        ({"rival": "a"}, "rival"),
        *(({"attempt": attempt}, "attempt") for attempt in ("second", "2", True)),
        *(({"value": value}, "value") for value in (10**400, "0.5", True)),
        *(({"evaluator": name}, "evaluator") for name in ("../../x", "a/b", "a\\b", "x" * 81, "a\x00", "a|b", "<b>")),
        # What the evaluator of this name never gives.
        ({**FACT, "value": 7}, "value"),
        ({**FACT, "value": 0.5}, "value"),
        ({"evaluator": "finesure", "aspect": "faithfulness", "value": -0.1}, "value"),
        ({"evaluator": "finesure", "aspect": "completeness", "unit": "key_fact", "index": 0, "value": 0.5}, "value"),
        ({"evaluator": "yesno", "aspect": "faithfulness", "value": 0.5}, "value"),
        ({**KIND, "value": 9}, "value"),
        ({**KIND, "value": 0.5}, "value"),
        ({"evaluator": "direct", "aspect": "fluency", "value": 101}, "value"),
        ({"evaluator": "geval_plus", "aspect": "completeness", "value": 6}, "value"),
        ({"evaluator": "geval_plus", "aspect": "faithfulness", "value": 5}, "value"),
        ({"evaluator": "fenice", "aspect": "faithfulness", "value": -2}, "value"),
        ({**KIND, "unit": "sentence", "index": 1, "value": 4}, "unit"),
        ({**KIND, "rival": "b", "value": 4}, "unit"),
        ({"evaluator": "h2h", "aspect": "fluency"}, "unit"),
        ({"evaluator": "support", "aspect": "faithfulness", "rival": "b"}, "unit"),
        ({**REPLY, "aspect": "colour"}, "aspect"),
        *(({**REPLY, "evaluator": name}, "evaluator") for name in ("nobody", "support", "ensemble", "finesure")),
        ({"system": "z"}, "doc_id"),
    ],
)
def test_a_faulty_row_is_named_by_line_and_field(tmp_path: Path, row: dict[str, Any], field: str) -> None:
    assert faults(tmp_path, VALUE, {**VALUE, **row}) == [f"2: {field}"]


@pytest.mark.parametrize("name", [".hidden", "-rf", "a..b", "GPT 4.1 + rubric", "métrique", "."])
def test_a_name_of_any_kind_lies_in_the_run(tmp_path: Path, name: str) -> None:
    run = imported(tmp_path, {**VALUE, "evaluator": name})
    (judge,) = run.manifest.judges
    assert judge.name == name
    assert [file.name for file in (run.folder / "judgments").iterdir()] == [f"{judge.file}.jsonl"]
    assert judge.file.isascii()
    assert judge.file[0] not in ".-"
    assert [(one.judge, one.value) for one in run.judgments() if one.status == "ok"] == [(name, 1.0)]


def test_a_judge_without_the_setting_takes_any_name_of_an_aspect(tmp_path: Path) -> None:
    row = {**REPLY, "evaluator": "finesure.align", "aspect": "key_facts", "output": "[]"}
    assert imported(tmp_path, row).manifest.judges[0].aspects == ("completeness", "conciseness")


def test_what_is_right_is_taken(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        *({**VALUE, "unit": "sentence", "index": index} for index in (0, 1)),
        {**VALUE, "unit": "key_fact", "index": 1},
        {**VALUE, "doc_id": "d1", "unit": "key_fact", "index": 7},  # d1 has no list of its own to be outside of
        {**VALUE, "system": "b", "value": 0.5, "attempt": 2},
        {**VALUE, "system": "b", "value": 0.25, "attempt": 3},
        {**VALUE, "system": "b", "value": 0.75},
        {**VALUE, "doc_id": "d1", "system": "b", "rival": "a", "order": "ba"},
    )
    found = {(one.target.document_id, one.target.system, one.target.unit, one.target.index): one.value
             for one in run.judgments() if one.status == "ok"}  # fmt: skip
    assert found == {
        ("d0", "a", "sentence", 0): 1.0, ("d0", "a", "sentence", 1): 1.0, ("d0", "a", "key_fact", 1): 1.0,
        ("d1", "a", "key_fact", 7): 1.0, ("d0", "b", "summary", None): 0.25, ("d1", "a", "pair", None): 1.0,
    }  # fmt: skip


def test_values_at_the_ends_are_taken_and_those_of_unknown_judges_too(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        {**VALUE, "evaluator": "stareval", "aspect": "fluency", "value": 5},
        {**VALUE, "evaluator": "stareval", "aspect": "fluency", "value": 1, "system": "b"},
        {**VALUE, "evaluator": "bertscore", "aspect": "bertscore_f1", "value": -1.5},
        {**VALUE, "value": 700},
    )
    assert sorted(row.value for row in run.judgments() if row.value is not None) == [-1.5, 1.0, 5.0, 700.0]


@pytest.mark.parametrize("unit", ["sentence", "key_fact"])
def test_units_without_a_value_are_missing(tmp_path: Path, unit: str) -> None:
    """One value for a summary of two sentences (or a document of two key facts) is half of it."""
    run = imported(tmp_path, {**VALUE, "unit": unit, "index": 1})
    (score,) = [score for score in run.scores() if score.system == "a" and score.doc_id == "d0"]
    assert (score.value, score.n, score.missing) == (1.0, 1, 1)
    reasons = {row.reason for row in run.judgments() if row.target.item == ("d0", "a", None) and row.status != "ok"}
    assert reasons == {f"there is no value for this {unit.replace('_', ' ')}"}


def test_a_csv_gives_what_the_rows_as_json_give(tmp_path: Path) -> None:
    judged = [{**VALUE, "unit": "sentence", "index": 1, "value": 0.5}, REPLY, {**REPLY, "system": "b", "output": ""}]
    (tmp_path / "json").mkdir()
    wanted = imported(tmp_path / "json", *judged)
    file = tmp_path / "raw.csv"
    with file.open("w", newline="") as handle:
        table = csv.DictWriter(handle, list(RawRow.model_fields))
        table.writeheader()
        table.writerows(judged)
    got = import_outputs(wanted.data, file, tmp_path / "run")
    assert got.judgments() == wanted.judgments()
    file.write_text("doc_id,system,evaluator,aspect,value\nd0,a,mine,overall,half\n")
    with pytest.raises(InputError, match="2: value: "):
        import_outputs(wanted.data, file, tmp_path / "other")


def test_units_without_a_value_are_told_beside_the_means(tmp_path: Path) -> None:
    run = imported(tmp_path, {**VALUE, "unit": "sentence", "index": 0})
    (row,) = run.summary()
    assert (row.n, row.missing, row.units, row.units_missing) == (1, 1, 1, 1)
    note = ("1 of 2 units of summaries with a score were not judged: left out of these "
            "scores (a 1 of 2).")  # fmt: skip
    assert run.summary().unjudged() == note
    assert note in markdown(run.summary()).replace("\\", "")
    assert note in html([run], tmp_path / "page.html").read_text()
    assert [row.details["verdict"] for row in gate(run, min={"overall": 0.0})] == [
        "passed a: overall by mine 1.000 >= 0 (n = 1, missing 1; 1 of 2 units not judged)"
    ]


def test_rows_that_contradict_an_earlier_one_are_counted(tmp_path: Path) -> None:
    again = {**VALUE, "attempt": 2}
    run = imported(tmp_path, VALUE, VALUE, {**VALUE, "value": 0}, {**again, "value": 0.5})
    assert isinstance(run, ImportedRun)
    (result,) = run.imported
    assert (result.repeated, result.contradicted) == (3, 1)


def test_a_raw_file_of_unknown_format_is_told_to_be_renamed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is unknown. Use a name that ends in \.jsonl, \.json, \.csv"):
        import_outputs(load(rows(1)), tmp_path / "x.raw", tmp_path / "run")


def test_a_number_of_thousands_of_digits_is_out_of_range(tmp_path: Path) -> None:
    file = tmp_path / "raw.jsonl"
    file.write_text(json.dumps(VALUE).replace('"value": 1', '"value": ' + "1" * 5000))
    with pytest.raises(InputError, match="thousands of digits") as caught:
        import_outputs(load(rows(1)), file, tmp_path / "run")
    assert "sys." not in str(caught.value)


def test_the_gate_needs_the_data_that_were_judged(tmp_path: Path) -> None:
    run = imported(tmp_path, VALUE)
    shutil.rmtree(run.folder / "data")
    with pytest.raises(InputError, match="data: is missing"):
        gate(Run(run.folder), min={"overall": 0.0})


def test_a_folder_in_place_of_judgments_is_named_as_one(tmp_path: Path) -> None:
    run = imported(tmp_path, VALUE)
    (file,) = (run.folder / "judgments").iterdir()
    file.unlink()
    file.mkdir()
    with pytest.raises(InputError, match="is a folder, not a file of judgments"):
        Run(run.folder).judgments()
