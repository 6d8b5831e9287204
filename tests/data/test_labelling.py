"""Tasks for Label Studio and potato, and the annotations made there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from data.files import put, write
from typer.testing import CliRunner

from summeter.cli.data import app
from summeter.data.dataset import Dataset, load
from summeter.records import InputError

TEXT, SHORT = "It rained all day in Oln.", "It snowed in Oln."
ROWS = [{"doc_id": "d 1", "system": name, "document": TEXT, "summary": SHORT} for name in ("aster", "birch")]


def export(rows: Path, tool: str, tasks: Path) -> None:
    assert CliRunner().invoke(app, ["export", str(rows), "--format", tool, "-o", str(tasks)]).exit_code == 0


def votes(data: Dataset) -> set[tuple[Any, ...]]:
    """Return system, judge, unit, aspect and value or label of each judgment."""
    found = set()
    for one in data.judgments("human.raw"):
        marks = (*((mark.start, mark.end) for mark in one.evidence), one.error_type)
        place = marks if one.target.unit == "span" else one.value
        found.add((one.target.system, one.judge, one.target.unit, one.aspect, place))
    return found


def result(kind: str, question: str, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, "from_name": question, "to_name": "summary", "value": value, **more}


def test_label_studio(tmp_path: Path) -> None:
    rows, tasks = write(tmp_path / "rows.jsonl", ROWS), tmp_path / "tasks.json"
    export(rows, "label_studio", tasks)
    given = json.loads(tasks.read_text(encoding="utf-8"))
    assert [one["data"]["system"] for one in given] == ["aster", "birch"]
    span = {"start": 3, "end": 9, "text": "snowed", "labels": ["entity error"]}
    given[0] |= {"id": 7, "annotations": [
        {"completed_by": 1, "result": [
            result("rating", "fluency", {"rating": 4}, id="a"),
            result("choices", "faithful", {"choices": ["No"]}, id="b"),
            result("labels", "errors", span, id="c"), result("choices", "kind", {"choices": ["yes"]}, id="c"),
            result("textarea", "note", {"text": ["It rained."]}, id="d"),
        ]},
        {"completed_by": {"id": 2, "email": "b@example.org"}, "result": [  # without ids
            result("rating", "fluency", {"rating": 5}), result("labels", "errors", span),
        ]},
        {"completed_by": 3, "was_cancelled": True, "result": [result("rating", "fluency", {"rating": 1})]},
    ]}  # fmt: skip
    given[1] |= {"id": 8, "annotations": []}
    data = load(write(tmp_path / "export.json", given), preset="label_studio")
    assert len(data) == 2
    found = votes(data)
    assert {vote for vote in found if vote[2] == "summary" and vote[3] in ("fluency", "faithful")} == {
        ("aster", "annotator1", "summary", "fluency", 4), ("aster", "annotator2", "summary", "fluency", 5),
        ("aster", "annotator1", "summary", "faithful", 0),
    }  # fmt: skip
    assert {vote[-1] for vote in found if vote[2] == "span"} == {((3, 9), "entity error")}
    assert {vote[3] for vote in found} <= {"fluency", "faithful", "faithfulness"}
    given[0]["annotations"] = [{"result": 3}]
    with pytest.raises(InputError, match="is not a list of annotations, each with completed_by and result"):
        load(write(tmp_path / "bad.json", given), preset="label_studio")


@pytest.mark.parametrize("layout", ["pairs", "nested", "exported"])
def test_potato(tmp_path: Path, layout: str) -> None:
    rows, tasks = write(tmp_path / "rows.jsonl", ROWS), tmp_path / "tasks.jsonl"
    export(rows, "potato", tasks)
    first, second = (json.loads(line)["id"] for line in tasks.read_text(encoding="utf-8").splitlines())
    assert (first, second) == ("d%201/aster", "d%201/birch")
    files = [tasks]
    for person, fluency in (("anna", "4"), ("ben", "5")):
        labels: Any = [[{"schema": "fluency", "name": fluency}, "true"], [{"schema": "faithful", "name": "no"}, "true"]]
        if layout != "pairs":
            labels = {"fluency": {fluency: "true"}, "faithful": {"no": "true"}}
        spans = [[{"schema": "errors", "name": "entity error", "start": 3, "end": 9, "id": "s1"}, "true"]]
        state = {
            "user_id": person, "instance_id_to_label_to_value": {first: labels},
            "instance_id_to_span_to_value": {first: spans if person == "anna" else []},
        }  # fmt: skip
        if layout == "exported":
            given = {"instance_id": first, "user_id": person, "labels": labels, "links": [],
                     "spans": spans if person == "anna" else []}  # fmt: skip
            files.append(write(tmp_path / f"{person}.jsonl", [given]))
        else:
            files.append(put(tmp_path / person / "user_state.json", [state]))
    found = votes(load(files, preset="potato"))
    assert {vote for vote in found if vote[2] == "summary" and vote[3] in ("fluency", "faithful")} == {
        ("aster", "anna", "summary", "fluency", 4), ("aster", "ben", "summary", "fluency", 5),
        ("aster", "anna", "summary", "faithful", 0), ("aster", "ben", "summary", "faithful", 0),
    }  # fmt: skip
    assert {vote[1:] for vote in found if vote[2] == "span"} == {
        ("anna", "span", "faithfulness", ((3, 9), "entity error"))
    }
    write(tasks, [json.loads(tasks.read_text(encoding="utf-8").splitlines()[1])])
    with pytest.raises(InputError, match=f"has no task {first!r}"):
        load(files, preset="potato")


@pytest.mark.parametrize(
    ("span", "field", "labels", "warned"),
    [("snowed", "summary", {"aster": 0, "birch": 1}, False), ("rained", "document", {}, False),
     ("absent", "summary", {"birch": 1}, True)],
)  # fmt: skip
def test_labels_of_marked_passages(span: str, field: str, labels: dict[str, int], warned: bool, tmp_path: Path) -> None:
    value = {"start": 3, "end": 9, "text": span, "labels": ["entity error"]}
    marks = [result("labels", "errors", value) | {"to_name": field}]
    tasks = [
        {"data": data, "annotations": [{"completed_by": 1, "result": found}]}
        for data, found in zip(ROWS, (marks, []), strict=True)
    ]
    data = load(write(tmp_path / "export.json", tasks), preset="label_studio")
    votes = data.judgments("human.raw") if data.judgment_sets else ()
    assert {each.target.system: each.label for each in votes if each.target.unit == "sentence"} == labels
    assert bool(data.warnings) == warned


def test_wrong_answers_of_potato_are_faults(tmp_path: Path) -> None:
    tasks = write(tmp_path / "tasks.jsonl", [{"id": "1", "document": TEXT, "summary": SHORT}])
    state = put(tmp_path / "user_state.json", [{"user_id": "ana", "instance_id_to_label_to_value": ["1"]}])
    with pytest.raises(InputError, match="instance_id_to_label_to_value"):
        load([tasks, state], preset="potato")


@pytest.mark.parametrize("tool", ["label_studio", "potato"])
def test_tasks_have_one_suffix_and_one_text(tool: str, tmp_path: Path) -> None:
    sources = [{"id": "agenda", "text": "The plan."}, {"id": "notes", "text": "Nothing else."}]
    rows = write(tmp_path / "rows.jsonl", [{"doc_id": "m", "document": sources, "summary": SHORT}])
    wrong = CliRunner().invoke(app, ["export", str(rows), "--format", tool, "-o", str(tmp_path / "tasks.csv")])
    assert wrong.exit_code != 0
    assert not (tmp_path / "tasks.csv").exists()
    tasks = tmp_path / ("tasks.json" if tool == "label_studio" else "tasks.jsonl")
    export(rows, tool, tasks)
    written = tasks.read_text(encoding="utf-8")
    task = json.loads(written)[0]["data"] if tool == "label_studio" else json.loads(written)
    assert task["document"] == "[agenda]\nThe plan.\n\n[notes]\nNothing else."
